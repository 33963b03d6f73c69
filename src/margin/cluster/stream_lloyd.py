"""Lloyd's algorithm on a stream: every iteration is one pass in which blocks are summarized by sums per cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from margin.cluster.compiled_loops import cluster_sums
from margin.cluster.lloyd import distances_to, labels_and_inertia, labels_for
from margin.core.number_range import validate_squarable
from margin.core.records import Record
from margin.core.streaming import RowBlock, Stream

if TYPE_CHECKING:
    from margin.cluster.kmeans import KMeans

__all__ = ["ClusterSums", "StreamLloyd", "rows_for_start"]

SAMPLE_ROWS = (256, 20_480)  # rows per cluster, and in all at least, on which the first centers are found


@dataclass(frozen=True)
class ClusterSums:
    """Rows of every cluster: their number, the sum of their distances from its center, and the squared ones in all."""

    counts: np.ndarray  # (k,)
    gaps: np.ndarray  # (k, p) sums of x - center: far smaller than those of x, so that no digits are lost
    inertia: float

    @classmethod
    def of(cls, model: KMeans, centers: np.ndarray, block: RowBlock) -> ClusterSums:
        X, ones = _rows(model, block), np.ones(len(block.X))
        labels, inertia = labels_and_inertia(X, ones, centers)
        offset = centers.mean(axis=0)
        sums, _, counts = cluster_sums(X, ones, offset, labels, len(centers))
        return cls(counts, sums - counts[:, None] * (centers - offset), inertia)

    def merge(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(self.counts + other.counts, self.gaps + other.gaps, self.inertia + other.inertia)


class Spread(NamedTuple):
    """Sums of rows and of their squares, both about a row of reference."""

    n: int
    total: np.ndarray  # (p,)
    squares: np.ndarray  # (p,)

    @classmethod
    def of(cls, model: KMeans, reference: np.ndarray, block: RowBlock) -> Spread:
        X = _rows(model, block) - reference
        return cls(len(X), X.sum(axis=0), np.einsum("ij,ij->j", X, X))

    def merge(self, other: Spread) -> Spread:
        return Spread(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def mean_variance(self) -> float:
        """The variance of a column in the mean over all columns."""
        return float(np.mean(self.squares / self.n - (self.total / self.n) ** 2))


class FarRow(NamedTuple):
    """The row that is farthest from its center."""

    distance: float
    row: np.ndarray

    @classmethod
    def of(cls, model: KMeans, centers: np.ndarray, block: RowBlock) -> FarRow:
        X = _rows(model, block)
        distances = distances_to(X, centers, labels_for(X, centers))
        row = int(distances.argmax())
        return cls(float(distances[row]), X[row].copy())

    def merge(self, other: FarRow) -> FarRow:
        return self if self.distance >= other.distance else other


class StreamLloyd:
    """The running fit: centers, and what the last pass said about them."""

    centers: np.ndarray
    sums: ClusterSums
    bound: float

    def __init__(self, model: KMeans, stream: Stream):
        self.model, self.stream = model, stream
        self.iteration, self.settled = 0, False

    def start(self, centers: np.ndarray) -> StreamLloyd:
        self.centers = centers
        self._pass()
        spread = self.stream.reduce(partial(Spread.of, self.model, centers[0]), Spread.merge)
        self.bound = self.model.tol * spread.mean_variance
        return self

    def iterations(self) -> Iterator[Record]:
        while self.iteration < self.model.max_iter and not self.settled:
            shift = self._move()
            self._pass()
            self.iteration += 1
            values = {"inertia": self.sums.inertia, "shift": float(np.sqrt(shift.max())), "run": 0}
            self.settled = bool(shift.sum() <= self.bound and self.sums.counts.all())
            yield Record(self.iteration, values, total=self.model.max_iter)

    def state(self) -> dict[str, Any]:
        return {
            "centers": self.centers.copy(),
            "bound": self.bound,
            "iteration": self.iteration,
            "settled": self.settled,
            "sums": {name: np.copy(value) for name, value in vars(self.sums).items()},
        }

    def restore(self, state: dict[str, Any]) -> StreamLloyd:
        if np.shape(state["centers"])[0] != self.model.n_clusters:
            raise ValueError(f"KMeans: state belongs to {len(state['centers'])} clusters; got {self.model.n_clusters}.")
        self.centers, self.bound = np.array(state["centers"]), float(state["bound"])
        self.iteration, self.settled = int(state["iteration"]), bool(state["settled"])
        sums: dict[str, Any] = {name: np.array(value) for name, value in state["sums"].items()}
        self.sums = ClusterSums(**sums | {"inertia": float(sums["inertia"])})
        return self

    def _pass(self) -> None:
        summarize = partial(ClusterSums.of, self.model, self.centers)
        self.sums = self.stream.reduce(summarize, ClusterSums.merge)

    def _move(self) -> np.ndarray:
        """Centers become means, an empty cluster the row farthest from its center; squared movements, (k,)."""
        counts = np.maximum(self.sums.counts, 1)
        steps = self.sums.gaps / counts[:, None]
        empty = np.flatnonzero(self.sums.counts == 0)[:1]  # one per pass: the next one needs to know of it
        if len(empty):
            far = self.stream.reduce(partial(FarRow.of, self.model, self.centers), FarRow.merge)
            steps[empty] = far.row - self.centers[empty]
        self.centers = self.centers + steps
        return (steps**2).sum(axis=1)


def _rows(model: KMeans, block: RowBlock) -> np.ndarray:
    return validate_squarable(model, block.X, dtype=np.float64, order="C")


def rows_for_start(k: int) -> int:
    """Rows of the sample on which the first centers are found."""
    return max(SAMPLE_ROWS[0] * k, SAMPLE_ROWS[1])
