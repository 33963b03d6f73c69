"""Where gradients come from: differences, automatic differentiation, and the check of one against the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.parameter_texts import DIFFERENTIATED
from margin.optimize.steps import Array

__all__ = [
    "autograd",
    "gradient_error",
    "numerical_gradient",
    "numerical_hessian",
    "taylor2",
    "torch_hessian",
]

# Central differences lose least when truncation h^2 and rounding eps/h meet: h ~ eps^(1/3);
# second differences of values, h^2 against eps/h^2: h ~ eps^(1/4).
FIRST_DIFFERENCE = np.finfo(float).eps ** (1 / 3)
SECOND_DIFFERENCE = np.finfo(float).eps ** (1 / 4)


@with_parameters(DIFFERENTIATED)
def numerical_gradient(f: Callable[[Array], Any], x: Any) -> Array:
    r"""Central differences.

    .. math:: \partial_i f(x) \approx \frac{f(x + h_i e_i) - f(x - h_i e_i)}{2 h_i}, \quad error\ O(h^2).

    Examples
    --------
    >>> numerical_gradient(lambda x: x[0] ** 2 * x[1], [3.0, 2.0]).round(6)
    array([12.,  9.])
    """
    x = np.array(x, dtype=float)
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        h = FIRST_DIFFERENCE * max(1.0, abs(x[i]))
        above, below = x.copy(), x.copy()
        above[i] += h
        below[i] -= h
        gradient[i] = (float(f(above)) - float(f(below))) / (above[i] - below[i])
    return gradient


@with_parameters(DIFFERENTIATED)
def numerical_hessian(f: Callable[[Array], Any], x: Any, *, grad: Callable[[Array], Any] | None = None) -> Array:
    r"""(d, d) second derivatives at ``x`` (d,): differences of ``grad`` if given, else of values; symmetrized.

    .. math:: H_{ij} \approx \frac{\partial_i f(x + h e_j) - \partial_i f(x - h e_j)}{2h}

    Parameters
    ----------
    grad : callable, optional
        The gradient of ``f``.
    """
    x = np.atleast_1d(np.array(x, dtype=float)).ravel()
    if grad is not None:
        columns = [_gradient_difference(grad, x, j) for j in range(x.size)]
        matrix = np.stack(columns, axis=1)
        return (matrix + matrix.T) / 2
    steps = SECOND_DIFFERENCE * np.maximum(1.0, np.abs(x))
    corner = np.diag(steps)
    matrix = np.empty((x.size, x.size))
    for i in range(x.size):
        for j in range(i + 1):
            a, b = corner[i], corner[j]
            mixed = float(f(x + a + b)) - float(f(x + a - b)) - float(f(x - a + b)) + float(f(x - a - b))
            matrix[i, j] = matrix[j, i] = mixed / (4 * steps[i] * steps[j])
    return matrix


def _gradient_difference(grad: Callable[[Array], Any], x: Array, j: int) -> Array:
    h = FIRST_DIFFERENCE * max(1.0, abs(x[j]))
    above, below = x.copy(), x.copy()
    above[j] += h
    below[j] -= h
    return (np.asarray(grad(above), dtype=float) - np.asarray(grad(below), dtype=float)) / (above[j] - below[j])


def autograd(f: Callable[[Any], Any]) -> Callable[[Array], tuple[float, Array]]:
    """Turn ``f``, written with torch operations on a float64 tensor, into x -> (value, gradient) on arrays.

    Parameters
    ----------
    f : callable
        A function written with torch operations on a float64 tensor.
    """
    import torch

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        tensor = torch.tensor(np.asarray(x, dtype=float), requires_grad=True)
        value = f(tensor)
        (gradient,) = torch.autograd.grad(value, tensor)
        return float(value.detach()), gradient.numpy()

    return value_and_gradient


@with_parameters(DIFFERENTIATED)
def torch_hessian(f: Callable[[Any], Any], x: Any) -> Array:
    """The Hessian of ``f``, written with torch operations, by automatic differentiation: (d, d).

    Parameters
    ----------
    f : callable
        A function written with torch operations on a float64 tensor.
    """
    import torch

    tensor = torch.tensor(np.asarray(x, dtype=float))
    return np.asarray(torch.autograd.functional.hessian(f, tensor).reshape(tensor.numel(), tensor.numel()))


@with_parameters(DIFFERENTIATED)
def gradient_error(f: Callable[[Array], Any], grad: Callable[[Array], Any], x: Any) -> float:
    r"""Check a gradient: its largest distance from central differences, relative to :math:`1 + \max_i|\partial_i f|`.

    A right gradient gives about 1e-9; a wrong term gives a number near 1.

    Parameters
    ----------
    grad : callable
        The gradient to check.

    Examples
    --------
    >>> gradient_error(lambda x: x @ x, lambda x: 2 * x, [1.0, -2.0]) < 1e-8
    True
    """
    point = np.array(x, dtype=float)
    given = np.asarray(grad(point), dtype=float)
    if given.shape != point.shape:
        raise ValueError(f"gradient_error: grad must return the shape {point.shape} of x; got {given.shape}.")
    measured = numerical_gradient(f, point)
    return float(np.max(np.abs(given - measured)) / (1 + np.max(np.abs(measured))))


def taylor2(value: float, gradient: Array, hessian: Array, a: Array) -> Callable[[Array], float]:
    r"""The second-order Taylor model at ``a``.

    .. math:: m(x) = f(a) + \nabla f(a)^\top (x - a) + \tfrac12 (x - a)^\top \nabla^2 f(a) (x - a)

    Exact for quadratics; otherwise an approximation whose error is :math:`O(\|x - a\|^3)`.

    Parameters
    ----------
    value : float
        Value at ``a``.
    gradient : ndarray of shape (d,)
        Gradient at ``a``.
    hessian : ndarray of shape (d, d)
        Hessian at ``a``.
    a : ndarray of shape (d,)
        The point.
    """

    def model(x: Array) -> float:
        move = np.asarray(x, dtype=float) - a
        return float(value + gradient @ move + 0.5 * move @ hessian @ move)

    return model
