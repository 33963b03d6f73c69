r"""Isomap: classical scaling of distances along the set on which the rows lie.

.. math:: D_G = \text{shortest paths in the neighborhood graph}, \qquad \tau(D_G) = -\tfrac12 H D_G^{\circ 2} H
    = V \Lambda V^\top, \qquad y_i = \bigl(\sqrt{\lambda_p}\, v_i^{(p)}\bigr)_p .
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Integer, Number, Optional
from margin.core.estimator import Estimator
from margin.core.notices import warn_user
from margin.reduction.embedding import EmbeddingMixin
from margin.reduction.graphs import components, epsilon_graph, join_components, knn_graph, nearest_rows, shortest_paths
from margin.reduction.scaling import classical_coordinates, gower_positions

__all__ = ["Isomap"]


class Isomap(EmbeddingMixin, Estimator):
    """Coordinates in which straight distances are those along a curved set.

    ``n_neighbors`` rows are joined with every row; with ``epsilon`` instead all rows within that distance. Parts of the
    graph that are not connected are joined by their shortest links, with a warning. Cost O(n^2 (k + log n)), memory
    O(n^2).

    Learned: ``embedding_`` (n, n_components), ``eigenvalues_``, ``dist_matrix_`` (the distances along the graph),
    ``n_parts_`` (connected parts before joining), ``X_fit_``. ``transform`` enters the graph at the neighbors of a new
    row; fitted rows stay where they are.

    >>> from margin.data import load
    >>> roll = load("swiss-roll", n_samples=400, seed=0)
    >>> Y = Isomap(n_neighbors=8).fit_transform(roll.X)
    >>> bool(abs(np.corrcoef(Y[:, 0], roll.y)[0, 1]) > 0.97)
    True
    """

    domains = {
        "n_components": Integer(low=1, search=(1, 5)),
        "n_neighbors": Integer(low=1, search=(3, 30)),
        "epsilon": Optional(Number(above=0)),
    }

    def __init__(self, n_components: int = 2, n_neighbors: int = 10, epsilon: float | None = None):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any = None) -> Isomap:
        """Learn the coordinates of the rows of ``X``; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if self.n_components > len(X):
            raise ValueError(f"Isomap: n_components={self.n_components} needs at least as many rows; got {len(X)}.")
        graph, parts = self._graph(X)
        D = shortest_paths(graph)
        D = np.minimum(D, D.T)  # sums in two directions differ in the last digit
        self.embedding_, self.eigenvalues_ = classical_coordinates(D, self.n_components)
        self.dist_matrix_, self.X_fit_, self.n_parts_ = D, X, parts
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows from their shortest ways through the fitted graph."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        gaps, index = nearest_rows(self.X_fit_, min(self.n_neighbors, len(self.X_fit_)), X)
        squares = np.empty((len(X), len(self.X_fit_)))
        for i in range(len(X)):
            squares[i] = np.min(gaps[i][:, None] + self.dist_matrix_[index[i]], axis=0) ** 2
        mean_squares = np.mean(self.dist_matrix_**2, axis=0)
        placed = gower_positions(squares, mean_squares, self.embedding_, self.eigenvalues_)
        return self._keep_fitted(placed, gaps, index)

    def _graph(self, X: np.ndarray) -> tuple[sp.csr_array, int]:
        graph = (
            knn_graph(X, min(self.n_neighbors, len(X) - 1)) if self.epsilon is None else epsilon_graph(X, self.epsilon)
        )
        parts, _ = components(graph)
        if parts > 1:
            setting = f"n_neighbors={self.n_neighbors}" if self.epsilon is None else f"epsilon={self.epsilon:g}"
            warn_user(f"Isomap: with {setting} the graph has {parts} parts; they are joined by their shortest links.")
            graph = join_components(graph, X)
        return graph, parts
