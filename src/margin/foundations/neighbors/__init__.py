"""Exact nearest-neighbor search as pure functions of arrays: the one search that every package uses.

``nearest`` and ``radius_neighbors`` check their arguments and take any of six metrics; ``nearest_rows`` is the
plain Euclidean form for graphs of rows, where no row is its own neighbor. The metrics are in ``geometry``, the search
with its proof of exactness in ``search``.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.foundations.neighbors.geometry import METRICS, Geometry, distance_matrix, geometry

if TYPE_CHECKING:
    from margin.foundations.neighbors.pairwise import PAIRWISE_METRICS, PairwiseIndex, pairwise_distances
    from margin.foundations.neighbors.queries import (
        Neighbors,
        nearest,
        nearest_rows,
        pairs_within,
        radius_neighbors,
        without_itself,
    )
    from margin.foundations.neighbors.search import ALGORITHMS, NeighborIndex
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "ALGORITHMS",
    "METRICS",
    "PAIRWISE_METRICS",
    "Geometry",
    "NeighborIndex",
    "Neighbors",
    "PairwiseIndex",
    "distance_matrix",
    "geometry",
    "nearest",
    "nearest_rows",
    "pairs_within",
    "pairwise_distances",
    "radius_neighbors",
    "without_itself",
]
