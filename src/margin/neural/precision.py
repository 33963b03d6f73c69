"""Double precision wherever a tensor lies."""

from __future__ import annotations

from torch import Tensor

__all__ = ["widen"]


def widen(tensor: Tensor) -> Tensor:
    """``tensor`` in double precision; on the CPU where its own device has none (MPS).

    >>> import torch
    >>> widen(torch.ones(1)).dtype
    torch.float64
    """
    return (tensor.cpu() if tensor.device.type == "mps" else tensor).double()
