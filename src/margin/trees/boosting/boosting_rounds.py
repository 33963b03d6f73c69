"""The running fit of gradient boosting: what it stands on, one round, and how to continue it exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from margin.core.parallel import over_ranges
from margin.core.records import Record
from margin.core.streaming import KeepsObjects, PartRunner
from margin.core.threads import threads_for
from margin.trees.binning import Bins, apply_bins
from margin.trees.boosting.bundling import Bundles, bundle, stored_splits
from margin.trees.boosting.cost_pruning import prune_grown
from margin.trees.boosting.early_stopping import StoppingRule
from margin.trees.boosting.finishing import finished_tree
from margin.trees.boosting.growing import EMPTY, GrownTree, StepRules, TreeGrower, column_table
from margin.trees.boosting.growing_on_workers import GrowerOnWorkers
from margin.trees.boosting.kernel_types import SplitLimits
from margin.trees.boosting.losses import SMALLEST_CURVATURE, Loss
from margin.trees.boosting.predicting import add_trees
from margin.trees.boosting.round_numbers import RoundNumbers
from margin.trees.boosting.tree_buffer import TreeBuffer, packed_trees
from margin.trees.restored_trees import check_boosted_trees

__all__ = ["BoostingData", "BoostingRounds", "BoostingSettings"]

EVALUATION_WORK = 60.0  # basic operations per prediction
EVALUATED_TOGETHER = 16_384  # predictions: what is computed from them stays in the second cache
HISTORY = ("losses", "held_losses", "in_bag", "out_of_bag", "improvement", "scores")  # one number per round
SHARING_CELLS = 2**16  # rows times columns below which shared columns save less than a round in one call


@dataclass(frozen=True)
class BoostingSettings:
    """How trees are grown and added."""

    n_rounds: int
    learning_rate: float
    limits: SplitLimits
    l2: float
    hessian_splits: bool  # splits are rated by the quadratic model; otherwise by squared error of the gradient
    monotone: np.ndarray  # (p,) int64
    groups: np.ndarray | None  # (groups, p) bool: columns that may interact
    sample_size: int | None  # rows drawn for every round; None: all
    ccp_alpha: float
    stopping: StoppingRule | None
    seed: int


@dataclass(frozen=True)
class BoostingData:
    """Coded training rows with targets and weights, and rows held back to watch the loss (none: length 0)."""

    bins: Bins
    codes: np.ndarray  # (n, q) as ``bundles`` stores them
    bundles: Bundles | None
    y: np.ndarray
    weight: np.ndarray
    start: np.ndarray  # (outputs, n): the predictions before the first round
    held_codes: np.ndarray
    held_y: np.ndarray
    held_weight: np.ndarray
    held_start: np.ndarray

    @classmethod
    def of(
        cls, bins: Bins, X: np.ndarray, y: np.ndarray, weight: np.ndarray, start: np.ndarray, held: np.ndarray
    ) -> BoostingData:
        """Rows marked in ``held`` are held back."""
        return cls.of_codes(bins, apply_bins(X, bins), y, weight, start, held)

    @classmethod
    def of_codes(
        cls, bins: Bins, codes: np.ndarray, y: np.ndarray, weight: np.ndarray, start: np.ndarray, held: np.ndarray
    ) -> BoostingData:
        """The same of rows whose codes are known."""
        learned: Any = ~held if held.any() else slice(None)
        stored, bundles = codes[learned], None
        if stored.size >= SHARING_CELLS:
            stored, bundles = bundle(stored, bins.n_bins, bins.categorical)
        return cls(
            *(bins, stored, bundles, y[learned], weight[learned], np.ascontiguousarray(start[:, learned])),
            *(codes[held], y[held], weight[held], np.ascontiguousarray(start[:, held])),
        )


class BoostingRounds:
    """The loop: predictions of all rows so far, the trees, and the losses after every round.

    ``losses`` begins with the loss before the first round. Where rows are drawn, ``losses`` are those of all rows,
    ``in_bag`` and ``out_of_bag`` those of the rows that a round learned from and of the others, and ``improvement``
    what the round took off the latter. A round that draws no rows has zeros there if any other round draws some.
    """

    def __init__(self, data: BoostingData, loss: Loss, settings: BoostingSettings, runner: PartRunner | None = None):
        self.data, self.settings = data, settings
        self.predictions, self.held_predictions = data.start.copy(), data.held_start.copy()
        self.loss = loss.adapt(data.y, _rows_first(self.predictions), data.weight)
        self.unweighted = bool(np.all(data.weight == 1.0))
        self.constrained = bool(settings.monotone.any())
        bins = data.bins
        columns = column_table(bins.n_bins, bins.categorical, settings.monotone, data.bundles)
        table = (data.codes, columns, settings.limits, data.bundles, settings.groups)
        # Workers that keep objects keep the rows and grow the trees.
        self.grower = GrowerOnWorkers(*table, runner) if isinstance(runner, KeepsObjects) else TreeGrower(*table)
        self.gradient, self.hessian = np.empty_like(self.predictions), np.empty_like(self.predictions)
        self.loss_of_row = np.empty(len(data.y))
        self.trees = TreeBuffer()
        self.bins = asdict(bins)
        self.in_bag, self.out_of_bag, self.improvement = RoundNumbers(), RoundNumbers(), RoundNumbers()
        self.renewed_at = -1
        self.losses, self.held_losses = RoundNumbers([self._evaluate()]), RoundNumbers(self._held_loss())
        self.scores = RoundNumbers()  # what a scorer says after every round, if the fit stops by one

    def iterations(self) -> Iterator[Record]:
        try:
            yield from self._iterations()
        finally:
            self.grower.close()

    def _iterations(self) -> Iterator[Record]:
        total = self.settings.n_rounds
        while self.iteration < total and not self.stopped:
            leaves = self._round()
            values = {"loss": self.losses[-1], "leaves": float(leaves)}
            if self.held_losses:
                values["validation_loss"] = self.held_losses[-1]
            yield Record(self.iteration, values, total=total)

    @property
    def iteration(self) -> int:
        return len(self.losses) - 1

    @property
    def stopped(self) -> bool:
        """Whether the rule of early stopping says that no round improves any more."""
        rule = self.settings.stopping
        if rule is None or self.iteration == self.renewed_at:
            return False
        recent = slice(-rule.looks_at, None)
        return rule.reached([-score for score in self.scores[recent]] or (self.held_losses or self.losses)[recent])

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.settings.seed,
            "bins": {name: array.copy() for name, array in self.bins.items()},
            "trees": {name: array.copy() for name, array in self.trees.view().items()},
            **{name: list(getattr(self, name)) for name in HISTORY},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue after the trees of ``state``; adding them up again in their order gives the same bits.

        A state that is ``renewed`` was asked for more rounds: one is done whatever the rule of early stopping says.
        """
        check_boosted_trees(state["trees"], len(self.data.bins.categorical), len(self.predictions))
        self.trees = TreeBuffer(state["trees"])
        self._send_down(0, self.trees.n_trees, self.predictions)
        self._send_held_down(0, self.trees.n_trees, self.held_predictions)
        for name in HISTORY:
            setattr(self, name, RoundNumbers(float(value) for value in state[name]))
        self.renewed_at = self.iteration if state.get("renewed", False) else -1
        self._evaluate()

    def _round(self) -> int:
        data, outputs = self.data, len(self.predictions)
        drawn = self._sample(self.iteration)
        rest_before = self._loss_without(drawn)
        step = self.loss.adapt(data.y, _rows_first(self.predictions), data.weight)
        if step is not self.loss:
            self._evaluate(step)
        if drawn is None and self._takes_rounds(step):
            leaves = self._grow_round(step)
        else:
            before = self.predictions.copy() if step.line_search and outputs > 1 else self.predictions
            leaves = sum(self._grow(step, drawn, output, before[output]) for output in range(outputs))
        self.losses.append(self._evaluate())
        self.in_bag.append(self.losses[-1] if drawn is None else _mean(self.loss_of_row[drawn], data.weight[drawn]))
        self._note_out_of_bag(drawn, rest_before)
        self.held_losses += self._held_loss()
        return leaves

    def _takes_rounds(self, step: Loss) -> bool:
        plain = step.plain_steps and self.settings.ccp_alpha == 0
        return plain and self.grower.grows_rounds

    def _grow_round(self, step: Loss) -> int:
        """:meth:`_grow` for all outputs of a small table at once, with the same bits."""
        data, settings = self.data, self.settings
        gradient, hessian, weight = self.gradient, self.hessian, EMPTY
        none = np.empty((len(gradient), 0))
        if not self.unweighted:
            weight = data.weight
            gradient, hessian = gradient * weight, hessian * weight
            rated = settings.hessian_splits or step.constant_hessian
            curvature = hessian if rated else np.tile(weight, (len(gradient), 1))
        else:
            hessian = none if step.constant_hessian else hessian
            curvature = hessian if settings.hessian_splits else none
        steps = StepRules(float(settings.l2), SMALLEST_CURVATURE, step.leaf_factor, float(settings.learning_rate))
        number = self.trees.n_trees
        derivatives = (gradient, curvature, hessian, weight)
        leaves = self.grower.grow_round(
            settings.seed, number, derivatives, steps, data.bins, self.trees, self.predictions
        )
        self._send_held_down(number, self.trees.n_trees, self.held_predictions)
        return leaves

    def _grow(self, step: Loss, drawn: np.ndarray | None, output: int, before: np.ndarray) -> int:
        """The tree of one output, added to its predictions; returns how many leaves it has."""
        data, settings, number = self.data, self.settings, self.trees.n_trees
        gradient, hessian = self.gradient[output], self.hessian[output]
        curvature = hessian
        if not self.unweighted:
            gradient, hessian = gradient * data.weight, hessian * data.weight
            curvature = hessian if settings.hessian_splits or step.constant_hessian else data.weight
        elif step.constant_hessian:
            curvature = hessian = EMPTY
        elif not settings.hessian_splits:
            curvature = EMPTY
        grown = self.grower.grow(gradient, curvature, drawn, settings.seed, number)
        if settings.ccp_alpha > 0:
            weight = data.weight if drawn is None else data.weight[drawn]
            grown = prune_grown(grown, settings.ccp_alpha, float(weight.sum()))
        values, weights = self._leaf_values(step, grown, gradient, hessian, before)
        nodes, category_sets = finished_tree(
            grown, settings.learning_rate * values, weights, data.bins, settings.monotone if self.constrained else None
        )
        self.trees.append(nodes, category_sets)
        if drawn is None:
            self.grower.add(grown, nodes["value"][grown.leaves], self.predictions[output])
        else:
            self._send_down(number, number + 1, self.predictions[output : output + 1])
        self._send_held_down(number, number + 1, self.held_predictions[output : output + 1])
        return len(grown.leaves)

    def _sample(self, iteration: int) -> np.ndarray | None:
        """Rows of this round's trees, drawn without replacement; None for all."""
        size = self.settings.sample_size
        if size is None:
            return None
        rng = np.random.default_rng([self.settings.seed, iteration])
        return np.sort(rng.choice(len(self.data.y), size=size, replace=False))

    def _leaf_values(
        self, loss: Loss, grown: GrownTree, gradient: np.ndarray, hessian: np.ndarray, F: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What each leaf adds before shrinkage, and the weight of its rows."""
        y, weight = self.data.y, self.data.weight
        weights = self.grower.sums(grown, EMPTY if self.unweighted else weight)
        if loss.line_search:
            parts = [grown.rows[a:b] for a, b in zip(grown.starts, grown.stops, strict=True)]
            return np.array([loss.best_step(y[rows], F[rows], weight[rows]) for rows in parts]), weights
        curvature = self.grower.sums(grown, hessian)
        return loss.newton_step(self.grower.sums(grown, gradient), curvature, self.settings.l2), weights

    def _send_down(self, low: int, high: int, predictions: np.ndarray) -> None:
        """Add trees ``low`` to ``high`` to the predictions (outputs, n) of the training rows, as they are stored."""
        data = self.data
        trees = stored_splits(self.trees.between(low, high), data.bundles, data.bins.n_bins)
        add_trees(data.codes, packed_trees(trees), 0, high - low, predictions)

    def _send_held_down(self, low: int, high: int, predictions: np.ndarray) -> None:
        if len(self.data.held_y):
            add_trees(self.data.held_codes, packed_trees(self.trees.between(low, high)), 0, high - low, predictions)

    def _evaluate(self, loss: Loss | None = None) -> float:
        """Derivatives at the predictions so far, for the next round; returns the mean loss."""
        loss = self.loss if loss is None else loss
        y, F, n = self.data.y, _rows_first(self.predictions), len(self.data.y)
        gradient, hessian = _rows_first(self.gradient), _rows_first(self.hessian)

        def part(low: int, high: int) -> None:
            for start in range(low, high, step):
                rows = slice(start, min(start + step, high))
                self.loss_of_row[rows], gradient[rows], hessian[rows] = loss.evaluate(y[rows], F[rows])

        step = max(1, EVALUATED_TOGETHER // len(self.predictions))
        if n <= step:  # to share nothing takes a fifth as long as a few hundred rows
            self.loss_of_row[:], gradient[:], hessian[:] = loss.evaluate(y, F)
        else:
            over_ranges(part, n, threads_for(EVALUATION_WORK * self.predictions.size))
        # Weights of 1 make the same sum, and its divisor is the number of rows.
        return float(self.loss_of_row.sum() / n) if self.unweighted else _mean(self.loss_of_row, self.data.weight)

    def _held_loss(self) -> list[float]:
        y, F = self.data.held_y, _rows_first(self.held_predictions)
        return [_mean(self.loss.evaluate(y, F)[0], self.data.held_weight)] if len(y) else []

    def _loss_without(self, drawn: np.ndarray | None) -> float:
        """Mean loss of the rows that were not drawn; 0 if there are none."""
        if drawn is None or len(drawn) == len(self.data.y):
            return 0.0
        others = np.ones(len(self.data.y), dtype=bool)
        others[drawn] = False
        return _mean(self.loss_of_row[others], self.data.weight[others])

    def _note_out_of_bag(self, drawn: np.ndarray | None, before: float) -> None:
        """The loss of the rows that were not drawn, and its drop since the last round, whose rows were others.

        Where the last round drew none, the drop is that from ``before``, the loss of the same rows.
        """
        if drawn is None and not any(self.out_of_bag):
            return
        rounds = self.iteration - 1
        for history in (self.out_of_bag, self.improvement):
            history += [0.0] * (rounds - len(history))
        after = self._loss_without(drawn)
        last = self.out_of_bag[-1] if rounds else 0.0
        self.improvement.append(0.0 if drawn is None else (last or before) - after)
        self.out_of_bag.append(after)


def _rows_first(predictions: np.ndarray) -> np.ndarray:
    """(outputs, n) as a loss reads it: (n,) or (n, outputs)."""
    return predictions[0] if len(predictions) == 1 else predictions.T


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    # Not a BLAS product: its bits depend on the number of threads.
    return float((values * weight).sum() / weight.sum())
