"""The primitives: functions of one entry, linear maps, products of matrices, each with its rules.

Three kinds cover nearly everything. A function of entries knows its partial derivatives, and both rules follow. A
linear map knows its transpose, and pushes a derivative by being applied to it. A product is linear in each factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from margin.neural.autodiff.tracing import PRIMITIVES, Primitive, shape_of

__all__ = [
    "PRIMITIVES", "absolute", "add", "broadcast_to", "concatenate", "cos", "divide", "erf", "exp", "log", "matmul",
    "maximum", "multiply", "negative", "place", "positive", "power", "relu", "reshape", "select", "sigmoid", "sign",
    "sin", "softplus", "sqrt", "subtract", "swap_last_axes", "take", "tanh", "total", "transpose", "unbroadcast",
]  # fmt: skip


def _register(primitive: Primitive) -> Primitive:
    PRIMITIVES[primitive.name] = primitive
    return primitive


def _elementwise(name: str, evaluate: Callable[..., Any], *partials: Callable[..., Any]) -> Primitive:
    """A function of every entry; ``partials[i](out, *args)`` is its derivative in argument i."""

    def pull(g: Any, out: Any, *args: Any, **options: Any) -> list[Any]:
        parts = [multiply(g, partial(out, *args, **options)) for partial in partials]
        return [unbroadcast(part, shape_of(arg)) for part, arg in zip(parts, args)]

    def push(tangents: Sequence[Any], out: Any, *args: Any, **options: Any) -> Any:
        moves = [multiply(t, d(out, *args, **options)) for t, d in zip(tangents, partials) if t is not None]
        moved = sum(moves[1:], start=moves[0])
        return moved if shape_of(moved) == shape_of(out) else broadcast_to(moved, shape=shape_of(out))

    return _register(Primitive(name, evaluate, pull, push))


def _linear(name: str, evaluate: Callable[..., Any], transposed: Callable[..., Any]) -> Primitive:
    """A linear map of one argument; ``transposed(g, arg, **options)`` is its transpose."""

    def pull(g: Any, _out: Any, arg: Any, **options: Any) -> list[Any]:
        return [transposed(g, arg, **options)]

    def push(tangents: Sequence[Any], _out: Any, _arg: Any, **options: Any) -> Any:
        return primitive(tangents[0], **options)

    primitive = _register(Primitive(name, evaluate, pull, push))
    return primitive


# Arithmetic.
add = _elementwise("add", np.add, lambda _out, _a, _b: 1.0, lambda _out, _a, _b: 1.0)
subtract = _elementwise("subtract", np.subtract, lambda _out, _a, _b: 1.0, lambda _out, _a, _b: -1.0)
multiply = _elementwise("multiply", np.multiply, lambda _out, _a, b: b, lambda _out, a, _b: a)
divide = _elementwise("divide", np.divide, lambda _out, _a, b: 1.0 / b, lambda out, _a, b: -out / b)
negative = _elementwise("negative", np.negative, lambda _out, _a: -1.0)
power: Primitive = _elementwise(
    "power",
    lambda a, exponent: np.power(a, exponent),
    lambda _out, a, exponent: exponent * power(a, exponent=exponent - 1),
)

# Functions of one entry. The derivatives of `positive` and `sign` are 0 wherever they exist.
exp = _elementwise("exp", np.exp, lambda out, _a: out)
log = _elementwise("log", np.log, lambda _out, a: 1.0 / a)
sqrt = _elementwise("sqrt", np.sqrt, lambda out, _a: 0.5 / out)
sin = _elementwise("sin", np.sin, lambda _out, a: cos(a))
cos: Primitive = _elementwise("cos", np.cos, lambda _out, a: -sin(a))
tanh = _elementwise("tanh", np.tanh, lambda out, _a: 1.0 - out * out)
sigmoid = _elementwise("sigmoid", special.expit, lambda out, _a: out * (1.0 - out))
softplus = _elementwise("softplus", lambda a: np.logaddexp(0.0, a), lambda _out, a: sigmoid(a))
erf = _elementwise("erf", special.erf, lambda _out, a: 2 / math.sqrt(math.pi) * exp(-a * a))
positive = _elementwise("positive", lambda a: np.where(a > 0, 1.0, 0.0), lambda _out, _a: 0.0)
sign = _elementwise("sign", np.sign, lambda _out, _a: 0.0)
relu = _elementwise("relu", lambda a: np.maximum(a, 0.0), lambda _out, a: positive(a))
absolute = _elementwise("absolute", np.abs, lambda _out, a: sign(a))
maximum = _elementwise(
    "maximum", np.maximum, lambda _out, a, b: positive(a - b), lambda _out, a, b: 1.0 - positive(a - b)
)
select = _elementwise(
    "select",
    lambda a, b, mask: np.where(mask, a, b),
    lambda _out, _a, _b, mask: np.where(mask, 1.0, 0.0),
    lambda _out, _a, _b, mask: np.where(mask, 0.0, 1.0),
)


# Linear maps: sums, shapes, entries.
def _spread(g: Any, a: Any, axis: Any = None, **_options: Any) -> Any:
    """Back from a sum: every entry that was added gets the derivative of the sum."""
    shape = shape_of(a)
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % max(len(shape), 1)
    kept = tuple(1 if i in axes else size for i, size in enumerate(shape))
    return broadcast_to(reshape(g, shape=kept), shape=shape)


total: Primitive = _linear(
    "total", lambda a, axis=None, keepdims=False: np.sum(a, axis=axis, keepdims=keepdims), _spread
)
broadcast_to: Primitive = _linear(
    "broadcast_to",
    lambda a, shape: np.broadcast_to(a, shape),
    lambda g, a, **_: unbroadcast(g, shape_of(a)),
)
reshape: Primitive = _linear(
    "reshape", lambda a, shape: np.reshape(a, shape), lambda g, a, **_: reshape(g, shape=shape_of(a))
)
transpose: Primitive = _linear(
    "transpose", lambda a, axes: np.transpose(a, axes), lambda g, _a, axes: transpose(g, axes=tuple(np.argsort(axes)))
)


def _place(a: Any, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape)
    np.add.at(out, index, a)  # an entry that was taken twice gets both
    return out


take: Primitive = _linear(
    "take", lambda a, index: np.asarray(a)[index], lambda g, a, index: place(g, index=index, shape=shape_of(a))
)
place: Primitive = _linear("place", _place, lambda g, _a, index, **_: take(g, index=index))


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the axes along which an array of ``shape`` was repeated."""
    own_shape = shape_of(g)
    if own_shape == shape:
        return g
    if not own_shape:
        return broadcast_to(g, shape=shape)
    g = total(g, axis=tuple(range(len(own_shape) - len(shape)))) if len(own_shape) > len(shape) else g
    repeated = tuple(i for i, size in enumerate(shape) if size == 1 and shape_of(g)[i] != 1)
    return total(g, axis=repeated, keepdims=True) if repeated else g


# Products and joins: linear in each argument.
def _matmul_pull(g: Any, _out: Any, a: Any, b: Any) -> list[Any]:
    return [unbroadcast(g @ swap_last_axes(b), shape_of(a)), unbroadcast(swap_last_axes(a) @ g, shape_of(b))]


def _matmul_push(tangents: Sequence[Any], _out: Any, a: Any, b: Any) -> Any:
    of_a, of_b = tangents
    moves = ([] if of_a is None else [matmul(of_a, b)]) + ([] if of_b is None else [matmul(a, of_b)])
    return sum(moves[1:], start=moves[0])


def _product(a: Any, b: Any) -> Any:
    if min(np.ndim(a), np.ndim(b)) < 2:
        raise ValueError(f"matmul: both factors must be matrices; got shapes {np.shape(a)} and {np.shape(b)}.")
    return np.matmul(a, b)


matmul = _register(Primitive("matmul", _product, _matmul_pull, _matmul_push))


def swap_last_axes(a: Any) -> Any:
    """The transpose of the matrices in the last two axes."""
    axes = list(range(len(shape_of(a))))
    return transpose(a, axes=(*axes[:-2], axes[-1], axes[-2]))


def _pieces(g: Any, _out: Any, *parts: Any, axis: int = 0) -> list[Any]:
    ends = np.cumsum([shape_of(part)[axis] for part in parts])
    axis = axis % len(shape_of(g))
    cut = [(*[slice(None)] * axis, slice(end - shape_of(part)[axis], end)) for part, end in zip(parts, ends)]
    return [take(g, index=index) for index in cut]


def _joined_push(tangents: Sequence[Any], _out: Any, *parts: Any, axis: int = 0) -> Any:
    moves = [np.zeros(shape_of(part)) if t is None else t for part, t in zip(parts, tangents)]
    return concatenate(*moves, axis=axis)


concatenate = _register(
    Primitive("concatenate", lambda *parts, axis=0: np.concatenate(parts, axis=axis), _pieces, _joined_push)
)
