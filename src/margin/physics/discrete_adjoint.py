r"""The exact gradient of every step of a Runge-Kutta method whose slope is a perceptron, written out.

A step makes :math:`z_i = y + h \sum_j a_{ij} k_j`, :math:`k_i = f(z_i)`, :math:`y' = y + h \sum_i b_i k_i`. With
:math:`\bar v` for the gradient of the loss in v, and the slopes from the last to the first,

.. math:: \bar k_i = h b_i \bar y' + h \sum_{j > i} a_{ji} \bar z_j, \qquad \bar z_i = J_f(z_i)^\top \bar k_i, \qquad
          \bar y = \bar y' + \sum_i \bar z_i.

Automatic differentiation finds the same numbers, with a node for every operation and a product for every matrix at
every slope; here what a layer saw at many slopes enters one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.nets.mlp import MLP
from margin.neural.written_gradients import ACTIVATION_BACKWARD
from margin.physics.tableaus import Tableau

__all__ = ["can_be_written_out", "perceptron_states"]

TOGETHER = 32  # slopes whose part of the weights' gradients is found by one product: more do not fit a cache


def can_be_written_out(network: nn.Module) -> bool:
    """Whether ``network`` is a perceptron of a known activation, without dropout and without hooks on its parts."""
    if type(network) is not MLP or type(network.activation) not in ACTIVATION_BACKWARD or network.dropout.p > 0:
        return False
    return not any(part._forward_hooks or part._forward_pre_hooks or part._backward_hooks for part in network.modules())


def perceptron_states(network: MLP, start: Tensor, lengths: Sequence[float], every: int, tableau: Tableau) -> Tensor:
    """States (1 + len(lengths) / every, n, d) from ``start`` (n, d): steps of ``lengths``, a state after ``every``."""
    weights = [tensor for linear in network.linears for tensor in (linear.weight, linear.bias)]
    states: Tensor = _PerceptronStates.apply(start, network.activation, list(lengths), every, tableau, *weights)
    return states


class _PerceptronStates(torch.autograd.Function):
    """Both passes; what the layers saw is kept as lists of one tensor per slope."""

    @staticmethod
    def forward(
        ctx: Any, start: Tensor, activation: nn.Module, lengths: list[float], every: int, tableau: Tableau,
        *weights: Tensor,
    ) -> Tensor:  # fmt: skip
        layers = list(zip(weights[::2], weights[1::2]))
        seen: list[list[Tensor]] = [[] for _ in layers]  # what enters a layer
        y, states = start, [start]
        for number, h in enumerate(lengths, 1):
            slopes: list[Tensor] = []
            for row in tableau.a:
                x = _move(y, h, row, slopes)
                for k, (weight, bias) in enumerate(layers):
                    seen[k].append(x)
                    x = torch.addmm(bias, x, weight.T)
                    x = activation(x) if k + 1 < len(layers) else x
                slopes.append(x)
            y = _move(y, h, tableau.b, slopes)
            if number % every == 0:
                states.append(y)
        ctx.seen, ctx.plan, ctx.weights, ctx.activation = seen, (lengths, every, tableau), weights, type(activation)
        return torch.stack(states)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Any, ...]:
        (gradient,) = outputs
        lengths, every, tableau = ctx.plan
        matrices, seen, before = ctx.weights[::2], ctx.seen, ACTIVATION_BACKWARD[ctx.activation]
        weight_gradients = [torch.zeros_like(weight) for weight in ctx.weights]
        back: list[list[Tensor]] = [[] for _ in matrices]  # the gradient in what leaves a layer, last slope first
        y, place = gradient[-1], len(seen[0])
        for number in range(len(lengths), 0, -1):
            h = lengths[number - 1]
            moved: list[Tensor] = []  # gradients in the places of the slopes, last first
            after = y
            for i in range(len(tableau.b) - 1, -1, -1):
                place -= 1
                columns = [row[i] for row in tableau.a[i + 1 :]][::-1]
                g = _move(after * (h * tableau.b[i]), h, columns, moved)
                for k in range(len(matrices) - 1, -1, -1):
                    back[k].append(g)
                    g = g @ matrices[k]
                    if k:
                        g = before(g, seen[k][place])
                moved.append(g)
                y = y + g
            if (number - 1) % every == 0:
                y = y + gradient[(number - 1) // every]
            if len(back[0]) >= TOGETHER or number == 1:
                _add_weights(weight_gradients, seen, back, place)
        return y, None, None, None, None, *weight_gradients


def _add_weights(
    weight_gradients: list[Tensor], seen: list[list[Tensor]], back: list[list[Tensor]], place: int
) -> None:
    """Add the part of the slopes from ``place`` on to the gradients in matrices and biases, and forget their lists."""
    for k, outward in enumerate(back):
        left, right = torch.cat(outward[::-1]), torch.cat(seen[k][place : place + len(outward)])
        weight_gradients[2 * k].addmm_(left.T, right)
        weight_gradients[2 * k + 1].add_(left.sum(dim=0))
        outward.clear()


def _move(y: Tensor, h: float, weights: Sequence[float], slopes: Sequence[Tensor]) -> Tensor:
    """y + h times the weighted slopes."""
    for weight, slope in zip(weights, slopes):
        y = torch.add(y, slope, alpha=h * weight) if weight else y
    return y
