r"""Forests: the average of many trees, each grown on its own sample of rows and looking at few columns per split.

.. math::
    \hat f(x) = \frac1B \sum_{b=1}^B T_b(x), \qquad
    \operatorname{Var}\hat f(x) = \rho\,\sigma^2 + \frac{1-\rho}{B}\,\sigma^2

for trees of variance :math:`\sigma^2` and pairwise correlation :math:`\rho`: more trees remove the second term, fewer
columns per split lower :math:`\rho` in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.category_encoding import Categories, string_categories
from margin.core.domains import Choice, Either, Flag, Function, Integer, Number, Optional
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import Count
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.core.sparse_input import allow_sparse
from margin.core.streaming import Stream
from margin.core.summaries import learn_columns
from margin.trees.cart import walking
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.growth_limits import GrowthLimits
from margin.trees.cart.impurity_importance import mean_importance
from margin.trees.cart.several_targets import BALANCED_SUBSAMPLE, TargetClasses
from margin.trees.cart.training_data import TrainingData, encoded_rows, training_data
from margin.trees.forest.growing import FOREST_EXACT_ROWS, ForestGrowth, drawn_rows
from margin.trees.forest.out_of_bag import forget_out_of_bag
from margin.trees.forest.streamed_data import rows_of_stream, streamed_data
from margin.trees.members import MemberSequence
from margin.trees.stored import CATEGORIES, SAMPLING, SCORE, SETS

__all__ = ["Forest"]


class Forest(GrowthLimits, MemberSequence, MultiOutputMixin, IterativeEstimator):
    """What all forests share: growing tree by tree, and averaging."""

    random_splits: ClassVar[bool] = False

    n_estimators: int = parameter(100, Integer(low=1, search=(50, 500)), "Number of trees.")
    _: KW_ONLY
    bootstrap: bool = parameter(True, Flag(), "Whether every tree draws its rows with replacement; else it has all.")
    max_samples: int | float | None = parameter(
        None,
        Optional(Either(Integer(low=1), Number(above=0, search=(0.3, 1.0)))),
        "Rows that every tree draws, as a count or a fraction, which may exceed one; None draws as many as there are. "
        "Needs bootstrap=True.",
    )
    oob_score: bool | Callable[..., float] = parameter(
        False,
        Either(Flag(), Function("the true and the predicted targets")),
        "Whether the rows that trees left out judge the forest, or a metric by which they do. Needs bootstrap=True.",
    )
    n_jobs: int | None = parameter(
        None,
        Optional(Either(Integer(low=1), Choice(-1))),
        "Trees that grow at the same time in threads: None takes as many as the work is worth, -1 all; any number "
        "gives the same forest.",
    )
    warm_start: bool = parameter(False, Flag(), "Whether a further fit keeps the trees there are and adds new ones.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    categories_: Categories = attribute(
        CATEGORIES,
        "Of every categorical column its categories in the order of their codes: strings, or ascending numbers.",
    )
    oob_score_: float = attribute(
        SCORE,
        "Accuracy, coefficient of determination, or the metric oob_score, of the out-of-bag averages, if it is wanted.",
    )
    _seed: int = attribute(Count(), "Seed of everything that the forest drew.")
    _sampling: dict[str, Any] | None = attribute(SAMPLING, "How the rows of every tree were drawn.")
    _may_be_empty = SETS

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow all trees."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per tree with its ``depth`` and ``leaves``, and ``oob_error`` if oob_score=True."""
        self._check_parameters()
        owner, go_on = type(self).__name__, state is None and self.warm_start and hasattr(self, "trees_")
        self._check_samples(owner)
        if go_on and self.n_estimators < len(self.trees_):
            raise ValueError(
                f"{owner}: n_estimators={self.n_estimators} must be at least the {len(self.trees_)} trees there are "
                "when warm_start=True."
            )
        data = training_data(self, X, y, sample_weight, classify=isinstance(self, ClassifierMixin), reset=not go_on)
        yield from self._grow(data, state, go_on)

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """The same trees as from the rows in memory, of which two bytes per value are kept; columns hold numbers."""
        self._check_parameters()
        owner = type(self).__name__
        self._check_samples(owner)
        if self.oob_score or self.warm_start or self.max_bins is None:
            raise ValueError(
                f"{owner}: oob_score=True, warm_start=True and max_bins=None need all rows at once and take no stream."
            )
        learn_columns(self, stream)
        rows = rows_of_stream(self, stream)
        if len(rows.y) <= FOREST_EXACT_ROWS:  # of which every threshold is looked at
            yield from self.iterate(stream.sample(len(rows.y)).X, rows.y, state=state)
        else:
            yield from self._grow(streamed_data(self, rows, classify=isinstance(self, ClassifierMixin)), state, False)

    def _grow(self, data: TrainingData, state: dict[str, Any] | None, go_on: bool) -> Iterator[Record]:
        owner = type(self).__name__
        if state is not None:
            seed = int(state["seed"])
        else:
            seed = self._seed if go_on else seed_from(self.random_state)
        self._loop = loop = ForestGrowth(self, data, seed)
        if state is not None:
            loop.restore(state)
        elif go_on:
            self._check_same_kind(owner, data)
            loop.go_on(list(self.trees_), getattr(self, "_sampling", None))
        if loop.trees:
            self._learn(loop, data)
        if go_on and self.n_estimators == len(loop.trees):
            warn_user(f"{owner}: warm_start without more trees (n_estimators={self.n_estimators}) grows none.")
        for record in loop.iterations():
            self._learn(loop, data)
            yield record
        if self.oob_score:
            loop.judged.warn_of_unjudged(owner)

    def _check_samples(self, owner: str) -> None:
        if self.bootstrap:
            return
        if self.oob_score:
            raise ValueError(f"{owner}: oob_score=True needs bootstrap=True; no row is left out without it.")
        if self.max_samples is not None:
            raise ValueError(f"{owner}: max_samples needs bootstrap=True; got max_samples={self.max_samples!r}.")

    def _check_same_kind(self, owner: str, data: TrainingData) -> None:
        """Trees of an earlier fit and new ones are averaged, so they must mean the same classes and categories."""
        if data.classes is not None and not _are_equal(data.classes, self.classes_):
            raise ValueError(f"{owner}: warm_start=True needs the classes of the first fit in y.")
        if data.n_values != self.trees_[0]["value"].shape[1]:
            raise ValueError(f"{owner}: warm_start=True needs as many targets in y as the first fit had.")
        same = data.categories.keys() == self.categories_.keys() and all(
            np.array_equal(known, self.categories_[column]) for column, known in data.categories.items()
        )
        if not same:
            raise ValueError(f"{owner}: warm_start=True needs the categories of the first fit in X.")

    @property
    def balances_samples(self) -> bool:
        """Whether the classes are balanced in the sample of every tree, not in the table."""
        weight = getattr(self, "class_weight", None)
        return self.bootstrap and isinstance(weight, str) and weight == BALANCED_SUBSAMPLE

    @property
    def estimator(self) -> Any:
        """The tree, not fitted, that all trees of the forest are grown as; known before a fit."""
        return self._make_unfitted()

    @property
    def estimator_(self) -> Any:
        """The tree, not fitted, that all trees of the forest are grown as."""
        check_is_fitted(self)
        return self._make_unfitted()

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted single-tree models, sharing the forest's arrays."""
        return list(self)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that every tree has, repeats included and ascending, drawn again from the same seeds."""
        check_is_fitted(self)
        sampling = getattr(self, "_sampling", None)
        if sampling is None:
            raise AttributeError(
                f"{type(self).__name__}: estimators_samples_ needs trees grown on samples of one table; warm_start "
                "took tables, or samples, of different sizes."
            )
        return drawn_rows(sampling, self._seed, len(self.trees_))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of every column in the impurity that the trees' splits removed, (p,)."""
        check_is_fitted(self)
        return mean_importance(self.trees_, self.n_features_in_)

    @property
    def category_names_(self) -> dict[int, list[Any]]:
        """The categories of the columns that held strings."""
        check_is_fitted(self)
        return string_categories(self.categories_)

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        check_is_fitted(self)
        return self._single(self.trees_[0]).n_outputs_

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf that every row reaches in every tree, (n, trees)."""
        rows = encoded_rows(self, X)
        return walking.apply_all(self.trees_, rows)

    def decision_path(self, X: MatrixLike) -> tuple[sp.csr_matrix, np.ndarray]:
        """Which nodes every row passes, sparse (n, nodes of all trees), and where the nodes of every tree begin."""
        rows = encoded_rows(self, X)
        paths = [walking.decision_path(tree, rows) for tree in self.trees_]
        return sp.hstack(paths, format="csr"), np.cumsum([0] + [path.shape[1] for path in paths])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return allow_sparse(tags)

    def _average(self, X: Any) -> np.ndarray:
        rows = encoded_rows(self, X)
        return walking.sum_values(self.trees_, rows) / len(self.trees_)

    def _learn(self, loop: ForestGrowth, data: TrainingData) -> None:
        self.trees_, self._seed, self._sampling = loop.trees[:], loop.seed, loop.sampling
        self.categories_ = data.categories
        if data.classes is not None:
            self.classes_ = data.classes
        forget_out_of_bag(self)
        if self.oob_score:
            averages = np.full((len(data.kept), loop.judged.sums.shape[1]), np.nan)
            averages[data.kept] = loop.judged.averages()
            metric = self.oob_score if callable(self.oob_score) else None
            self.oob_score_ = loop.judged.score() if metric is None else loop.judged.measure_by(metric)
            self._learn_averages(averages)

    def _members(self) -> list[Any]:
        check_is_fitted(self)
        return self.trees_

    def _member_of(self, part: Mapping[str, np.ndarray]) -> Any:
        return self._single(part)

    def _make_unfitted(self) -> Any:
        model: Any = DecisionTreeClassifier() if isinstance(self, ClassifierMixin) else DecisionTreeRegressor()
        shared = set(model.get_params()) & set(self.get_params())
        model.set_params(**{name: getattr(self, name) for name in shared})
        if model.get_params().get("class_weight") == BALANCED_SUBSAMPLE:
            model.class_weight = None  # the forest weighs its rows
        model.splitter = "random" if self.random_splits else "best"
        return model

    def _single(self, tree: Mapping[str, np.ndarray]) -> Any:
        model = self._make_unfitted()
        model._tree, model.n_features_in_, model.categories_ = tree, self.n_features_in_, self.categories_
        if isinstance(self, ClassifierMixin):
            model.classes_ = self.classes_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model


def _are_equal(one: TargetClasses, other: TargetClasses) -> bool:
    """Whether these are the classes of the same targets."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return not isinstance(one, list) and not isinstance(other, list) and np.array_equal(one, other)
