"""Random streams of a training: independent seeds for its parts, and torch's global generator lent to it.

Layers such as ``nn.Dropout`` draw from torch's one global generator. A training keeps a stream of its own for them and
puts it in the place of the global one while it runs, so that results follow from the seed and other code finds the
global stream as it left it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

from margin.core.randomness import as_generator, spawn_seeds

__all__ = ["GlobalStream", "Seeds", "generator_array", "global_generator", "load_generator"]

# There is one global generator: two threads that need it at the same time take turns.
global_generator = threading.RLock()


class Seeds(NamedTuple):
    """Independent seeds for the parts of one fit, all from one."""

    weights: int
    split: int
    order: int
    noise: int
    evaluation: int

    @classmethod
    def of(cls, seed: int) -> Seeds:
        return cls(*spawn_seeds(as_generator(seed), len(cls._fields)))


def generator_array(generator: torch.Generator) -> np.ndarray:
    """Where ``generator`` stands, as bytes."""
    return generator.get_state().numpy().copy()


def load_generator(generator: torch.Generator, state: Any) -> None:
    """Let ``generator`` continue where :func:`generator_array` was taken."""
    bits = torch.from_numpy(np.array(state))
    if len(bits) != len(generator.get_state()):
        raise ValueError(
            f"load_generator: the state was taken on another kind of device than {generator.device}; "
            "a fit goes on where it began."
        )
    generator.set_state(bits)


class GlobalStream:
    """A stream that stands in for torch's global generator of a device while :meth:`active`.

    >>> stream = GlobalStream(0)
    >>> with stream.active():
    ...     first = torch.rand(1)
    >>> with stream.active():
    ...     second = torch.rand(1)
    >>> bool(first != second), bool(torch.rand(1, generator=torch.Generator().manual_seed(0)) == first)
    (True, True)
    """

    def __init__(self, seed: int, device: torch.device | None = None):
        self.device = device or torch.device("cpu")
        self.position = torch.Generator(self.device).manual_seed(seed).get_state()

    @contextmanager
    def active(self) -> Iterator[None]:
        with global_generator:
            before = self._get()
            self._set(self.position)
            try:
                yield
            finally:
                self.position = self._get()
                self._set(before)

    def restart(self, seed: int) -> None:
        """Begin anew from ``seed``, while :meth:`active`."""
        self._set(torch.Generator(self.device).manual_seed(seed).get_state())

    def _get(self) -> torch.Tensor:
        if self.device.type == "cpu":
            return torch.default_generator.get_state()
        return torch.get_device_module(self.device).get_rng_state(self.device)

    def _set(self, position: torch.Tensor) -> None:
        if self.device.type == "cpu":
            torch.default_generator.set_state(position)
        else:
            torch.get_device_module(self.device).set_rng_state(position, self.device)

    def state(self) -> np.ndarray:
        return self.position.numpy().copy()

    def load_state(self, state: Any) -> None:
        self.position = torch.from_numpy(np.array(state))
