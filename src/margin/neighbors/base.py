"""What both estimators share: the parameters, the rows they keep, and the questions they can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Array, Choice, Integer, Number, Optional
from margin.core.estimator import Estimator
from margin.foundations.neighbors.geometry import METRICS, Geometry, geometry
from margin.foundations.neighbors.queries import Neighbors, ball, check_radius, ranked, without_itself
from margin.foundations.neighbors.search import ALGORITHMS, NeighborIndex

__all__ = ["NeighborsEstimator"]


class NeighborsEstimator(Estimator, ABC):
    """Keeps the training rows (as ``points_``, mapped to where the metric is a Minkowski distance)."""

    domains = {
        "n_neighbors": Integer(low=1, search=(1, 30)),
        "weights": Choice("uniform", "distance"),
        "algorithm": Choice(*ALGORITHMS),
        "metric": Choice(*METRICS),
        "p": Number(low=1, search=(1, 4)),
        "covariance": Optional(Array(ndim=2)),
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        weights: str = "uniform",
        algorithm: str = "auto",
        metric: str = "minkowski",
        p: float = 2,
        covariance: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.metric = metric
        self.p = p
        self.covariance = covariance

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Keep the rows and what belongs to them."""

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Neighbors | np.ndarray:
        """Distances and training rows of the nearest neighbors, ascending; without ``X`` those of the training rows,
        none of which is its own neighbor."""
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        own = X is None
        largest = len(self.points_) - own
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= largest:
            raise ValueError(f"{self._name}: n_neighbors must be an integer from 1 to {largest}; got {k!r}.")
        images = self.points_ if own else self._image(X)
        found = ranked(self._name, self._space(), self._searchable(), images, k + own)
        if own:
            found = without_itself(found)
        return found if return_distance else found.indices

    def radius_neighbors(self, X: Any, radius: float, return_distance: bool = True) -> Neighbors | np.ndarray:
        """All training rows within ``radius`` of each row of ``X``: object arrays of arrays, ascending."""
        check_is_fitted(self)
        found = ball(self._space(), self._searchable(), self._image(X), check_radius(self._name, radius))
        return found if return_distance else found.indices

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _keep(self, X: np.ndarray) -> None:
        """Remember the rows; everything that can fail is done before anything is set."""
        if len(X) < self.n_neighbors:
            raise ValueError(
                f"{self._name}: n_neighbors={self.n_neighbors} needs at least as many rows; got n_samples={len(X)}."
            )
        try:
            space = geometry(X, self.metric, self.p, self.covariance)
            points = space.image(X)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        self._index = NeighborIndex(points, space.exponent, self.algorithm)
        self.points_ = points
        self.whitener_ = space.whitener
        self.n_samples_fit_ = len(X)

    def _space(self) -> Geometry:
        plain = geometry(self.points_, "euclidean" if self.metric == "mahalanobis" else self.metric, self.p)
        return Geometry(plain.exponent, self.whitener_, plain.angular)

    def _searchable(self) -> NeighborIndex:
        if not hasattr(self, "_index"):  # read from a file, which holds arrays but no trees
            self._index = NeighborIndex(self.points_, self._space().exponent, self.algorithm)
        return self._index

    def _image(self, X: Any) -> np.ndarray:
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        try:
            return self._space().image(X)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        # The index is made of the rows again when it is needed.
        return {name: value for name, value in super().__getstate__().items() if name != "_index"}
