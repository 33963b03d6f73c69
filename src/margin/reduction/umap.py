r"""Uniform manifold approximation and projection: a map whose fuzzy neighborhoods are those of the rows.

The graph of weighted neighborhoods and the cross-entropy between it and that of the map are in
:mod:`margin.reduction.fuzzy`. The sum is sampled: an edge pulls in proportion to its weight, random positions push.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.reduction.embedding import EmbeddingMixin, principal_positions
from margin.reduction.fuzzy import curve_parameters, fuzzy_graph, local_scales, memberships
from margin.reduction.graphs import components, nearest_rows
from margin.reduction.spectrum import largest_eigenpairs

__all__ = ["UMAP"]

EPOCHS_PER_RECORD = 10
SMALL, FEW_EPOCHS, MANY_EPOCHS = 10_000, 200, 500  # up to SMALL rows many epochs
FIRST_WIDTH, FIRST_NOISE = 10.0, 1e-4  # of the first positions; the noise parts those that coincide


class UMAP(EmbeddingMixin, IterativeEstimator):
    """A map of the rows by UMAP.

    ``n_neighbors`` decides what is local: few show fine structure, many the whole. ``min_dist`` is how near positions may
    lie, ``spread`` the scale of the map. ``n_epochs`` None is 500 up to 10,000 rows, 200 beyond. ``init`` starts from
    the eigenvectors of the graph ("spectral"; of a graph in several parts, from the principal components), from "pca"
    or at "random". Every sampled edge brings ``negative_sample_rate`` pushes. Pieces that are far apart tend to stay
    apart and connected ones together, but nothing guarantees it.

    Learned: ``embedding_`` (n, n_components), ``X_fit_``, ``n_iter_``. A record per ten epochs carries ``pull``, the
    weighted mean of -log v over the edges. ``transform`` puts a new row at the membership-weighted mean of its
    neighbors' positions; fitted rows stay where they are.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(40, 5)) + 20])
    >>> Y = UMAP(n_neighbors=10, n_epochs=100, random_state=0).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 4 * Y[:40].std(axis=0).max())
    True
    """

    domains = {
        "n_neighbors": Integer(low=2, search=(5, 50)),
        "n_components": Integer(low=1),
        "min_dist": Number(low=0, search=(0.0, 0.9)),
        "spread": Number(above=0),
        "n_epochs": Optional(Integer(low=1)),
        "learning_rate": Number(above=0),
        "negative_sample_rate": Integer(low=0),
        "init": Choice("spectral", "pca", "random"),
        "random_state": Seed(),
    }

    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        min_dist: float = 0.1,
        spread: float = 1.0,
        n_epochs: int | None = None,
        learning_rate: float = 1.0,
        negative_sample_rate: int = 5,
        init: str = "spectral",
        random_state: Any = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.min_dist = min_dist
        self.spread = spread
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.negative_sample_rate = negative_sample_rate
        self.init = init
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per ten epochs; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=4)
        if self.n_neighbors >= len(X):
            raise ValueError(f"UMAP: n_neighbors must be below the number of rows, {len(X)}; got {self.n_neighbors}.")
        if self.min_dist > 3 * self.spread:
            raise ValueError(f"UMAP: min_dist must be at most 3 * spread; got {self.min_dist} and {self.spread}.")
        self._loop = loop = _Descent(self, X)
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
        X = validate_data(self, X, reset=False, dtype=np.float64)
        gaps, index = nearest_rows(self.X_fit_, self.n_neighbors, X)
        weights = memberships(gaps, *local_scales(gaps))
        return self._among_neighbors(weights, gaps, index)

    def _learn(self, loop: _Descent) -> None:
        self.embedding_, self.n_iter_ = loop.Y.copy(), loop.epoch


class _Descent:
    """The running fit: places, the edges with their periods, and when each is due next."""

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
        from margin.reduction.umap_kernels import epoch

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
        self.Y, self.due = state["Y"].copy(), state["due"].copy()
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
