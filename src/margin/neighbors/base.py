"""What both estimators share: the parameters, the rows they keep, and the queries they answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Function, Integer, Jobs, Number, Optional, Options
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, optional
from margin.core.new_rows import require_fitted, validate_new_rows
from margin.core.notices import warn_user
from margin.core.parameters import N_JOBS, attribute, parameter
from margin.core.sparse_distances import GivenDistances, check_neighbors_known
from margin.core.sparse_input import allow_sparse
from margin.core.threads import thread_limit
from margin.foundations.neighbors import (
    ALGORITHMS,
    METRICS,
    PAIRWISE_METRICS,
    Geometry,
    NeighborIndex,
    Neighbors,
    PairwiseIndex,
    geometry,
    without_itself,
)
from margin.foundations.neighbors.queries import ball, check_radius, rank

__all__ = ["NeighborsEstimator"]

ROWS: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C", "accept_sparse": "csr"}

ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "infinity": "chebyshev"}


class NeighborsEstimator(GivenDistances, Estimator, ABC):
    """Keeps the training rows (as ``points_``, mapped to where the metric is a Minkowski distance)."""

    n_neighbors: int = parameter(5, Integer(low=1, search=(1, 30)), "Number of neighbors that answer.")
    _: KW_ONLY
    weights: Any = parameter(
        "uniform",
        Optional(Either(Choice("uniform", "distance"), Function("distances (m, k)"))),
        'Weight of a neighbor: "uniform", "distance" (the reciprocal distance; rows at distance 0 decide alone), or a '
        "function of distances that gives weights.",
    )
    algorithm: str = parameter(
        "auto",
        Choice(*ALGORITHMS, search=False),
        'The search: "brute" compares all pairs, "kd_tree" and "ball_tree" build a tree, "auto" takes a k-d tree for '
        "few columns (up to 7 of 5000 rows, 11 of 500,000) and enough queries. Neighbors are exact and the same for "
        "all; of equally near rows the first is nearer.",
    )
    leaf_size: int = parameter(30, Integer(low=1), "Rows of a leaf of a tree; it changes the speed, never the result.")
    p: float = parameter(
        2,
        Either(Number(above=0, search=(1, 4)), Choice(np.inf)),
        'Exponent of metric "minkowski"; infinity is the largest difference, and below 1 all pairs are compared.',
    )
    metric: Any = parameter(
        "minkowski",
        Either(Choice(*METRICS, *ALIASES, *PAIRWISE_METRICS, "precomputed", search=False), Function("two rows")),
        'The distance. "mahalanobis" takes the covariance of the training rows unless one is given; "precomputed" '
        'means that X holds distances, and if it is sparse, those of neighbors; "nan_euclidean" allows missing values; '
        "names beyond the first six and functions of two rows compare all pairs.",
    )
    metric_params: dict[str, Any] | None = parameter(
        None, Optional(Options()), 'Further arguments of the metric, such as {"V": covariance} of "mahalanobis".'
    )
    n_jobs: int | None = parameter(None, Jobs(), N_JOBS)
    covariance: Any = parameter(None, Optional(Array(ndim=2)), 'Covariance (p, p) of metric "mahalanobis".')

    points_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_points", finite=False),
        "The training rows, mapped if the metric needs it, or the given distances.",
    )
    whitener_: np.ndarray | None = attribute(
        optional(ArrayOf(None, None)), 'Matrix (p, p) that maps rows for metric "mahalanobis".'
    )
    n_samples_fit_: int = attribute(Count(low=1, size="n_samples"), "Number of training rows.")

    @property
    def effective_metric_(self) -> Any:
        """The metric that is used: "minkowski" of exponent 1, 2 or infinity has a name of its own."""
        name = self._metric
        named = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
        return named.get(float(self.p), name) if name == "minkowski" else name

    @abstractmethod
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Keep the rows and what belongs to them."""

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Neighbors | np.ndarray:
        """Distances and training rows of the nearest neighbors, ascending; without ``X`` those of the training rows,
        none of which is its own neighbor."""
        require_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        own = X is None
        largest = self.n_samples_fit_ - own
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= largest:
            raise ValueError(f"{self._name}: n_neighbors must be an integer from 1 to {largest}; got {k!r}.")
        images = self.points_ if own else self._image(X)
        with thread_limit(self.n_jobs):
            neighbors = rank(self._name, self._space(), self._searchable(), images, k + own)
        if own:
            neighbors = without_itself(neighbors)
        if self._precomputed:
            check_neighbors_known(self._name, neighbors.distances)
        return neighbors if return_distance else neighbors.indices

    def kneighbors_graph(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """The neighbors as a sparse matrix (m, n): ones, or with ``mode`` "distance" their distances."""
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"{self._name}: mode must be 'connectivity' or 'distance'; got {mode!r}.")
        distances, indices = self.kneighbors(X, n_neighbors)
        m, k = indices.shape
        data = np.ones(m * k) if mode == "connectivity" else distances.ravel()
        return sp.csr_matrix((data, indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, self.n_samples_fit_))

    def radius_neighbors(self, X: MatrixLike, radius: float, return_distance: bool = True) -> Neighbors | np.ndarray:
        """All training rows within ``radius`` of each row of ``X``: object arrays of arrays, ascending."""
        require_fitted(self)
        with thread_limit(self.n_jobs):
            neighbors = ball(self._space(), self._searchable(), self._image(X), check_radius(self._name, radius))
        return neighbors if return_distance else neighbors.indices

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan
        return allow_sparse(tags)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _metric(self) -> Any:
        return self.metric if callable(self.metric) else ALIASES.get(self.metric, str(self.metric))

    @property
    def _allows_nan(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    @property
    def _exponent(self) -> float:
        return float((self.metric_params or {}).get("p", self.p))

    @property
    def _no_distance(self) -> bool:
        """Below an exponent of 1 a detour may be shorter, and trees would miss neighbors."""
        return isinstance(self.metric, str) and self._metric == "minkowski" and self._exponent < 1

    @property
    def _all_pairs(self) -> bool:
        return callable(self.metric) or self._metric not in METRICS or self._no_distance

    def _pairs(self, X: np.ndarray) -> PairwiseIndex:
        options = {"p": self._exponent} if self._no_distance else self.metric_params
        return PairwiseIndex(X, self._metric, options)

    def _check_rows(self, X: Any, *y: Any, **options: Any) -> Any:
        """``X`` as dense rows, and ``y`` if there is one."""
        self._check_format(X)
        given = {**ROWS, "ensure_all_finite": "allow-nan" if self._allows_nan else True, **options}
        if given.pop("reset", True):
            checked = validate_data(self, X, *y, **given)
        else:
            checked = validate_new_rows(self, X, **given)
        rows, others = (checked[0], checked[1:]) if y else (checked, ())
        rows = self._dense(rows)
        return (rows, *others) if y else rows

    def _keep(self, X: np.ndarray) -> None:
        """Remember the rows; everything that can fail is done before anything is set.

        There may be fewer of them than ``n_neighbors``: a query may ask for less.
        """
        index: NeighborIndex | PairwiseIndex
        try:
            if self._all_pairs:
                self._check_all_pairs(X)
                if self._precomputed:
                    np.fill_diagonal(X, np.where(np.isinf(X.diagonal()), 0.0, X.diagonal()))  # known without saying
                space, points = Geometry(1.0), X
                index = self._pairs(X)
            else:
                space = geometry(X, self._metric, self._exponent, self._covariance())
                points = space.image(X)
                index = NeighborIndex(points, space.exponent, self.algorithm, self.leaf_size)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        if self._no_distance:
            warn_user(f"{self._name}: with p below 1 the metric is no distance; all pairs of rows are compared.")
        if "p" in (self.metric_params or {}):
            warn_user(f"{self._name}: p is taken from metric_params; p={self.p:g} has no effect.", SyntaxWarning)
        self._index = index
        self.points_ = points
        self.whitener_ = space.whitener
        self.n_samples_fit_ = len(X)

    def _check_all_pairs(self, X: np.ndarray) -> None:
        if self._no_distance and not self._exponent > 0:
            raise ValueError(f"metric_params must have a p above 0; got {self._exponent:g}.")
        if self._no_distance and self.algorithm not in ("auto", "brute"):
            raise ValueError(f"p below 1 needs algorithm 'brute' or 'auto'; got {self.algorithm!r}.")
        if self.algorithm not in ("auto", "brute"):
            raise ValueError(f"metric {self.metric!r} needs algorithm 'brute' or 'auto'; got {self.algorithm!r}.")
        if self._metric == "haversine" and X.shape[1] != 2:
            raise ValueError(f"metric 'haversine' needs two columns, latitude and longitude; got {X.shape[1]}.")
        if self._metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"metric 'precomputed' needs a square matrix of distances; got shape {X.shape}.")
        if self._metric == "precomputed" and X.min() < 0:
            raise ValueError(f"metric 'precomputed' needs distances of at least 0; got {X.min():g}.")

    def _covariance(self) -> Any:
        given = self.metric_params or {}
        known = {"minkowski": {"p"}, "mahalanobis": {"V", "VI"}}.get(self._metric, set())
        unknown = sorted(given.keys() - known)
        if unknown:
            raise ValueError(f"metric_params of metric {self._metric!r} cannot hold {unknown[0]!r}.")
        if "VI" in given:
            return np.linalg.inv(np.asarray(given["VI"], dtype=np.float64))
        return given.get("V", self.covariance)

    def _space(self) -> Geometry:
        if self._all_pairs:
            return Geometry(1.0)
        plain = geometry(self.points_, "euclidean" if self._metric == "mahalanobis" else self._metric, self._exponent)
        return Geometry(plain.exponent, self.whitener_, plain.angular)

    def _searchable(self) -> NeighborIndex | PairwiseIndex:
        if not hasattr(self, "_index"):  # read from a file, which holds arrays but no trees
            if self._all_pairs:
                self._index = self._pairs(self.points_)
            else:
                self._index = NeighborIndex(self.points_, self._space().exponent, self.algorithm, self.leaf_size)
        return self._index

    def _complete(self) -> None:
        if hasattr(self, "points_"):
            self._searchable()

    def _image(self, X: Any) -> np.ndarray:
        X = self._check_rows(X, reset=False)
        try:
            return self._space().image(X)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        # The index is made of the rows again when it is needed.
        return {name: value for name, value in super().__getstate__().items() if name != "_index"}
