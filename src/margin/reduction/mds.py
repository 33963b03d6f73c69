r"""Multidimensional scaling of rows or of given distances.

.. math:: \lVert y_i - y_j \rVert \approx d_{ij}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.foundations.probability.kernels import squared_distances
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


class MDS(EmbeddingMixin, IterativeEstimator):
    r"""Points whose distances are those of the rows (or given ones).

    ``kind`` "classical" has a closed form (double centering, one record), "stress" lowers the stress by Guttman
    transforms, "nonmetric" keeps only the order of the distances. ``dissimilarity`` "precomputed" takes ``X`` as the
    matrix of distances. ``init`` starts from "classical" coordinates or at "random". A fit ends when the stress falls
    by less than ``tol`` times itself, or after ``max_iter`` iterations. Cost O(n^2) per iteration.

    Learned: ``embedding_`` (n, k), ``stress_`` (normalized), ``n_iter_`` and what new rows need. ``transform`` places a
    row among the fitted points without moving them; fitted rows stay where they are.

    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    >>> Y = MDS(n_components=2, kind="classical").fit_transform(X)
    >>> np.linalg.norm(Y[0] - Y[2]).round(9)
    np.float64(5.0)
    """

    domains = {
        "n_components": Integer(low=1, search=(1, 5)),
        "kind": Choice("stress", "classical", "nonmetric"),
        "dissimilarity": Choice("euclidean", "precomputed"),
        "init": Choice("classical", "random"),
        "max_iter": Integer(low=1),
        "tol": Number(low=0),
        "random_state": Seed(),
    }

    def __init__(
        self,
        n_components: int = 2,
        kind: str = "stress",
        dissimilarity: str = "euclidean",
        init: str = "classical",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.kind = kind
        self.dissimilarity = dissimilarity
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record with the ``stress`` per iteration (one for the closed form); ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        D = self._distances(X)
        self._loop = loop = _Majorization(self, D)
        if state is not None:
            loop.restore(state)
        if self.dissimilarity == "euclidean":
            self.X_fit_ = X
        self._learn(loop)
        while not loop.settled and loop.iteration < loop.total:
            value = loop.step()
            self._learn(loop)
            yield Record(loop.iteration, {"stress": value}, total=loop.total)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows (or of rows of distances to the fitted ones), the fitted points held fixed."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        distances = X if self.dissimilarity == "precomputed" else _to_rows(X, self.X_fit_)
        if self.kind == "classical":
            values = np.einsum("ij,ij->j", self.embedding_, self.embedding_)
            placed = gower_positions(distances**2, self.mean_squares_, self.embedding_, values)
        else:
            placed = np.vstack([self._place(row) for row in distances])
        nearest = distances.argmin(axis=1)[:, None]
        return self._keep_fitted(placed, np.take_along_axis(distances, nearest, axis=1), nearest)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity == "precomputed"
        return tags

    def _distances(self, X: np.ndarray) -> np.ndarray:
        if self.dissimilarity == "precomputed":
            return distance_rows("MDS", X)
        return np.sqrt(squared_distances(X))

    def _place(self, wanted: np.ndarray) -> np.ndarray:
        """Majorization for one row: the mean over fitted points of where each alone would want it."""
        target = np.interp(wanted, self.knots_, self.heights_) if self.kind == "nonmetric" else wanted
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

    def _learn(self, loop: _Majorization) -> None:
        self.embedding_, self.stress_, self.n_iter_ = loop.Y, loop.value, loop.iteration
        if self.kind == "nonmetric":
            self.knots_, self.heights_ = loop.knots, loop.heights
        if self.kind == "classical":
            self.mean_squares_ = loop.mean_squares


class _Majorization:
    """The running fit: points, their stress, and whether it still falls."""

    def __init__(self, model: MDS, D: np.ndarray):
        self.model, self.D = model, D
        self.total = 1 if model.kind == "classical" else model.max_iter
        self.iteration, self.settled = 0, False
        self.knots = self.heights = np.zeros(0)
        if model.init == "random" and model.kind != "classical":
            spread = D.mean() or 1.0
            self.Y = as_generator(model.random_state).normal(scale=spread, size=(len(D), model.n_components))
        else:
            k = min(model.n_components, len(D))
            self.Y = np.zeros((len(D), model.n_components))
            self.Y[:, :k] = classical_coordinates(D, k)[0]
        self.mean_squares = (D**2).mean(axis=0)
        self.target = self._target()
        self.value = stress(self.target, self.Y)

    def _target(self) -> np.ndarray:
        if self.model.kind != "nonmetric":
            return self.D
        found = disparities(self.D, self.Y)
        self.knots, self.heights = found.knots, found.heights
        return found.values

    def step(self) -> float:
        before = self.value
        if self.model.kind != "classical":
            self.Y = guttman_transform(self.target, self.Y)
            self.target = self._target()
            self.value = stress(self.target, self.Y)
        self.iteration += 1
        self.settled = before - self.value <= self.model.tol * before
        return self.value

    def state(self) -> dict[str, Any]:
        return {"Y": self.Y.copy(), "iteration": self.iteration, "settled": self.settled}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"MDS: state belongs to points of shape {state['Y'].shape}; got {self.Y.shape}.")
        self.Y, self.iteration, self.settled = state["Y"].copy(), int(state["iteration"]), bool(state["settled"])
        self.target = self._target()
        self.value = stress(self.target, self.Y)


def _to_rows(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Distances from new rows to the fitted ones, exactly zero for equal rows, one by one so that each row's bits do
    not depend on its company."""
    return np.stack([np.sqrt(np.einsum("ij,ij->i", rows - x, rows - x)) for x in X])
