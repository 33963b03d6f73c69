"""Random forests: bagged trees, few columns per split (loop and average: :mod:`margin.trees.forest.forest`)."""

from __future__ import annotations

from margin.trees.forest.forest_classifier import ForestClassifier
from margin.trees.forest.forest_regressor import ForestRegressor

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(ForestClassifier):
    r"""A forest of classification trees on bootstrap samples, each split choosing among few random columns.

    The cost is about m n log n per tree, for m columns per split. Missing values are handled as by the single tree.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.93, model.votes(X[:1]).tolist()
    (True, [[50, 0, 0]])
    """


class RandomForestRegressor(ForestRegressor):
    r"""A forest of regression trees on bootstrap samples.

    All columns are looked at by default, so the trees differ by their samples alone; Breiman's rule for regression is
    ``max_features="third", min_samples_split=5``.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> errors = [r["oob_error"] for r in RandomForestRegressor(60, oob_score=True, random_state=0).iterate(X, y)]
    >>> errors[-1] < 0.7 * errors[0]
    True
    """
