r"""What boosted regression and classification trees share.

.. math:: F_m = F_{m-1} + \eta\, h_m,

where :math:`h_m` is a tree grown on the derivatives of :math:`\sum_i w_i L(y_i, F)` at :math:`F_{m-1}`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.domains import Domain, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.trees.binning import Bins, apply_bins, find_bins
from margin.trees.boosting.collected import compiled_view, tree_at
from margin.trees.boosting.losses import Loss
from margin.trees.boosting.rounds import Problem, Rounds, Settings, add_trees
from margin.trees.cart.structure import TreeArrays
from margin.trees.category_encoding import CATEGORICAL, encode_strings, find_string_categories
from margin.trees.columns import MONOTONE, categorical_flags, monotone_signs

__all__ = ["SHARED_DOMAINS", "BoostedTrees"]

SHARED_DOMAINS: dict[str, Domain] = {
    "n_estimators": Integer(low=1, search=(50, 500)),
    "learning_rate": Number(above=0, search=(0.01, 0.3), log=True),
    "max_leaf_nodes": Optional(Integer(low=2, search=(7, 127), log=True)),
    "max_depth": Optional(Integer(low=1)),
    "min_samples_leaf": Integer(low=1, search=(1, 100), log=True),
    "l2_regularization": Number(low=0, search=(1e-3, 10.0), log=True),
    "min_gain": Number(low=0),
    "max_bins": Integer(low=2, high=255),
    "subsample": Number(above=0, high=1, search=(0.5, 1.0)),
    "max_features": Number(above=0, high=1, search=(0.3, 1.0)),
    "categorical_features": CATEGORICAL,
    "monotonic_cst": MONOTONE,
    "early_stopping": Flag(),
    "validation_fraction": Number(above=0, below=1),
    "n_iter_no_change": Integer(low=1),
    "tol": Number(low=0),
    "warm_start": Flag(),
    "random_state": Seed(),
}


class BoostedTrees(IterativeEstimator):
    """What both estimators share: from a checked table to trees, and from trees to raw predictions."""

    def __init__(
        self,
        n_estimators: int,
        learning_rate: float,
        max_leaf_nodes: int | None,
        max_depth: int | None,
        min_samples_leaf: int,
        l2_regularization: float,
        min_gain: float,
        max_bins: int,
        subsample: float,
        max_features: float,
        categorical_features: Any,
        monotonic_cst: Any,
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        tol: float,
        warm_start: bool,
        random_state: Any,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.subsample = subsample
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow all rounds; with ``warm_start`` only those that a fitted model does not have yet."""
        self._check_parameters()
        state = self._fitted_state() if self.warm_start and hasattr(self, "trees_") else None
        return self._consume(self.iterate(X, y, sample_weight, state=state), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per round: training loss, leaves and, if rows are held back, validation loss."""
        self._check_parameters()
        owner = type(self).__name__
        X, categorical, words = find_string_categories(owner, X, self.categorical_features)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite="allow-nan", **self._y_rules)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        loss, y, weight = self._targets(y, weight)
        if categorical is None:
            names = getattr(self, "feature_names_in_", None)
            categorical = categorical_flags(owner, self.categorical_features, X.shape[1], names)
        signs = monotone_signs(owner, self.monotonic_cst, categorical)
        monotone = np.zeros(X.shape[1], dtype=np.int64) if signs is None else signs.astype(np.int64)
        weighing = weight > 0
        if not weighing.all():
            X, y, weight = X[weighing], y[weighing], weight[weighing]
        if not len(y):
            raise ValueError(f"{type(self).__name__}: sample_weight must be positive for at least one row.")
        seed = seed_from(self.random_state) if state is None else int(state["seed"])
        held = self._held_back(y, np.random.default_rng([seed, 1]))
        bins = self._bins(X, weight, held, categorical, seed) if state is None else Bins(**state["bins"])
        loop = Rounds(Problem.of(bins, X, y, weight, held), loss, self._settings(monotone, seed))
        self._loop, self.category_names_ = loop, words
        if state is not None:
            loop.restore(state)
            self._learn(loop)
        for record in loop.iterations():
            self._learn(loop)
            yield record

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of the total gain that each column's splits brought, (p,)."""
        check_is_fitted(self)
        inner = self.trees_["feature"] >= 0
        gains = np.bincount(
            self.trees_["feature"][inner], weights=self.trees_["gain"][inner], minlength=self.n_features_in_
        )
        return gains / gains.sum() if gains.sum() > 0 else gains

    @property
    def n_trees_(self) -> int:
        """Trees grown: one per round and output."""
        return len(self.trees_["start"]) - 1

    def tree(self, number: int) -> TreeArrays:
        """Tree ``number`` in the form of :mod:`margin.trees.cart.structure`, its values as they are added."""
        check_is_fitted(self)
        return tree_at(self.trees_, number)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf in which every row ends in every tree, (n, trees)."""
        codes = self._codes(X)
        from margin.trees.boosting.prediction_kernels import find_leaves

        leaves = np.empty((len(codes), self.n_trees_), dtype=np.int32)
        find_leaves(codes, compiled_view(self.trees_), leaves)
        return leaves

    def _raw(self, X: Any) -> np.ndarray:
        """Raw predictions (outputs, n)."""
        codes = self._codes(X)
        predictions = np.repeat(self.start_[:, None], len(codes), axis=1)
        add_trees(codes, compiled_view(self.trees_), 0, self.n_trees_, predictions)
        return predictions

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        """Raw predictions (outputs, n) after every round."""
        codes = self._codes(X)
        predictions = np.repeat(self.start_[:, None], len(codes), axis=1)
        trees, outputs = compiled_view(self.trees_), len(self.start_)
        for first in range(0, self.n_trees_, outputs):
            add_trees(codes, trees, first, first + outputs, predictions)
            yield predictions.copy()

    def _codes(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = encode_strings(X, self.category_names_)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        return apply_bins(X, Bins(**self.bins_))

    def _learn(self, loop: Rounds) -> None:
        self.trees_ = loop.trees.view()
        self.start_ = loop.start
        self.bins_ = loop.bins
        self.train_loss_ = np.array(loop.losses)
        self.validation_loss_ = np.array(loop.held_losses)
        self.n_iter_ = loop.iteration
        self.seed_ = loop.settings.seed

    def _fitted_state(self) -> dict[str, Any]:
        if self.n_iter_ > self.n_estimators:
            raise ValueError(
                f"{type(self).__name__}: n_estimators must be at least {self.n_iter_}, the rounds that warm_start "
                f"continues; got {self.n_estimators}."
            )
        losses = {"losses": self.train_loss_.tolist(), "held_losses": self.validation_loss_.tolist()}
        return {"seed": self.seed_, "bins": self.bins_, "trees": self.trees_, **losses}

    def _settings(self, monotone: np.ndarray, seed: int) -> Settings:
        return Settings(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2_regularization,
            min_gain=self.min_gain,
            subsample=self.subsample,
            max_features=self.max_features,
            monotone=monotone,
            patience=self.n_iter_no_change if self.early_stopping else None,
            tol=self.tol,
            seed=seed,
        )

    def _bins(self, X: np.ndarray, weight: np.ndarray, held: np.ndarray, categorical: np.ndarray, seed: int) -> Bins:
        weights = None if np.all(weight == 1.0) else weight
        if held.any():
            X, weights = X[~held], None if weights is None else weights[~held]
        return find_bins(X, self.max_bins, weights, categorical, np.random.default_rng([seed, 2]))

    def _held_back(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which rows only watch the loss: a share of every class, or of all rows."""
        held = np.zeros(len(y), dtype=bool)
        if not self.early_stopping:
            return held
        groups = [np.flatnonzero(y == label) for label in np.unique(y)] if self._stratified else [np.arange(len(y))]
        for rows in groups:
            # The first row of a group is always learned from.
            held[rng.permutation(rows)[: min(round(self.validation_fraction * len(rows)), len(rows) - 1)]] = True
        if not held.any():
            raise ValueError(
                f"{type(self).__name__}: validation_fraction={self.validation_fraction} of {len(y)} rows leaves none "
                "to watch the loss with."
            )
        return held

    _stratified = False
    _y_rules: dict[str, Any] = {}

    @abstractmethod
    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[Loss, np.ndarray, np.ndarray]:
        """The loss, targets as it reads them, and weights."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
