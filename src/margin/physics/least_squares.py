r"""The loss of a physics-informed network as a sum of squares, with the matrix that Gauss and Newton's method needs.

.. math:: L(\theta) = \|r(\theta)\|^2, \qquad g = J^\top r, \qquad H = J^\top J, \qquad J = \partial r / \partial \theta

The step of Levenberg and Marquardt solves one of two systems, the smaller one:

.. math:: \delta = -(H + \lambda I)^{-1} J^\top r = -J^\top (J J^\top + \lambda I)^{-1} r

A row of J is the gradient of one number in all weights. The pass back through the layers gives, for every point at
once, the gradients before the activations; their outer products with the layers' inputs are the rows. They are made and
added up in blocks, so that memory is bounded by the square of the number of weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from margin.foundations.linalg.gram import add_gram, mirror
from margin.physics.derivatives import with_derivatives
from margin.physics.residuals import Known, Residual, carried_layout, equations
from margin.physics.taylor import DerivativeTape, Layout, close_keys, propagate, pull_back

__all__ = ["JacobianRows", "NormalEquations", "ResidualSquares"]

ENTRIES = 4_000_000  # of a block of J: 32 megabytes


class NormalEquations(NamedTuple):
    """g and H: a system as large as the number of weights."""

    gradient: np.ndarray
    gram: np.ndarray

    @property
    def scale(self) -> float:
        """The largest diagonal entry of H."""
        return float(self.gram.diagonal().max())

    def step(self, damping: float) -> np.ndarray:
        return -_solve(self.gram, damping, self.gradient)


class JacobianRows(NamedTuple):
    """J and r: a system as large as the number of rows, and the same step."""

    rows: np.ndarray
    values: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        return self.rows.T @ self.values

    @property
    def scale(self) -> float:
        return float(np.einsum("ij,ij->j", self.rows, self.rows).max())

    def step(self, damping: float) -> np.ndarray:
        gram = np.zeros((len(self.rows), len(self.rows)))
        add_gram(self.rows.T, gram)
        return -(self.rows.T @ _solve(mirror(gram), damping, self.values))


def _solve(gram: np.ndarray, damping: float, right: np.ndarray) -> np.ndarray:
    """(gram + damping I)^-1 right; LinAlgError where rounding has taken definiteness away."""
    damped = gram.copy()
    damped[np.diag_indices_from(damped)] += damping
    factor = scipy.linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
    solution: np.ndarray = scipy.linalg.cho_solve(factor, right, check_finite=False)
    return solution


class ResidualSquares:
    """Misfits at ``known`` conditions and the ``residual`` at points, weighted so that their squares add up to a loss.

    ``module`` is a solution network whose residual needs the derivatives of ``layout``.
    """

    def __init__(
        self, module: Any, residual: Residual, known: Sequence[Known], layout: Layout, condition_weight: float,
        n_equations: int = 1,
    ):  # fmt: skip
        self.module, self.residual, self.layout, self.condition_weight = module, residual, layout, condition_weight
        self.known = [(condition, self._layout_of(condition)) for condition in known]
        self.n_known = sum(len(condition.points) for condition in known)
        self.coefficients: Mapping[str, Tensor] = dict(module.coefficients.items())
        self.n_equations = n_equations
        self.n_weights = sum(parameter.numel() for parameter in module.parameters())

    def _layout_of(self, condition: Known) -> Layout:
        """The derivatives that a condition asks for."""
        if condition.operator is None:
            return close_keys([])
        layout = carried_layout(self.module, condition.operator, condition.points, {})
        if layout is None:
            condition.misfit(self.module)  # an operator of the wrong shape is named first
            raise ValueError(
                "PINN: solver 'levenberg-marquardt' needs an operator of derivatives up to the second, taken with "
                "margin.physics.derivatives; 'lbfgs' takes any."
            )
        return layout

    def n_rows(self, n_points: int) -> int:
        """Entries of r at ``n_points`` points."""
        return self.n_equations * n_points + sum(condition.values.numel() for condition, _ in self.known)

    def losses(self, points: Tensor) -> tuple[float, float]:
        """Mean squares of the misfits at the conditions and of the residual at ``points``."""
        with torch.no_grad():
            misfits = (condition.misfit(self.module).detach() for condition, _ in self.known)
            data = sum(float(misfit.square().sum()) for misfit in misfits) / max(self.n_known, 1)
            total = 0.0
            for x in points.split(self._block()):
                array, _ = self._propagate(x, self.layout)
                parts = equations(
                    self.residual(with_derivatives(array, self.layout, x), x, **self.coefficients), len(x)
                )
                total += float(sum(part.square().sum() for part in parts))
        return data, total / len(points)

    def normal_equations(self, points: Tensor) -> NormalEquations:
        """g and H of the loss at ``points`` and the conditions, in float64."""
        gradient, gram = np.zeros(self.n_weights), np.zeros((self.n_weights, self.n_weights))
        for rows, values in self.jacobian(points):
            gradient += rows.T @ values
            add_gram(rows, gram)
        return NormalEquations(gradient, mirror(gram))

    def rows(self, points: Tensor) -> JacobianRows:
        """All of J, where it has fewer rows than columns."""
        blocks = list(self.jacobian(points))
        return JacobianRows(np.concatenate([rows for rows, _ in blocks]), np.concatenate([r for _, r in blocks]))

    def jacobian(self, points: Tensor) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of J with the entries of r that belong to them, in float64."""
        for condition, layout in self.known:
            weight = (self.condition_weight / self.n_known) ** 0.5
            for x, values in zip(*(tensor.split(self._block()) for tensor in condition[:2])):
                if condition.operator is None:
                    yield from self._value_rows(x, values, weight)
                else:
                    yield from self._rows_by(partial(condition.missed, values=values), {}, x, layout, weight)
        for x in points.split(self._block()):
            yield from self._rows_by(self.residual, self.coefficients, x, self.layout, len(points) ** -0.5)

    def _value_rows(self, x: Tensor, values: Tensor, weight: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of a condition on the values themselves."""
        layout = close_keys([])
        with torch.no_grad():
            array, tape = self._propagate(x, layout)
            misfit = weight * (array[0] - values).double().numpy(force=True)
        for column in range(values.shape[1]):
            slope = torch.zeros_like(array)
            slope[0, :, column] = weight
            yield self._rows_of(slope, tape, layout, {}), misfit[:, column]

    def _rows_by(
        self, residual: Residual, coefficients: Mapping[str, Tensor], x: Tensor, layout: Layout, weight: float
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of what ``residual`` makes of the solution and its derivatives."""
        with torch.no_grad():
            array, tape = self._propagate(x, layout)
        array.requires_grad_()
        names = {name: tensor.detach().requires_grad_() for name, tensor in coefficients.items()}
        with torch.enable_grad():
            parts = equations(residual(with_derivatives(array, layout, x), x, **names), len(x))
        for part in parts:
            with torch.enable_grad():
                part = weight * part.reshape(-1)
                (slope,) = torch.autograd.grad(
                    part.sum(), array, retain_graph=True, materialize_grads=True, allow_unused=True
                )
                columns = {name: _rowwise(part, tensor) for name, tensor in names.items()}
            yield self._rows_of(slope, tape, layout, columns), part.double().numpy(force=True)

    def _propagate(self, x: Tensor, layout: Layout) -> tuple[Tensor, DerivativeTape]:
        module = self.module
        return propagate(x, module.encoding, module.mlp.linears, module.activation, layout)

    def _rows_of(
        self, slope: Tensor, tape: DerivativeTape, layout: Layout, columns: Mapping[str, Tensor]
    ) -> np.ndarray:
        """Rows of J, in the order of the network's parameters, for a gradient in the outputs of every point."""
        linears = self.module.mlp.linears
        rows_of: dict[int, Tensor] = {}
        with torch.no_grad():
            for linear, g, h in zip(linears, pull_back(slope, tape, linears, layout), tape.inputs):
                rows_of[id(linear.weight)] = torch.einsum("jno,jni->noi", g, h).flatten(1)
                rows_of[id(linear.bias)] = g[0]
            for name, tensor in self.coefficients.items():
                rows_of[id(tensor)] = columns[name][:, None] if name in columns else slope.new_zeros(slope.shape[1], 1)
            ordered = torch.cat([rows_of[id(parameter)] for parameter in self.module.parameters()], dim=1)
        return np.ascontiguousarray(ordered.numpy(force=True), dtype=np.float64)

    def _block(self) -> int:
        return max(1, ENTRIES // self.n_weights)


def _rowwise(part: Tensor, number: Tensor) -> Tensor:
    """Derivative of every entry of ``part`` in one number: a gradient in the weights of a weighted sum."""
    weights = torch.ones_like(part, requires_grad=True)
    (total,) = torch.autograd.grad(part, number, weights, create_graph=True, materialize_grads=True, allow_unused=True)
    if not total.requires_grad:  # the equation does not have it
        return torch.zeros_like(part)
    (jacobian,) = torch.autograd.grad(total, weights, retain_graph=True, materialize_grads=True, allow_unused=True)
    return jacobian.detach()
