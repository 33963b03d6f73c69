"""The rounds of AdaBoost, for classes and for numbers alike: fit a learner on the weights, weigh it, weigh the rows
anew. How a learner is weighted is defined in :mod:`margin.trees.boosting.adaboost`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Integer, Nested, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count
from margin.core.parameters import attribute, parameter
from margin.core.randomness import SEED_BOUND, RandomLike, seed_estimator, seed_from
from margin.core.records import Record
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.targets import numeric_target
from margin.trees.boosting.round_numbers import RoundNumbers
from margin.trees.boosting.tree_learners import TreeLearners, all_own_trees
from margin.trees.cart.training_data import ROWS
from margin.trees.members import MemberSequence
from margin.trees.stored import MEMBERS, members_have_the_same_columns

__all__ = ["AdaBoost"]

LEARNER_ROWS: dict[str, Any] = {**ROWS, "accept_sparse": ("csr", "csc")}


class AdaBoostFit:
    """The running fit: learners so far and the weights that the next one sees."""

    def __init__(self, model: Any, learner: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray):
        self.model, self.learner, self.X, self.y = model, learner, X, y
        self.weight, self.total = weight, weight.sum()
        self.trees = TreeLearners.of(learner, X, y)
        self.weighs = has_fit_parameter(learner, "sample_weight")
        self.seed = seed_from(model.random_state)
        self.learners: list[Any] = []
        self.alphas, self.errors = RoundNumbers(), RoundNumbers()
        self.done = False

    def iterations(self) -> Iterator[Record]:
        total = self.model.n_estimators
        while len(self.learners) < total and not self.done:
            values = self._round()
            if values is not None:
                yield Record(len(self.learners), values, total=total)

    def _round(self) -> dict[str, float] | None:
        rng = np.random.default_rng([self.seed, len(self.learners)])
        if self.trees is not None and self.weight.min() > 0.0:
            learner, predicted = self.trees.fit_next(int(rng.integers(SEED_BOUND)), self.weight)
        else:
            learner = clone(self.learner)
            seed_estimator(learner, rng)
            if self.weighs:
                learner.fit(self.X, self.y, sample_weight=self.weight)
            else:
                rows = rng.choice(len(self.y), size=len(self.y), p=self.weight / self.weight.sum())
                learner.fit(self.X[rows], self.y[rows])
            predicted = learner.predict(self.X)
        error, alpha, weight = self.model._judge(predicted, self.y, self.weight)
        self.done = alpha <= 0.0 or error <= 0.0
        if alpha <= 0.0:
            if self.learners:
                return None
            alpha = self.model._only_weight(error)
        self.learners.append(learner)
        self.alphas.append(alpha)
        self.errors.append(error)
        self.weight = weight * (self.total / weight.sum())
        return {"error": error, "weight": alpha}

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "learners": list(self.learners),
            "alphas": list(self.alphas),
            "errors": list(self.errors),
            "weight": self.weight.copy(),
            "done": self.done,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.seed, self.done = int(state["seed"]), bool(state["done"])
        self.learners = list(state["learners"])
        self.alphas, self.errors = RoundNumbers(state["alphas"]), RoundNumbers(state["errors"])
        self.weight = np.array(state["weight"], dtype=np.float64)


class AdaBoost(MemberSequence, IterativeEstimator):
    """The loop that both share: fit a learner on the weights, weigh it, weigh the rows anew."""

    estimator: Any = parameter(
        None,
        Optional(Nested("fit", "predict")),
        "The learner, which must take sample weights (a regressor without them sees rows drawn by weight); None is a "
        "small tree.",
    )
    _: KW_ONLY
    n_estimators: int = parameter(50, Integer(low=1, search=(20, 300)), "Learners, at most.")
    learning_rate: float = parameter(
        1.0, Number(above=0, search=(0.05, 2.0), log=True), "Factor by which every learner's weight is shrunk."
    )
    random_state: RandomLike = parameter(None, Seed(), "Seeds the learners, and the parts of a learner that is nested.")

    estimators_: list[Any] = attribute(MEMBERS, "The fitted learners.")
    estimator_weights_: np.ndarray = attribute(ArrayOf("n_members", kind="float64"), "Weight of every learner.")
    estimator_errors_: np.ndarray = attribute(
        ArrayOf("n_members", kind="float64", finite=False),
        "Weighted error of every learner on the rows it was fitted to.",
    )
    n_iter_: int = attribute(Count(), "Number of learners.")
    _stored_rules = (members_have_the_same_columns,)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn all rounds."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per round: the learner's weighted error and its weight."""
        self._check_parameters()
        X, y = validate_data(self, X, numeric_target(self, y) if self._y_rules else y, **LEARNER_ROWS, **self._y_rules)
        X = self._as_learned(X)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        learner = self._learner()
        if not self._resamples and not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(
                f"{type(self).__name__}: estimator must take sample_weight in fit; {type(learner).__name__} does not."
            )
        y, weighing = self._targets(y, weight), weight > 0
        if not weighing.any():
            raise ValueError(f"{type(self).__name__}: sample_weight must be positive for at least one row.")
        self._loop = loop = AdaBoostFit(self, learner, X[weighing], y[weighing], weight[weighing])
        if state is not None:
            loop.restore(state)
            self._learn(loop)
        for record in loop.iterations():
            self._learn(loop)
            yield record

    def _learn(self, loop: AdaBoostFit) -> None:
        self.estimators_ = list(loop.learners)
        self.estimator_weights_ = loop.alphas.times(1.0)
        self.estimator_errors_ = loop.errors.times(1.0)
        self.n_iter_ = len(loop.learners)

    @property
    def estimator_(self) -> Any:
        """The learner, not fitted, that the fitted ones are copies of."""
        check_is_fitted(self)
        return self._learner()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted mean of the learners' importances, (p,)."""
        check_is_fitted(self)
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError(
                f"{type(self).__name__}: {type(self.estimators_[0]).__name__} has no feature_importances_ to average."
            )
        weights = self.estimator_weights_ / self.estimator_weights_.sum()
        parts = (weight * learner.feature_importances_ for weight, learner in zip(weights, self.estimators_))
        return np.sum(list(parts), axis=0)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._as_learned(validate_data(self, X, reset=False, **LEARNER_ROWS))

    def _as_learned(self, X: Any) -> Any:
        """Rows as learners get them: sparse ones stay so for learners that take them, but trees look at every cell."""
        if not sp.issparse(X):
            return X
        learner = self._learner()
        keeps = get_tags(learner).input_tags.sparse and not all_own_trees([learner])
        return X if keeps else dense_rows(type(self).__name__, X)

    def _learner(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    _y_rules = {}  # type: ignore[var-annotated]
    _resamples = False  # whether a learner that takes no weights sees rows drawn by them instead

    @abstractmethod
    def _default(self) -> Any:
        """The learner taken when none is given."""

    @abstractmethod
    def _targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Targets as learners see them."""

    @abstractmethod
    def _judge(self, predicted: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The learner's error, its weight (0: it is no better than chance), and the rows' next weights."""

    @abstractmethod
    def _only_weight(self, error: float) -> float:
        """The weight of a first learner that is no better than chance, after which the fit ends."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return allow_sparse(tags)
