"""Minimizers of a penalized likelihood as objects in the middle of their iterations, for smooth penalties.

``Newton`` solves with the Hessian at every step: few columns, moderate tables. ``PreconditionedQuasiNewton`` is
L-BFGS in the variables of a preconditioner: a Hessian found on a sample of the rows when two classes have many rows,
the Hessian at equal probabilities when there are several classes. It then needs a handful of passes over the rows.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg

from margin.linear.logistic_loss import LabeledRows, Likelihood
from margin.linear.preconditioning import Preconditioner, from_diagonal, from_matrix, from_sample
from margin.optimize.line_searches import Probe, strong_wolfe
from margin.optimize.quasi_newton import CURVATURE_FLOOR, Pair, two_loop

__all__ = ["Newton", "NewtonCG", "PreconditionedQuasiNewton"]

CG_STEPS = 200  # of one Newton step at most
MEMORY = 20  # pairs that L-BFGS remembers
MOST_COLUMNS = 4096  # beyond this a p x p factor costs more than the iterations it saves
MOST_PASSES = 2000  # passes over few rows, which together cost less than a factor of their many columns
SAMPLE_ROWS = 20  # rows of the first sample per column: enough for a Hessian within some 20 percent
TYPICAL_ROWS = 8  # the same for the Hessian at equal probabilities, which is only roughly right anyway
# Of that Hessian, more rows are used as long as they cost about as much as so many passes over the rows: a sample does
# not know rare columns, and iterations saved are passes saved.
TYPICAL_PASSES = 15
SAMPLE_STRIDE = 16  # one row in so many for the second sample
SAMPLE_STEPS = 12  # Newton steps on a sample at most
# A matrix product does about so many of its operations in the time in which a pass over the rows visits one entry.
PRODUCTS_PER_ENTRY = 20.0
# Where Hessians of a sample would cost more than so many passes over the rows, the first steps do without: many columns
# that are hardly related need no more, and the rest has lost little.
PLAIN_PASSES, PLAIN_STEPS = 60, 30


class Newton:
    r"""Newton's method, :math:`\theta \leftarrow \theta - t H^{-1} \nabla`, t by a Wolfe search."""

    def __init__(self, likelihood: Likelihood):
        self.likelihood = likelihood
        self.theta = np.zeros(likelihood.shape)
        self.warm = False
        self.steps = 0
        self.stuck = False

    def begin_at(self, theta: np.ndarray) -> None:
        """Start from these parameters instead of zeros."""
        self.theta, self.warm = theta, True

    def start(self) -> Newton:
        self._arrive(*self.likelihood.value_and_gradient(self.theta))
        return self

    def _arrive(self, value: float, gradient: np.ndarray) -> None:
        """The mean objective at ``theta``, its gradient, and the gradient's largest entry."""
        self.value, self.gradient, self.residual = value, gradient, float(np.abs(gradient).max())

    def step(self) -> None:
        """One iteration; ``stuck`` afterwards when rounding allows no further decrease."""
        self.steps += 1
        if self.likelihood.columns == 1:
            self.curvature = self.likelihood.hessian(self.theta)
            self._move(-from_matrix(self.curvature).solve(self.gradient))
            return
        joint = from_matrix(self.likelihood.joint_hessian(self.theta))
        flat = joint.solve(np.ascontiguousarray(self.gradient.T).reshape(-1, 1))
        direction = -flat.reshape(self.gradient.T.shape).T
        # The same number added to all classes' scores changes no probability: where nothing is penalized the equations
        # leave it open, and zero is taken.
        free = direction[-1:] if self.likelihood.ridge > 0 else direction
        free -= free.mean(axis=1, keepdims=True)
        self._move(direction)

    def state(self) -> dict[str, Any]:
        return {
            "theta": self.theta.copy(),
            "value": self.value,
            "gradient": self.gradient.copy(),
            "stuck": self.stuck,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.theta, self.stuck = np.array(state["theta"]), bool(state["stuck"])
        self._arrive(float(state["value"]), np.array(state["gradient"]))

    def _move(self, direction: np.ndarray) -> Probe | None:
        slope = float(np.vdot(self.gradient, direction))
        # A promised decrease below the rounding of the value cannot be seen, so it cannot be searched for.
        rounding = float(np.finfo(self.likelihood.rows.X.dtype).eps) * abs(self.value)
        accepted = None
        if -slope > rounding:

            def probe(alpha: float) -> Probe:
                value, gradient = self.likelihood.value_and_gradient(self.theta + alpha * direction)
                return Probe(alpha, value, float(np.vdot(gradient, direction)), gradient)

            accepted = strong_wolfe(probe, Probe(0.0, self.value, slope, self.gradient))
        if accepted is None:
            self.stuck = True
            return None
        self.theta = self.theta + accepted.alpha * direction
        self._arrive(accepted.value, accepted.gradient)
        return accepted


class PreconditionedQuasiNewton(Newton):
    """Preconditioned L-BFGS for any number of scores."""

    def __init__(self, likelihood: Likelihood):
        super().__init__(likelihood)
        self.pairs: deque[Pair] = deque(maxlen=MEMORY)
        self.plain_steps = PLAIN_STEPS if self._begins_plainly() else 0  # left without a Hessian

    def start(self) -> PreconditionedQuasiNewton:
        plain = self.plain_steps > 0
        self.preconditioner = from_diagonal(self.likelihood.typical_diagonal()) if plain else self._preconditioner()
        super().start()
        self._turned = self.preconditioner.gradient(self.gradient)
        return self

    def step(self) -> None:
        self._quasi_newton_step()
        if self.plain_steps:
            self.plain_steps -= 1
            if not self.plain_steps:
                self._look_at_curvature()

    def _quasi_newton_step(self) -> None:
        turned = self._turned  # the gradient in the variables of the preconditioner
        direction = -two_loop(turned.ravel(), self.pairs).reshape(turned.shape)
        accepted = self._move(self.preconditioner.step(direction))
        if accepted is None and self.pairs:  # what was learned may mislead: once more without it
            self.pairs.clear()
            self.stuck = False
            direction = -turned
            accepted = self._move(self.preconditioner.step(direction))
        if accepted is None:
            return
        self._turned = self.preconditioner.gradient(self.gradient)
        self._learn((accepted.alpha * direction).ravel(), (self._turned - turned).ravel())

    def state(self) -> dict[str, Any]:
        return super().state() | {
            "scale": self.preconditioner.scale.copy(),
            "lower": None if self.preconditioner.lower is None else self.preconditioner.lower.copy(),
            "steps": [pair.s.copy() for pair in self.pairs],
            "changes": [pair.y.copy() for pair in self.pairs],
            "plain_steps": self.plain_steps,
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.plain_steps = int(state.get("plain_steps", 0))  # older states have none
        lower = None if state["lower"] is None else np.asfortranarray(state["lower"])
        self.preconditioner = Preconditioner(np.array(state["scale"]), lower)
        self._turned = self.preconditioner.gradient(self.gradient)
        for s, y in zip(state["steps"], state["changes"]):
            self._learn(np.array(s), np.array(y))

    def _learn(self, s: np.ndarray, y: np.ndarray) -> None:
        product = float(s @ y)
        if product > CURVATURE_FLOOR * math.sqrt(float(s @ s) * float(y @ y)):
            self.pairs.append(Pair(s, y, 1 / product))

    def _preconditioner(self) -> Preconditioner:
        columns = self.likelihood.shape[0]
        if self._too_many_columns():
            return from_diagonal(self.likelihood.typical_diagonal())
        n, scores = len(self.likelihood.rows.y), self.likelihood.columns
        if scores > 1:
            sample = self._sample(int(max(TYPICAL_ROWS * columns, TYPICAL_PASSES * 4 * n * scores / columns)))
            return self._correct(sample, sample.typical_hessian(), None)
        few = SAMPLE_ROWS * columns
        if self.warm:
            return self._curvature_here()
        # A small sample leads near the minimum, a larger one to within its own noise of it; both are cheap.
        for rows in (few, max(n // SAMPLE_STRIDE, few)):
            sample = self._sample(rows)
            newton = Newton(sample)
            newton.theta = self.theta
            newton.start()
            while newton.steps < SAMPLE_STEPS:
                newton.step()
                if newton.stuck or newton.residual < 0.1 / np.sqrt(rows):  # below the noise of the sample
                    break
            self.theta = newton.theta
        return self._correct(sample, newton.curvature, self.theta)

    def _too_many_columns(self) -> bool:
        """Whether a factor of all columns is out of the question."""
        columns = self.likelihood.shape[0]
        return columns > MOST_COLUMNS or columns**3 / 3 > MOST_PASSES * _count_stored(self.likelihood.rows.X)

    def _begins_plainly(self) -> bool:
        """Whether Hessians of two classes cost so much that the first steps do without."""
        rows, columns = self.likelihood.rows, self.likelihood.shape[0]
        if self.likelihood.columns > 1 or not isinstance(rows, LabeledRows):  # passes over a stream are dear
            return False
        n = len(rows.y)
        share = min(1.0, max(SAMPLE_ROWS * columns / n, 1 / SAMPLE_STRIDE))
        return share * SAMPLE_STEPS * columns / PRODUCTS_PER_ENTRY > PLAIN_PASSES

    def _curvature_here(self) -> Preconditioner:
        """The Hessian at ``theta``, of as many rows as it needs."""
        n, columns = len(self.likelihood.rows.y), self.likelihood.shape[0]
        sample = self._sample(max(n // SAMPLE_STRIDE, SAMPLE_ROWS * columns))
        return self._correct(sample, sample.hessian(self.theta), self.theta)

    def _look_at_curvature(self) -> None:
        """Go on in the variables of the Hessian, unless there are too many columns for one."""
        if self._too_many_columns():
            return
        self.preconditioner = self._curvature_here()
        self.pairs.clear()
        self._turned = self.preconditioner.gradient(self.gradient)
        self.stuck = False

    def _correct(self, sample: Likelihood, curvature: np.ndarray, theta: np.ndarray | None) -> Preconditioner:
        """The preconditioner of a sample's ``curvature``, with the sizes of all rows."""
        n, sampled = len(self.likelihood.rows.y), len(sample.rows.y)
        if sampled == n:
            return from_matrix(curvature)
        diagonal, carriers = self.likelihood.curvature_diagonal(theta)
        return from_sample(curvature, diagonal, carriers * (sampled / n))

    def _sample(self, rows: int) -> Likelihood:
        return self.likelihood.few(rows)


def _count_stored(X: Any) -> int:
    """Entries that a pass over the rows visits."""
    return int(X.nnz if issparse(X) else X.size)


class NewtonCG(Newton):
    r"""Newton's method in which :math:`H d = -\nabla` is solved by conjugate gradients, only as well as is needed."""

    def step(self) -> None:
        size = float(np.linalg.norm(self.gradient))
        shape = self.theta.shape

        def product(d: np.ndarray) -> np.ndarray:
            return self.likelihood.product(self.theta, d.reshape(shape)).ravel()

        matrix = LinearOperator((self.theta.size, self.theta.size), dtype=np.float64, matvec=product)
        # The forcing term of Dembo and Steihaug (1983): loose far away, tight near the minimum.
        direction, _ = cg(matrix, -self.gradient.ravel(), rtol=min(0.5, np.sqrt(size)), maxiter=CG_STEPS)
        self.steps += 1
        self._move(direction.reshape(shape))
