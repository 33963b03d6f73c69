r"""What all naive Bayes classifiers share: features independent given the class.

.. math:: P(c, x) = P(c) \prod_j P(x_j \mid c)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight

from margin.bayes.posterior import PosteriorClassifier, given_priors
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute
from margin.core.streaming import RowBlock
from margin.core.summaries import plain_labels, union_of

__all__ = ["NO_TARGETS", "NaiveBayes"]

NO_TARGETS = "no_validation"  # what scikit-learn's validate_data calls rows that come without y


class NaiveBayes(PosteriorClassifier):
    """Learns by adding rows to sufficient statistics; a subclass says which, and what they mean."""

    priors_parameter = "class_prior"
    class_count_: np.ndarray = attribute(ArrayOf("n_classes", low=0), "Weight of the training rows of every class.")

    @abstractmethod
    def _start(self, classes: int, d: int) -> None:
        """Statistics of no rows."""

    @abstractmethod
    def _absorb(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        """Add rows to the statistics."""

    @abstractmethod
    def _check_rows(self, X: Any, y: Any = NO_TARGETS, *, first: bool = False) -> Any:
        """``X``, or ``X`` and ``y``, as the model can use them; ``first`` in a fit that starts anew."""

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from all rows; forgets what was learned before."""
        return self._learn(X, y, sample_weight, None, first=True)

    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from these rows and those of earlier calls, exactly as if they had come at once.

        The first call needs ``classes``, all labels that will ever come.
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError(f"{self._name}: the first call of partial_fit needs classes, all labels that may come.")
        known = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"{self._name}: classes must be those of the first call, {known}; got {classes}.")
        return self._learn(X, y, sample_weight, known, first=first)

    def summarize(self, block: RowBlock) -> Any:
        """A model of the same parameters that has seen these rows of a stream."""
        y = None if block.y is None else plain_labels(block.y)
        return clone(self)._learn(block.X, y, None, None, first=True)

    def merge(self, first: Any, second: Any) -> Any:
        """A model that has seen the rows of both."""
        labels, mine, theirs = union_of(first.classes_, second.classes_)
        both = [part._with_classes(labels, places) for part, places in ((first, mine), (second, theirs))]
        return both[0]._with_statistics_of(both[1])

    def solve(self, summary: Any) -> Any:
        """Take over what a model has learned from all rows."""
        self._given_priors(len(summary.classes_))
        learned = {name: value for name, value in vars(summary).items() if name not in self.get_params(deep=False)}
        self.__dict__.update(learned)
        return self

    def _with_classes(self, labels: np.ndarray, places: np.ndarray) -> Any:
        """A copy whose classes are ``labels``, its own being at ``places``; new ones have no rows."""
        wider = clone(self)
        wider.__dict__.update(vars(self))
        wider.classes_ = labels
        for name in self._class_statistics():
            value = getattr(self, name)
            setattr(wider, name, _spread(value, places, len(labels)))
        return wider

    def _class_statistics(self) -> tuple[str, ...]:
        """The attributes with a row per class."""
        return tuple(name for name in ("class_count_", "feature_count_", "theta_", "scatter_") if hasattr(self, name))

    @abstractmethod
    def _with_statistics_of(self, other: Any) -> Any:
        """This model with the rows of ``other``, which has the same classes, added."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _learn(self, X: Any, y: Any, sample_weight: Any, known: np.ndarray | None, *, first: bool) -> Any:
        self._check_parameters()
        X, y = self._check_rows(X, y, first=first)
        check_classes(y)
        classes, codes = encode_classes(y) if known is None else (known, self._codes(y, known))
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._given_priors(len(classes))
        self._tell_of_smoothing()
        if first:
            self.classes_ = classes
            self._start(len(classes), X.shape[1])
        self._absorb(X, codes, weights)
        return self

    def _codes(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Positions of labels in known classes."""
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        strange = classes[codes] != y
        if strange.any():
            raise ValueError(f"{self._name}: y holds {y[strange][0]}, which is not among classes {classes}.")
        return codes

    def _tell_of_smoothing(self) -> None:
        """Models of counts warn when their smoothing is not the one that was given."""

    def _given_priors(self, classes: int) -> np.ndarray | None:
        given = getattr(self, self.priors_parameter)
        return None if given is None else given_priors(self._name, self.priors_parameter, given, classes)


def _spread(values: Any, places: np.ndarray, classes: int) -> Any:
    """Rows of an array (or of each of a list of arrays) at ``places`` of one with ``classes`` rows, zero elsewhere."""
    if isinstance(values, list):
        return [_spread(part, places, classes) for part in values]
    wide = np.zeros((classes, *values.shape[1:]))
    wide[places] = values
    return wide
