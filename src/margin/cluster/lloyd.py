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

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from margin.cluster import small_tables
from margin.core.threads import blas_threads

__all__ = ["Partition", "distances_to", "labels_for"]

COMPILED_WORK = 2**20  # rows x centers x columns from which compiled passes repay loading the compiler
FRESH_SUMS_EVERY = 32  # iterations after which sums are taken anew, so that rounding in the updates cannot build up

ARRAYS = ("centers", "labels", "upper", "lower", "sums", "totals", "counts")


class Partition:
    """Centers, the nearest one of every row, and bounds on distances; ``step`` is one iteration of Lloyd's algorithm.

    ``weights`` are one per row, ``offset`` is subtracted from the rows before anything is computed (centers are
    relative to it inside, and absolute in ``positions``). With ``bounds`` False every distance is computed each time.
    """

    def __init__(self, X: np.ndarray, weights: np.ndarray, offset: np.ndarray, *, bounds: bool):
        self.X, self.weights, self.offset, self.bounds = X, weights, offset, bounds
        self.came_from = np.full(len(X), -1, dtype=np.int32)

    def start(self, positions: np.ndarray) -> Partition:
        """Begin with these centers."""
        self.assign(positions)
        self._take_sums()
        return self

    def assign(self, positions: np.ndarray) -> Partition:
        """Give every row to the nearest of these centers."""
        n, k = len(self.X), len(positions)
        self.iteration, self.inertia, self.movement = 0, 0.0, np.inf
        self.centers = np.ascontiguousarray(positions - self.offset)
        self.labels = np.full(n, -1, dtype=np.int32)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        self._reassign(np.zeros(k))
        return self

    @property
    def positions(self) -> np.ndarray:
        return self.centers + self.offset

    def step(self) -> tuple[float, int]:
        """Means, then nearest centers. Returns the largest movement of a center and the number of rows that changed."""
        with blas_threads(1):  # once for all parts: each would set it, and products of centers are too small for more
            return self._step()

    def _step(self) -> tuple[float, int]:
        self.iteration += 1
        if (self.counts == 0).any():
            self._fill_empty_clusters()
        filled = self.counts > 0
        means = np.where(filled[:, None], self.sums / np.where(filled, self.totals, 1.0)[:, None], self.centers)
        moved = np.sqrt(((means - self.centers) ** 2).sum(axis=1))
        self.inertia = max(self.inertia - float(self.totals @ moved**2), 0.0)
        self.movement = float(moved @ moved)
        self.centers = means
        if not self.bounds:
            self.upper[:], self.lower[:] = np.inf, 0.0
        changed = self._reassign(moved)
        if self.iteration % FRESH_SUMS_EVERY == 0:
            self._take_sums()
        elif changed:
            with self._loops() as loops:
                loops.add_changes(
                    self.X, self.weights, self.offset, self.labels, self.came_from, self.sums, self.totals, self.counts
                )
        return float(moved.max()), changed

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return arrays | {"iteration": self.iteration, "inertia": self.inertia}

    def restore(self, state: dict[str, Any]) -> Partition:
        for name in ARRAYS:
            setattr(self, name, np.array(state[name]))
        self.iteration, self.inertia = int(state["iteration"]), float(state["inertia"])
        return self

    def _reassign(self, moved: np.ndarray) -> int:
        bounds = self.bounds and self._compiled
        half_gap = _half_gaps(self.centers) if bounds else np.zeros(len(self.centers))
        with self._loops() as loops:
            fell, changed = loops.reassign(
                self.X,
                self.weights,
                self.offset,
                self.centers,
                half_gap,
                moved,
                self.labels,
                self.upper,
                self.lower,
                self.came_from,
            )
        self.inertia -= fell
        return changed

    def _take_sums(self) -> None:
        with self._loops() as loops:
            found = loops.cluster_sums(self.X, self.weights, self.offset, self.labels, len(self.centers))
        self.sums, self.totals, self.counts = found

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

    @property
    def _work(self) -> int:
        return self.X.size * len(self.centers)

    @property
    def _compiled(self) -> bool:
        return self._work >= COMPILED_WORK

    @contextmanager
    def _loops(self) -> Iterator[ModuleType]:
        """The inner loops for tables of this size, on as many threads as they are worth."""
        if not self._compiled:
            yield small_tables
            return
        from margin.cluster import kmeans_kernels

        # BLAS on one thread: the compiled loops call it from their own.
        with blas_threads(1):
            yield kmeans_kernels


def labels_for(X: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The index of the nearest center for every row."""
    partition = Partition(X, np.ones(len(X)), positions.mean(axis=0), bounds=False)
    return partition.assign(positions).labels


def distances_to(X: np.ndarray, positions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Distance of every row to the center that ``labels`` names."""
    found = np.empty(len(X))
    for start in range(0, len(X), 4096):
        part = slice(start, start + 4096)
        found[part] = np.sqrt(((X[part] - positions[labels[part]]) ** 2).sum(axis=1))
    return found


def _half_gaps(centers: np.ndarray) -> np.ndarray:
    """Half the distance from every center to the nearest other one, a little less than rounding could make it."""
    squares = (centers**2).sum(axis=1)
    gaps = squares[:, None] + squares - 2 * centers @ centers.T
    gaps -= (centers.shape[1] + 4) * np.finfo(float).eps * (squares[:, None] + squares)
    np.fill_diagonal(gaps, np.inf)
    return 0.5 * np.sqrt(np.maximum(gaps.min(axis=1), 0.0))
