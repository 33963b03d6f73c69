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
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, Real, optional
from margin.core.number_range import validate_squarable
from margin.core.parameters import VERBOSE, InvalidParameter, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.core.sparse_distances import GivenDistances
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.reduction.distances import METRIC, METRIC_PARAMS
from margin.reduction.embedding import EmbeddingMixin
from margin.reduction.scaling import distance_rows
from margin.reduction.tsne_affinities import conditional_affinities, metric_neighbors, neighbor_count
from margin.reduction.tsne_descent import STEPS_PER_RECORD, NeighborDescent

__all__ = ["TSNE"]


class TSNE(GivenDistances, EmbeddingMixin, IterativeEstimator):
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

    embedding_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_components"), "Positions of the rows, (n, n_components)."
    )
    X_fit_: np.ndarray = attribute(optional(ArrayOf("n_samples", "n_features")), "The training rows.")
    kl_divergence_: float = attribute(Real(), "Divergence of the similarities from the affinities.")
    learning_rate_: float = attribute(Real(), "The step length that was used.")
    n_iter_: int = attribute(Count(), "Steps.")

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per ten steps; ``y`` is ignored."""
        self._check_parameters()
        self._check_format(X)
        table, given = (
            X,
            validate_squarable(self, X, dtype=np.float64, order="C", ensure_min_samples=2, accept_sparse="csr"),
        )
        X = self._dense(given)
        self._check_combinations(X, sparse=sp.issparse(given))
        if not 1 <= self.perplexity < len(X):
            raise ValueError(
                f"TSNE: perplexity must be from 1 to below the number of rows, {len(X)}; got {self.perplexity:g}."
            )
        self._loop = loop = NeighborDescent(self, X)
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

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Positions of new rows (or of rows of distances to the fitted ones) among the fitted ones, which stay."""
        check_is_fitted(self)
        self._check_format(X)
        X = self._dense(validate_squarable(self, X, reset=False, dtype=np.float64, order="C", accept_sparse="csr"))
        gaps, index = metric_neighbors(self, self.X_fit_, neighbor_count(self, len(self.X_fit_)), X)
        return self._among_neighbors(conditional_affinities(gaps, self.perplexity), gaps, index)

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

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

    def _learn(self, table: Any, loop: NeighborDescent) -> None:
        self.embedding_ = in_precision_of(table, np.ascontiguousarray(loop.Y.T, dtype=np.float64))
        self.kl_divergence_, self.n_iter_ = loop.kl, loop.iteration
