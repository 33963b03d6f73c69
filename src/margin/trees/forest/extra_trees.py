"""Extremely randomized trees: thresholds are drawn, not searched (see :mod:`margin.trees.forest.forest`)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from margin.core.parameters import default
from margin.trees.forest.forest_classifier import ForestClassifier
from margin.trees.forest.forest_regressor import ForestRegressor

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor"]

BOOTSTRAP = "Whether every tree draws its rows with replacement; else it has all."


class ExtraTreesClassifier(ForestClassifier):
    r"""Extremely randomized trees: every column looked at offers one random threshold; all rows by default.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).predict(X[[0, 60, 120]]).tolist()
    [0, 1, 2]
    """

    random_splits: ClassVar[bool] = True

    _: KW_ONLY
    bootstrap: bool = default(False)


class ExtraTreesRegressor(ForestRegressor):
    r"""Extremely randomized regression trees: every column looked at offers one random threshold; all rows by default.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(20, random_state=0).fit(X, y).score(X, y) > 0.99
    True
    """

    random_splits: ClassVar[bool] = True

    _: KW_ONLY
    bootstrap: bool = default(False)
