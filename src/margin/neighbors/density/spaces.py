r"""Where the rows of a kernel density lie: distances, the volume of a kernel, steps from a row.

A kernel is a density if its height is divided by its integral over the space. In d columns with the Minkowski distance
of exponent p the volume of a ball is known in closed form; on the globe ("haversine": latitude and longitude in
radians, densities per steradian) the kernel of bandwidth h has the volume

.. math:: 2\pi \int_0^\pi K(r/h) \sin r\, dr.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from margin.foundations.neighbors import NeighborIndex
from margin.neighbors.density.kernel_shapes import kernel_radii, log_kernel, log_kernel_volume

__all__ = ["ALIASES", "METRICS", "Globe", "MinkowskiSpace", "Space", "space_of"]

EXPONENTS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev", "p": "minkowski"}
METRICS = ("euclidean", "minkowski", "manhattan", "chebyshev", "haversine")
TAIL = 40.0  # bandwidths beyond which a Gaussian or exponential kernel adds nothing to its integral
PARTS = 8  # of the interval of the integral: each holds a piece that the rule of quadrature cannot miss


class Space(ABC):
    """Distances and kernels of one metric."""

    @abstractmethod
    def log_volume(self, kernel: str, d: int, bandwidth: float) -> float:
        """Logarithm of the integral of the kernel."""

    @abstractmethod
    def squared_distances(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function of queries (m, d) that gives the squares of their distances from ``rows`` (n, d), (m, n)."""

    @abstractmethod
    def steps(self, kernel: str, centers: np.ndarray, bandwidth: float, rng: np.random.Generator) -> np.ndarray:
        """A row drawn from the kernel around every center."""

    @abstractmethod
    def index(self, rows: np.ndarray, algorithm: str, leaf_size: int) -> NeighborIndex:
        """The rows, ready to be asked for those near a query."""

    @abstractmethod
    def near(
        self, index: NeighborIndex, queries: np.ndarray, distance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, row and squared distance of all pairs at most ``distance`` apart."""


@dataclass(frozen=True)
class MinkowskiSpace(Space):
    """Columns of numbers with a Minkowski distance."""

    exponent: float

    def log_volume(self, kernel: str, d: int, bandwidth: float) -> float:
        return log_kernel_volume(kernel, d, self.exponent) + d * float(np.log(bandwidth))

    def squared_distances(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        norms, turned = (rows**2).sum(axis=1), -2.0 * rows.T

        def by_products(queries: np.ndarray) -> np.ndarray:
            squared = queries @ turned
            squared += norms
            squared += (queries**2).sum(axis=1)[:, None]
            return np.maximum(squared, 0.0, out=squared)

        def by_columns(queries: np.ndarray) -> np.ndarray:
            powers = np.zeros((len(queries), len(rows)))
            for query, row in zip(queries.T, rows.T):
                gap = np.abs(query[:, None] - row)
                powers = np.maximum(powers, gap) if self.exponent == np.inf else powers + gap**self.exponent
            return powers**2 if self.exponent == np.inf else powers ** (2 / self.exponent)

        return by_products if self.exponent == 2.0 else by_columns

    def steps(self, kernel: str, centers: np.ndarray, bandwidth: float, rng: np.random.Generator) -> np.ndarray:
        n, d = centers.shape
        if self.exponent == 2.0:
            directions = rng.standard_normal((n, d))
            if kernel == "gaussian":
                return centers + bandwidth * directions
        elif self.exponent == np.inf:
            directions = rng.uniform(-1, 1, size=(n, d))
        else:  # |g|^p is exponential: the direction of such a vector is uniform on the sphere of this distance
            signs = rng.choice([-1.0, 1.0], size=(n, d))
            directions = signs * rng.gamma(1 / self.exponent, size=(n, d)) ** (1 / self.exponent)
        lengths = np.linalg.norm(directions, ord=self.exponent, axis=1)
        radii = kernel_radii(kernel, d, n, rng)
        return centers + bandwidth * directions * (radii / lengths)[:, None]

    def index(self, rows: np.ndarray, algorithm: str, leaf_size: int) -> NeighborIndex:
        return NeighborIndex(rows, self.exponent, algorithm, leaf_size)

    def near(
        self, index: NeighborIndex, queries: np.ndarray, distance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        of_query, of_row, distances = index.pairs(queries, distance)
        return of_query, of_row, distances**2


@dataclass(frozen=True)
class Globe(Space):
    """Latitude and longitude in radians; distances are angles between directions."""

    def log_volume(self, kernel: str, d: int, bandwidth: float) -> float:
        from scipy.integrate import quad

        end = min(np.pi, bandwidth * (TAIL if kernel in ("gaussian", "exponential") else 1.0))
        edges = np.linspace(0.0, end, PARTS + 1)

        def height(r: float) -> float:
            return float(np.exp(log_kernel(kernel, np.array((r / bandwidth) ** 2)))) * float(np.sin(r))

        total = sum(quad(height, low, high)[0] for low, high in pairwise(edges))
        return float(np.log(2 * np.pi * total))

    def squared_distances(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        flat = np.cos(rows[:, 0])

        def by_haversines(queries: np.ndarray) -> np.ndarray:
            half = np.sin(0.5 * (queries[:, None, 0] - rows[None, :, 0])) ** 2
            turn = np.sin(0.5 * (queries[:, None, 1] - rows[None, :, 1])) ** 2
            chord = half + np.cos(queries[:, 0])[:, None] * flat * turn
            return (2 * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0)))) ** 2

        return by_haversines

    def steps(self, kernel: str, centers: np.ndarray, bandwidth: float, rng: np.random.Generator) -> np.ndarray:
        angle, bearing = self._angles(kernel, len(centers), bandwidth, rng), rng.uniform(0, 2 * np.pi, len(centers))
        latitude, longitude = centers.T
        height = np.sin(latitude) * np.cos(angle) + np.cos(latitude) * np.sin(angle) * np.cos(bearing)
        across = np.sin(bearing) * np.sin(angle) * np.cos(latitude)
        turned = longitude + np.arctan2(across, np.cos(angle) - np.sin(latitude) * height)
        return np.column_stack([np.arcsin(np.clip(height, -1.0, 1.0)), (turned + np.pi) % (2 * np.pi) - np.pi])

    def _angles(self, kernel: str, n: int, bandwidth: float, rng: np.random.Generator) -> np.ndarray:
        """Distances with density proportional to K(r/h) sin r: those of the plane, thinned by sin(r)/r."""
        accepted = np.empty(0)
        while len(accepted) < n:
            radii = bandwidth * kernel_radii(kernel, 2, 2 * n, rng)
            kept = (radii < np.pi) & (rng.random(2 * n) < np.sinc(radii / np.pi))
            accepted = np.append(accepted, radii[kept])
        return accepted[:n]

    def index(self, rows: np.ndarray, algorithm: str, leaf_size: int) -> NeighborIndex:
        return NeighborIndex(_directions(rows), 2.0, algorithm, leaf_size)

    def near(
        self, index: NeighborIndex, queries: np.ndarray, distance: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        chord = 2 * np.sin(0.5 * min(distance, np.pi))
        of_query, of_row, chords = index.pairs(_directions(queries), chord)
        return of_query, of_row, (2 * np.arcsin(np.minimum(0.5 * chords, 1.0))) ** 2


def space_of(metric: str, metric_params: dict[str, Any] | None, columns: int) -> Space:
    """The space that a metric and its arguments name."""
    name, given = ALIASES.get(metric, metric), dict(metric_params or {})
    exponent = given.pop("p", 2.0) if name == "minkowski" else EXPONENTS.get(name, 2.0)
    if given:
        raise ValueError(f"metric_params of metric {metric!r} cannot hold {sorted(given)[0]!r}.")
    if name == "haversine":
        if columns != 2:
            raise ValueError(f"metric 'haversine' needs two columns, latitude and longitude; got {columns}.")
        return Globe()
    if isinstance(exponent, bool) or not isinstance(exponent, int | float | np.number) or not exponent >= 1:
        raise ValueError(f"metric_params must have a p of at least 1; got {exponent!r}.")
    return MinkowskiSpace(float(exponent))


def _directions(rows: np.ndarray) -> np.ndarray:
    latitude, longitude = rows.T
    flat = np.cos(latitude)
    return np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
