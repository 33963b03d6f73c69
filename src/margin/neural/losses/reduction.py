"""From one value per prediction to one number: torch's three reductions."""

from __future__ import annotations

from torch import Tensor

__all__ = ["reduce", "same_shape"]


def reduce(name: str, values: Tensor, reduction: str) -> Tensor:
    """``values`` by ``reduction``: as they are ("none"), their "sum" or their "mean"; an error names the loss ``name``.

    >>> import torch
    >>> [reduce("loss", torch.tensor([1.0, 3.0]), how).tolist() for how in ("none", "sum", "mean")]
    [[1.0, 3.0], 4.0, 2.0]
    """
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    if reduction == "mean":
        return values.mean()
    raise ValueError(f"{name}: reduction must be 'none', 'sum' or 'mean'; got {reduction!r}.")


def same_shape(name: str, input: Tensor, target: Tensor) -> None:
    """Predictions and targets have one shape: broadcasting (n, 1) against (n,) would compare all pairs of rows."""
    if input.shape != target.shape:
        raise ValueError(
            f"{name}: input and target must have the same shape; got {tuple(input.shape)} and {tuple(target.shape)}."
        )
