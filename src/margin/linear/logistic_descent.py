"""Minimizers of a penalized likelihood as objects in the middle of their iterations, for smooth penalties.

``Newton`` solves with the whole Hessian at every step: few columns, moderate tables. ``QuasiNewton`` is L-BFGS in the
variables of a preconditioner: a Hessian found on a sample of the rows when two classes have many rows, the Hessian at
equal probabilities when there are several classes. It then needs a handful of passes over the rows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from margin.linear.logistic_loss import Likelihood
from margin.linear.preconditioning import Preconditioner, from_diagonal, from_matrix
from margin.optimize.line_searches import Probe, strong_wolfe
from margin.optimize.quasi_newton import CURVATURE_FLOOR, Pair, two_loop

__all__ = ["Newton", "QuasiNewton"]

MEMORY = 20  # pairs that L-BFGS remembers
MOST_COLUMNS = 4096  # beyond this a p x p factor costs more than the iterations it saves
SAMPLE_ROWS = 20  # rows of the first sample per column: enough for a Hessian within some 20 percent
TYPICAL_ROWS = 8  # the same for the Hessian at equal probabilities, which is only roughly right anyway
SAMPLE_SHARE = 16  # one row in so many for the second
SAMPLE_STEPS = 12  # Newton steps on a sample at most


class Newton:
    r"""Newton's method, :math:`\theta \leftarrow \theta - t H^{-1} \nabla`, t by a Wolfe search; one score only."""

    def __init__(self, likelihood: Likelihood):
        self.likelihood = likelihood
        self.theta = np.zeros(likelihood.shape)
        self.steps = 0
        self.stuck = False

    def start(self) -> Newton:
        self.value, self.gradient = self.likelihood.value_and_gradient(self.theta)
        return self

    @property
    def residual(self) -> float:
        """The largest entry of the gradient of the mean objective."""
        return float(np.abs(self.gradient).max())

    def step(self) -> None:
        """One iteration; ``stuck`` afterwards when rounding allows no further decrease."""
        self.curvature = self.likelihood.hessian(self.theta)
        self.steps += 1
        self._move(-from_matrix(self.curvature).solve(self.gradient))

    def state(self) -> dict[str, Any]:
        return {
            "theta": self.theta.copy(),
            "value": self.value,
            "gradient": self.gradient.copy(),
            "stuck": self.stuck,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.theta, self.gradient = np.array(state["theta"]), np.array(state["gradient"])
        self.value, self.stuck = float(state["value"]), bool(state["stuck"])

    def _move(self, direction: np.ndarray) -> Probe | None:
        slope = float(np.vdot(self.gradient, direction))
        # A promised decrease below the rounding of the value cannot be seen, so it cannot be searched for.
        rounding = float(np.finfo(self.likelihood.rows.X.dtype).eps) * abs(self.value)
        found = None
        if -slope > rounding:

            def probe(alpha: float) -> Probe:
                value, gradient = self.likelihood.value_and_gradient(self.theta + alpha * direction)
                return Probe(alpha, value, float(np.vdot(gradient, direction)), gradient)

            found = strong_wolfe(probe, Probe(0.0, self.value, slope, self.gradient))
        if found is None:
            self.stuck = True
            return None
        self.theta = self.theta + found.alpha * direction
        self.value, self.gradient = found.value, found.gradient
        return found


class QuasiNewton(Newton):
    """Preconditioned L-BFGS for any number of scores."""

    def __init__(self, likelihood: Likelihood):
        super().__init__(likelihood)
        self.pairs: deque[Pair] = deque(maxlen=MEMORY)

    def start(self) -> QuasiNewton:
        self.preconditioner = self._preconditioner()
        super().start()
        self._turned = self.preconditioner.gradient(self.gradient)
        return self

    def step(self) -> None:
        turned = self._turned  # the gradient in the variables of the preconditioner
        direction = -two_loop(turned.ravel(), self.pairs).reshape(turned.shape)
        found = self._move(self.preconditioner.step(direction))
        if found is None and self.pairs:  # what was learned may mislead: once more without it
            self.pairs.clear()
            self.stuck = False
            direction = -turned
            found = self._move(self.preconditioner.step(direction))
        if found is None:
            return
        self._turned = self.preconditioner.gradient(self.gradient)
        self._learn((found.alpha * direction).ravel(), (self._turned - turned).ravel())

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "scale": self.preconditioner.scale.copy(),
            "lower": None if self.preconditioner.lower is None else self.preconditioner.lower.copy(),
            "steps": [pair.s.copy() for pair in self.pairs],
            "changes": [pair.y.copy() for pair in self.pairs],
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        lower = None if state["lower"] is None else np.asfortranarray(state["lower"])
        self.preconditioner = Preconditioner(np.array(state["scale"]), lower)
        self._turned = self.preconditioner.gradient(self.gradient)
        for s, y in zip(state["steps"], state["changes"]):
            self._learn(np.array(s), np.array(y))

    def _learn(self, s: np.ndarray, y: np.ndarray) -> None:
        if s @ y > CURVATURE_FLOOR * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs.append(Pair(s, y, 1 / float(s @ y)))

    def _preconditioner(self) -> Preconditioner:
        columns = self.likelihood.shape[0]
        if columns > MOST_COLUMNS:
            return from_diagonal(self.likelihood.typical_diagonal())
        if self.likelihood.columns > 1:
            return from_matrix(self._sample(TYPICAL_ROWS * columns).typical_hessian())
        few = SAMPLE_ROWS * columns
        # A small sample leads near the minimum, a larger one to within its own noise of it; both are cheap.
        for rows in (few, max(len(self.likelihood.rows.y) // SAMPLE_SHARE, few)):
            newton = Newton(self._sample(rows))
            newton.theta = self.theta
            newton.start()
            while newton.steps < SAMPLE_STEPS:
                newton.step()
                if newton.stuck or newton.residual < 0.1 / np.sqrt(rows):  # below the noise of the sample
                    break
            self.theta = newton.theta
        return from_matrix(newton.curvature)

    def _sample(self, rows: int) -> Likelihood:
        """The likelihood of about so many rows, evenly spread over the table."""
        every = max(1, len(self.likelihood.rows.y) // rows)
        return replace(self.likelihood, rows=self.likelihood.rows.every(every))
