r"""Derivatives of functions: gradients by one pass backwards, directional ones by one pass forwards, and both nested.

For :math:`f: \mathbb{R}^n \to \mathbb{R}^m` the Jacobian takes n forward passes, or one evaluation and m passes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from margin.neural.autodiff.primitives import reshape, total
from margin.neural.autodiff.tracing import Dual, Tape, Traced, new_level, shape_of

__all__ = [
    "derivative",
    "grad",
    "hessian",
    "hessian_vector",
    "jacobian_forward",
    "jacobian_reverse",
    "pullback",
    "pushforward",
]

Function = Callable[..., Any]


def pullback(f: Function, *inputs: Any) -> tuple[Any, Callable[..., list[Any]], Tape]:
    """The value of ``f``, a function from weights of its entries to derivatives in all inputs, and the tape.

    >>> value, pull, _ = pullback(lambda x, y: x * y, 2.0, 5.0)
    >>> float(value), [float(g) for g in pull(1.0)]
    (10.0, [5.0, 2.0])
    """
    tape = Tape()
    variables = [tape.variable(value) for value in inputs]
    output = f(*variables)
    value = output.value if isinstance(output, Traced) and output.level == tape.level else output
    return value, lambda seed=None: tape.gradients(output, variables, seed), tape


def grad(f: Function, argument: int = 0) -> Function:
    """The gradient of ``f``, one number, in one of its arguments; a function that can be differentiated again.

    >>> second = grad(grad(lambda x: x * x * x))
    >>> float(second(2.0))
    12.0
    """

    def gradient(*inputs: Any) -> Any:
        fixed = list(inputs)

        def of_one(x: Any) -> Any:
            return f(*fixed[:argument], x, *fixed[argument + 1 :])

        return pullback(of_one, inputs[argument])[1]()[0]

    return gradient


def pushforward(f: Function, inputs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of ``f`` and its derivative in the direction ``tangents``, one entry per input.

    >>> [float(part) for part in pushforward(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))]
    [10.0, 5.0]
    """
    level = new_level()
    output = f(*(Dual(value, tangent, level) for value, tangent in zip(inputs, tangents, strict=True)))
    if isinstance(output, Dual) and output.level == level:
        return output.value, output.tangent
    return output, np.zeros(shape_of(output))


def derivative(f: Function, order: int = 1) -> Function:
    """The derivative of a function of one number, of any order, by dual numbers inside dual numbers.

    >>> float(derivative(lambda x: x * x * x, order=3)(7.0))
    6.0
    """
    for _ in range(order):
        f = _once(f)
    return f


def _once(f: Function) -> Function:
    return lambda x: pushforward(f, (x,), (np.ones(shape_of(x)) if shape_of(x) else 1.0,))[1]


def jacobian_forward(f: Function, x: Any) -> np.ndarray:
    """(m, n), column by column: one pass for every input."""
    directions = np.eye(np.size(x)).reshape(-1, *np.shape(x))
    return np.stack([np.ravel(pushforward(f, (x,), (direction,))[1]) for direction in directions], axis=1)


def jacobian_reverse(f: Function, x: Any) -> np.ndarray:
    """(m, n), row by row: one evaluation and a pass back for every output."""
    value, pull, _ = pullback(f, x)
    seeds = np.eye(np.size(value)).reshape(-1, *np.shape(value))
    return np.stack([np.ravel(pull(seed)[0]) for seed in seeds])


def hessian(f: Function) -> Function:
    """The matrix of second derivatives of one number in a vector: forward mode through the gradient."""

    def of(x: Any) -> Any:
        return jacobian_forward(lambda v: reshape(grad(f)(v), shape=(np.size(x),)), x)

    return of


def hessian_vector(f: Function, x: Any, v: Any) -> Any:
    """The Hessian times ``v`` without the Hessian: the gradient of the gradient's component along ``v``."""
    return grad(lambda u: total(grad(f)(u) * v))(x)
