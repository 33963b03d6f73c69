"""Lloyd's algorithm on a stream: every iteration is one pass in which blocks are summarized by sums per cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.cluster.lloyd import distances_to, labels_and_inertia
from margin.core.number_range import validate_squarable
from margin.core.records import Record
from margin.core.streaming import RowBlock, Stream

if TYPE_CHECKING:
    from margin.cluster.kmeans import KMeans

__all__ = ["ClusterSums", "StreamLloyd", "rows_for_start"]

SAMPLE_ROWS = (256, 20_480)  # rows per cluster, and in all at least, on which the first centers are found


@dataclass(frozen=True)
class ClusterSums:
    """Rows of every cluster: their number, the sum of their distances from its center, squared ones in all, and the row
    that is farthest from its center."""

    counts: np.ndarray  # (k,)
    gaps: np.ndarray  # (k, p) sums of x - center: far smaller than those of x, so that no digits are lost
    inertia: float
    total: np.ndarray  # (p,) sum of x - reference
    squares: np.ndarray  # (p,) and of its square
    farthest: np.ndarray
    distance: float

    @classmethod
    def of(cls, model: KMeans, centers: np.ndarray, block: RowBlock) -> ClusterSums:
        X = validate_squarable(model, block.X, dtype=np.float64, order="C")
        labels, inertia = labels_and_inertia(X, np.ones(len(X)), centers)
        gaps = np.zeros(centers.shape)
        from_center = X - centers[labels]
        np.add.at(gaps, labels, from_center)
        distances = distances_to(X, centers, labels)
        row, reference = int(distances.argmax()), X - centers[0]
        return cls(
            np.bincount(labels, minlength=len(centers)),
            gaps,
            inertia,
            reference.sum(axis=0),
            (reference**2).sum(axis=0),
            X[row].copy(),
            float(distances[row]),
        )

    def merge(self, other: ClusterSums) -> ClusterSums:
        ahead = self if self.distance >= other.distance else other
        return ClusterSums(
            self.counts + other.counts,
            self.gaps + other.gaps,
            self.inertia + other.inertia,
            self.total + other.total,
            self.squares + other.squares,
            ahead.farthest,
            ahead.distance,
        )

    @property
    def mean_variance(self) -> float:
        """The variance of a column in the mean over all columns."""
        n = self.counts.sum()
        return float(np.mean(self.squares / n - (self.total / n) ** 2))


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
        self.bound = self.model.tol * self.sums.mean_variance
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
        sums.update({name: float(sums[name]) for name in ("inertia", "distance")})
        self.sums = ClusterSums(**sums)
        return self

    def _pass(self) -> None:
        summarize = partial(ClusterSums.of, self.model, self.centers)
        self.sums = self.stream.reduce(summarize, ClusterSums.merge)

    def _move(self) -> np.ndarray:
        """Centers become means, an empty cluster the row farthest from its center; squared movements, (k,)."""
        counts = np.maximum(self.sums.counts, 1)
        steps = self.sums.gaps / counts[:, None]
        empty = np.flatnonzero(self.sums.counts == 0)[:1]  # one per pass: the next one needs to know of it
        steps[empty] = self.sums.farthest - self.centers[empty]
        self.centers = self.centers + steps
        return (steps**2).sum(axis=1)


def rows_for_start(k: int) -> int:
    """Rows of the sample on which the first centers are found."""
    return max(SAMPLE_ROWS[0] * k, SAMPLE_ROWS[1])
