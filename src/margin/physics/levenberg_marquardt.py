r"""Levenberg and Marquardt's method on the weights of a physics-informed network.

.. math:: (J^\top J + \lambda I)\, \delta = -J^\top r

The damping falls where the sum of squares does what its linear model says, and grows until a step lowers it (Nielsen's
rule). A step costs the square of the number of weights for every point, so it is for networks of some thousand weights,
and takes tens of steps where quasi-Newton methods take tens of thousands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from margin.physics.least_squares import LeastSquares

__all__ = ["LevenbergMarquardt"]

FIRST_DAMPING = 1e-3  # of the largest diagonal entry of the matrix
LEAST_DAMPING = 1e-15  # of the same: below it the matrix is singular in float64
MOST_DAMPING = 1e8  # steps so short that rounding decides


class LevenbergMarquardt(Step):
    """One step is one accepted move; ``converged`` when the gradient is at most ``tol`` or no move lowers the loss."""

    def __init__(self, module: nn.Module, problem: LeastSquares, *, tol: float = 1e-8, penalty: float = 0.0):
        self.module, self.problem, self.modules = module, problem, {"network": module}
        self.parameters = list(module.parameters())
        decayed = decayed_names(module)
        shrunk = [torch.full_like(p, float(name in decayed)) for name, p in module.named_parameters()]
        self.tol, self.penalty = tol, 0.5 * penalty * parameters_to_vector(shrunk).double().numpy()
        self.damping = 0.0  # 0: not chosen yet
        self.growth = 2.0

    @property
    def result(self) -> nn.Module:
        return self.module

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        points = batch.tensors[0]
        x = parameters_to_vector(self.parameters).detach()
        losses = self.problem.losses(points)
        gradient, gram = self.problem.normal_equations(points)
        penalty = self.penalty / len(points)
        gradient += penalty * x.numpy()
        gram[np.diag_indices_from(gram)] += penalty
        largest = float(gram.diagonal().max())
        self.damping = max(self.damping or FIRST_DAMPING * largest, LEAST_DAMPING * largest)
        self.converged = bool(np.abs(gradient).max() <= self.tol)
        while not self.converged:
            found = self._try(x, points, gradient, gram, self._value(losses, x, len(points)))
            if found is not None:
                losses = found
                break
            self.converged = self.damping > MOST_DAMPING * largest
        if self.converged:
            write_parameters(x, self.parameters)
        return self._means(losses, batch)

    def _try(
        self, x: Tensor, points: Tensor, gradient: np.ndarray, gram: np.ndarray, value: float
    ) -> tuple[float, float] | None:
        """Losses after the step of the present damping, which is adapted; None where the step is refused."""
        damped = gram.copy()
        damped[np.diag_indices_from(damped)] += self.damping
        try:
            factor = scipy.linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return self._refuse()
        delta = -scipy.linalg.cho_solve(factor, gradient, check_finite=False)
        target = x + torch.from_numpy(delta).to(x.dtype)
        write_parameters(target, self.parameters)
        losses = self.problem.losses(points)
        actual = value - self._value(losses, target, len(points))
        if not actual > 0:
            return self._refuse()
        ratio = actual / float(self.damping * delta @ delta - gradient @ delta)  # 1 where the model is right
        self.damping *= max(1 / 3, 1 - (2 * ratio - 1) ** 3)
        self.growth = 2.0
        return losses

    def _refuse(self) -> None:
        self.damping *= self.growth
        self.growth *= 2

    def _value(self, losses: tuple[float, float], x: Tensor, n: int) -> float:
        return (
            self.problem.condition_weight * losses[0]
            + losses[1]
            + float(self.penalty / n @ x.double().square().numpy())
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
            "converged": self.converged,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_weights(self.module, state["weights"])
        self.damping, self.growth = float(state["damping"]), float(state["growth"])
        self.converged = bool(state["converged"])
