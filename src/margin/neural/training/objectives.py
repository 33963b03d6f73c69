"""Losses of one batch, per row, as a training takes them, and the scores that go with them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.training.batches import Batch
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.neural.training.rows import Rows
from margin.neural.training.steps import Objective

__all__ = [
    "accuracy",
    "binary_cross_entropy",
    "cross_entropy",
    "explained_variance",
    "explained_variance_of_rates",
    "poisson_deviance",
    "smoothed_cross_entropy",
    "squared_error",
    "subset_accuracy",
]


def cross_entropy(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Negative log-probability of each row's class."""
    X, y = batch
    return {"loss": functional.cross_entropy(module(X), y, reduction="none")}


def binary_cross_entropy(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Negative log-probability of each row's labels, each of which is 0 or 1, summed over them."""
    X, Y = batch
    return {"loss": functional.binary_cross_entropy_with_logits(module(X), Y, reduction="none").sum(dim=1)}


def squared_error(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Half the squared error of each row, averaged over its targets."""
    X, Y = batch
    return {"loss": 0.5 * (module(X) - Y).square().mean(dim=1)}


def poisson_deviance(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    r"""Half the deviance :math:`y\log(y/\lambda) - y + \lambda` of each row, the network giving :math:`\log\lambda`."""
    X, Y = batch
    log_rate = module(X)
    return {"loss": (torch.xlogy(Y, Y) - Y * log_rate - Y + log_rate.exp()).sum(dim=1)}


def smoothed_cross_entropy(smoothing: float) -> Objective:
    """Cross-entropy with ``smoothing`` of each row's target spread evenly over all classes; held-out rows keep theirs.

    >>> loss = smoothed_cross_entropy(0.1)(nn.Identity(), (torch.zeros(1, 4), torch.tensor([2])), torch.Generator())
    >>> loss["loss"]
    tensor([1.3863])
    """

    def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        X, y = batch
        amount = smoothing if module.training else 0.0
        return {"loss": functional.cross_entropy(module(X), y, reduction="none", label_smoothing=amount)}

    return objective


def accuracy(module: nn.Module, rows: Rows) -> float:
    """Weighted fraction of rows whose class is the most probable one."""
    outputs, y, weight = _outputs(module, rows)
    return float((outputs.argmax(dim=1) == y).to(weight.dtype) @ weight / weight.sum())


def subset_accuracy(module: nn.Module, rows: Rows) -> float:
    """Weighted fraction of rows all of whose labels are right."""
    outputs, Y, weight = _outputs(module, rows)
    return float(((outputs > 0) == (Y > 0.5)).all(dim=1).to(weight.dtype) @ weight / weight.sum())


def explained_variance(module: nn.Module, rows: Rows) -> float:
    """Weighted coefficient of determination, averaged over the targets."""
    outputs, Y, weight = _outputs(module, rows)
    weight = weight / weight.sum()
    residual = weight @ (Y - outputs).square()
    spread = weight @ (Y - weight @ Y).square()
    return float((1 - residual / spread).mean())


def explained_variance_of_rates(module: nn.Module, rows: Rows) -> float:
    """The same of rates whose logarithm the network gives."""
    return explained_variance(lambda X: module(X).exp(), rows)  # type: ignore[arg-type]


def _outputs(module: nn.Module, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """What the network gives for the first tensor of every batch, the last tensor, and the weights."""
    parts = [(module(part.tensors[0]), part.tensors[-1], weights_of(part)) for part in rows.chunks(EVALUATION_ROWS)]
    outputs, targets, weights = (torch.cat([part[k] for part in parts]) for k in range(3))
    return outputs, targets, weights


def weights_of(batch: Batch) -> Tensor:
    return torch.ones(len(batch.tensors[0])) if batch.weight is None else batch.weight
