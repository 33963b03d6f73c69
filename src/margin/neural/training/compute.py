"""Where and in which precision a training computes: the one object that a device or a cluster would fill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import nn

from margin.neural.training.batches import Batch

__all__ = ["Compute"]

Net = TypeVar("Net", bound=nn.Module)


@dataclass(frozen=True)
class Compute:
    """A device, the precision of the weights, and a lower one for products (``autocast``) where the device has it.

    On a CPU products in bfloat16 end the process on some machines, so ``autocast`` is refused there.

    >>> Compute().dtype
    torch.float32
    """

    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    autocast: torch.dtype | None = None

    def __post_init__(self) -> None:
        if self.autocast is not None and self.device == "cpu":
            raise ValueError(f"Compute: autocast must be None on a CPU; got {self.autocast}.")

    def place(self, module: Net) -> Net:
        """``module`` on the device, its floating-point weights in the precision."""
        return module.to(device=self.device, dtype=self.dtype)

    def batch(self, batch: Batch) -> Batch:
        """``batch`` on the device; on a CPU it is there already."""
        if self.device == "cpu":
            return batch
        moved = tuple(tensor.to(self.device, non_blocking=True) for tensor in batch.tensors)
        weight = None if batch.weight is None else batch.weight.to(self.device, non_blocking=True)
        return batch._replace(tensors=moved, weight=weight)

    @contextmanager
    def products(self) -> Iterator[None]:
        """Forward passes inside may use the lower precision."""
        if self.autocast is None:
            yield
            return
        with torch.autocast(self.device, self.autocast):
            yield
