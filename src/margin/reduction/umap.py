r"""Uniform manifold approximation and projection: a map whose fuzzy neighborhoods are those of the rows.

The graph of weighted neighborhoods and the cross-entropy between it and that of the map are in
:mod:`margin.reduction.fuzzy`. The sum is sampled: an edge pulls in proportion to its weight, random positions push.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, optional
from margin.core.number_range import validate_squarable
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.restoring import restore
from margin.reduction.embedding import EmbeddingMixin, principal_positions
from margin.reduction.fuzzy import curve_parameters, fuzzy_graph, local_scales, memberships
from margin.reduction.graphs import components, nearest_rows
from margin.reduction.spectrum import largest_eigenpairs
from margin.reduction.stored import enough_rows

__all__ = ["UMAP"]

EPOCHS_PER_RECORD = 10
SMALL, FEW_EPOCHS, MANY_EPOCHS = 10_000, 200, 500  # up to SMALL rows many epochs
FIRST_WIDTH, FIRST_NOISE = 10.0, 1e-4  # of the first positions; the noise parts those that coincide


class UMAP(EmbeddingMixin, IterativeEstimator):
    """An embedding of the rows by UMAP.

    Pieces that are far apart tend to stay apart and connected ones together, but nothing guarantees it. A record per
    ten epochs carries ``pull``, the weighted mean of -log v over the edges. ``transform`` puts a new row at the
    membership-weighted mean of its neighbors' positions; fitted rows stay where they are.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(40, 5)) + 20])
    >>> Y = UMAP(n_neighbors=10, n_epochs=100, random_state=0).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 4 * Y[:40].std(axis=0).max())
    True
    """

    n_neighbors: int = parameter(
        15, Integer(low=2, search=(5, 50)), "What is local: few neighbors show fine structure, many the whole."
    )
    _: KW_ONLY
    n_components: int = parameter(2, Integer(low=1), "Dimensions of the embedding.")
    min_dist: float = parameter(0.1, Number(low=0, search=(0.0, 0.9)), "How near positions may lie.")
    spread: float = parameter(1.0, Number(above=0), "Scale of the embedding.")
    n_epochs: int | None = parameter(
        None, Optional(Integer(low=1)), "Epochs; None is 500 up to 10,000 rows and 200 beyond."
    )
    learning_rate: float = parameter(1.0, Number(above=0), "Step length at the start; it falls to zero.")
    negative_sample_rate: int = parameter(5, Integer(low=0, high=1000), "Random pushes that every sampled edge brings.")
    init: str = parameter(
        "spectral",
        Choice("spectral", "pca", "random"),
        "Start: eigenvectors of the graph (of several parts: principal components), principal components, or random.",
    )
    verbose: bool | int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws the start and the pushes.")

    embedding_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_components"), "Positions of the rows, (n, n_components)."
    )
    X_fit_: np.ndarray = attribute(optional(ArrayOf("n_samples", "n_features")), "The training rows.")
    n_iter_: int = attribute(Count(), "Epochs.")

    _stored_rules = (enough_rows,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per ten epochs; ``y`` is ignored."""
        self._check_parameters()
        X = validate_squarable(self, X, dtype=np.float64, order="C", ensure_min_samples=4)
        if self.n_neighbors >= len(X):
            raise ValueError(f"UMAP: n_neighbors must be below the number of rows, {len(X)}; got {self.n_neighbors}.")
        if self.min_dist > 3 * self.spread:
            raise ValueError(f"UMAP: min_dist must be at most 3 * spread; got {self.min_dist} and {self.spread}.")
        self._loop = loop = _Epochs(self, X)
        if state is not None:
            loop.restore(state)
        self.X_fit_ = X
        self._learn(loop)
        while loop.epoch < loop.epochs:
            for _ in range(min(EPOCHS_PER_RECORD, loop.epochs - loop.epoch)):
                loop.step()
            self._learn(loop)
            yield Record(loop.epoch, {"pull": loop.pull()}, total=loop.epochs)

    def transform(self, X: Any) -> np.ndarray:
        """Positions of new rows among the fitted ones, which do not move."""
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=np.float64, order="C")
        gaps, index = nearest_rows(self.X_fit_, self.n_neighbors, X)
        weights = memberships(gaps, *local_scales(gaps))
        return self._among_neighbors(weights, gaps, index)

    def _learn(self, loop: _Epochs) -> None:
        self.embedding_, self.n_iter_ = loop.Y.copy(), loop.epoch


class _Epochs:
    """The running fit: positions, the edges with their periods, and when each is due next."""

    def __init__(self, model: UMAP, X: np.ndarray):
        self.model = model
        self.epochs = model.n_epochs or (MANY_EPOCHS if len(X) <= SMALL else FEW_EPOCHS)
        self.a, self.b = curve_parameters(model.min_dist, model.spread)
        graph = fuzzy_graph(X, model.n_neighbors)
        rng = as_generator(model.random_state)
        self.Y = initial_positions(X, graph, model.n_components, model.init, rng)
        self.random = rng.integers(2**64, size=1, dtype=np.uint64)
        edges = graph.tocoo()
        kept = edges.data >= edges.data.max() / self.epochs  # a lighter edge would not be drawn even once
        self.heads, self.tails = (part[kept].astype(np.int64) for part in (edges.row, edges.col))
        self.weights = edges.data[kept]
        self.period = self.weights.max() / self.weights  # the heaviest edge pulls every epoch
        self.due = self.period.copy()
        self.epoch = 0

    def step(self) -> None:
        from margin.compiled.reduction import epoch

        model = self.model
        rate = model.learning_rate * (1 - self.epoch / self.epochs)
        self.epoch += 1
        epoch(
            self.heads,
            self.tails,
            self.period,
            self.due,
            float(self.epoch),
            self.Y,
            self.a,
            self.b,
            rate,
            int(model.negative_sample_rate),
            self.random,
        )

    def pull(self) -> float:
        """What the edges would still have to gain."""
        squares = ((self.Y[self.heads] - self.Y[self.tails]) ** 2).sum(axis=1)
        return float(self.weights @ np.log1p(self.a * squares**self.b) / self.weights.sum())

    def state(self) -> dict[str, Any]:
        return {"Y": self.Y.copy(), "due": self.due.copy(), "random": int(self.random[0]), "epoch": self.epoch}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"UMAP: state belongs to positions of shape {state['Y'].shape}; got {self.Y.shape}.")
        self.Y, self.due = restore(state, "Y", self.Y), restore(state, "due", self.due)
        self.random, self.epoch = np.array([state["random"]], dtype=np.uint64), int(state["epoch"])


def initial_positions(X: np.ndarray, graph: sp.csr_array, d: int, init: str, rng: np.random.Generator) -> np.ndarray:
    """Where the descent begins, (n, d), within a cube of ``FIRST_WIDTH``."""
    n = len(X)
    if init == "random" or d >= n - 1:  # so few rows have no d eigenvectors besides the constant one
        return rng.uniform(-FIRST_WIDTH, FIRST_WIDTH, size=(n, d))
    if init == "spectral" and components(graph)[0] == 1:
        root = 1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
        normalized = sp.csr_array(sp.diags_array(root) @ graph @ sp.diags_array(root))
        _, vectors = largest_eigenpairs(lambda v: normalized @ v, lambda: normalized.toarray(), n, d + 1)
        positions = vectors[:, 1:]  # the first is constant up to degrees
    else:
        positions = principal_positions(X, d)
    width = np.abs(positions).max()
    noise = FIRST_NOISE * FIRST_WIDTH * rng.normal(size=(n, d))
    return np.ascontiguousarray(positions * (FIRST_WIDTH / width if width > 0 else 1.0) + noise)
