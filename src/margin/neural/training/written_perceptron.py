r"""The gradient of a plain perceptron's cross-entropy or squared error, written out as backpropagation.

.. math:: \delta_{K+1} = \nabla_{z_{K+1}} \ell, \qquad \delta_k = (\delta_{k+1} W_{k+1}) \odot a'(z_k), \qquad
          \nabla_{W_k} = \delta_k^\top h_{k-1}, \qquad \nabla_{b_k} = \sum_i \delta_{ik} .

Recording and replaying these few operations takes several times as long as carrying them out when a batch has a few
hundred rows. They are those that torch would record, in the same order, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.fused import fused_log_softmax
from margin.neural.losses.class_losses import CrossEntropy
from margin.neural.losses.fused import fused_nll_loss
from margin.neural.losses.network_loss import NetworkLoss
from margin.neural.losses.target_losses import SquaredError
from margin.neural.nets.mlp import MLP, TwoClassMLP
from margin.neural.training.batches import Batch
from margin.neural.training.meter import Mean
from margin.neural.training.objectives import Supervised
from margin.neural.training.steps import Objective
from margin.neural.written_gradients import ACTIVATION_BACKWARD

__all__ = ["written_gradient"]


def written_gradient(module: nn.Module, objective: Objective) -> Callable[[Batch], dict[str, Mean]] | None:
    """A function that sets the gradients of ``module`` for a batch and returns the loss; None for other networks.

    >>> net = MLP([3, 4, 2])
    >>> batch = Batch((torch.ones(5, 3), torch.zeros(5, dtype=torch.int64)))
    >>> loss = written_gradient(net, Supervised(CrossEntropy()))(batch)
    >>> tuple(net.linears[0].weight.grad.shape), loss["loss"].mass
    ((4, 3), 5.0)
    """
    loss_of = _written_loss(objective)
    if loss_of is None or type(module) not in (MLP, TwoClassMLP) or not isinstance(module, MLP):
        return None
    usual = module.dropout.p == 0 and module.norms is None and type(module.activation) in ACTIVATION_BACKWARD
    if not usual or not all(p.requires_grad and p.device.type == "cpu" for p in module.parameters()):
        return None
    # Looking parameters up in a module takes longer than adding a bias.
    weights, biases = ([getattr(layer, name) for layer in module.linears] for name in ("weight", "bias"))
    activation, derivative = module.activation.forward, ACTIVATION_BACKWARD[type(module.activation)]
    two_classes = isinstance(module, TwoClassMLP)

    def gradient(batch: Batch) -> dict[str, Mean]:
        with torch.no_grad():
            X, y = batch.tensors
            activations = [X]
            for W, b in zip(weights[:-1], biases):
                activations.append(activation(functional.linear(activations[-1], W, b)))
            outputs = functional.linear(activations[-1], weights[-1], biases[-1])
            loss, above = loss_of(torch.constant_pad_nd(outputs, (1, 0)) if two_classes else outputs, y, batch)
            above = above[:, 1:].contiguous() if two_classes else above  # sums of strided numbers have other bits
            for k in range(len(weights) - 1, -1, -1):
                weights[k].grad, biases[k].grad = above.t() @ activations[k], above.sum(dim=0)
                if k:
                    above = derivative(above @ weights[k], activations[k])
        return {"loss": loss}

    return gradient


def _cross_entropy(logits: Tensor, y: Tensor, batch: Batch) -> tuple[Mean, Tensor]:
    """The cross-entropy, and the gradient of its mean in the logits, (n, classes)."""
    logs = fused_log_softmax(logits, dim=1)
    loss, row = _mean(fused_nll_loss(logs, y, reduction="none"), batch)
    above = torch.zeros_like(logs).scatter_(1, y[:, None], -row[:, None])
    return loss, torch.ops.aten._log_softmax_backward_data(above, logs, 1, logs.dtype)


def _squared_error(outputs: Tensor, Y: Tensor, batch: Batch) -> tuple[Mean, Tensor]:
    """Half the squared error, averaged over the targets, and the gradient of its mean in the outputs, (n, targets)."""
    error = outputs - Y
    if outputs.shape[1] == 1:  # the mean is the number itself, and so is half of twice it
        loss, row = _mean(0.5 * error[:, 0].square(), batch)
        return loss, row[:, None] * error
    loss, row = _mean(0.5 * error.square().mean(dim=1), batch)
    return loss, (0.5 * row / outputs.shape[1])[:, None] * (2 * error)


def _mean(losses: Tensor, batch: Batch) -> tuple[Mean, Tensor]:
    """The weighted mean of the losses of all rows, and its derivative by each of them."""
    one = _one(losses.dtype)
    if batch.weight is None:
        return Mean(losses.sum(), float(len(losses))), (one / float(len(losses))).expand(len(losses))
    return Mean(losses @ batch.weight, batch.mass), batch.weight * (one / batch.mass)


@cache
def _one(dtype: torch.dtype) -> Any:
    return torch.ones((), dtype=dtype)


WrittenLoss = Callable[[Tensor, Tensor, Batch], tuple[Mean, Tensor]]

#: The written forms of losses, by their class.
WRITTEN: dict[type[NetworkLoss], WrittenLoss] = {CrossEntropy: _cross_entropy, SquaredError: _squared_error}


def _written_loss(objective: Objective) -> WrittenLoss | None:
    """The written form of what ``objective`` minimizes; None where there is none."""
    if not isinstance(objective, Supervised) or objective.several or getattr(objective.loss, "label_smoothing", False):
        return None
    return WRITTEN.get(type(objective.loss))
