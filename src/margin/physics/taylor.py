r"""Derivatives of a perceptron carried forward with its values, layer by layer, instead of differentiated afterwards.

With :math:`z = W a + b` in a layer and :math:`a' = \sigma(z)` after it, the chain rule gives

.. math:: \partial_i a' = \sigma'(z)\, \partial_i z, \qquad
          \partial_{ij} a' = \sigma'(z)\, \partial_{ij} z + \sigma''(z)\, \partial_i z\, \partial_j z,

and the derivatives of :math:`z` are W times those of :math:`a`. A value and its derivatives are rows of one product
per layer, and one pass back gives the gradient in the weights; automatic differentiation goes back once per derivative
and then through all of these passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

__all__ = [
    "SMOOTH",
    "DerivativeTape",
    "InputEncoding",
    "Key",
    "Layout",
    "close_keys",
    "propagate",
    "pull_back",
    "taylor_values",
]

Key = tuple[int, ...]  # coordinates in which is differentiated, sorted; () is the value itself
Slopes = tuple[Tensor, Tensor, Tensor, Tensor]  # a function of the pre-activations and its first three derivatives


def _tanh(z: Tensor) -> Slopes:
    a = torch.tanh(z)
    first = 1 - a * a
    second = -2 * a * first
    return a, first, second, first * (6 * a * a - 2)


def _logistic(z: Tensor) -> Slopes:
    a = torch.sigmoid(z)
    first = a * (1 - a)
    second = first * (1 - 2 * a)
    return a, first, second, first * (1 - 6 * first)


SMOOTH: dict[str, Callable[[Tensor], Slopes]] = {"tanh": _tanh, "sigmoid": _logistic, "logistic": _logistic}


@dataclass(frozen=True)
class Layout:
    """Which derivatives are carried, in order: the value, first ones, second ones.

    ``factors`` are the two first ones that a second one is made of, by their positions.
    """

    keys: tuple[Key, ...]

    @property
    def factors(self) -> list[tuple[int, int, int]]:
        return [
            (position, self.keys.index(key[:1]), self.keys.index(key[1:]))
            for position, key in enumerate(self.keys)
            if len(key) == 2
        ]

    @property
    def firsts(self) -> list[int]:
        return [position for position, key in enumerate(self.keys) if len(key) == 1]


def close_keys(keys: Iterable[Key]) -> Layout:
    """The layout with all that ``keys`` need: (0, 1) needs (0,) and (1,).

    >>> close_keys([(1, 1), (0,)]).keys
    ((), (0,), (1,), (1, 1))
    """
    needed: set[Key] = {()}
    for key in keys:
        if len(key) > 2:
            raise ValueError(f"close_keys: derivatives are carried up to the second; got one of order {len(key)}.")
        needed |= {tuple(sorted(key)), *((axis,) for axis in key)}
    return Layout(tuple(sorted(needed, key=lambda key: (len(key), key))))


@dataclass(frozen=True)
class InputEncoding:
    r"""What enters the first layer: coordinates brought to [-1, 1], or their place on a circle where there is a period.

    .. math:: x \mapsto \frac{2 (x - l)}{h - l} - 1, \qquad
              x \mapsto \Bigl(\cos \frac{2\pi x}{P}, \sin \frac{2\pi x}{P}\Bigr)

    A network of the latter has the period P, and so have its derivatives, whatever its weights are.

    >>> circle = InputEncoding([0.0], [1.0], [1.0])
    >>> circle(torch.tensor([[0.0], [0.25]])).round(decimals=6).abs().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    low: Sequence[float]
    high: Sequence[float]
    periods: Sequence[float | None]

    @property
    def n_features(self) -> int:
        return sum(1 if period is None else 2 for period in self.periods)

    def __call__(self, x: Tensor) -> Tensor:
        if not any(self.periods):
            scale, shift = self._normalization(x)
            return x * scale + shift
        return torch.stack([column[0] for _, column in self._columns(x)], dim=1)

    def carry(self, x: Tensor, layout: Layout) -> Tensor:
        """The features and their derivatives in the coordinates, (J, n, features)."""
        h = x.new_zeros(len(layout.keys), len(x), self.n_features)
        for place, (axis, orders) in enumerate(self._columns(x)):
            for position, key in enumerate(layout.keys):
                if set(key) <= {axis}:
                    h[position, :, place] = orders[len(key)]
        return h

    def _columns(self, x: Tensor) -> Iterator[tuple[int, tuple[Tensor, Tensor, Tensor]]]:
        """For every feature the coordinate it is made of; its values, slopes and second derivatives in it."""
        scale, shift = self._normalization(x)
        for axis, period in enumerate(self.periods):
            if period is None:
                yield axis, (x[:, axis] * scale[axis] + shift[axis], scale[axis], scale.new_zeros(()))
                continue
            w = 2 * math.pi / period
            cos, sin = torch.cos(w * x[:, axis]), torch.sin(w * x[:, axis])
            yield axis, (cos, -w * sin, -w * w * cos)
            yield axis, (sin, w * cos, -w * w * sin)

    def _normalization(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Factor and summand of every coordinate that bring the box to [-1, 1]."""
        low, high = x.new_tensor(self.low), x.new_tensor(self.high)
        return 2 / (high - low), -2 * low / (high - low) - 1


@dataclass(frozen=True)
class DerivativeTape:
    """What a pass back needs of every layer: its inputs (J, n, in), and what came before its activation."""

    inputs: list[Tensor]
    pre: list[Tensor]
    slopes: list[Slopes]


def propagate(
    x: Tensor, encoding: InputEncoding, linears: Sequence[nn.Linear], activation: str, layout: Layout
) -> tuple[Tensor, DerivativeTape]:
    """The network of what enters at ``x`` and its derivatives in x, (J, n, outputs), with the tape of the pass."""
    h = encoding.carry(x, layout)
    tape = DerivativeTape([], [], [])
    for k, linear in enumerate(linears):
        tape.inputs.append(h)
        z = h @ linear.weight.T
        z[0] += linear.bias
        if k + 1 == len(linears):
            return z, tape
        slopes = SMOOTH[activation](z[0])
        value, first, second, _ = slopes
        h = first * z
        h[0] = value
        for position, i, j in layout.factors:
            h[position].addcmul_(second * z[i], z[j])
        tape.pre.append(z)
        tape.slopes.append(slopes)
    raise ValueError("propagate: a network needs at least one layer.")


def pull_back(gradient: Tensor, tape: DerivativeTape, linears: Sequence[nn.Linear], layout: Layout) -> list[Tensor]:
    """From the gradient in the last layer's outputs (J, n, outputs) those before the activation of every layer."""
    gradients = [gradient]
    for k in range(len(linears) - 1, 0, -1):
        g = gradients[-1] @ linears[k].weight
        z, (_, first, second, third) = tape.pre[k - 1], tape.slopes[k - 1]
        back = first * g
        for i in layout.firsts:
            back[0].addcmul_(second * g[i], z[i])
        for position, i, j in layout.factors:
            curved = second * g[position]
            back[0].addcmul_(curved, z[position]).addcmul_(third * g[position], z[i] * z[j])
            back[i].addcmul_(curved, z[j])
            back[j].addcmul_(curved, z[i])
        gradients.append(back)
    return gradients[::-1]


class _TaylorValues(torch.autograd.Function):
    """Values and derivatives, with the gradient in weights and biases; points are constants."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, encoding: InputEncoding, linears: Any, activation: str, layout: Layout, *_: Tensor
    ) -> Tensor:
        values, ctx.tape = propagate(x, encoding, linears, activation, layout)
        ctx.linears, ctx.layout = linears, layout
        return values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight_gradients: list[Tensor] = []
        for g, h in zip(pull_back(gradients[0], ctx.tape, ctx.linears, ctx.layout), ctx.tape.inputs):
            weight_gradients += [g.flatten(0, 1).T @ h.flatten(0, 1), g[0].sum(dim=0)]
        return (None,) * 5 + tuple(weight_gradients)


def taylor_values(
    x: Tensor, encoding: InputEncoding, linears: Sequence[nn.Linear], activation: str, layout: Layout
) -> Tensor:
    """Values and derivatives (J, n, outputs) at ``x``, differentiable in the weights."""
    weights = [tensor for linear in linears for tensor in (linear.weight, linear.bias)]
    values: Tensor = _TaylorValues.apply(x, encoding, linears, activation, layout, *weights)
    return values
