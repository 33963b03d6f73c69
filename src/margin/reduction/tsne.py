r"""t-distributed stochastic neighbor embedding: a map on which neighbors stay neighbors.

.. math:: \min_Y D_{KL}(P \| Q) = \sum_{i \ne j} p_{ij} \log\frac{p_{ij}}{q_{ij}}

over the positions :math:`y_i`, by gradient descent with momentum (:mod:`margin.reduction.affinities` has P, Q and the
gradient).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.parallel import over_ranges
from margin.core.parameters import VERBOSE, InvalidParameter, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.sparse_distances import check_neighbors_known, check_zeros_kept, distances_given
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.threads import available, threads_for
from margin.reduction.affinities import precisions_for, row_affinities
from margin.reduction.distances import (
    METRIC,
    METRIC_PARAMS,
    is_euclidean,
    nearest_by_metric,
)
from margin.reduction.embedding import EmbeddingMixin, principal_positions
from margin.reduction.graphs import nearest_rows
from margin.reduction.mesh import mesh_repulsion
from margin.reduction.scaling import distance_rows

__all__ = ["TSNE"]

STEPS_PER_RECORD = 10  # the divergence costs a logarithm per pair, so it is told every tenth step
FIRST_SPREAD = 1e-4  # standard deviation of the first positions: near enough for all to feel one another
EXAGGERATED_STEPS, EARLY_MOMENTUM, LATE_MOMENTUM = 250, 0.5, 0.8
EXACT_ROWS = 4000  # up to here all pairs are visited faster than a mesh is filled
# Spacing of the mesh per unit of ``angle``: exaggerated pulls forgive large errors, the last steps remove small ones.
EARLY_SPACING, SPACING, FINE_SPACING, FINE_STEPS = 1.0, 0.8, 0.5, 150
NO_PAIRS = np.empty(0)
MESH_WORK = 200  # operations per point that the mesh is worth when threads are counted
GROWTH, DECAY, SMALLEST_GAIN = 0.2, 0.8, 0.01  # of the step of a coordinate that keeps, or changes, its direction

ALMOST_UNIFORM = 0.999  # of all neighbors: the largest perplexity that has a bandwidth


class TSNE(EmbeddingMixin, IterativeEstimator):
    r"""An embedding of the rows in a few dimensions by t-SNE.

    The first 250 steps pull ``early_exaggeration`` times harder, so that groups find together. A record per ten steps
    carries ``kl`` (of the affinities without exaggeration) and ``gradient`` (its norm). ``transform`` puts a new row at
    the affinity-weighted mean of its neighbors' positions; fitted rows stay where they are.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(40, 5)) + 20])
    >>> Y = TSNE(perplexity=10, max_iter=400, random_state=0).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 2 * Y[:40].std())
    True
    """

    n_components: int = parameter(2, Integer(low=1), "Dimensions of the embedding, at most 3 unless method='exact'.")
    _: KW_ONLY
    perplexity: float = parameter(30.0, Number(above=0, search=(5, 50)), "Effective number of neighbors of a row.")
    early_exaggeration: float = parameter(12.0, Number(low=1), "Factor of the pulls in the first 250 steps.")
    learning_rate: Any = parameter(
        "auto", Either(Choice("auto"), Number(above=0)), "Step length; 'auto' is max(n / early_exaggeration / 4, 50)."
    )
    max_iter: int = parameter(1000, Integer(low=1), "Most steps.")
    n_iter_without_progress: int = parameter(
        300, Integer(low=-1), "Steps after the first 250 without a lower divergence, at which the descent ends."
    )
    min_grad_norm: float = parameter(1e-7, Number(low=0), "Norm of the gradient at which the descent ends.")
    metric: Any = parameter(
        "euclidean",
        METRIC,
        "Distance between rows: a name, a function of two rows, or 'precomputed': X holds distances, and if it is "
        "sparse, those of neighbors.",
    )
    metric_params: dict[str, Any] | None = parameter(None, Optional(METRIC_PARAMS), "Further arguments of the metric.")
    init: Any = parameter(
        "pca",
        Either(Choice("pca", "random"), Array(ndim=2)),
        "Start: principal components, random, or positions.",
    )
    verbose: bool | int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws a random start.")
    method: str = parameter(
        "barnes_hut",
        Choice("barnes_hut", "exact"),
        "'exact' keeps the affinities of all pairs; otherwise of three times the perplexity, and the repulsion of more "
        "than 4000 rows goes through a mesh: O(n log n) per step in place of O(n^2).",
    )
    angle: float = parameter(
        0.5,
        Number(low=0, high=1),
        "Coarseness of repulsion: the finest mesh has the spacing angle / 2; 0 is exact.",
    )
    n_jobs: int | None = parameter(
        None, Optional(Integer(low=-1)), "Threads; None as many as the work is worth, -1 all. The result is the same."
    )

    embedding_: np.ndarray = attribute("Positions of the rows, (n, n_components).")
    X_fit_: np.ndarray = attribute("The training rows.")
    kl_divergence_: float = attribute("Divergence of the similarities from the affinities.")
    learning_rate_: float = attribute("The step length that was used.")
    n_iter_: int = attribute("Steps.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per ten steps; ``y`` is ignored."""
        self._check_parameters()
        self._check_format(X)
        table, given = X, validate_data(self, X, dtype=np.float64, ensure_min_samples=2, accept_sparse="csr")
        X = self._rows(given)
        self._check_combinations(X, sparse=sp.issparse(given))
        if not 1 <= self.perplexity < len(X):
            raise ValueError(
                f"TSNE: perplexity must be from 1 to below the number of rows, {len(X)}; got {self.perplexity:g}."
            )
        self._loop = loop = _Descent(self, X)
        if state is not None:
            loop.restore(state)
        self.X_fit_, self.learning_rate_ = dense_rows("TSNE", given), float(loop.rate)
        self._learn(table, loop)
        while not loop.settled and loop.iteration < self.max_iter:
            for _ in range(min(STEPS_PER_RECORD, self.max_iter - loop.iteration)):
                loop.step()
            loop.judge()
            self._learn(table, loop)
            yield Record(loop.iteration, {"kl": loop.kl, "gradient": loop.norm}, total=self.max_iter)

    def transform(self, X: Any) -> np.ndarray:
        """Positions of new rows (or of rows of distances to the fitted ones) among the fitted ones, which stay."""
        check_is_fitted(self)
        self._check_format(X)
        X = self._rows(validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr"))
        gaps, index = _neighbors(self, self.X_fit_, _kept(self, len(self.X_fit_)), X)
        squares = gaps**2
        weights = row_affinities(squares, precisions_for(squares, _reachable(self.perplexity, squares)))
        return self._among_neighbors(weights, gaps, index)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return allow_sparse(tags)

    def _check_format(self, X: Any) -> None:
        if self._precomputed:
            check_zeros_kept("TSNE", X)

    def _rows(self, X: Any) -> np.ndarray:
        return distances_given("TSNE", X) if sp.issparse(X) and self._precomputed else dense_rows("TSNE", X)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_combinations(self, X: np.ndarray, *, sparse: bool) -> None:
        if self.method != "exact" and self.n_components > 3:
            raise ValueError(f"TSNE: n_components must be at most 3 unless method='exact'; got {self.n_components}.")
        if self._precomputed:
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError("TSNE: init='pca' needs rows; with metric='precomputed' give 'random' or positions.")
            if sparse and self.method == "exact":
                raise InvalidParameter("TSNE: method='exact' needs the distances of all pairs; got a sparse X of some.")
            if not sparse:
                distance_rows("TSNE", X, "X")
            elif X.shape[0] != X.shape[1]:
                raise ValueError(f"TSNE: X must be a square matrix of distances; got shape {X.shape}.")
        if not isinstance(self.init, str) and np.shape(self.init) != (len(X), self.n_components):
            shape = (len(X), self.n_components)
            raise ValueError(f"TSNE: init must have the shape {shape} of the embedding; got {np.shape(self.init)}.")

    def _learn(self, table: Any, loop: _Descent) -> None:
        self.embedding_ = in_precision_of(table, np.ascontiguousarray(loop.Y.T, dtype=np.float64))
        self.kl_divergence_, self.n_iter_ = loop.kl, loop.iteration


class _Descent:
    """The running fit: positions (d, n), velocities and gains, and the affinities in compressed rows."""

    def __init__(self, model: TSNE, X: np.ndarray):
        self.model = model
        P = sparse_affinities(model, X)
        self.starts, self.neighbors, self.P = P.indptr.astype(np.int64), P.indices.astype(np.int32), P.data
        self.entropy = float(np.sum(self.P * np.log(np.maximum(self.P, np.finfo(float).tiny))))
        self.Y = self._initial_positions(X).astype(np.float32)
        self.velocity, self.gains = np.zeros(self.Y.shape), np.ones(self.Y.shape)
        self.iteration, self.settled = 0, False
        self.rate = model.learning_rate
        if self.rate == "auto":
            self.rate = max(len(X) / model.early_exaggeration / 4, 50.0)
        d, n = self.Y.shape
        self.by_mesh = model.method != "exact" and model.angle > 0 and n > EXACT_ROWS and d <= 2
        self.threads = self._threads(model.n_jobs, n)
        self.best, self.best_iteration = np.inf, 0
        self.judge()

    def _threads(self, n_jobs: int | None, n: int) -> int:
        if n_jobs is None:
            return threads_for(len(self.P) + MESH_WORK * n if self.by_mesh else n * n)
        return available() if n_jobs < 1 else n_jobs

    def _initial_positions(self, X: np.ndarray) -> np.ndarray:
        d, init = self.model.n_components, self.model.init
        if not isinstance(init, str):
            return np.array(init, dtype=np.float64).T
        positions = None if init == "random" else principal_positions(X, d).T
        spread = 0.0 if positions is None else positions[0].std()
        if positions is None or spread == 0:  # all rows are equal: any start is as good
            return FIRST_SPREAD * as_generator(self.model.random_state).normal(size=(d, len(X)))
        return positions * (FIRST_SPREAD / spread)

    def _forces(self, spread: np.ndarray = NO_PAIRS) -> tuple[np.ndarray, np.ndarray, float]:
        """Pulls, pushes and the sum of all similarities; 1 + |y_i - y_j|^2 of the stored pairs into ``spread``."""
        from margin.reduction.tsne_kernels import pulls, pulls_in_plane

        kernel = pulls_in_plane if len(self.Y) == 2 else pulls
        pull = np.empty(self.Y.shape)
        push, total = self._pushes()
        given = self.starts, self.neighbors, self.P, self.Y, pull, spread
        over_ranges(lambda low, high: kernel(low, high, *given), self.Y.shape[1], self.threads)
        return pull, push, total - self.Y.shape[1]

    def _pushes(self) -> tuple[np.ndarray, float]:
        if self.by_mesh:
            return mesh_repulsion(self.Y, self._spacing() * self.model.angle, self.threads)
        from margin.reduction.tsne_kernels import LANES, pushes, pushes_in_plane

        kernel, n = pushes_in_plane if len(self.Y) == 2 else pushes, self.Y.shape[1]
        push, sums = np.empty_like(self.Y), np.empty(n, dtype=np.float32)
        over_ranges(lambda low, high: kernel(low, high, self.Y, push, sums), -(-n // LANES), self.threads)
        return push.astype(np.float64), float(sums.sum(dtype=np.float64))

    def _spacing(self) -> float:
        if self.iteration < EXAGGERATED_STEPS:
            return EARLY_SPACING
        return SPACING if self.iteration < self.model.max_iter - FINE_STEPS else FINE_SPACING

    def judge(self) -> None:
        """The divergence, the norm of its gradient, and whether the descent is over."""
        spread = np.empty(len(self.P))
        pull, push, Z = self._forces(spread)
        self.kl = self.entropy + float(self.P @ np.log(spread)) + float(np.log(Z))
        self.norm = float(np.linalg.norm(4 * (pull - push / Z)))
        if self.iteration <= EXAGGERATED_STEPS:
            self.best_iteration = self.iteration
            return
        if self.kl < self.best:
            self.best, self.best_iteration = self.kl, self.iteration
        waited = self.iteration - self.best_iteration
        self.settled = self.norm <= self.model.min_grad_norm or waited > self.model.n_iter_without_progress

    def step(self) -> None:
        early = self.iteration < EXAGGERATED_STEPS
        pull, push, Z = self._forces()
        gradient = 4 * ((self.model.early_exaggeration if early else 1.0) * pull - push / Z)
        same_way = self.velocity * gradient < 0
        self.gains = np.maximum(np.where(same_way, self.gains + GROWTH, self.gains * DECAY), SMALLEST_GAIN)
        self.velocity *= EARLY_MOMENTUM if early else LATE_MOMENTUM
        self.velocity -= self.rate * self.gains * gradient
        moved = self.Y + self.velocity
        self.Y = (moved - moved.mean(axis=1, keepdims=True)).astype(np.float32)
        self.iteration += 1

    def state(self) -> dict[str, Any]:
        arrays = {"Y": self.Y.copy(), "velocity": self.velocity.copy(), "gains": self.gains.copy()}
        return arrays | {"iteration": self.iteration, "best": self.best, "best_iteration": self.best_iteration}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"TSNE: state belongs to positions of shape {state['Y'].shape}; got {self.Y.shape}.")
        self.Y, self.velocity, self.gains = (state[name].copy() for name in ("Y", "velocity", "gains"))
        self.iteration = int(state["iteration"])
        self.best, self.best_iteration = float(state["best"]), int(state["best_iteration"])
        self.judge()


def sparse_affinities(model: TSNE, X: np.ndarray) -> sp.csr_array:
    """Joint affinities (n, n) of rows and their nearest neighbors, three times the perplexity of them or all."""
    n, k = len(X), _kept(model, len(X) - 1)
    gaps, index = _neighbors(model, X, k)
    squares = gaps**2
    weights = row_affinities(squares, precisions_for(squares, _reachable(model.perplexity, squares)))
    conditional = sp.csr_array((weights.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = sp.csr_array((conditional + conditional.T) / (2 * n))
    joint.sort_indices()
    return joint


def _neighbors(model: TSNE, X: np.ndarray, k: int, queries: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    if is_euclidean(model.metric, model.metric_params):
        return nearest_rows(X, k, queries)
    gaps, index = nearest_by_metric(X, k, model.metric, model.metric_params, queries)
    if gaps.min(initial=0.0) < 0:
        raise ValueError(f"TSNE: metric must give distances, positive or zero; got {gaps.min():g}.")
    check_neighbors_known("TSNE", gaps)
    return gaps, index


def _reachable(perplexity: float, squares: np.ndarray) -> float:
    """The perplexity that a distribution over so many neighbors can have: at most their number, if all weigh alike."""
    return min(perplexity, ALMOST_UNIFORM * squares.shape[1])


def _kept(model: TSNE, most: int) -> int:
    return most if model.method == "exact" else min(most, int(np.ceil(3 * model.perplexity)) + 1)
