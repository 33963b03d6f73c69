"""The network that stands for a solution, and what it leaves of an equation and its conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from margin.neural.initialize.schemes import xavier_
from margin.neural.nets.mlp import MLP
from margin.physics.derivatives import with_derivatives
from margin.physics.least_squares import ResidualSquares
from margin.physics.residuals import Known, Residual, carried_layout, equations, mixes_rows
from margin.physics.taylor import InputEncoding, Layout, taylor_values

__all__ = ["SolutionLoss", "SolutionNetwork", "pinn_loss"]


class SolutionNetwork(nn.Module):
    """A perceptron of coordinates brought to [-1, 1] or to a circle, and the coefficients that are learned with it."""

    def __init__(
        self, sizes: Sequence[int], activation: str, low: Sequence[float], high: Sequence[float],
        coefficients: Mapping[str, float], periods: Sequence[float | None] | None = None,
    ):  # fmt: skip
        super().__init__()
        self.encoding = InputEncoding(list(low), list(high), list(periods or [None] * sizes[0]))
        self.mlp = MLP([self.encoding.n_features, *sizes[1:]], activation)
        for linear in self.mlp.linears:  # He's start is for rectifiers; derivatives of smooth units want a smaller one
            xavier_(linear.weight)
        self.coefficients = nn.ParameterDict(
            {name: nn.Parameter(torch.tensor(float(value))) for name, value in coefficients.items()}
        )
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(self.encoding(x))

    def carry(self, x: Tensor, layout: Layout) -> Tensor:
        """The values at ``x``, with the derivatives of ``layout`` carried forward: ``derivative`` looks them up."""
        array = taylor_values(x.detach(), self.encoding, self.mlp.linears, self.activation, layout)
        return with_derivatives(array, layout, x)


def pinn_loss(
    u: Callable[[Tensor], Tensor],
    residual: Residual,
    conditions: Sequence[tuple[Tensor, Tensor] | Known],
    collocation: Tensor,
    coefficients: Mapping[str, Tensor] | None = None,
    carry: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Both parts of the loss: misfit at the conditions, and residual at the collocation points.

    ``residual(u, x, **coefficients)`` gives one number per point, or a list of such for a system of equations.
    A condition is points, values and, if these are not of ``u`` itself, the operator that makes them of it. ``carry``
    gives the values of ``u`` together with the derivatives that the residual asks for.
    """
    misfits = [Known(*condition).misfit(u).square().sum(dim=1) for condition in conditions]
    data = torch.cat(misfits).mean() if misfits else collocation.new_zeros(())
    with torch.enable_grad():
        x = collocation.detach().requires_grad_()
        parts = equations(residual((carry or u)(x), x, **(coefficients or {})), len(x))
    return data, torch.stack([part.square().mean() for part in parts]).sum()


class SolutionLoss:
    """The objective of a training: both parts of the loss at a batch of points.

    Which derivatives the residual asks for is found out at the first points it is given.
    """

    def __init__(
        self, residual: Residual, known: Sequence[tuple[Tensor, Tensor] | Known], condition_weight: float
    ):  # fmt: skip
        self.residual, self.condition_weight = residual, condition_weight
        self.known = [Known(*condition) for condition in known]
        self._layouts: list[Layout | None] = []  # none until the first points

    def __call__(
        self, module: SolutionNetwork, batch: tuple[Tensor, ...], _noise: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        points, named = batch[0], dict(module.coefficients.items())
        layout = self._layout(module, points)
        carry = None if layout is None else partial(module.carry, layout=layout)
        data, equation = pinn_loss(module, self.residual, self.known, points, named, carry)
        return {"loss": self.condition_weight * data + equation, "condition_loss": data, "residual_loss": equation}

    def least_squares(self, module: SolutionNetwork, points: Tensor) -> ResidualSquares:
        """The same loss as a sum of squares, for methods that linearize what is squared."""
        layout = self._layout(module, points)
        if layout is None:
            self(module, (points[:1],))  # a residual of the wrong shape is named first
            raise ValueError(
                "PINN: solver 'levenberg-marquardt' needs a residual of derivatives up to the second, taken with "
                "margin.physics.derivatives, and the activation tanh or logistic; 'lbfgs' takes any."
            )
        mixed, n_equations = mixes_rows(module, self.residual, points, layout)
        if mixed:
            raise ValueError(
                "PINN: solver 'levenberg-marquardt' needs a residual whose row i depends on point i alone; 'lbfgs' "
                "takes any."
            )
        return ResidualSquares(module, self.residual, self.known, layout, self.condition_weight, n_equations)

    def _layout(self, module: SolutionNetwork, points: Tensor) -> Layout | None:
        if not self._layouts:
            self._layouts.append(carried_layout(module, self.residual, points, dict(module.coefficients.items())))
        return self._layouts[0]
