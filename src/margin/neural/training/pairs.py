"""Pairs of sequences of any length: pairs of similar length share a batch, so that little of it is padding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.neural.training.batches import Batch, Batches

__all__ = ["PADDING", "PairBatches", "padded_sequences"]

PADDING = -1  # no token
POOL = 32  # batches among which pairs are sorted by their length


def padded_sequences(sequences: Sequence[np.ndarray]) -> Tensor:
    """(n, longest), int64, filled up with -1.

    >>> padded_sequences([np.array([1, 2, 3]), np.array([4])])
    tensor([[ 1,  2,  3],
            [ 4, -1, -1]])
    """
    out = np.full((len(sequences), max(map(len, sequences))), PADDING, dtype=np.int64)
    for row, sequence in zip(out, sequences):
        row[: len(sequence)] = sequence
    return torch.from_numpy(out)


class PairBatches(Batches):
    """``batch_size`` pairs at a time, in an order drawn anew for every pass; both sequences padded with -1.

    Within ``POOL`` batches pairs are sorted by their lengths, and the batches are drawn in random order. A batch counts
    the tokens of its second sequences but their first, which is given.
    """

    def __init__(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]], batch_size: int, seed: int):
        self.pairs, self.batch_size = pairs, batch_size
        self.steps_per_epoch = math.ceil(len(pairs) / batch_size)
        self.lengths = np.array([(len(second), len(first)) for first, second in pairs])
        self.rng = as_generator(seed)
        self._begin()

    def draw(self) -> Batch:
        if self.position == len(self.order):
            self._begin()
        rows = self.order[self.position]
        self.position += 1
        first, second = (padded_sequences([self.pairs[row][side] for row in rows]) for side in (0, 1))
        return Batch((first, second), mass=float((second[:, 1:] != PADDING).sum()))

    def _begin(self) -> None:
        self.start, self.position = generator_state(self.rng), 0
        shuffled = self.rng.permutation(len(self.pairs))
        pools = [shuffled[i : i + POOL * self.batch_size] for i in range(0, len(shuffled), POOL * self.batch_size)]
        batches = []
        for pool in pools:
            by_length = pool[np.lexsort(self.lengths[pool].T[::-1])]
            batches += [by_length[i : i + self.batch_size] for i in range(0, len(pool), self.batch_size)]
        self.order = [batches[i] for i in self.rng.permutation(len(batches))]

    def state(self) -> dict[str, Any]:
        return {"n_pairs": len(self.pairs), "rng": self.start, "position": self.position}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if state["n_pairs"] != len(self.pairs):
            raise ValueError(f"PairBatches: the state belongs to {state['n_pairs']} pairs; got {len(self.pairs)}.")
        self.rng = generator_from_state(dict(state["rng"]))
        self._begin()
        self.position = int(state["position"])
