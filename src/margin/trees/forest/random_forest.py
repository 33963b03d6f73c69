"""Random forests: bagged trees, few columns per split (loop and average: :mod:`margin.trees.forest.forest`)."""

from __future__ import annotations

from typing import Any

from margin.core.class_weights import ClassWeight
from margin.core.domains import Choice, Integer
from margin.trees.forest.forest import SHARED_DOMAINS, SHARED_PARAMETERS, ForestClassifier, ForestRegressor

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(ForestClassifier):
    __doc__ = f"""A forest of classification trees on bootstrap samples, each split choosing among few random columns.

    ``criterion`` is "gini", "entropy" or "log_loss".
    {SHARED_PARAMETERS}
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.93, model.votes(X[:1]).tolist()
    (True, [[50, 0, 0]])
    """

    domains = {
        "n_estimators": Integer(low=1, search=(50, 500)),
        "criterion": Choice("gini", "entropy", "log_loss"),
        **SHARED_DOMAINS,
        "class_weight": ClassWeight(),
    }

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: Any = "auto",
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
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


class RandomForestRegressor(ForestRegressor):
    __doc__ = f"""A forest of regression trees on bootstrap samples, each split choosing among few random columns.

    ``criterion`` is "squared_error" or "absolute_error".
    {SHARED_PARAMETERS}
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> errors = [r["oob_error"] for r in RandomForestRegressor(60, oob_score=True, random_state=0).iterate(X, y)]
    >>> errors[-1] < 0.7 * errors[0]
    True
    """

    domains = {
        "n_estimators": Integer(low=1, search=(50, 500)),
        "criterion": Choice("squared_error", "absolute_error"),
        **SHARED_DOMAINS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: Any = "auto",
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
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
