r"""Multidimensional scaling of rows or of given distances.

.. math:: \lVert y_i - y_j \rVert \approx d_{ij}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, Real, optional, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parallel import parallel_map
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.sparse_distances import GivenDistances
from margin.core.threads import available, blas_threads
from margin.foundations.probability.kernels import squared_distances
from margin.reduction.distances import METRIC, METRIC_PARAMS, distances_between, is_euclidean
from margin.reduction.embedding import EmbeddingMixin
from margin.reduction.scaling import (
    classical_coordinates,
    disparities,
    distance_rows,
    gower_positions,
    guttman_transform,
    stress,
)

__all__ = ["MDS"]

PLACING_STEPS, PLACED = 1000, 1e-9  # a new row is moved until it moves no more than this part of the map's size


class MDS(GivenDistances, EmbeddingMixin, IterativeEstimator):
    r"""Points whose distances are those of the rows (or given ones).

    Cost O(n^2) per iteration. Records carry the normalized ``stress`` of the best start. ``transform`` positions a row
    among the fitted points without moving them; fitted rows stay where they are.

    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> Y = MDS(n_components=2, metric_mds="classical").fit_transform(X)
    >>> np.linalg.norm(Y[0] - Y[2]).round(9)
    np.float64(5.0)
    """

    n_components: int = parameter(2, Integer(low=1, search=(1, 5)), "Number of coordinates.")
    _: KW_ONLY
    metric_mds: bool | str = parameter(
        True,
        Either(Flag(), Choice("classical")),
        "Whether distances count themselves (True) or only their order (False); 'classical' is the closed form by "
        "double centering.",
    )
    n_init: int = parameter(1, Integer(low=1, high=10_000), "Random starts, of which the best is kept.")
    init: str = parameter(
        "classical_mds", Choice("classical_mds", "random"), "Start: coordinates of the closed form, or random."
    )
    max_iter: int = parameter(300, Integer(low=1), "Most iterations of each start.")
    verbose: bool | int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    eps: float = parameter(1e-6, Number(low=0), "Decrease of the squared normalized stress at which a descent ends.")
    n_jobs: int | None = parameter(
        None, Optional(Integer(low=-1)), "Threads over random starts; None is one, -1 all. The result is the same."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws random starts.")
    metric: Any = parameter(
        "euclidean", METRIC, "Distance of rows: a name, 'precomputed' (X holds distances) or a function of two rows."
    )
    metric_params: dict[str, Any] | None = parameter(None, Optional(METRIC_PARAMS), "Further arguments of the metric.")
    normalized_stress: bool | str = parameter(
        "auto",
        Either(Choice("auto"), Flag()),
        "Whether ``stress_`` is relative to the distances (from 0 to 1); 'auto' is so for metric_mds=False only.",
    )

    embedding_: np.ndarray = attribute(ArrayOf("n_samples", "n_components"), "The points, (n, n_components).")
    stress_: float = attribute(Real(), "Sum of squared errors of the distances of all pairs, or its normalized root.")
    dissimilarity_matrix_: np.ndarray = attribute(ArrayOf("n_samples", "n_samples"), "Distances of the rows, (n, n).")
    X_fit_: np.ndarray = attribute(
        optional(ArrayOf("n_samples", "n_features")), "The training rows, unless distances were given."
    )
    knots_: np.ndarray = attribute(
        sometimes(ArrayOf("n_knots")), "Distances at which the monotone function of metric_mds=False is known."
    )
    heights_: np.ndarray = attribute(sometimes(ArrayOf("n_knots")), "Its values there.")
    mean_squares_: np.ndarray = attribute(
        sometimes(ArrayOf("n_samples")), "Mean squared distance of every row, of the closed form."
    )
    n_iter_: int = attribute(Count(), "Iterations of the best start.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record with the ``stress`` per iteration (one for the closed form); ``y`` is ignored."""
        self._check_parameters()
        X = validate_squarable(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        D = self._distances(X)
        self._loop = loop = _Starts(self, D)
        if state is not None:
            loop.restore(state)
        if not self._precomputed:
            self.X_fit_ = X
        self._learn(loop)
        while not loop.settled:
            loop.step()
            self._learn(loop)
            yield Record(loop.iteration, {"stress": loop.best.value}, total=loop.best.total)
        if not loop.best.settled and self.metric_mds != "classical":
            warn_user(
                f"MDS: the stress still falls by more than eps={self.eps:g} after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows (or of rows of distances to the fitted ones), the fitted points held fixed."""
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=np.float64, order="C")
        distances = X if self._precomputed else self._to_fitted(X)
        if self.metric_mds == "classical":
            values = np.einsum("ij,ij->j", self.embedding_, self.embedding_)
            placed = gower_positions(distances**2, self.mean_squares_, self.embedding_, values)
        else:
            placed = np.vstack([self._place(row) for row in distances])
        nearest = distances.argmin(axis=1)[:, None]
        return self._keep_fitted(placed, np.take_along_axis(distances, nearest, axis=1), nearest)

    def _distances(self, X: np.ndarray) -> np.ndarray:
        if self._precomputed:
            return distance_rows("MDS", X, "X")
        if is_euclidean(self.metric, self.metric_params):
            return np.sqrt(squared_distances(X))
        D = distances_between(X, X, self.metric, self.metric_params)
        return (D + D.T) / 2  # a metric is symmetric; its rounding need not be

    def _to_fitted(self, X: np.ndarray) -> np.ndarray:
        """Distances from new rows to the fitted ones, exactly zero for equal rows, one by one so that each row's bits
        do not depend on its company."""
        if not is_euclidean(self.metric, self.metric_params):
            return distances_between(X, self.X_fit_, self.metric, self.metric_params)
        rows = self.X_fit_
        return np.stack([np.sqrt(np.einsum("ij,ij->i", rows - x, rows - x)) for x in X])

    def _place(self, dissimilarities: np.ndarray) -> np.ndarray:
        """Majorization for one row: the mean over fitted points of where each alone would want it."""
        target = np.interp(dissimilarities, self.knots_, self.heights_) if self.metric_mds is False else dissimilarities
        points = self.embedding_
        position, size = points[target.argmin()] + 0.0, np.ptp(points, axis=0).max()
        for _ in range(PLACING_STEPS):
            gaps = position - points
            lengths = np.linalg.norm(gaps, axis=1)
            ratios = np.divide(target, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            before, position = position, (points + ratios[:, None] * gaps).mean(axis=0)
            if np.linalg.norm(position - before) <= PLACED * size:
                break
        return position

    def _learn(self, loop: _Starts) -> None:
        best = loop.best
        self.embedding_, self.n_iter_, self.dissimilarity_matrix_ = best.Y, best.iteration, best.D
        normalized = self.metric_mds is False if isinstance(self.normalized_stress, str) else self.normalized_stress
        self.stress_ = best.value if normalized else best.value**2 * float(np.vdot(best.target, best.target)) / 2
        if self.metric_mds is False:
            self.knots_, self.heights_ = best.knots, best.heights
        if self.metric_mds == "classical":
            self.mean_squares_ = best.mean_squares


class _Starts:
    """The running fit: one descent per start, stepping together, and the best of them."""

    def __init__(self, model: MDS, D: np.ndarray):
        several = model.init == "random" and model.metric_mds != "classical"
        rng = as_generator(model.random_state)
        self.descents = [_Majorization(model, D, rng) for _ in range(model.n_init if several else 1)]
        self.threads = available() if model.n_jobs is not None and model.n_jobs < 1 else model.n_jobs or 1
        self.iteration = 0

    @property
    def best(self) -> _Majorization:
        return min(self.descents, key=lambda descent: descent.value)

    @property
    def settled(self) -> bool:
        return all(descent.over for descent in self.descents)

    def step(self) -> None:
        running = [descent for descent in self.descents if not descent.over]
        if self.threads > 1 and len(running) > 1:
            with blas_threads(1):
                parallel_map(_Majorization.step, running, self.threads)
        else:
            for descent in running:
                descent.step()
        self.iteration += 1

    def state(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "descents": [descent.state() for descent in self.descents]}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration = int(state["iteration"])
        for descent, part in zip(self.descents, state["descents"]):
            descent.restore(part)


class _Majorization:
    """Points, their stress, and whether it still falls."""

    def __init__(self, model: MDS, D: np.ndarray, rng: np.random.Generator):
        self.model, self.D = model, D
        self.total = 1 if model.metric_mds == "classical" else model.max_iter
        self.iteration, self.settled = 0, False
        self.knots = self.heights = np.zeros(0)
        if model.init == "random" and model.metric_mds != "classical":
            self.Y = rng.normal(scale=D.mean() or 1.0, size=(len(D), model.n_components))
        else:
            k = min(model.n_components, len(D))
            self.Y = np.zeros((len(D), model.n_components))
            self.Y[:, :k] = classical_coordinates(D, k)[0]
        self.mean_squares = (D**2).mean(axis=0)
        self.target = self._target()
        self.value = stress(self.target, self.Y)

    @property
    def over(self) -> bool:
        return self.settled or self.iteration >= self.total

    def _target(self) -> np.ndarray:
        if self.model.metric_mds is not False:
            return self.D
        fitted = disparities(self.D, self.Y)
        self.knots, self.heights = fitted.knots, fitted.heights
        return fitted.values

    def step(self) -> None:
        before = self.value
        if self.model.metric_mds != "classical":
            self.Y = guttman_transform(self.target, self.Y)
            self.target = self._target()
            self.value = stress(self.target, self.Y)
        self.iteration += 1
        self.settled = before**2 - self.value**2 <= self.model.eps

    def state(self) -> dict[str, Any]:
        return {"Y": self.Y.copy(), "iteration": self.iteration, "settled": self.settled}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"MDS: state belongs to points of shape {state['Y'].shape}; got {self.Y.shape}.")
        self.Y, self.iteration, self.settled = state["Y"].copy(), int(state["iteration"]), bool(state["settled"])
        self.target = self._target()
        self.value = stress(self.target, self.Y)
