r"""Kernel density: a bump on every training row.

.. math:: \hat p(x) = \frac{1}{n h^d} \sum_i K\Bigl(\frac{\lVert x - x_i \rVert}{h}\Bigr)

A kernel that ends, or an error that is allowed (``atol``, ``rtol``), puts rows far from x out of sight: where few are
left a tree finds them, and the sum is over them alone.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Integer, Number, Optional, Options
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Real
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.neighbors.density.kernel_shapes import KERNELS, SHORT, log_kernel, reach, short_kernel
from margin.neighbors.density.spaces import ALIASES, METRICS, MinkowskiSpace, Space, space_of

__all__ = ["KernelDensity"]

BLOCK = 2**17  # distances that are held at a time: a megabyte, which stays in the second-level cache
PAIRS = 2**22  # of a query and a row in sight that are held at a time, about
SAFETY = 4  # a part of the queries may see so many times more rows than the pilot did
PILOT = 8  # queries that show how many rows are in sight
FEW = 0.05  # of the rows in sight: then finding them is cheaper than comparing all


class KernelDensity(DensityMixin, Estimator):
    r"""Density estimate with one kernel per training row.

    Examples
    --------
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    >>> np.exp(model.score_samples([[0.5]])).round(4)
    array([0.4839])
    """

    _: KW_ONLY
    bandwidth: float | str = parameter(
        1.0,
        Either(Number(above=0, search=(1e-2, 10.0), log=True), Choice("scott", "silverman")),
        "Width of the kernel, or the rule that finds it: n^(-1/(d+4)), with Silverman's factor (4/(d+2))^(1/(d+4)).",
    )
    kernel: str = parameter(
        "gaussian",
        Choice(*KERNELS),
        "Shape of the bump; all but 'gaussian' and 'exponential' end at one bandwidth.",
    )
    algorithm: str = parameter(
        "auto",
        Choice("auto", "ball_tree", "kd_tree", "brute", search=False),
        "How rows in sight of a query are found, if some are out of sight: by a tree, or among all; 'auto' looks how "
        "many there are. The density is the same up to atol and rtol.",
    )
    leaf_size: int = parameter(40, Integer(low=1), "Rows of a leaf of a tree; it changes the speed, never the result.")
    metric: str = parameter(
        "euclidean",
        Choice(*METRICS, *ALIASES, search=False),
        "The distance; 'haversine' takes latitude and longitude in radians and gives densities per steradian. Kernels "
        "are divided by their volume under every metric.",
    )
    metric_params: dict[str, Any] | None = parameter(
        None, Optional(Options()), "Further arguments of the metric: the exponent ``p`` of 'minkowski', 2 by default."
    )
    atol: float = parameter(0.0, Number(low=0), "Error of a density that is allowed for leaving rows out.")
    rtol: float = parameter(0.0, Number(low=0), "The same as a fraction of the density; both are added.")

    bandwidth_: float = attribute(Real(low=0.0, finite=True), "The width that is used.")
    rows_: np.ndarray = attribute(ArrayOf("n_rows", "n_features"), "The training rows.")
    weights_: np.ndarray = attribute(ArrayOf("n_rows", low=0), "Weights of the training rows, which sum to 1.")

    log_density_kind = "exact"

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> KernelDensity:
        """Keep the rows; ``y`` is ignored."""
        self._check_parameters()
        rows = validate_squarable(self, X, dtype=np.float64, order="C", copy=True)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        if weights.sum() <= 0:
            raise ValueError("KernelDensity: sample_weight must have a positive sum.")
        n, d = rows.shape
        self._space(d)
        rules = {"scott": n ** (-1 / (d + 4)), "silverman": (n * (d + 2) / 4) ** (-1 / (d + 4))}
        self.rows_, self.weights_ = rows, weights / weights.sum()
        self.bandwidth_ = rules[self.bandwidth] if isinstance(self.bandwidth, str) else float(self.bandwidth)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-density of every row, in nats, exact unless an error is allowed; minus infinity where it is 0."""
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=np.float64, order="C")
        space = self._space(X.shape[1])
        constant = space.log_volume(self.kernel, X.shape[1], self.bandwidth_)
        radius = self._reach(constant)
        if self.algorithm == "brute" or radius == np.inf or not len(X):
            return self._all_rows(space, X) - constant
        index = space.index(self.rows_, self.algorithm, self.leaf_size)
        pilot = X[:: max(1, len(X) // PILOT)]
        in_sight = len(space.near(index, pilot, radius * self.bandwidth_)[0]) / len(pilot)  # rows of a query
        if self.algorithm == "auto" and in_sight > FEW * len(self.rows_):
            return self._all_rows(space, X) - constant
        step = max(1, int(PAIRS // (SAFETY * in_sight + 1)))
        parts = [X[begin : begin + step] for begin in range(0, len(X), step)]
        return np.concatenate([self._near_rows(space, index, part, radius, constant) for part in parts]) - constant

    def _space(self, columns: int) -> Space:
        try:
            return space_of(self.metric, self.metric_params, columns)
        except ValueError as error:
            raise ValueError(f"KernelDensity: {error}") from None

    def _reach(self, constant: float) -> float:
        """The distance in bandwidths of the rows in sight: those beyond it add less than what is allowed.

        All rows beyond are at most one whole kernel of this height. What a fraction of the density is, is not known
        before: a row is out of sight if all together cannot be more than ``rtol`` of one row at the query.
        """
        with np.errstate(divide="ignore"):
            absolute = np.log(self.atol) + constant
            relative = np.log(self.rtol) + np.log(self.weights_[self.weights_ > 0].min())
        return reach(self.kernel, min(0.0, float(max(absolute, relative))))

    def _all_rows(self, space: Space, X: np.ndarray) -> np.ndarray:
        """Logarithms of the sums over all rows."""
        rows, queries, squared_bandwidth = self.rows_, X, 1.0
        if isinstance(space, MinkowskiSpace):
            center = self.rows_.mean(axis=0)  # distances by products lose digits far from the origin
            rows, queries = (self.rows_ - center) / self.bandwidth_, (X - center) / self.bandwidth_
        else:
            squared_bandwidth = self.bandwidth_**2
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights_)
        result = np.empty(len(X))
        step, squares = max(BLOCK // len(rows), 1), space.squared_distances(rows)
        for begin in range(0, len(X), step):
            squared = squares(queries[begin : begin + step])
            if squared_bandwidth != 1.0:
                squared /= squared_bandwidth
            result[begin : begin + step] = self._log_sums(squared, log_weights)
        return result

    def _log_sums(self, squared: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
        if self.kernel in SHORT:
            with np.errstate(divide="ignore"):
                return np.log(short_kernel(self.kernel, squared) @ self.weights_)
        logs = log_kernel(self.kernel, squared)
        logs += log_weights
        return _log_of_sums(logs)

    def _near_rows(self, space: Space, index: Any, X: np.ndarray, radius: float, constant: float) -> np.ndarray:
        """Logarithms of the sums over rows within ``radius``; over all where those beyond might be too much."""
        of_query, of_row, squared = space.near(index, X, radius * self.bandwidth_)
        heights = np.exp(log_kernel(self.kernel, squared / self.bandwidth_**2))
        density = np.bincount(of_query, heights * self.weights_[of_row], minlength=len(X))
        with np.errstate(divide="ignore"):
            result = np.log(density)
        if self.kernel not in SHORT:  # the kernel goes on where the search ended
            beyond = 1.0 - np.bincount(of_query, self.weights_[of_row], minlength=len(X))
            left_out = beyond * np.exp(log_kernel(self.kernel, np.array(radius**2)))
            allowed = self.atol * np.exp(constant) + self.rtol * density
            doubtful = np.flatnonzero((left_out > allowed) | (density == 0))
            result[doubtful] = self._all_rows(space, X[doubtful])
        return result

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The total log-density of the rows, as scikit-learn has it."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """``n_samples`` new rows: a training row and a step from it."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"KernelDensity.sample: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        centers = self.rows_[rng.choice(len(self.rows_), size=n_samples, p=self.weights_)]
        return self._space(centers.shape[1]).steps(self.kernel, centers, self.bandwidth_, rng)


def _log_of_sums(logs: np.ndarray) -> np.ndarray:
    """Logarithm of the sum of exponentials along every row; ``logs`` is overwritten."""
    largest = logs.max(axis=1)
    largest[np.isneginf(largest)] = 0.0  # nothing to add: the logarithm of zero
    logs -= largest[:, None]
    with np.errstate(divide="ignore"):
        return largest + np.log(np.exp(logs, out=logs).sum(axis=1))
