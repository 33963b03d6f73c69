"""Generative classifiers: naive Bayes on numbers, counts, yes or no and categories; linear and quadratic discriminants.

Each knows P(class, row); what it says follows in ``posterior``. The naive ones learn from sufficient statistics that
take chunks of a table exactly (``statistics``), the discriminants from factors of the centered rows (``factors``).
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.bayes.categorical import CategoricalNB
    from margin.bayes.counting import BernoulliNB, MultinomialNB
    from margin.bayes.gaussian import GaussianNB
    from margin.bayes.linear_discriminant import LinearDiscriminantAnalysis
    from margin.bayes.quadratic_discriminant import QuadraticDiscriminantAnalysis
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
]
