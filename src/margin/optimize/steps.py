"""What a minimizer says: a :class:`MinimizerStep` per iteration, a :class:`StepOutcome` at its end, and a
:class:`Result` of it all.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from margin.core.records import Record

__all__ = [
    "Array",
    "Diverged",
    "MinimizerStep",
    "OptimizationError",
    "Result",
    "StepOutcome",
    "Steps",
    "follow",
    "length",
]

Array = npt.NDArray[np.float64]


def length(v: Array) -> float:
    """The Euclidean norm; infinite, without a warning, where squares overflow: that is for the caller to notice."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.vdot(v, v)))


@dataclass(frozen=True, eq=False)  # compared as records: iteration and numbers, since arrays have no one truth
class MinimizerStep(Record):
    """One iterate. Iteration 0 is the start, so the ``x`` of all records are the whole path.

    ``values`` holds the numbers of the record interface; the properties read them by name.
    """

    x: Array = field(default_factory=lambda: np.empty(0))

    @property
    def value(self) -> float:
        """The objective at ``x``."""
        return self.values["value"]

    @property
    def gradient_norm(self) -> float:
        """Euclidean norm of the gradient at ``x`` (NaN for methods that use none)."""
        return self.values["gradient_norm"]

    @property
    def step_size(self) -> float:
        """Length of the move that led to ``x``; 0 at the start."""
        return self.values["step_size"]

    @property
    def evaluations(self) -> int:
        """Objective values computed so far."""
        return int(self.values["evaluations"])


class StepOutcome(NamedTuple):
    """What a minimizer returns when its loop ends by itself."""

    converged: bool
    message: str


Steps = Generator[MinimizerStep, None, StepOutcome]


class OptimizationError(ValueError):
    """A run that cannot go on. ``x`` is the last finite iterate and ``iteration`` its number."""

    def __init__(self, message: str, x: Array, iteration: int) -> None:
        super().__init__(message)
        self.x = x
        self.iteration = iteration


class Diverged(OptimizationError):
    """The value or the gradient stopped being finite, or the value grew without bound."""


@dataclass(frozen=True, eq=False)
class Result:
    """The end of a run: the last finite iterate, what it cost, why it stopped, and the path to it."""

    x: Array
    value: float
    gradient_norm: float
    iterations: int
    evaluations: int
    converged: bool
    message: str
    trace: tuple[MinimizerStep, ...] = field(repr=False, default=())

    @property
    def path(self) -> Array:
        """All iterates, the start first: (iterations + 1, *shape of x)."""
        return np.stack([step.x for step in self.trace])

    def history(self, name: str) -> Array:
        """One number of every record, for example ``result.history("value")``."""
        return np.array([step[name] for step in self.trace])


def follow(steps: Steps) -> Result:
    """Run a minimizer to its end. Divergence ends in a result that is not converged; a bad argument is raised.

    Parameters
    ----------
    steps : generator
        A minimizer that has been called, e.g. ``adam(f, grad, x0)``.

    Examples
    --------
    >>> from margin.optimize import gradient_descent
    >>> result = follow(gradient_descent(lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3), 1.0, learning_rate=0.1))
    >>> round(float(result.x), 5), result.converged
    (3.0, True)
    """
    trace: list[MinimizerStep] = []
    try:
        while True:
            trace.append(next(steps))
    except StopIteration as end:
        outcome: Any = end.value
    except Diverged as failure:
        if not trace:  # the start itself is not finite: there is nothing to return
            raise
        outcome = StepOutcome(False, str(failure))
    last = trace[-1]
    numbers = last.value, last.gradient_norm, last.iteration, last.evaluations
    return Result(last.x, *numbers, outcome.converged, outcome.message, tuple(trace))
