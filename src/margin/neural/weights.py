"""Building networks without touching torch's global generator, and their weights as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from margin.neural.generators import global_generator

__all__ = ["build", "copy_weights", "count_parameters", "device_of", "forward_work", "live_weights", "load_weights"]

MULTIPLY_ADDS_PER_OPERATION = 4  # a matrix product does more per cycle than a plain loop does

Net = TypeVar("Net", bound=nn.Module)


def build(factory: Callable[[], Net], seed: int, dtype: torch.dtype = torch.float32) -> Net:
    """The network that ``factory`` makes, initialized from ``seed``; the global generator is left as it was.

    >>> import torch
    >>> a, b = (build(lambda: nn.Linear(3, 2), seed=0) for _ in range(2))
    >>> torch.equal(a.weight, b.weight)
    True
    """
    try:
        with global_generator, torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            return factory().to(dtype)
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise MemoryError("The network does not fit into memory; its layers must be smaller.") from None


def live_weights(module: nn.Module) -> dict[str, np.ndarray]:
    """Parameters and buffers by name, as arrays.

    On a CPU they share memory with ``module`` and so always show its weights; from another device they are read as they
    are now, and must be read again when they have changed.
    """
    return {name: tensor.detach().cpu().numpy() for name, tensor in module.state_dict().items()}


def copy_weights(module: nn.Module) -> dict[str, np.ndarray]:
    """Parameters and buffers by name, as they are now."""
    arrays = live_weights(module)
    return {name: array.copy() for name, array in arrays.items()} if device_of(module).type == "cpu" else arrays


def device_of(module: nn.Module) -> torch.device:
    """Where the weights of ``module`` are, and so where its inputs must be.

    >>> device_of(nn.Linear(2, 1))
    device(type='cpu')
    """
    for tensor in chain(module.parameters(), module.buffers()):
        return tensor.device
    return torch.device("cpu")


def load_weights(module: nn.Module, weights: Mapping[str, np.ndarray]) -> None:
    """Write ``weights`` into ``module``, in place."""
    own = module.state_dict()
    if own.keys() != weights.keys():
        names = sorted(own.keys() ^ weights.keys())
        raise ValueError(f"load_weights: network and weights do not have the same names; they differ in {names}.")
    with torch.no_grad():
        for name, tensor in own.items():
            array = np.asarray(weights[name])
            if array.shape != tuple(tensor.shape):
                raise ValueError(f"load_weights: {name} must have shape {tuple(tensor.shape)}; got {array.shape}.")
            tensor.copy_(torch.from_numpy(np.array(array)))


def forward_work(module: nn.Module | Sequence[Tensor], n_rows: int) -> float:
    """Basic operations, in the sense of :func:`margin.core.threads.threads_for`, of one pass of a network, or of one
    with these parameters, over ``n_rows``.

    True of fully connected layers; other networks are counted while they run (:mod:`margin.neural.training.work`).
    """
    return count_parameters(module) * n_rows / MULTIPLY_ADDS_PER_OPERATION


def count_parameters(module: nn.Module | Sequence[Tensor]) -> int:
    """How many numbers training adjusts, of a network or of its list of parameters."""
    parameters = module.parameters() if isinstance(module, nn.Module) else module
    return sum(parameter.numel() for parameter in parameters)
