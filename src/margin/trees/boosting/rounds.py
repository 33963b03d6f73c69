"""The running fit of gradient boosting: what it stands on, one round, and how to continue it exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from margin.core.chunks import map_row_chunks
from margin.core.records import Record
from margin.core.threads import numba_threads, threads_for
from margin.trees.binning import Bins, apply_bins
from margin.trees.boosting.bundling import bundled, stored_questions
from margin.trees.boosting.collected import Collected, compiled_view, thresholds
from margin.trees.boosting.growing import EMPTY, UNLIMITED, Grower, Grown
from margin.trees.boosting.kernel_types import Bundles, Rules, Table, Trees
from margin.trees.boosting.losses import Loss
from margin.trees.boosting.monotone import enforce_monotone

__all__ = ["Problem", "Rounds", "Settings", "add_trees"]

# A leaf with less curvature than this has no Newton step worth the name.
MIN_HESSIAN = 1e-3
POOLED_ROWS = 10  # categories with fewer rows in a node are not told apart
EVALUATION_WORK = 30.0  # basic operations per prediction


@dataclass(frozen=True)
class Settings:
    """How trees are grown and added."""

    n_estimators: int
    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    min_gain: float
    subsample: float
    max_features: float
    monotone: np.ndarray  # (p,) int64
    patience: int | None  # rounds without improvement of the validation loss; None: no early stopping
    tol: float
    seed: int

    def rules(self, columns: int) -> Rules:
        return Rules(
            max_leaves=self.max_leaf_nodes or 0,
            max_depth=UNLIMITED if self.max_depth is None else self.max_depth,
            min_leaf=self.min_samples_leaf,
            min_hessian=MIN_HESSIAN,
            l2=float(self.l2_regularization),
            min_gain=float(self.min_gain),
            max_features=max(1, int(np.ceil(self.max_features * columns))),
            constrained=bool(self.monotone.any()),
            pooled_below=min(POOLED_ROWS, self.min_samples_leaf),
        )


@dataclass(frozen=True)
class Problem:
    """Coded training rows with targets and weights, and rows held back to watch the loss (none: length 0)."""

    bins: Bins
    codes: np.ndarray  # (n, q) as ``bundles`` stores them
    bundles: Bundles
    y: np.ndarray
    weight: np.ndarray
    held_codes: np.ndarray
    held_y: np.ndarray
    held_weight: np.ndarray

    @classmethod
    def of(cls, bins: Bins, X: np.ndarray, y: np.ndarray, weight: np.ndarray, held: np.ndarray) -> Problem:
        """Rows marked in ``held`` are held back."""
        kept = ~held if held.any() else slice(None)
        codes, bundles = bundled(apply_bins(X[kept], bins), bins.n_bins, bins.categorical)
        held_codes = apply_bins(X[held], bins)
        return cls(bins, codes, bundles, y[kept], weight[kept], held_codes, y[held], weight[held])


class Rounds:
    """The loop: predictions of all rows so far, the trees, and the losses after every round."""

    def __init__(self, problem: Problem, loss: Loss, settings: Settings):
        self.problem, self.settings = problem, settings
        self.start = loss.start(problem.y, problem.weight)
        self.predictions = np.repeat(self.start[:, None], len(problem.y), axis=1)  # (outputs, n)
        self.held_predictions = np.repeat(self.start[:, None], len(problem.held_y), axis=1)
        self.loss = loss.adapted(problem.y, _rows_first(self.predictions), problem.weight)
        self.unweighted = bool(np.all(problem.weight == 1.0))
        bins = problem.bins
        table = Table(problem.codes, bins.n_bins, bins.categorical, settings.monotone, *problem.bundles)
        self.grower = Grower(table, settings.rules(len(bins.n_bins)))
        self.gradient, self.hessian = np.empty_like(self.predictions), np.empty_like(self.predictions)
        self.trees = Collected()
        self.bins = asdict(bins)
        self.losses, self.held_losses = [self._evaluate()], self._held_loss()

    def iterations(self) -> Iterator[Record]:
        total = self.settings.n_estimators
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
        """Whether the best held-out loss is older than the patience allows."""
        patience = self.settings.patience
        if patience is None or not self.held_losses:
            return False
        best, since = self.held_losses[0], 0
        for value in self.held_losses[1:]:
            best, since = (value, 0) if value < best - self.settings.tol else (best, since + 1)
        return since >= patience

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.settings.seed,
            "bins": {name: array.copy() for name, array in self.bins.items()},
            "trees": {name: array.copy() for name, array in self.trees.view().items()},
            "losses": list(self.losses),
            "held_losses": list(self.held_losses),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue after the trees of ``state``; adding them up again in their order gives the same bits."""
        self.trees = Collected(state["trees"])
        count = self.trees.used["start"] - 1
        self._send_down(0, count, self.predictions)
        self._send_held_down(0, count, self.held_predictions)
        self.losses = [float(value) for value in state["losses"]]
        self.held_losses = [float(value) for value in state["held_losses"]]
        self._evaluate()

    def _round(self) -> int:
        problem, outputs = self.problem, len(self.predictions)
        chosen = self._sample(self.iteration)
        step = self.loss.adapted(problem.y, _rows_first(self.predictions), problem.weight)
        if step is not self.loss:
            self._evaluate(step)
        before = self.predictions.copy() if step.line_search and outputs > 1 else self.predictions
        with numba_threads(self.grower.threads):
            leaves = self._grow_round(step, chosen, before)
        self.losses.append(self._evaluate())
        self.held_losses += self._held_loss()
        return leaves

    def _grow_round(self, step: Loss, chosen: np.ndarray | None, before: np.ndarray) -> int:
        """One tree per output, each added to the predictions; returns how many leaves they have."""
        problem, outputs, leaves = self.problem, len(self.predictions), 0
        for output in range(outputs):
            number = self.iteration * outputs + output
            gradient, hessian = self.gradient[output], self.hessian[output]
            if not self.unweighted:
                gradient, hessian = gradient * problem.weight, hessian * problem.weight
            elif step.constant_hessian:
                hessian = EMPTY
            grown = self.grower.grow(gradient, hessian, chosen, self.settings.seed, number)
            values, weights = self._leaf_values(step, grown, gradient, hessian, before[output])
            tree = self._finished(grown, values, weights)
            self.trees.append(tree)
            self._add(grown, tree, number)
            leaves += len(grown.leaves)
        return leaves

    def _sample(self, iteration: int) -> np.ndarray | None:
        """Rows of this round's trees, drawn without replacement; None for all."""
        n = len(self.problem.y)
        if self.settings.subsample == 1.0:
            return None
        rng = np.random.default_rng([self.settings.seed, iteration])
        return np.sort(rng.choice(n, size=max(1, round(self.settings.subsample * n)), replace=False))

    def _leaf_values(
        self, loss: Loss, grown: Grown, gradient: np.ndarray, hessian: np.ndarray, F: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What each leaf adds before shrinkage, and the weight of its rows."""
        y, weight = self.problem.y, self.problem.weight
        sums = self.grower.sums(grown, gradient, hessian, EMPTY if self.unweighted else weight)
        if not loss.line_search:
            return loss.newton_step(sums[:, 0], sums[:, 1], self.settings.l2_regularization), sums[:, 2]
        parts = [grown.rows[a:b] for a, b in zip(grown.starts, grown.stops, strict=True)]
        return np.array([loss.best_step(y[rows], F[rows], weight[rows]) for rows in parts]), sums[:, 2]

    def _finished(self, grown: Grown, values: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        from margin.trees.boosting.growth_kernels import node_means

        nodes, monotone = grown.nodes, self.settings.monotone
        value, weight = np.zeros(len(nodes.feature)), np.zeros(len(nodes.feature))
        value[grown.leaves] = self.settings.learning_rate * values
        weight[grown.leaves] = weights
        node_means(nodes.left, nodes.right, value, weight)
        if monotone.any():
            enforce_monotone(nodes.left, nodes.right, nodes.feature, monotone, value)
            node_means(nodes.left, nodes.right, value, weight)
        asked = nodes.is_category
        return {
            "feature": nodes.feature,
            "code": nodes.code,
            "threshold": thresholds(nodes.feature, nodes.code, asked, self.problem.bins),
            "missing_left": nodes.missing_left,
            "category_row": np.where(asked, np.cumsum(asked) - 1, -1).astype(np.int32),
            "category_set": nodes.category_set[asked] if asked.any() else np.zeros((0, 32), dtype=np.uint8),
            "left": nodes.left,
            "right": nodes.right,
            "value": value,
            "gain": nodes.gain,
            "n_samples": nodes.stop - nodes.start,
            "weight": weight,
        }

    def _add(self, grown: Grown, tree: dict[str, np.ndarray], number: int) -> None:
        output = number % len(self.predictions)
        if self.settings.subsample == 1.0:
            self.grower.add(grown, tree["value"][grown.leaves], self.predictions[output])
        else:
            self._send_down(number, number + 1, self.predictions[output : output + 1])
        self._send_held_down(number, number + 1, self.held_predictions[output : output + 1])

    def _send_down(self, low: int, high: int, predictions: np.ndarray) -> None:
        """Add trees ``low`` to ``high`` to the predictions (outputs, n) of the training rows, as they are stored."""
        problem = self.problem
        trees = stored_questions(self.trees.between(low, high), problem.bundles, problem.bins.n_bins)
        add_trees(problem.codes, compiled_view(trees), 0, high - low, predictions)

    def _send_held_down(self, low: int, high: int, predictions: np.ndarray) -> None:
        if len(self.problem.held_y):
            add_trees(self.problem.held_codes, compiled_view(self.trees.between(low, high)), 0, high - low, predictions)

    def _evaluate(self, loss: Loss | None = None) -> float:
        """Derivatives at the predictions so far, kept for the next round; returns the mean loss."""
        loss = self.loss if loss is None else loss
        y, F, n = self.problem.y, _rows_first(self.predictions), len(self.problem.y)
        values, gradient, hessian = np.empty(n), _rows_first(self.gradient), _rows_first(self.hessian)

        def part(rows: slice) -> None:
            values[rows], gradient[rows], hessian[rows] = loss.evaluate(y[rows], F[rows])

        map_row_chunks(part, n, EVALUATION_WORK * self.predictions.size)
        return _mean(values, self.problem.weight)

    def _held_loss(self) -> list[float]:
        y, F = self.problem.held_y, _rows_first(self.held_predictions)
        return [_mean(self.loss.evaluate(y, F)[0], self.problem.held_weight)] if len(y) else []


def add_trees(codes: np.ndarray, trees: Trees, low: int, high: int, predictions: np.ndarray) -> None:
    """Add trees ``low`` to ``high`` to the predictions (outputs, n), in place."""
    from margin.trees.boosting.prediction_kernels import add_predictions

    with numba_threads(threads_for(30.0 * len(codes) * (high - low))):
        add_predictions(codes, trees, low, high, len(predictions), predictions)


def _rows_first(predictions: np.ndarray) -> np.ndarray:
    """(outputs, n) as a loss reads it: (n,) or (n, outputs)."""
    return predictions[0] if len(predictions) == 1 else predictions.T


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    # Not a BLAS product: its bits depend on the number of threads.
    return float((values * weight).sum() / weight.sum())
