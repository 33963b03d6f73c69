"""Losses of one batch, per row, as a training takes them, and the scores that go with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from margin.neural.losses.class_losses import CrossEntropy
from margin.neural.losses.network_loss import ClassLoss, NetworkLoss
from margin.neural.losses.regression import squared_error as squares
from margin.neural.losses.target_losses import SquaredError
from margin.neural.training.batches import Batch
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.rows import Rows
from margin.neural.training.steps import Objective

__all__ = [
    "Supervised",
    "accuracy",
    "cross_entropy",
    "explained_variance",
    "smoothed_cross_entropy",
    "squared_error",
    "subset_accuracy",
]


@dataclass(frozen=True)
class Supervised:
    """The loss of a network's outputs for the targets of a batch; ``several``: a row may have several labels.

    >>> Supervised(CrossEntropy(0.1))(nn.Identity(), (torch.zeros(1, 4), torch.tensor([2])), torch.Generator())
    {'loss': tensor([1.3863])}
    """

    loss: NetworkLoss
    several: bool = False

    def __call__(self, module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        X, y = batch
        outputs = module(X)
        loss = self.loss.of_labels if self.several and isinstance(self.loss, ClassLoss) else self.loss
        return {"loss": loss(outputs, y, module.training)}


cross_entropy: Objective = Supervised(CrossEntropy())
squared_error: Objective = Supervised(SquaredError())


def smoothed_cross_entropy(smoothing: float) -> Objective:
    """Cross-entropy with ``smoothing`` of each row's target spread evenly over all classes; held-out rows keep theirs.

    >>> loss = smoothed_cross_entropy(0.1)(nn.Identity(), (torch.zeros(1, 4), torch.tensor([2])), torch.Generator())
    >>> loss["loss"]
    tensor([1.3863])
    """
    return Supervised(CrossEntropy(smoothing))


def accuracy(module: nn.Module, rows: Rows) -> float:
    """Weighted fraction of rows whose class is the most probable one."""
    outputs, y, weight = _outputs(module, rows)
    return float((outputs.argmax(dim=1) == y).to(weight.dtype) @ weight / weight.sum())


def subset_accuracy(module: nn.Module, rows: Rows) -> float:
    """Weighted fraction of rows all of whose labels are right."""
    outputs, Y, weight = _outputs(module, rows)
    return float(((outputs > 0) == (Y > 0.5)).all(dim=1).to(weight.dtype) @ weight / weight.sum())


def explained_variance(
    module: nn.Module, rows: Rows, prediction: Callable[[Tensor], Tensor] = lambda outputs: outputs
) -> float:
    """Weighted coefficient of determination of the ``prediction`` from outputs, averaged over the targets."""
    outputs, Y, weight = _outputs(module, rows)
    weight = weight / weight.sum()
    residual = weight @ squares(Y, prediction(outputs))
    spread = weight @ (Y - weight @ Y).square()
    return float((1 - residual / spread).mean())


def _outputs(module: nn.Module, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """What the network gives for the first tensor of every batch, the last tensor, and the weights."""
    parts = [(module(part.tensors[0]), part.tensors[-1], weights_of(part)) for part in rows.chunks(EVALUATION_ROWS)]
    outputs, targets, weights = (torch.cat([part[k] for part in parts]) for k in range(3))
    return outputs, targets, weights


def weights_of(batch: Batch) -> Tensor:
    x = batch.tensors[0]
    return torch.ones(len(x), device=x.device) if batch.weight is None else batch.weight
