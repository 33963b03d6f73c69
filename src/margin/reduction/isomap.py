r"""Isomap: classical scaling of distances along the set on which the rows lie.

.. math:: D_G = \text{shortest paths in the neighborhood graph}, \qquad \tau(D_G) = -\tfrac12 H D_G^{\circ 2} H
    = V \Lambda V^\top, \qquad y_i = \bigl(\sqrt{\lambda_p}\, v_i^{(p)}\bigr)_p .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Integer, Number, Optional
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, optional
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.sparse_distances import GivenDistances, check_neighbors_known
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.threads import available, threads_for
from margin.reduction.distances import (
    METRIC,
    METRIC_PARAMS,
    distances_between,
    is_euclidean,
    nearest_by_metric,
)
from margin.reduction.embedding import EmbeddingMixin
from margin.reduction.graphs import (
    components,
    epsilon_graph,
    join_components,
    nearest_rows,
    shortest_paths,
    symmetric_graph,
)
from margin.reduction.scaling import classical_coordinates, distance_rows, gower_positions
from margin.reduction.stored import enough_rows

__all__ = ["Isomap"]


class Isomap(GivenDistances, EmbeddingMixin, Estimator):
    """Coordinates in which straight distances are those along a curved set.

    Parts of the graph that are not connected are joined by their shortest links, with a warning. Cost O(n^2 (k + log
    n)), memory O(n^2). ``transform`` enters the graph at the neighbors of a new row; fitted rows stay where they are.

    >>> from margin.data import load
    >>> roll = load("swiss-roll", n_samples=400, seed=0)
    >>> Y = Isomap(n_neighbors=8).fit_transform(roll.X)
    >>> bool(abs(np.corrcoef(Y[:, 0], roll.y)[0, 1]) > 0.97)
    True
    """

    _: KW_ONLY
    n_neighbors: int | None = parameter(
        5, Optional(Integer(low=1, search=(3, 30))), "Rows that are joined with every row; None if ``radius`` is given."
    )
    radius: float | None = parameter(
        None,
        Optional(Either(Number(above=0), Choice(np.inf))),
        "All rows within this distance are joined; needs n_neighbors=None.",
    )
    n_components: int = parameter(2, Integer(low=1, search=(1, 5)), "Number of coordinates.")
    eigen_solver: str = parameter(
        "auto",
        Choice("auto", "arpack", "dense"),
        "Lanczos iterations, a dense decomposition, or whichever is faster for the number of rows.",
    )
    tol: float = parameter(0, Number(low=0), "Relative accuracy of eigenvalues by 'arpack'; 0 is 1e-9.")
    max_iter: int | None = parameter(None, Optional(Integer(low=1)), "Most restarts of 'arpack'; None is 10 n.")
    path_method: str = parameter(
        "auto",
        Choice("auto", "FW", "D"),
        "Floyd and Warshall's algorithm, Dijkstra's, or the faster of the two for the number of edges.",
    )
    neighbors_algorithm: str = parameter(
        "auto", Choice("auto", "brute", "kd_tree"), "Search for neighbors; the result is the same."
    )
    n_jobs: int | None = parameter(
        None, Optional(Integer(low=-1)), "Threads; None as many as the work is worth, -1 all. The result is the same."
    )
    metric: Any = parameter(
        "minkowski",
        METRIC,
        "Distance of rows: a name, a function of two rows, or 'precomputed': X holds distances, and if it is sparse, "
        "those of neighbors.",
    )
    p: float = parameter(2, Number(low=1), "Exponent of the metric 'minkowski'.")
    metric_params: dict[str, Any] | None = parameter(None, Optional(METRIC_PARAMS), "Further arguments of the metric.")

    embedding_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_components"), "Coordinates of the rows, (n, n_components)."
    )
    eigenvalues_: np.ndarray = attribute(ArrayOf("n_components"), "The largest eigenvalues of the centered kernel.")
    dist_matrix_: np.ndarray = attribute(ArrayOf("n_samples", "n_samples"), "Distances along the graph, (n, n).")
    n_parts_: int = attribute(Count(), "Connected parts of the graph before they were joined.")
    X_fit_: np.ndarray = attribute(optional(ArrayOf("n_samples", "n_features")), "The training rows.")

    _stored_rules = (enough_rows,)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Isomap:
        """Learn the coordinates of the rows of ``X``; ``y`` is ignored."""
        self._check_parameters()
        self._check_format(X)
        given = validate_squarable(self, X, dtype=np.float64, order="C", ensure_min_samples=2, accept_sparse="csr")
        X = self._dense(given)
        self._check_combinations(X, sparse=sp.issparse(given))
        graph, parts = self._graph(X)
        method = {"auto": "auto", "FW": "floyd", "D": "dijkstra"}[self.path_method]
        D = shortest_paths(graph, method, threads=self._threads(len(X)))
        D = np.minimum(D, D.T)  # sums in two directions differ in the last digit
        solver: dict[str, Any] = {"solver": self.eigen_solver, "tol": float(self.tol), "max_iter": self.max_iter}
        self.embedding_, self.eigenvalues_ = classical_coordinates(D, self.n_components, **solver)
        self.dist_matrix_, self.X_fit_, self.n_parts_ = D, dense_rows("Isomap", given), parts
        return self

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Coordinates of rows from their shortest ways through the fitted graph."""
        check_is_fitted(self)
        self._check_format(X)
        X = self._dense(validate_squarable(self, X, reset=False, dtype=np.float64, order="C", accept_sparse="csr"))
        squares = np.empty((len(X), len(self.X_fit_)))
        nearest = np.empty((len(X), 1)), np.empty((len(X), 1), dtype=np.int64)
        for i, (gaps, index) in enumerate(self._entries(X)):
            squares[i] = np.min(gaps[:, None] + self.dist_matrix_[index], axis=0) ** 2
            nearest[0][i], nearest[1][i] = gaps[0], index[0]
        mean_squares = np.mean(self.dist_matrix_**2, axis=0)
        positions = gower_positions(squares, mean_squares, self.embedding_, self.eigenvalues_)
        return self._keep_fitted(positions, *nearest)

    def reconstruction_error(self) -> float:
        r"""How far the kernel of the distances is from that of the coordinates: :math:`\lVert K - K_d\rVert_F / n`."""
        check_is_fitted(self)
        squares = self.dist_matrix_**2
        means = squares.mean(axis=0)
        total = float(np.sum(((squares - means - means[:, None] + means.mean()) / 2) ** 2))
        return float(np.sqrt(max(total - float(np.sum(self.eigenvalues_**2)), 0.0)) / len(squares))

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

    def _check_combinations(self, X: np.ndarray, *, sparse: bool) -> None:
        if self.n_components > len(X):
            raise ValueError(f"Isomap: n_components={self.n_components} needs at least as many rows; got {len(X)}.")
        if (self.n_neighbors is None) == (self.radius is None):
            raise ValueError(
                "Isomap: one of n_neighbors and radius must be given, the other None; got "
                f"n_neighbors={self.n_neighbors} and radius={self.radius}."
            )
        if self.neighbors_algorithm == "kd_tree" and not self._straight:
            raise ValueError("Isomap: neighbors_algorithm='kd_tree' goes with the Euclidean metric only.")
        if self._precomputed and not sparse:
            distance_rows("Isomap", X, "X")
        elif self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"Isomap: X must be a square matrix of distances; got shape {X.shape}.")

    @property
    def _metric_params(self) -> dict[str, Any]:
        exponent = {"p": self.p} if isinstance(self.metric, str) and self.metric == "minkowski" else {}
        return exponent | (self.metric_params or {})

    @property
    def _straight(self) -> bool:
        return is_euclidean(self.metric, self._metric_params)

    def _threads(self, n: int) -> int:
        if self.n_jobs is None:
            return threads_for(float(n) ** 2 * 100)
        return available() if self.n_jobs < 1 else self.n_jobs

    def _nearest(self, X: np.ndarray, k: int, queries: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        if self._straight and self.neighbors_algorithm != "brute":
            return nearest_rows(X, k, queries)
        neighbors = nearest_by_metric(X, k, self.metric, self._metric_params, queries)
        check_neighbors_known("Isomap", neighbors[0])
        return neighbors

    def _distances(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return X if self._precomputed else distances_between(X, Z, self.metric, self._metric_params)

    def _entries(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every new row the distances to the rows at which it enters the graph, rising, and their numbers."""
        if self.radius is None:
            assert self.n_neighbors is not None
            yield from zip(*self._nearest(self.X_fit_, min(self.n_neighbors, len(self.X_fit_)), X))
            return
        for row in X:
            distances = self._distances(row[None], self.X_fit_)[0]
            near = np.flatnonzero((distances <= self.radius) & np.isfinite(distances))
            near = near if len(near) else np.array([distances.argmin()])  # beyond the radius: by the nearest row
            check_neighbors_known("Isomap", distances[None, near])
            order = near[np.argsort(distances[near], kind="stable")]
            yield distances[order], order

    def _graph(self, X: np.ndarray) -> tuple[sp.csr_array, int]:
        graph = self._neighborhoods(X)
        parts, _ = components(graph)
        if parts > 1:
            setting = f"n_neighbors={self.n_neighbors}" if self.radius is None else f"radius={self.radius:g}"
            if not np.isfinite(X).all():
                raise RuntimeError(
                    f"Isomap: with {setting} the graph has {parts} parts, and a sparse X has no distance between them."
                )
            warn_user(f"Isomap: with {setting} the graph has {parts} parts; they are joined by their shortest links.")
            graph = join_components(graph, X, None if self._straight else self._distances)
        return graph, parts

    def _neighborhoods(self, X: np.ndarray) -> sp.csr_array:
        n = len(X)
        if self.radius is not None:
            if self._straight and np.isfinite(self.radius):
                return epsilon_graph(X, self.radius)
            D = self._distances(X, X)
            D = np.minimum(D, D.T)  # a sparse matrix may give the distance of a pair only once
            i, j = np.nonzero(np.triu((self.radius >= D) & np.isfinite(D), 1))
            return symmetric_graph(i, j, D[i, j], n)
        assert self.n_neighbors is not None
        k = min(self.n_neighbors, n - 1)
        gaps, index = self._nearest(X, k)
        return symmetric_graph(np.repeat(np.arange(n), k), index.ravel(), gaps.ravel(), n)
