"""Episodes: small tasks drawn from many classes. Here k counts classes and n examples of each (k-way n-shot)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from margin.core.randomness import RandomLike, as_generator
from margin.neural.training import Batch, Batches

__all__ = ["Episode", "EpisodeBatches", "sample_episode"]


class Episode(NamedTuple):
    """A task: labeled support rows, query rows to be labeled from them, labels 0..k-1, and what they stand for."""

    support: Any
    support_labels: np.ndarray
    query: Any
    query_labels: np.ndarray
    classes: np.ndarray


def sample_episode(
    X: Any, y: Any, k: int, n: int, q: int, random_state: RandomLike = None, classes: Any = None
) -> Episode:
    """``k`` classes at random, ``n`` support and ``q`` query rows of each, no row twice.

    ``X`` is an array, or a sequence of anything, of which the episode then holds lists.

    >>> episode = sample_episode(np.arange(12), np.repeat([5, 6, 7], 4), 2, 1, 3, random_state=0)
    >>> len(episode.support), len(episode.query), episode.support_labels.tolist()
    (2, 6, [0, 1])
    """
    rng = as_generator(random_state)
    y = np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"sample_episode: X and y must be of one length; got {len(X)} and {len(y)}.")
    known, counts = np.unique(y, return_counts=True)
    rich = known[counts >= n + q]
    rich = rich if classes is None else np.intersect1d(rich, classes)
    if k < 2 or n < 1 or q < 1 or len(rich) < k:
        raise ValueError(
            f"sample_episode: needs k at least 2, n and q at least 1, and k classes of {n + q} rows; "
            f"got k={k} and {len(rich)} such classes."
        )
    chosen = rng.choice(rich, k, replace=False)
    rows = np.stack([rng.choice(np.flatnonzero(y == c), n + q, replace=False) for c in chosen])  # (k, n + q)
    support, query = rows[:, :n].ravel(), rows[:, n:].ravel()
    return Episode(_take(X, support), np.repeat(np.arange(k), n), _take(X, query), np.repeat(np.arange(k), q), chosen)


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else [X[int(i)] for i in rows]


class EpisodeBatches(Batches):
    """Episodes as batches: support, its labels, query, its labels."""

    def __init__(self, X: np.ndarray, y: np.ndarray, k: int, n: int, q: int, seed: int, steps_per_epoch: int = 50):
        self.X, self.y, self.sizes, self.seed = X, y, (k, n, q), seed
        self.steps_per_epoch, self.drawn = steps_per_epoch, 0

    def draw(self) -> Batch:
        # Every episode has a generator of its own, so that where a training stands is one number.
        episode = sample_episode(self.X, self.y, *self.sizes, np.random.default_rng([self.seed, self.drawn]))
        self.drawn += 1
        arrays = (episode.support, episode.support_labels, episode.query, episode.query_labels)
        return Batch(tuple(torch.from_numpy(np.array(array)) for array in arrays), number=self.drawn)

    def state(self) -> dict[str, Any]:
        return {"drawn": self.drawn}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.drawn = int(state["drawn"])
