r"""Levenberg and Marquardt's method on the weights of a physics-informed network.

.. math:: (J^\top J + \lambda I)\, \delta = -J^\top r

The damping falls where the sum of squares does what its linear model says, and grows until a step lowers it (Nielsen's
rule). With batches a step is judged by the points of the next one, which it has not seen, and taken back where it does
harm there: judged by its own points, it would fit these at the cost of all others. A step costs the square of the
number of weights for every point, so it is for networks of some thousand weights, and takes tens or hundreds of steps
where quasi-Newton methods take tens of thousands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from margin.neural.training.batches import Batch
from margin.neural.training.meter import Mean
from margin.neural.training.optimizers import decayed_names
from margin.neural.training.quasi_newton import write_parameters
from margin.neural.training.steps import Step
from margin.neural.weights import copy_weights, load_weights
from margin.physics.least_squares import JacobianRows, NormalEquations, ResidualSquares

__all__ = ["LevenbergMarquardt"]

FIRST_DAMPING = 1e-3  # of the largest diagonal entry of the matrix
LEAST_DAMPING = 1e-15  # of the same: below it the matrix is singular in float64
MOST_DAMPING = 1e8  # steps so short that rounding decides


class Pending(NamedTuple):
    """A step that is not judged yet: the weights before it, and how much it was to lower the loss."""

    before: Tensor
    predicted: float


class LevenbergMarquardt(Step):
    """One step is one accepted move; ``converged`` when the gradient is at most ``tol`` or no move lowers the loss."""

    def __init__(self, module: nn.Module, problem: ResidualSquares, *, tol: float = 1e-8, penalty: float = 0.0,
                 batched: bool = False):  # fmt: skip
        self.module, self.problem, self.modules = module, problem, {"network": module}
        self.batched = batched
        self.parameters = list(module.parameters())
        decayed = decayed_names(module)
        shrunk = [torch.full_like(p, float(name in decayed)) for name, p in module.named_parameters()]
        self.tol, self.penalty = tol, 0.5 * penalty * parameters_to_vector(shrunk).double().numpy(force=True)
        self.damping = 0.0  # 0: not chosen yet
        self.growth = 2.0
        self.pending: Pending | None = None
        self.batch_number: int | None = None

    @property
    def result(self) -> nn.Module:
        return self.module

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        points = batch.tensors[0]
        if self.pending is not None and self.batch_number != batch.number:
            self._judge(self.pending, points)
        self.pending, self.batch_number = None, batch.number
        x = parameters_to_vector(self.parameters).detach()
        losses = self.problem.losses(points)
        system = self._linearize(points, x)
        self.damping = max(self.damping or FIRST_DAMPING * system.scale, LEAST_DAMPING * system.scale)
        self.converged = bool(np.abs(system.gradient).max() <= self.tol)
        value = self._value(losses, x, len(points))
        while not self.converged:
            accepted = self._try(x, points, system, value)
            if accepted is not None:
                losses = accepted
                break
            self.converged = self.damping > MOST_DAMPING * system.scale
        if self.converged:
            write_parameters(x, self.parameters)
        return self._means(losses, batch)

    def _linearize(self, points: Tensor, x: Tensor) -> NormalEquations | JacobianRows:
        few = self.problem.n_rows(len(points)) < len(x)
        if few and not self.penalty.any():
            return self.problem.rows(points)
        gradient, gram = self.problem.normal_equations(points)
        penalty = self.penalty / len(points)
        gram[np.diag_indices_from(gram)] += penalty
        return NormalEquations(gradient + penalty * x.double().numpy(force=True), gram)

    def _try(
        self, x: Tensor, points: Tensor, system: NormalEquations | JacobianRows, value: float
    ) -> tuple[float, float] | None:
        """Losses after the step of the present damping; None where the step is refused."""
        try:
            delta = system.step(self.damping)
        except scipy.linalg.LinAlgError:
            self._refuse()
            return None
        target = x + torch.from_numpy(delta).to(x.dtype)
        write_parameters(target, self.parameters)
        losses = self.problem.losses(points)
        actual = value - self._value(losses, target, len(points))
        if not actual > 0:
            self._refuse()
            return None
        predicted = float(self.damping * delta @ delta - system.gradient @ delta)
        if self.batched:
            self.pending = Pending(x, predicted)
        else:
            self._adapt(actual / predicted)
        return losses

    def _judge(self, pending: Pending, points: Tensor) -> None:
        """Keep the last step or take it back, by what it does at points that it has not seen."""
        moved = parameters_to_vector(self.parameters).detach()
        after = self._value(self.problem.losses(points), moved, len(points))
        write_parameters(pending.before, self.parameters)
        actual = self._value(self.problem.losses(points), pending.before, len(points)) - after
        if actual > 0:
            write_parameters(moved, self.parameters)
            self._adapt(actual / pending.predicted)
        else:
            self._refuse()

    def _adapt(self, ratio: float) -> None:
        """``ratio`` of the actual fall to that of the linear model: 1 where the model is right."""
        self.damping *= max(1 / 3, 1 - (2 * ratio - 1) ** 3)
        self.growth = 2.0

    def _refuse(self) -> None:
        self.damping *= self.growth
        self.growth *= 2

    def _value(self, losses: tuple[float, float], x: Tensor, n: int) -> float:
        return (
            self.problem.condition_weight * losses[0]
            + losses[1]
            + float(self.penalty / n @ x.double().square().numpy(force=True))
        )

    def _means(self, losses: tuple[float, float], batch: Batch) -> dict[str, Mean]:
        data, equation = losses
        loss = self.problem.condition_weight * data + equation
        named = {"loss": loss, "condition_loss": data, "residual_loss": equation}
        return {name: Mean(torch.tensor(value * batch.mass), batch.mass) for name, value in named.items()}

    def rates(self) -> dict[str, float]:
        return {"damping": self.damping}

    def state(self) -> dict[str, Any]:
        return {
            "weights": copy_weights(self.module),
            "damping": self.damping,
            "growth": self.growth,
            "batch_number": self.batch_number,
            "before": None if self.pending is None else self.pending.before.numpy(force=True).copy(),
            "predicted": None if self.pending is None else self.pending.predicted,
            "converged": self.converged,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_weights(self.module, state["weights"])
        self.damping, self.growth = float(state["damping"]), float(state["growth"])
        self.converged, self.batch_number = bool(state["converged"]), state["batch_number"]
        if state["before"] is not None:
            self.pending = Pending(torch.from_numpy(np.array(state["before"])), float(state["predicted"]))
