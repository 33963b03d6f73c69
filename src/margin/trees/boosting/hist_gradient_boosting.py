"""Gradient boosting on histograms: splits by the quadratic model of the loss, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.category_encoding import CATEGORICAL
from margin.core.class_weights import ClassWeight
from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.invariants import ArrayOf, TrueOrFalse, optional, sometimes
from margin.core.parameters import VERBOSE, Declared, attribute, parameter
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.trees.boosting import losses
from margin.trees.boosting.boosted_prediction import BoostedClassifier, BoostedRegressor
from margin.trees.boosting.boosted_trees import BoostedTrees
from margin.trees.boosting.boosting_rounds import BoostingData, BoostingRounds, BoostingSettings
from margin.trees.boosting.column_constraints import (
    InteractionConstraint,
    MonotoneConstraint,
    interaction_groups,
    monotone_directions,
)
from margin.trees.boosting.early_stopping import NoneBetter, Scoring
from margin.trees.boosting.growing import UNLIMITED
from margin.trees.boosting.kernel_types import SplitLimits
from margin.trees.boosting.validation_rows import given_rows
from margin.trees.cart.training_data import ROWS
from margin.trees.stored import CURVE

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]

MIN_HESSIAN = 1e-3  # a leaf with less curvature than this has no Newton step worth the name
POOLED_ROWS = 10  # categories with fewer rows in a node are not told apart
STOPPING_ROWS = 10_000  # with more rows than this early_stopping="auto" stops early
SCORED_ROWS = 10_000  # training rows that a scorer looks at, at most


class HistogramParameters(Declared):
    """Parameters of boosting on histograms."""

    _: KW_ONLY
    learning_rate: float = parameter(
        0.1, Number(above=0, search=(0.01, 0.3), log=True), "Factor by which every tree's values are shrunk."
    )
    max_iter: int = parameter(100, Integer(low=1, search=(50, 500)), "Rounds of boosting, at most.")
    max_leaf_nodes: int | None = parameter(
        31,
        Optional(Integer(low=2, search=(7, 127), log=True)),
        "Most leaves of a tree, which is grown where the gain is largest; None sets no limit.",
    )
    max_depth: int | None = parameter(None, Optional(Integer(low=1)), "Most questions between the root and a leaf.")
    min_samples_leaf: int = parameter(20, Integer(low=1, search=(1, 100), log=True), "Rows that a leaf needs.")
    l2_regularization: float = parameter(
        0.0, Number(low=0, search=(1e-3, 10.0), log=True), "What is added to the hessian of a leaf: shrinks its value."
    )
    max_features: float = parameter(
        1.0, Number(above=0, high=1, search=(0.3, 1.0)), "Fraction of the columns drawn for every split."
    )
    max_bins: int = parameter(255, Integer(low=2, high=255), "Bins per column, missing values not counted.")
    categorical_features: Any = parameter(
        "from_dtype",
        CATEGORICAL,
        "Columns split into sets of categories: numbers, names or one flag per column; 'from_dtype' takes those of a "
        "data frame that hold strings or are of dtype category. A category that training did not see is missing.",
    )
    monotonic_cst: Any = parameter(
        None,
        MonotoneConstraint(),
        "1, -1 or 0 per column, or by name: the raw prediction may only rise or fall with it.",
    )
    interaction_cst: Any = parameter(
        None,
        InteractionConstraint(),
        "Groups of columns that may occur together on a path; others form one more group.",
    )
    warm_start: bool = parameter(False, Flag(), "Whether fit continues a fitted model up to max_iter rounds.")
    early_stopping: bool | str = parameter(
        "auto", Either(Choice("auto"), Flag()), "Whether the fit may end early; 'auto' if there are over 10,000 rows."
    )
    scoring: Any = parameter(
        "loss",
        Scoring(),
        "What early stopping watches: 'loss', the name of a score, a scorer, or None for the model's own score.",
    )
    validation_fraction: int | float | None = parameter(
        0.1,
        Optional(Either(Integer(low=1), Number(above=0, below=1))),
        "Fraction or number of rows held back to watch; None watches the training rows.",
    )
    n_iter_no_change: int = parameter(10, Integer(low=1), "Rounds without improvement after which the fit ends.")
    tol: float = parameter(1e-7, Number(low=0), "What counts as an improvement.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws the columns of splits and the rows held back.")


class _HistGradientBoosting(HistogramParameters, BoostedTrees):
    """How the parameters of boosting on histograms act."""

    train_score_: np.ndarray = attribute(
        CURVE, "Minus the loss of the training rows, before the first round and after each."
    )
    validation_score_: np.ndarray = attribute(
        CURVE,
        "Minus the loss, or the score, of the rows that early stopping watches, before the first round and after each; "
        "empty if none are watched.",
    )
    do_early_stopping_: bool = attribute(sometimes(TrueOrFalse()), "Whether the fit could end early.")
    is_categorical_: np.ndarray | None = attribute(
        sometimes(optional(ArrayOf("n_features", kind="b"))), "Which columns are categorical, (p,); None if none is."
    )

    _row_rules = {**ROWS, "ensure_all_finite": False}  # infinite entries are the largest and smallest of a column

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow all rounds; rows ``X_val`` with ``y_val`` decide when to stop, in place of a fraction held back."""
        self._check_parameters()
        state = self._fitted_state() if self.warm_start and hasattr(self, "trees_") else None
        watching = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
        return self._consume(self.iterate(X, y, sample_weight, **watching, state=state), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per round: training loss, leaves and, if rows watch it, validation loss."""
        stops = bool(self.early_stopping)
        given = given_rows(type(self).__name__, X_val, y_val, sample_weight_val, stops=stops)
        yield from self._rounds(X, y, sample_weight, state, given)

    def _stops(self, n: int) -> bool:
        return n > STOPPING_ROWS if isinstance(self.early_stopping, str) else bool(self.early_stopping)

    def _draws(self, n: int) -> bool:
        return self.max_features < 1.0 or self._held_size(n) is not None

    def _held_size(self, n: int) -> float | None:
        return self.validation_fraction if self._stops(n) else None

    def _max_bins(self) -> int:
        return int(self.max_bins)

    def _settings(self, data: BoostingData, categorical: np.ndarray, seed: int) -> BoostingSettings:
        owner, names = type(self).__name__, getattr(self, "feature_names_in_", None)
        monotone = monotone_directions(owner, self.monotonic_cst, categorical, names)
        if monotone.any() and len(data.start) > 1:
            raise ValueError(
                f"{owner}: monotonic_cst needs two classes, whose log-odds is monotone; got {len(data.start)} classes."
            )
        stops = len(data.held_y) > 0 or self._stops(len(data.y))
        self.do_early_stopping_ = stops
        self.is_categorical_ = categorical if categorical.any() else None
        return BoostingSettings(
            n_rounds=self.max_iter,
            learning_rate=self.learning_rate,
            limits=SplitLimits(
                best_first=self.max_leaf_nodes is not None,
                max_leaves=UNLIMITED if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
                max_depth=UNLIMITED if self.max_depth is None else int(self.max_depth),
                min_split=2 * int(self.min_samples_leaf),
                min_leaf=int(self.min_samples_leaf),
                min_hessian=MIN_HESSIAN,
                l2=float(self.l2_regularization),
                min_gain=0.0,
                feature_fraction=float(self.max_features),
                random_ties=False,
                pooled_below=min(POOLED_ROWS, int(self.min_samples_leaf)),
            ),
            l2=self.l2_regularization,
            hessian_splits=True,
            monotone=monotone,
            groups=interaction_groups(owner, self.interaction_cst, len(categorical)),
            sample_size=None,
            ccp_alpha=0.0,
            stopping=NoneBetter(self.n_iter_no_change, self.tol) if stops else None,
            seed=seed,
        )

    def _scorer(
        self, table: Any, labels: np.ndarray, weighing: np.ndarray, held: np.ndarray, seed: int
    ) -> Callable[[], float] | None:
        if not self.do_early_stopping_ or (isinstance(self.scoring, str) and self.scoring == "loss"):
            return None
        from sklearn.metrics import check_scoring
        from sklearn.utils import _safe_indexing

        rows = weighing[held] if held.any() else weighing
        if not held.any() and len(rows) > SCORED_ROWS:
            rows = np.sort(np.random.default_rng([seed, 3]).choice(rows, SCORED_ROWS, replace=False))
        scorer, X, y = check_scoring(self, self.scoring), _safe_indexing(table, rows), labels[rows]
        return lambda: float(scorer(self, X, y))

    def _learn_scores(self, loop: BoostingRounds) -> None:
        self.train_score_ = loop.losses.times(-1.0)
        self.validation_score_ = loop.scores.times(1.0) if loop.scores else loop.held_losses.times(-1.0)

    def _fitted_state(self) -> dict[str, Any]:
        if self.n_iter_ > self.max_iter:
            raise ValueError(
                f"{type(self).__name__}: max_iter must be at least {self.n_iter_}, the rounds that warm_start "
                f"continues; got {self.max_iter}."
            )
        watched, by_loss = self.validation_score_.tolist(), isinstance(self.scoring, str) and self.scoring == "loss"
        return {
            "seed": self.seed_,
            "bins": self.bins_,
            "trees": self.trees_,
            "losses": (-self.train_score_).tolist(),
            "held_losses": [-score for score in watched] if by_loss else [],
            "scores": [] if by_loss else watched,
            "in_bag": (-self.train_score_[1:]).tolist(),
            "out_of_bag": [],
            "improvement": [],
            "renewed": True,
        }


class HistGradientBoostingRegressor(_HistGradientBoosting, BoostedRegressor):
    """Gradient-boosted regression trees on histograms.

    A tree is grown leaf by leaf on at most ``max_bins`` bins per column; a split is worth the drop of the loss's
    quadratic model. Leaf values minimize the loss within the leaf: exactly (means, medians, quantiles), for the losses
    with a log link by a Newton step. Missing values (NaN) go where the loss gains most. One round costs O(n p) in the
    worst case, less by half or more because siblings share one count.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, np.where(X[:, 0] < 100, 1.0, 3.0))
    >>> model.predict([[20.0], [150.0]]).round(2)
    array([1.01, 2.99])
    """

    loss: str = parameter(
        "squared_error",
        Choice("squared_error", "absolute_error", "gamma", "poisson", "quantile"),
        "The loss; 'gamma' and 'poisson' model the logarithm of a positive mean.",
    )
    _: KW_ONLY
    quantile: float | None = parameter(
        None, Optional(Number(low=0, high=1)), "The quantile that loss='quantile' estimates."
    )

    def _loss(self) -> losses.Loss:
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError(f"{type(self).__name__}: loss='quantile' needs quantile, a number from 0 to 1; got None.")
        return {
            "squared_error": losses.SquaredLoss(),
            "absolute_error": losses.AbsoluteLoss(),
            "gamma": losses.GammaLoss(),
            "poisson": losses.PoissonLoss(),
            "quantile": losses.QuantileLoss(0.5 if self.quantile is None else self.quantile),
        }[self.loss]

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[losses.Loss, np.ndarray, np.ndarray]:
        loss, y, weight = super()._targets(y, weight)
        owner = type(self).__name__
        if self.loss == "poisson" and (np.any(y < 0) or not np.sum(weight * y) > 0):
            raise ValueError(
                f"{owner}: loss='poisson' needs y >= 0 with a positive sum; got a minimum of {float(y.min())!r}."
            )
        if self.loss == "gamma" and np.any(y <= 0):
            raise ValueError(f"{owner}: loss='gamma' needs y > 0; got a minimum of {float(y.min())!r}.")
        return loss, y, weight


class HistGradientBoostingClassifier(_HistGradientBoosting, BoostedClassifier):
    """Gradient-boosted classification trees on histograms: log-loss of the log-odds (two classes) or a softmax (more).

    More than two classes take one tree each per round; all else is as in :class:`HistGradientBoostingRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = HistGradientBoostingClassifier(max_iter=50).fit(X, np.where(X[:, 0] < 100, "low", "high"))
    >>> model.predict([[20.0], [150.0]]).tolist()
    ['low', 'high']
    """

    loss: str = parameter("log_loss", Choice("log_loss"), "The loss.")
    _: KW_ONLY
    class_weight: Any = parameter(None, ClassWeight(), "Weights of the classes, or 'balanced'.")

    _least_weighed_classes = 1  # its start is then almost certain of the one, and no leaf changes that

    def _loss_of(self, classes: int) -> losses.Loss:
        return losses.LogisticLoss() if classes == 2 else losses.MultinomialLoss(classes)
