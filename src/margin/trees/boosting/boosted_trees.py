r"""What all gradient-boosted trees share.

.. math:: F_m = F_{m-1} + \eta\, h_m,

where :math:`h_m` is a tree grown on the derivatives of :math:`\sum_i w_i L(y_i, F)` at :math:`F_{m-1}`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.category_encoding import categorical_flags, encode_strings, find_string_categories
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count
from margin.core.new_rows import validate_new_rows
from margin.core.parameters import attribute
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import learn_columns
from margin.core.targets import numeric_target
from margin.data.splits import hold_out
from margin.trees.binning import SUBSAMPLE, Bins, apply_bins, find_bins
from margin.trees.boosting.boosting_rounds import BoostingData, BoostingRounds, BoostingSettings
from margin.trees.boosting.losses import Loss
from margin.trees.boosting.predicting import add_trees, leaves_of
from margin.trees.boosting.tree_buffer import packed_trees, tree_at
from margin.trees.boosting.validation_rows import GivenRows, ValidationRows
from margin.trees.cart.structure import TreeArrays
from margin.trees.cart.training_data import ROWS
from margin.trees.restored_trees import check_bins
from margin.trees.stored import BINS, BOOSTED_TREES, CATEGORY_NAMES, CURVE, NODES_AND_SETS, outputs_divide_trees
from margin.trees.streamed_rows import StreamedRows

__all__ = ["BoostedTrees"]


def within_range(X: np.ndarray) -> np.ndarray:
    """Infinite entries, where they are allowed, as the largest finite number, beyond which there is no threshold.

    >>> within_range(np.array([[-np.inf, 2.0]]))[0, 0] == np.finfo(float).min
    np.True_
    """
    return np.clip(X, np.finfo(float).min, np.finfo(float).max) if np.isinf(X).any() else X


def _numbers_of(model: BoostedTrees, block: RowBlock) -> np.ndarray:
    """The rows of a block as numbers."""
    return within_range(dense_rows(type(model).__name__, validate_data(model, block.X, **model._row_rules)))


class BoostedTrees(IterativeEstimator):
    """From a checked table to trees, and from trees to raw predictions."""

    trees_: dict[str, np.ndarray] = attribute(BOOSTED_TREES, "All trees in flat arrays; :meth:`tree` gives one.")
    start_: np.ndarray = attribute(
        ArrayOf("n_outputs", kind="float64"), "Raw prediction before the first round, one per output."
    )
    bins_: dict[str, np.ndarray] = attribute(BINS, "Edges of the bins, or categories, of every column.")
    category_names_: dict[int, list[Any]] = attribute(
        CATEGORY_NAMES, "Categories of the columns that held strings, by column."
    )
    train_score_: np.ndarray = attribute(CURVE, "How well the training rows are fitted after every round.")
    n_iter_: int = attribute(Count(), "Rounds done.")
    seed_: int = attribute(Count(), "Seed of everything that the fit drew; 0 if it drew nothing.")
    _stored_rules = (outputs_divide_trees,)
    _may_be_empty = NODES_AND_SETS

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow all rounds; with ``warm_start`` only those that a fitted model does not have yet."""
        self._check_parameters()
        state = self._fitted_state() if self.warm_start and hasattr(self, "trees_") else None
        return self._consume(self.iterate(X, y, sample_weight, state=state), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per round: training loss, leaves and, if rows are held back, validation loss."""
        yield from self._rounds(X, y, sample_weight, state)

    def _rounds(
        self, X: Any, y: Any, sample_weight: Any, state: dict[str, Any] | None, validation: GivenRows | None = None
    ) -> Iterator[Record]:
        """The fit; ``validation`` rows watch the loss in place of some that are held back."""
        self._check_parameters()
        owner, given, table = type(self).__name__, getattr(self, "categorical_features", None), X
        X, categorical, names = find_string_categories(owner, X, given)
        y = numeric_target(self, y) if self._y_rules else y
        X, y = validate_data(self, X, y, **self._row_rules, **self._y_rules)
        X = within_range(dense_rows(owner, X))
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labels = y
        loss, y, weight = self._targets(y, weight)
        if categorical is None:
            categorical = categorical_flags(owner, given, X.shape[1], getattr(self, "feature_names_in_", None))
        weighing = weight > 0
        if not weighing.all():
            X, y, weight = X[weighing], y[weighing], weight[weighing]
        if not len(y):
            raise ValueError(f"{owner}: sample_weight must be positive for at least one row.")
        self.category_names_ = names
        seed = self._seed(len(y)) if state is None else int(state["seed"])
        watching = None if validation is None else ValidationRows.of(self, validation)
        if watching is None:
            held = self._hold_back(y, np.random.default_rng([seed, 1]))
        else:
            X, y, weight, held = watching.after(X, y, weight)
        if state is not None:
            check_bins(state["bins"], X.shape[1])
        bins = self._bins(X, weight, held, categorical, seed) if state is None else Bins(**state["bins"])
        start = self._fit_start(loss, X, y, weight, ~held, seed)
        data = BoostingData.of(bins, X, y, weight, start, held)
        loop = self._begin(BoostingRounds(data, loss, self._settings(data, categorical, seed)), state)
        if watching is None or validation is None:
            score = self._scorer(table, labels, np.flatnonzero(weighing), held, seed)
        else:
            score = self._scorer(validation.X, watching.labels, np.arange(len(watching.y)), held[held], seed)
        if score is not None and len(loop.scores) <= loop.iteration:
            loop.scores.append(score())
        for record in loop.iterations():
            self._learn(loop)
            if score is not None:
                loop.scores.append(score())
                self._learn_scores(loop)
            yield record

    def _begin(self, loop: BoostingRounds, state: dict[str, Any] | None) -> BoostingRounds:
        self._loop = loop
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        return loop

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """The same trees as from the rows in memory, of which one byte per value is kept; columns hold numbers."""
        self._check_parameters()
        owner = type(self).__name__
        if not self._takes_streams():
            raise ValueError(f"{owner}: init, scoring and warm_start of this kind need all rows and take no stream.")
        learn_columns(self, stream)
        rows = StreamedRows(stream, partial(_numbers_of, clone(self)))
        loss, y, weight = self._targets(numeric_target(self, rows.y) if self._y_rules else rows.y, np.ones(len(rows.y)))
        names = getattr(self, "feature_names_in_", None)
        categorical = categorical_flags(owner, getattr(self, "categorical_features", None), rows.width, names)
        if not np.all(weight == 1.0):
            raise ValueError(f"{owner}: class_weight needs all rows at once and takes no stream.")
        self.category_names_ = {}
        seed = self._seed(len(y)) if state is None else int(state["seed"])
        held = self._hold_back(y, np.random.default_rng([seed, 1]))
        if state is None:
            learned, rng = np.flatnonzero(~held), np.random.default_rng([seed, 2])
            bins = rows.find_bins(learned, self._max_bins(), categorical, rng)
        else:
            check_bins(state["bins"], rows.width)
            bins = Bins(**state["bins"])
        codes = rows.codes(bins)
        start = self._fit_start(loss, codes, y, weight, ~held, seed)
        data = BoostingData.of_codes(bins, codes, y, weight, start, held)
        settings = self._settings(data, categorical, seed)
        loop = self._begin(BoostingRounds(data, loss, settings, stream.runner), state)
        for record in loop.iterations():
            self._learn(loop)
            yield record

    def _takes_streams(self) -> bool:
        """Whether nothing is asked for that needs the rows themselves."""
        plain_start = getattr(self, "init", None) is None or isinstance(getattr(self, "init", None), str)
        return plain_start and not self.warm_start and getattr(self, "scoring", "loss") == "loss"

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the total gain that each column's splits brought, (p,)."""
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

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees grown per round: one, or one per class if there are more than two."""
        return len(self.start_)

    def tree(self, number: int) -> TreeArrays:
        """Tree ``number`` in the form of :mod:`margin.trees.cart.structure`, its values as they are added."""
        check_is_fitted(self)
        return tree_at(self.trees_, number)

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf in which every row ends in every tree, (n, trees)."""
        return leaves_of(apply_bins(self._rows(X), Bins(**self.bins_)), packed_trees(self.trees_))

    def _raw(self, X: Any) -> np.ndarray:
        """Raw predictions (outputs, n)."""
        X = self._rows(X)
        predictions = self._start(X)
        add_trees(apply_bins(X, Bins(**self.bins_)), packed_trees(self.trees_), 0, self.n_trees_, predictions)
        return predictions

    def _stage(self, X: Any) -> Iterator[np.ndarray]:
        """Raw predictions (outputs, n) after every round."""
        X = self._rows(X)
        predictions, codes = self._start(X), apply_bins(X, Bins(**self.bins_))
        trees, outputs = packed_trees(self.trees_), len(self.start_)
        for first in range(0, self.n_trees_, outputs):
            add_trees(codes, trees, first, first + outputs, predictions)
            yield predictions.copy()

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._coded_rows(X)

    def _coded_rows(self, X: Any) -> np.ndarray:
        X = encode_strings(X, self.category_names_)
        return within_range(dense_rows(type(self).__name__, validate_new_rows(self, X, **self._row_rules)))

    def _start(self, X: np.ndarray) -> np.ndarray:
        """Raw predictions (outputs, n) before the first round."""
        return np.repeat(self.start_[:, None], len(X), axis=1)

    def _fit_start(
        self, loss: Loss, X: np.ndarray, y: np.ndarray, weight: np.ndarray, learned: np.ndarray, seed: int
    ) -> np.ndarray:
        """Learn the raw predictions before the first round, and return those of all rows (outputs, n)."""
        self.start_ = loss.start(y[learned], weight[learned])
        return self._start(X)

    def _learn(self, loop: BoostingRounds) -> None:
        self.trees_ = loop.trees.view()
        self.bins_ = loop.bins
        self.n_iter_ = loop.iteration
        self.seed_ = loop.settings.seed
        self._learn_scores(loop)

    def _seed(self, n: int) -> int:
        """The seed of the fit; 0 where nothing is drawn, so that equal fits store equal numbers."""
        return seed_from(self.random_state) if self._draws(n) or n > SUBSAMPLE else 0

    def _bins(self, X: np.ndarray, weight: np.ndarray, held: np.ndarray, categorical: np.ndarray, seed: int) -> Bins:
        weights = None if np.all(weight == 1.0) else weight
        if held.any():
            X, weights = X[~held], None if weights is None else weights[~held]
        return find_bins(X, self._max_bins(), weights, categorical, np.random.default_rng([seed, 2]))

    def _hold_back(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Which rows only watch the loss."""
        held, size = np.zeros(len(y), dtype=bool), self._held_size(len(y))
        if size is not None:
            if not 0 < round(size * len(y) if size < 1 else size) < len(y):
                raise ValueError(
                    f"{type(self).__name__}: validation_fraction={self.validation_fraction} of {len(y)} rows leaves "
                    "none to watch the loss with, or none to learn from."
                )
            held[hold_out(len(y), size, rng, y if self._stratified else None)[1]] = True
        return held

    _stratified = False
    _y_rules = {}  # type: ignore[var-annotated]
    _row_rules = ROWS

    def _max_bins(self) -> int:
        return 255

    def _scorer(
        self, table: Any, labels: np.ndarray, weighing: np.ndarray, held: np.ndarray, seed: int
    ) -> Callable[[], float] | None:
        """What says after every round how good the model is, if the fit stops by a score and not by its loss."""
        return None

    @abstractmethod
    def _draws(self, n: int) -> bool:
        """Whether a fit on ``n`` rows draws anything beside the rows that bins are taken from."""

    @abstractmethod
    def _held_size(self, n: int) -> float | None:
        """How many of ``n`` rows only watch the loss, as a fraction or a count; None for none."""

    @abstractmethod
    def _settings(self, data: BoostingData, categorical: np.ndarray, seed: int) -> BoostingSettings:
        """How trees are grown and added, from the parameters."""

    @abstractmethod
    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[Loss, np.ndarray, np.ndarray]:
        """The loss, targets as it reads them, and weights."""

    @abstractmethod
    def _learn_scores(self, loop: BoostingRounds) -> None:
        """Store how well the rows are fitted so far."""

    @abstractmethod
    def _fitted_state(self) -> dict[str, Any]:
        """What ``warm_start`` continues from."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return allow_sparse(tags)
