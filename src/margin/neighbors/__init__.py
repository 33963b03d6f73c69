"""Nearest neighbors: exact searches as pure functions, and the classifier and regressor that answer with them.

``nearest`` and ``radius_neighbors`` take arrays; six metrics are in ``geometry``, the search with its proof of
exactness in ``search``.
"""

from margin.neighbors.classifier import KNeighborsClassifier
from margin.neighbors.geometry import distance_matrix
from margin.neighbors.queries import Neighbors, nearest, radius_neighbors
from margin.neighbors.regressor import KNeighborsRegressor

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "Neighbors",
    "distance_matrix",
    "nearest",
    "radius_neighbors",
]
