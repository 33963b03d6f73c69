r"""The loss of a physics-informed network as a sum of squares, with the matrix that Gauss and Newton's method needs.

.. math:: L(\theta) = \|r(\theta)\|^2, \qquad g = J^\top r, \qquad H = J^\top J, \qquad J = \partial r / \partial \theta

A row of J is the gradient of one number in all weights. The pass back through the layers gives, for every point at
once, the gradients before the activations; their outer products with the layers' inputs are the rows. They are made and
added up in blocks, so that memory is bounded by the square of the number of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.foundations.linalg.gram import add_gram, mirror
from margin.physics.derivatives import with_derivatives
from margin.physics.residuals import Residual, equations
from margin.physics.taylor import Layout, Tape, closed, propagate, pull_back

__all__ = ["LeastSquares"]

ENTRIES = 4_000_000  # of a block of J: 32 megabytes


class LeastSquares:
    """Misfits at ``known`` conditions and the ``residual`` at points, weighted so that their squares add up to a loss.

    ``module`` is a solution network whose residual needs the derivatives of ``layout``.
    """

    def __init__(
        self, module: Any, residual: Residual, known: Sequence[tuple[Tensor, Tensor]], layout: Layout,
        condition_weight: float,
    ):  # fmt: skip
        self.module, self.residual, self.layout, self.condition_weight = module, residual, layout, condition_weight
        self.known = None
        if known:
            self.known = (torch.cat([points for points, _ in known]), torch.cat([values for _, values in known]))
        self.coefficients: Mapping[str, Tensor] = dict(module.coefficients.items())
        self.n_weights = sum(parameter.numel() for parameter in module.parameters())

    def losses(self, points: Tensor) -> tuple[float, float]:
        """Mean squares of the misfits at the conditions and of the residual at ``points``."""
        with torch.no_grad():
            data = 0.0
            if self.known is not None:
                data = float((self.module(self.known[0]) - self.known[1]).square().sum(dim=1).mean())
            total = 0.0
            for x in points.split(self._rows()):
                array, _ = self._propagate(x, self.layout)
                parts = equations(
                    self.residual(with_derivatives(array, self.layout, x), x, **self.coefficients), len(x)
                )
                total += float(sum(part.square().sum() for part in parts))
        return data, total / len(points)

    def normal_equations(self, points: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """g and H of the loss at ``points`` and the conditions, in float64."""
        gradient, gram = np.zeros(self.n_weights), np.zeros((self.n_weights, self.n_weights))
        if self.known is not None:
            weight = (self.condition_weight / len(self.known[0])) ** 0.5
            for x, values in zip(*(tensor.split(self._rows()) for tensor in self.known)):
                self._add_conditions(x, values, weight, gradient, gram)
        for x in points.split(self._rows()):
            self._add_residual(x, len(points) ** -0.5, gradient, gram)
        return gradient, mirror(gram)

    def _add_conditions(self, x: Tensor, values: Tensor, weight: float, gradient: np.ndarray, gram: np.ndarray) -> None:
        layout = closed([])
        with torch.no_grad():
            array, tape = self._propagate(x, layout)
            misfit = array[0] - values
            for column in range(values.shape[1]):
                slope = torch.zeros_like(array)
                slope[0, :, column] = weight
                rows = self._rows_of(slope, tape, layout, {})
                _add(rows, weight * misfit[:, column], gradient, gram)

    def _add_residual(self, x: Tensor, weight: float, gradient: np.ndarray, gram: np.ndarray) -> None:
        with torch.no_grad():
            array, tape = self._propagate(x, self.layout)
        array.requires_grad_()
        with torch.enable_grad():
            names = {name: tensor.detach().requires_grad_() for name, tensor in self.coefficients.items()}
            parts = equations(self.residual(with_derivatives(array, self.layout, x), x, **names), len(x))
            for part in parts:
                part = weight * part.reshape(-1)
                (slope,) = torch.autograd.grad(
                    part.sum(), array, retain_graph=True, materialize_grads=True, allow_unused=True
                )
                columns = {name: _rowwise(part, tensor) for name, tensor in names.items()}
                _add(self._rows_of(slope, tape, self.layout, columns), part, gradient, gram)

    def _propagate(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tape]:
        module = self.module
        return propagate(x, *module.normalization(x), module.mlp.linears, module.activation, layout)

    def _rows_of(self, slope: Tensor, tape: Tape, layout: Layout, columns: Mapping[str, Tensor]) -> np.ndarray:
        """Rows of J, in the order of the network's parameters, for a gradient in the outputs of every point."""
        linears = self.module.mlp.linears
        found: dict[int, Tensor] = {}
        with torch.no_grad():
            for linear, g, h in zip(linears, pull_back(slope, tape, linears, layout), tape.inputs):
                found[id(linear.weight)] = torch.einsum("jno,jni->noi", g, h).flatten(1)
                found[id(linear.bias)] = g[0]
            for name, tensor in self.coefficients.items():
                found[id(tensor)] = columns[name][:, None] if name in columns else slope.new_zeros(slope.shape[1], 1)
            ordered = torch.cat([found[id(parameter)] for parameter in self.module.parameters()], dim=1)
        return np.ascontiguousarray(ordered.numpy(), dtype=np.float64)

    def _rows(self) -> int:
        return max(1, ENTRIES // self.n_weights)


def _rowwise(part: Tensor, number: Tensor) -> Tensor:
    """Derivative of every entry of ``part`` in one number: a gradient in the weights of a weighted sum."""
    weights = torch.ones_like(part, requires_grad=True)
    (total,) = torch.autograd.grad(part, number, weights, create_graph=True, materialize_grads=True, allow_unused=True)
    if not total.requires_grad:  # the equation does not have it
        return torch.zeros_like(part)
    (found,) = torch.autograd.grad(total, weights, retain_graph=True, materialize_grads=True, allow_unused=True)
    return found.detach()


def _add(rows: np.ndarray, values: Tensor, gradient: np.ndarray, gram: np.ndarray) -> None:
    gradient += rows.T @ values.detach().numpy().astype(np.float64)
    add_gram(rows, gram)
