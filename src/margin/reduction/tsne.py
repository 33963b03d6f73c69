r"""t-distributed stochastic neighbor embedding: a map on which neighbors stay neighbors.

.. math:: \min_Y D_{KL}(P \| Q) = \sum_{i \ne j} p_{ij} \log\frac{p_{ij}}{q_{ij}}

over the places :math:`y_i`, by gradient descent with momentum (:mod:`margin.reduction.affinities` has P, Q and the
gradient).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.core.threads import numba_threads, threads_for
from margin.reduction.affinities import precisions_for, row_affinities
from margin.reduction.embedding import EmbeddingMixin, principal_positions
from margin.reduction.graphs import nearest_rows

__all__ = ["TSNE"]

STEPS_PER_RECORD = 10  # the divergence costs a logarithm per pair, so it is told every tenth step
FIRST_SPREAD = 1e-4  # standard deviation of the first places: near enough for all to feel one another
EXAGGERATED_STEPS, EARLY_MOMENTUM, LATE_MOMENTUM = 250, 0.5, 0.8
GROWTH, DECAY, SMALLEST_GAIN = 0.2, 0.8, 0.01  # of the step of a coordinate that keeps, or changes, its direction


class TSNE(EmbeddingMixin, IterativeEstimator):
    r"""A map of the rows in one to three dimensions by t-SNE.

    ``perplexity`` is the effective number of neighbors; affinities are kept for three times as many. The first 250
    steps pull ``early_exaggeration`` times harder, so that groups find together. ``learning_rate`` "auto" is
    max(n / early_exaggeration / 4, 50). ``init`` starts from the scaled principal components ("pca") or at "random". A
    fit ends after ``max_iter`` steps, or when the norm of the gradient is below ``min_grad_norm``. All pairs push each
    other exactly, in single precision: O(n^2) per step.

    Learned: ``embedding_`` (n, n_components), ``kl_divergence_``, ``n_iter_``, ``X_fit_``. A record per ten steps
    carries ``kl`` (of the affinities without exaggeration) and ``gradient`` (its norm). ``transform`` puts a new row at
    the affinity-weighted mean of its neighbors' places; fitted rows stay where they are.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(40, 5)) + 20])
    >>> Y = TSNE(perplexity=10, max_iter=400, random_state=0).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 2 * Y[:40].std())
    True
    """

    domains = {
        "n_components": Integer(low=1, high=3),
        "perplexity": Number(above=0, search=(5, 50)),
        "early_exaggeration": Number(low=1),
        "learning_rate": Either(Choice("auto"), Number(above=0)),
        "max_iter": Integer(low=1),
        "min_grad_norm": Number(low=0),
        "init": Choice("pca", "random"),
        "random_state": Seed(),
    }

    def __init__(
        self,
        n_components: int = 2,
        perplexity: float = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: Any = "auto",
        max_iter: int = 1000,
        min_grad_norm: float = 1e-7,
        init: str = "pca",
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.min_grad_norm = min_grad_norm
        self.init = init
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per ten steps; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=3)
        if not 1 <= self.perplexity < len(X) - 1:  # what a distribution over the other rows can have
            raise ValueError(
                f"TSNE: perplexity must be from 1 to below rows - 1 = {len(X) - 1}; got {self.perplexity:g}."
            )
        self._loop = loop = _Descent(self, X)
        if state is not None:
            loop.restore(state)
        self.X_fit_ = X
        self._learn(loop)
        while not loop.settled and loop.iteration < self.max_iter:
            for _ in range(min(STEPS_PER_RECORD, self.max_iter - loop.iteration)):
                loop.step()
            loop.judge()
            self._learn(loop)
            yield Record(loop.iteration, {"kl": loop.kl, "gradient": loop.norm}, total=self.max_iter)

    def transform(self, X: Any) -> np.ndarray:
        """Places of new rows among the fitted ones, which do not move."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        gaps, index = nearest_rows(self.X_fit_, _kept(self.perplexity, len(self.X_fit_)), X)
        squares = gaps**2
        weights = row_affinities(squares, precisions_for(squares, self.perplexity))
        return self._among_neighbors(weights, gaps, index)

    def _learn(self, loop: _Descent) -> None:
        self.embedding_ = np.ascontiguousarray(loop.Y.T, dtype=np.float64)
        self.kl_divergence_, self.n_iter_ = loop.kl, loop.iteration


class _Descent:
    """The running fit: places (d, n), velocities and gains, and the affinities in compressed rows."""

    def __init__(self, model: TSNE, X: np.ndarray):
        self.model = model
        P = sparse_affinities(X, model.perplexity)
        self.starts, self.neighbors, self.P = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data
        self.entropy = float(np.sum(self.P * np.log(np.maximum(self.P, np.finfo(float).tiny))))
        self.Y = self._initial_positions(X).astype(np.float32)
        self.velocity, self.gains = np.zeros(self.Y.shape), np.ones(self.Y.shape)
        self.iteration, self.settled = 0, False
        self.rate = model.learning_rate
        if self.rate == "auto":
            self.rate = max(len(X) / model.early_exaggeration / 4, 50.0)
        self.judge()

    def _initial_positions(self, X: np.ndarray) -> np.ndarray:
        d = self.model.n_components
        if self.model.init == "random":
            return FIRST_SPREAD * as_generator(self.model.random_state).normal(size=(d, len(X)))
        places = principal_positions(X, d).T
        spread = places[0].std()
        if spread == 0:  # all rows are equal: any start is as good
            return FIRST_SPREAD * as_generator(self.model.random_state).normal(size=(d, len(X)))
        return places * (FIRST_SPREAD / spread)

    def _forces(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Pulls, pushes and the sum of all similarities."""
        from margin.reduction.tsne_kernels import pulls, pushes

        push, sums = np.empty_like(self.Y), np.empty(self.Y.shape[1], dtype=np.float32)
        pull, self.spread = np.empty(self.Y.shape), np.empty(len(self.P))
        n = self.Y.shape[1]
        with numba_threads(threads_for(n * n)):
            pushes(self.Y, push, sums)
            pulls(self.starts, self.neighbors, self.P, self.Y, pull, self.spread)
        return pull, push.astype(np.float64), float(sums.sum(dtype=np.float64)) - n

    def judge(self) -> None:
        """The divergence, the norm of its gradient, and whether that is as good as zero."""
        pull, push, Z = self._forces()
        self.kl = self.entropy + float(self.P @ np.log(self.spread)) + float(np.log(Z))
        self.norm = float(np.linalg.norm(4 * (pull - push / Z)))
        self.settled = self.iteration > EXAGGERATED_STEPS and self.norm <= self.model.min_grad_norm

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
        return arrays | {"iteration": self.iteration}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"TSNE: state belongs to places of shape {state['Y'].shape}; got {self.Y.shape}.")
        self.Y, self.velocity, self.gains = (state[name].copy() for name in ("Y", "velocity", "gains"))
        self.iteration = int(state["iteration"])
        self.judge()


def sparse_affinities(X: np.ndarray, perplexity: float) -> sp.csr_array:
    """Joint affinities (n, n) of rows and their nearest neighbors, three times the perplexity of them."""
    n, k = len(X), _kept(perplexity, len(X) - 1)
    gaps, index = nearest_rows(X, k)
    squares = gaps**2
    weights = row_affinities(squares, precisions_for(squares, perplexity))
    conditional = sp.csr_array((weights.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = sp.csr_array((conditional + conditional.T) / (2 * n))
    joint.sort_indices()
    return joint


def _kept(perplexity: float, most: int) -> int:
    return min(most, int(np.ceil(3 * perplexity)) + 1)
