"""Extremely randomized trees: thresholds are drawn, not searched (see :mod:`margin.trees.forest.forest`)."""

from __future__ import annotations

from typing import Any

from margin.core.class_weights import ClassWeight
from margin.core.domains import Choice, Integer
from margin.trees.forest.forest import SHARED_DOMAINS, SHARED_PARAMETERS, ForestClassifier, ForestRegressor

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor"]


class ExtraTreesClassifier(ForestClassifier):
    __doc__ = f"""Extremely randomized trees: every column looked at offers one random threshold; all rows by default.

    ``criterion`` is "gini", "entropy" or "log_loss".
    {SHARED_PARAMETERS}
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).predict(X[[0, 60, 120]]).tolist()
    [0, 1, 2]
    """

    domains = {
        "n_estimators": Integer(low=1, search=(50, 500)),
        "criterion": Choice("gini", "entropy", "log_loss"),
        **SHARED_DOMAINS,
        "class_weight": ClassWeight(),
    }
    random_splits = True

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        max_samples: Any = None,
        oob_score: bool = False,
        max_bins: Any = "auto",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        class_weight: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.class_weight = class_weight


class ExtraTreesRegressor(ForestRegressor):
    __doc__ = f"""Extremely randomized regression trees: every column looked at offers one random threshold.

    ``criterion`` is "squared_error" or "absolute_error".
    {SHARED_PARAMETERS}
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(20, random_state=0).fit(X, y).score(X, y) > 0.99
    True
    """

    domains = {
        "n_estimators": Integer(low=1, search=(50, 500)),
        "criterion": Choice("squared_error", "absolute_error"),
        **SHARED_DOMAINS,
    }
    random_splits = True

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: Any = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        max_samples: Any = None,
        oob_score: bool = False,
        max_bins: Any = "auto",
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.random_state = random_state
