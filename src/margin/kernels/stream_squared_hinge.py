r"""Newton's method for linear machines with squared hinge loss whose rows come in a stream.

One pass gives value, gradient and Hessian of every machine at its next point (see :mod:`margin.kernels.squared_hinge`
for the problem). A machine goes there if its objective falls, else it tries half the step in the next pass. All begin
at the solutions on a sample, so that few passes are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margin.core.class_counts import ClassCounts
from margin.core.number_range import validate_squarable
from margin.core.records import Record
from margin.core.streaming import RowBlock, Stream
from margin.core.summaries import checked_sample, plain_labels
from margin.kernels.blocked_products import times, transposed_times, weighted_gram
from margin.kernels.squared_hinge import MOST_FALL, MOST_GAP, SquaredHinge, penalize, solve_positive

__all__ = ["HingeRows", "HingeSums", "StreamMachines", "sample_of"]

Floats = NDArray[np.float64]

SAMPLE_ROWS, SAMPLE_PER_COLUMN = 20_480, 20
SAMPLE_TOLERANCE, SAMPLE_STEPS = 1e-6, 50
ENOUGH_FALL = 1e-4  # of what the slope promises, that a step counts
SHORTEST_STEP = 1e-9  # of Newton's: below it rounding hides any fall


@dataclass(frozen=True)
class HingeRows:
    """How rows of a stream become rows of the problem; sent to whoever reads them."""

    checker: Any  # LinearSVC
    classes: NDArray[Any]
    bounds: Floats  # (k,): what a violated margin costs in rows of each class
    labels: tuple[int, ...]  # the class that each machine tells from the rest
    intercept: bool
    constant: float | None  # of a last column, whose weight is a penalized intercept
    center: Floats | None = None

    def of(self, block: RowBlock) -> tuple[Floats, NDArray[Any]]:
        """Columns (n, d) and the number of each row's class."""
        assert block.y is not None  # the classes were counted
        X, y = validate_squarable(self.checker, block.X, plain_labels(block.y), dtype=np.float64, order="C")
        if self.center is not None:
            X = X - self.center
        if self.constant is not None:
            X = np.hstack([X, np.full((len(X), 1), self.constant)])
        return X, np.searchsorted(self.classes, y)

    def signs(self, machine: int, codes: NDArray[Any]) -> Floats:
        return np.where(codes == self.labels[machine], 1.0, -1.0)


class HingeSums(NamedTuple):
    """Sums over rows for m machines, on the negative and on the positive side of each."""

    cost: Floats  # (m, 2): c s^2 with s the slack
    pull: Floats  # (m, 2, d): c s x
    gram: Floats  # (m, d, d): c x x' of the active rows

    @classmethod
    def of(cls, rows: HingeRows, machines: list[int], thetas: Floats, block: RowBlock) -> HingeSums:
        X, codes = rows.of(block)
        costs = rows.bounds[codes]
        found: list[tuple[Floats, Floats, Floats]] = []
        for machine, theta in zip(machines, thetas):
            y = rows.signs(machine, codes)
            slack = np.maximum(1 - y * times(X, theta, ones=rows.intercept), 0)
            sides = [costs * slack * (y == sign) for sign in (-1.0, 1.0)]
            found.append(
                (
                    np.array([side @ slack for side in sides]),
                    np.array([transposed_times(X, side, ones=rows.intercept) for side in sides]),
                    weighted_gram(X, np.where(slack > 0, costs, 0.0), ones=rows.intercept),
                )
            )
        return cls(*map(np.array, zip(*found)))

    def merge(self, other: HingeSums) -> HingeSums:
        return HingeSums(*(mine + theirs for mine, theirs in zip(self, other)))


@dataclass
class Machine:
    """Where one machine stands, and how long the step is that it tries next."""

    theta: Floats
    cost: Floats
    pull: Floats
    gram: Floats
    scale: float  # norm of the gradient at zero
    iteration: int = 0
    length: float = 1.0
    fell: float = np.inf
    stalled: bool = False

    def objective(self, intercept: bool) -> float:
        w = penalize(self.theta, intercept)
        return 0.5 * float(w @ w) + float(self.cost.sum())

    def gradient(self, intercept: bool) -> Floats:
        return penalize(self.theta, intercept) - 2 * (self.pull[1] - self.pull[0])

    def direction(self, intercept: bool) -> Floats:
        hessian = 2 * self.gram
        penalty = np.ones(len(hessian))
        if intercept and self.gram.any():
            penalty[-1] = 0.0
        hessian[np.diag_indices(len(hessian))] += penalty
        return -solve_positive(hessian, self.gradient(intercept))

    def gap(self, intercept: bool) -> float:
        r"""The objective less that of the dual at :math:`\alpha_i = 2c_is_i`, made feasible as in ``SquaredHinge``."""
        factors = np.ones(2)
        if intercept:
            sides = self.pull[:, -1]  # sums of c s
            factors = sides.min() / np.where(sides > 0, sides, 1.0)
        alpha = 2 * float(factors @ self._slack_sums(intercept))
        w = 2 * (factors[1] * self.pull[1] - factors[0] * self.pull[0])
        w = w[:-1] if intercept else w
        return self.objective(intercept) - alpha + float(factors**2 @ self.cost) + 0.5 * float(w @ w)

    def _slack_sums(self, intercept: bool) -> Floats:
        if intercept:
            return self.pull[:, -1]
        # c s = c s^2 + c s y f, and the second sums up to theta' pull
        return self.cost + np.array([-1.0, 1.0]) * (self.pull @ self.theta)


class StreamMachines:
    """The running fit: one machine of two classes, or one per class against the rest; a record per pass."""

    def __init__(self, model: Any, stream: Stream, found: ClassCounts, rows: HingeRows):
        self.model, self.stream, self.rows, self.classes = model, stream, rows, found.labels
        self.labels = list(rows.labels)
        self.total = float(found.counts @ rows.bounds)
        self.iteration = 0
        self.machines: list[Machine] = []

    def start(self, sample: RowBlock) -> StreamMachines:
        """Solve on the sample, then find out on all rows where that is; and the gradients at zero."""
        d = self.rows.of(sample)[0].shape[1] + self.rows.intercept
        everyone = list(range(len(self.labels)))
        zero = self._sums(everyone, np.zeros((len(everyone), d)))
        scales = [float(np.linalg.norm(2 * (pull[1] - pull[0]))) or 1.0 for pull in zero.pull]
        thetas = np.array([self._on_sample(machine, sample) for machine in everyone])
        self.machines = [
            Machine(theta, *sums, scale)
            for theta, sums, scale in zip(thetas, zip(*self._sums(everyone, thetas)), scales)
        ]
        return self

    def iterations(self) -> Iterator[Record]:
        while left := [i for i, machine in enumerate(self.machines) if not self._is_done(machine)]:
            directions = [self.machines[i].direction(self.rows.intercept) for i in left]
            thetas = np.array([self.machines[i].theta + self.machines[i].length * d for i, d in zip(left, directions)])
            for i, theta, *sums in zip(left, thetas, *self._sums(left, thetas)):
                self._try(self.machines[i], theta, *sums)
            self.iteration += 1
            values = {
                "objective": sum(machine.objective(self.rows.intercept) for machine in self.machines),
                "measure": max(self._measure(machine) for machine in self.machines),
                "machines_left": float(len(left)),
            }
            yield Record(self.iteration, values, total=self.model.max_iter)

    @property
    def unsolved(self) -> int:
        return sum(not self._is_solved(machine) for machine in self.machines)

    @property
    def stalled(self) -> int:
        return sum(machine.stalled and not self._is_solved(machine) for machine in self.machines)

    def results(self) -> list[dict[str, Any]]:
        return [
            {
                "theta": self._from_center(machine.theta),
                "objective": machine.objective(self.rows.intercept),
                "iteration": machine.iteration,
            }
            for machine in self.machines
        ]

    def state(self) -> dict[str, Any]:
        machines = [{name: np.copy(value) for name, value in vars(machine).items()} for machine in self.machines]
        return {"iteration": self.iteration, "machines": machines, "center": self.rows.center}

    def restore(self, state: dict[str, Any]) -> StreamMachines:
        if len(state["machines"]) != len(self.labels):
            raise ValueError(
                f"LinearSVC: state belongs to {len(state['machines'])} machines; this stream has {len(self.labels)}."
            )
        self.iteration = int(state["iteration"])
        self.machines = [
            Machine(
                theta=np.array(found["theta"]),
                cost=np.array(found["cost"]),
                pull=np.array(found["pull"]),
                gram=np.array(found["gram"]),
                scale=float(found["scale"]),
                iteration=int(found["iteration"]),
                length=float(found["length"]),
                fell=float(found["fell"]),
                stalled=bool(found["stalled"]),
            )
            for found in state["machines"]
        ]
        return self

    def _sums(self, machines: list[int], thetas: Floats) -> HingeSums:
        return self.stream.reduce(partial(HingeSums.of, self.rows, machines, thetas), HingeSums.merge)

    def _on_sample(self, machine: int, sample: RowBlock) -> Floats:
        X, codes = self.rows.of(sample)
        bounds = self.rows.bounds[codes]
        bounds = bounds * (self.total / bounds.sum())
        y = self.rows.signs(machine, codes)
        solver = SquaredHinge(X, y, bounds, intercept=self.rows.intercept, tol=SAMPLE_TOLERANCE)
        while not solver.solved and solver.iteration < SAMPLE_STEPS:
            solver.step()
        return solver.theta

    def _try(self, machine: Machine, theta: Floats, cost: Floats, pull: Floats, gram: Floats) -> None:
        intercept = self.rows.intercept
        before, step = machine.objective(intercept), theta - machine.theta
        promised = -float(machine.gradient(intercept) @ step)
        tried = Machine(theta, cost, pull, gram, machine.scale)
        fell = before - tried.objective(intercept)
        machine.iteration += 1
        if fell >= ENOUGH_FALL * promised:
            machine.theta, machine.cost, machine.pull, machine.gram = theta, cost, pull, gram
            machine.fell, machine.length = fell, 1.0
        else:
            machine.length /= 2
            machine.stalled = machine.length < SHORTEST_STEP

    def _measure(self, machine: Machine) -> float:
        return float(np.linalg.norm(machine.gradient(self.rows.intercept))) / machine.scale

    def _is_solved(self, machine: Machine) -> bool:
        objective = machine.objective(self.rows.intercept)
        flat = self._measure(machine) <= self.model.tol and machine.fell <= MOST_FALL * objective
        return flat and machine.gap(self.rows.intercept) <= MOST_GAP * objective

    def _is_done(self, machine: Machine) -> bool:
        return machine.stalled or machine.iteration >= self.model.max_iter or self._is_solved(machine)

    def _from_center(self, theta: Floats) -> Floats:
        theta = theta.copy()
        if self.rows.center is not None:
            theta[-1] -= float(theta[:-1] @ self.rows.center)
        return theta


def sample_of(model: Any, stream: Stream, n_columns: int, seed: int) -> RowBlock:
    """Rows on which machines begin."""
    checker, n = clone(model), max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * n_columns)

    def check(rows: RowBlock) -> RowBlock:
        return RowBlock(validate_squarable(checker, rows.X, dtype=np.float64, order="C"), rows.y)

    return checked_sample(stream, n, seed, check)
