"""How much one step computes, counted while it runs: what decides how many threads are worth waking.

Parameters times rows is the work of fully connected layers only. A convolution uses every weight at every position, and
attention multiplies activations with each other, so products are counted where torch carries them out.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from margin.neural.weights import MULTIPLY_ADDS_PER_OPERATION

__all__ = ["WorkCounter"]

PASSES_PER_STEP = 3  # the backward pass costs two forward passes


class WorkCounter(TorchDispatchMode):
    """Counts the multiply-adds of matrix products, convolutions and attention inside the context.

    >>> with WorkCounter() as counter:
    ...     _ = torch.ones(2, 3) @ torch.ones(3, 5)
    >>> counter.multiply_adds
    30
    """

    def __init__(self) -> None:
        super().__init__()
        self.multiply_adds = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = func._overloadpacket
        if packet in flop_registry:
            self.multiply_adds += flop_registry[packet](*args, **kwargs, out_val=out) // 2
        elif "scaled_dot_product" in packet.__name__:
            self.multiply_adds += _attention(packet.__name__, args)
        elif "rnn_layer" in packet.__name__ and "backward" not in packet.__name__:
            self.multiply_adds += PASSES_PER_STEP * _recurrent(args)
        return out

    @property
    def operations_per_pass(self) -> float:
        """Basic operations, in the sense of :func:`margin.core.threads.threads_for`, of a pass of the counted step."""
        return self.multiply_adds / PASSES_PER_STEP / MULTIPLY_ADDS_PER_OPERATION


def _attention(name: str, args: Any) -> int:
    """Scores and their product with the values; the backward pass computes five products in place of two."""
    backward = "backward" in name
    query, key = args[1:3] if backward else args[:2]
    products = math.prod(query.shape[:-1]) * key.shape[-2] * query.shape[-1]
    return products * (5 if backward else 2)


def _recurrent(args: Any) -> int:
    """Every weight matrix of the layer, once per position of the sequence."""
    sequence, *rest = args
    weights = [tensor for tensor in rest[:4] if isinstance(tensor, torch.Tensor) and tensor.dim() == 2]
    return math.prod(sequence.shape[:-1]) * sum(weight.numel() for weight in weights)
