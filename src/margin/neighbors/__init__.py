"""Nearest neighbors: the classifier and the regressor that answer with them.

The exact searches themselves, ``nearest`` and ``radius_neighbors``, are in :mod:`margin.foundations.neighbors`.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.foundations.neighbors import Neighbors, distance_matrix, nearest, radius_neighbors
    from margin.neighbors.classifier import KNeighborsClassifier
    from margin.neighbors.regressor import KNeighborsRegressor
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "Neighbors",
    "distance_matrix",
    "nearest",
    "radius_neighbors",
]
