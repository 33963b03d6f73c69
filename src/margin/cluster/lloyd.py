r"""Lloyd's algorithm as an object in the middle of its iterations.

.. math::
    J(\mu, a) = \sum_i w_i \lVert x_i - \mu_{a_i} \rVert^2,\qquad
    \mu_c \leftarrow \frac{\sum_{a_i = c} w_i x_i}{\sum_{a_i = c} w_i},\qquad
    a_i \leftarrow \arg\min_c \lVert x_i - \mu_c \rVert .

Both half steps lower J: moving centers to the means by exactly :math:`\sum_c W_c \lVert \Delta\mu_c \rVert^2`, every
changed row by the difference of its two squared distances. The inertia is followed by subtracting these, so it never
increases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.cluster import compiled_loops
from margin.core.restoring import restore, restored_indices
from margin.core.threads import blas_threads

__all__ = ["Partition", "distances_to", "labels_and_inertia", "labels_for", "mean_variance"]

FRESH_SUMS_EVERY = 32  # iterations after which sums are taken anew, so that rounding in the updates cannot build up

ARRAYS = ("centers", "labels", "upper", "lower", "sums", "totals", "counts")


class Partition:
    """Centers, the nearest one of every row, and bounds on distances; ``step`` is one iteration of Lloyd's algorithm.

    ``weights`` are one per row, ``offset`` is subtracted from the rows before anything is computed (centers are
    relative to it inside, and absolute in ``positions``). With ``bounds`` False every distance is computed each time.
    """

    def __init__(self, X: np.ndarray, weights: np.ndarray, offset: np.ndarray, *, bounds: bool):
        self.X, self.weights = (np.ascontiguousarray(given, dtype=np.float64) for given in (X, weights))
        self.offset, self.bounds = offset, bounds
        self._rows = self.X, self.weights, self.offset
        self.came_from = np.full(len(X), -1, dtype=np.int32)
        self.movement = np.inf

    def start(self, positions: np.ndarray) -> Partition:
        """Begin with these centers."""
        with blas_threads(1):
            self.assign(positions)
            self._take_sums()
        return self

    def assign(self, positions: np.ndarray) -> Partition:
        """Give every row to the nearest of these centers."""
        n, k = len(self.X), len(positions)
        self.iteration, self.inertia = 0, 0.0
        self.centers = np.ascontiguousarray(positions - self.offset)
        self.labels = np.full(n, -1, dtype=np.int32)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        with blas_threads(1):  # the loops call it on threads of their own, or for products too small for more
            self._reassign(np.zeros(k), np.zeros(k))
        return self

    @property
    def positions(self) -> np.ndarray:
        return self.centers + self.offset

    def step(self) -> tuple[float, int]:
        """Means, then nearest centers. Returns the largest movement of a center and the number of rows that changed."""
        with blas_threads(1):
            return self._step()

    def _step(self) -> tuple[float, int]:
        self.iteration += 1
        if not self.counts.all():
            self._fill_empty_clusters()
        moved, half_gap = compiled_loops.move_centers(self.sums, self.totals, self.counts, self.centers)
        squares = moved * moved
        self.inertia = max(self.inertia - float(self.totals @ squares), 0.0)
        self.movement = float(squares.sum())
        if not self.bounds:
            self.upper[:], self.lower[:], half_gap[:] = np.inf, 0.0, 0.0
        changed = self._reassign(moved, half_gap)
        if self.iteration % FRESH_SUMS_EVERY == 0:
            self._take_sums()
        elif changed:
            changes = self.labels, self.came_from, self.sums, self.totals, self.counts
            compiled_loops.add_changes(*self._rows, *changes)
        return float(moved.max()), changed

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return arrays | {"iteration": self.iteration, "inertia": self.inertia}

    def restore(self, state: dict[str, Any]) -> Partition:
        k, (n, p) = len(state["centers"]), self.X.shape
        shapes = {"centers": (k, p), "upper": (n,), "lower": (n,), "sums": (k, p), "totals": (k,)}
        for name, shape in shapes.items():
            setattr(self, name, restore(state, name, np.empty(shape, dtype=state[name].dtype)))
        if any(state[name].dtype not in (self.X.dtype, np.float64) for name in shapes):
            raise ValueError("the state belongs to another fit or is damaged: its arrays are not of real numbers.")
        self.labels = restore(state, "labels", np.empty(n, dtype=np.int32))
        restored_indices(self.labels.astype(np.int64), "labels", k)
        self.counts = restored_indices(state["counts"], "counts", n + 1, count=k)
        self.iteration, self.inertia = int(state["iteration"]), float(state["inertia"])
        return self

    def _reassign(self, moved: np.ndarray, half_gap: np.ndarray) -> int:
        bounds = self.labels, self.upper, self.lower, self.came_from
        fell, changed = compiled_loops.reassign(*self._rows, self.centers, half_gap, moved, *bounds)
        self.inertia -= fell
        return changed

    def _take_sums(self) -> None:
        sums = compiled_loops.cluster_sums(*self._rows, self.labels, len(self.centers))
        self.sums, self.totals, self.counts = sums

    def _fill_empty_clusters(self) -> None:
        """Each empty cluster takes the row farthest from its center, the first of equals; its old cluster keeps others.

        A row on its own center helps nobody: with fewer distinct rows than clusters some stay empty.
        """
        gaps = self.weights * distances_to(self.X, self.positions, self.labels) ** 2
        for cluster in np.flatnonzero(self.counts == 0):
            open_rows = np.where(self.counts[self.labels] > 1, gaps, 0.0)
            row = int(open_rows.argmax())
            if open_rows[row] <= 0:
                break
            self.labels[row], gaps[row] = cluster, 0.0
            self.centers[cluster] = self.X[row] - self.offset
            self.counts[:] = np.bincount(self.labels[self.weights > 0], minlength=len(self.counts))
        self._take_sums()
        # Bounds of the moved rows and of everyone near the new centers are gone: look at all distances again.
        self.upper[:], self.lower[:] = np.inf, 0.0
        anew = float(self.weights @ distances_to(self.X, self.positions, self.labels) ** 2)
        self.inertia = min(self.inertia, anew)


def labels_and_inertia(X: np.ndarray, weights: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, float]:
    """The index of the nearest center for every row, and the weighted sum of the squared distances to them."""
    partition = Partition(X, weights, positions.mean(axis=0), bounds=False).assign(positions)
    return partition.labels, partition.inertia


def labels_for(X: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The index of the nearest center for every row."""
    return labels_and_inertia(X, np.ones(len(X)), positions)[0]


def mean_variance(X: np.ndarray, weights: np.ndarray, mean: np.ndarray) -> float:
    """The weighted variance of a column in the mean over all columns, to some ten digits.

    >>> mean_variance(np.array([[1.0, 0.0], [3.0, 4.0]]), np.ones(2), np.array([2.0, 2.0]))
    2.5
    """
    squares = float(weights @ np.einsum("ij,ij->i", X, X))
    squared_deviations = squares - float(weights.sum()) * float(mean @ mean)
    if not squared_deviations > 1e-6 * squares:  # too many digits were lost: rows far from the origin
        squared_deviations = 0.0
        for start in range(0, len(X), 4096):
            part = slice(start, start + 4096)
            squared_deviations += float(weights[part] @ ((X[part] - mean) ** 2).sum(axis=1))
    return squared_deviations / (float(weights.sum()) * X.shape[1])


def distances_to(X: np.ndarray, positions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Distance of every row to the center that ``labels`` names."""
    distances = np.empty(len(X))
    for start in range(0, len(X), 4096):
        part = slice(start, start + 4096)
        distances[part] = np.sqrt(((X[part] - positions[labels[part]]) ** 2).sum(axis=1))
    return distances
