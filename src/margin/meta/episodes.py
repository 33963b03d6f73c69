"""Episodes: small tasks drawn from many classes. Here k counts classes and n examples of each (k-way n-shot)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from margin.core.randomness import RandomLike, as_generator
from margin.neural.training import Batch, Batches, Rows

__all__ = ["Episode", "EpisodeBatches", "EpisodeRows", "sample_episode"]

HELD_OUT_EPISODES = 20  # by which a training is judged: enough that their mean moves less than an epoch changes it


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

    Parameters
    ----------
    X : array-like or sequence
        Rows.
    y : array-like of shape (n,)
        Their classes.
    k : int
        Classes of the episode.
    n : int
        Support rows of each class.
    q : int
        Query rows of each class.
    random_state : int, RandomState, Generator or None
        Source of randomness.
    classes : array-like, optional
        Classes to choose from; all by default.

    Examples
    --------
    >>> episode = sample_episode(np.arange(12), np.repeat([5, 6, 7], 4), 2, 1, 3, random_state=0)
    >>> len(episode.support), len(episode.query), episode.support_labels.tolist()
    (2, 6, [0, 1])
    """
    y = np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"sample_episode: X and y must be of one length; got {len(X)} and {len(y)}.")
    return _draw(X, rows_by_class(y), k, n, q, as_generator(random_state), classes)


def rows_by_class(y: np.ndarray) -> dict[Any, np.ndarray]:
    """The numbers of the rows of every class, classes sorted.

    >>> {c: rows.tolist() for c, rows in rows_by_class(np.array([7, 5, 7])).items()}
    {5: [1], 7: [0, 2]}
    """
    known, counts = np.unique(y, return_counts=True)
    order = np.argsort(y, kind="stable")
    return dict(zip(known.tolist(), np.split(order, np.cumsum(counts)[:-1])))


def _draw(X: Any, rows_of: dict[Any, np.ndarray], k: int, n: int, q: int, rng: np.random.Generator,
          classes: Any = None) -> Episode:  # fmt: skip
    rich = np.array([c for c, rows in rows_of.items() if len(rows) >= n + q])
    rich = rich if classes is None else np.intersect1d(rich, classes)
    if k < 2 or n < 1 or q < 1 or len(rich) < k:
        raise ValueError(
            f"sample_episode: needs k at least 2, n and q at least 1, and k classes of {n + q} rows; "
            f"got k={k} and {len(rich)} such classes."
        )
    chosen = rng.choice(rich, k, replace=False)
    rows = np.stack([rng.choice(rows_of[c], n + q, replace=False) for c in chosen.tolist()])  # (k, n + q)
    support, query = rows[:, :n].ravel(), rows[:, n:].ravel()
    return Episode(_take(X, support), np.repeat(np.arange(k), n), _take(X, query), np.repeat(np.arange(k), q), chosen)


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else [X[int(i)] for i in rows]


class EpisodeRows(Rows):
    """Rows with their classes, from which episodes of ``sizes`` (k, n, q) are drawn; as chunks, always the same."""

    dtype = torch.float32

    def __init__(self, X: np.ndarray, y: np.ndarray, sizes: tuple[int, int, int]):
        self.X, self.y, self.sizes = X, y, sizes
        self.rows_of = rows_by_class(y)  # once: thousands of episodes are drawn from the same rows

    def __len__(self) -> int:
        return len(self.X)

    def batch(self, index: Tensor | slice) -> Batch:
        rows = index if isinstance(index, slice) else index.numpy()
        return Batch((torch.from_numpy(self.X[rows]), torch.from_numpy(self.y[rows])))

    def take(self, index: Tensor) -> EpisodeRows:
        return EpisodeRows(self.X[index.numpy()], self.y[index.numpy()], self.sizes)

    def chunks(self, size: int) -> Iterator[Batch]:
        k, n, q = self.sizes
        fewer = (min(k, len(np.unique(self.y))), n, q)
        for number in range(HELD_OUT_EPISODES):
            yield Batch(episode_tensors(self, fewer, [number], seed=0))


def episode_tensors(
    rows: EpisodeRows, sizes: tuple[int, int, int], numbers: list[int], seed: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Support (episodes, k n, p), its labels, query and its labels; every number has a generator of its own."""
    drawn = [_draw(rows.X, rows.rows_of, *sizes, np.random.default_rng([seed, number])) for number in numbers]
    support, labels, query, wanted = (torch.from_numpy(np.stack(part)) for part in list(zip(*drawn))[:4])
    return support, labels, query, wanted


class EpisodeBatches(Batches):
    """``batch_size`` episodes at a time, new ones for ever or, with ``fresh`` False, the same ones in every epoch.

    Every episode has a generator of its own, so that where a training stands is one number.
    """

    def __init__(self, rows: EpisodeRows, seed: int, *, steps_per_epoch: int = 50, batch_size: int = 1,
                 fresh: bool = True):  # fmt: skip
        self.rows, self.seed, self.fresh = rows, seed, fresh
        self.steps_per_epoch, self.batch_size, self.drawn = steps_per_epoch, batch_size, 0

    def draw(self) -> Batch:
        step = self.drawn if self.fresh else self.drawn % self.steps_per_epoch
        numbers = [step * self.batch_size + i for i in range(self.batch_size)]
        self.drawn += 1
        return Batch(episode_tensors(self.rows, self.rows.sizes, numbers, self.seed), number=self.drawn)

    def state(self) -> dict[str, Any]:
        return {"drawn": self.drawn}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.drawn = int(state["drawn"])
