r"""Learning to learn by an inner loop of descent.

MAML: a start :math:`\theta` from which one step on a task is good,
:math:`\min_\theta \sum_T L_T^{query}(\theta - \alpha \nabla L_T^{support}(\theta))`; the first-order version leaves out
the second derivatives. Reptile moves to where a few steps lead,
:math:`\theta \leftarrow \theta + \epsilon(\phi_T - \theta)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

__all__ = ["adapt", "adapted_loss", "adapted_losses", "reptile_gradients"]

Loss = Callable[[Tensor, Tensor], Tensor]
Weights = Mapping[str, Tensor]


def adapt(
    module: nn.Module, loss: Loss, x: Tensor, y: Tensor, *, rate: float, steps: int = 1, second_order: bool = True
) -> dict[str, Tensor]:
    """Weights after ``steps`` steps of descent on a task; with ``second_order`` differentiable in their start."""
    weights: dict[str, Tensor] = dict(module.named_parameters())
    for _ in range(steps):
        value = loss(functional_call(module, weights, (x,)), y)
        gradients = torch.autograd.grad(value, list(weights.values()), create_graph=second_order)
        weights = {name: w - rate * g for (name, w), g in zip(weights.items(), gradients)}
    return weights


def adapted_loss(
    module: nn.Module,
    loss: Loss,
    support: tuple[Tensor, Tensor],
    query: tuple[Tensor, Tensor],
    *,
    rate: float,
    steps: int = 1,
    second_order: bool = True,
) -> tuple[Tensor, Tensor]:
    """MAML's objective of one task, the loss of the query after adapting to the support, and the query's outputs."""
    weights = adapt(module, loss, *support, rate=rate, steps=steps, second_order=second_order)
    outputs = functional_call(module, weights, (query[0],))
    return loss(outputs, query[1]), outputs


def adapted_losses(
    module: nn.Module,
    loss: Loss,
    support: tuple[Tensor, Tensor],
    query: tuple[Tensor, Tensor],
    *,
    rate: float,
    steps: int = 1,
    second_order: bool = True,
) -> Tensor:
    """:func:`adapted_loss` of many tasks at once, (tasks,): all tensors have one more axis in front, and tasks as many
    points as each other. One pass over small networks costs as much as one task alone."""
    start: dict[str, Tensor] = dict(module.named_parameters())

    def of_task(x: Tensor, y: Tensor, new_x: Tensor, new_y: Tensor) -> Tensor:
        weights = start
        for _ in range(steps):
            gradients = torch.func.grad(lambda w: loss(functional_call(module, w, (x,)), y))(weights)
            if not second_order:
                gradients = {name: g.detach() for name, g in gradients.items()}
            weights = {name: w - rate * gradients[name] for name, w in weights.items()}
        return loss(functional_call(module, weights, (new_x,)), new_y)

    losses: Tensor = torch.func.vmap(of_task)(*support, *query)
    return losses


def reptile_gradients(
    module: nn.Module, loss: Loss, x: Tensor, y: Tensor, *, rate: float, steps: int
) -> dict[str, Tensor]:
    """Where descent on a task leads, as a gradient to be followed: the start minus the adapted weights."""
    adapted = adapt(module, loss, x, y, rate=rate, steps=steps, second_order=False)
    return {name: (w - adapted[name]).detach() for name, w in module.named_parameters()}
