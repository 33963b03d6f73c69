r"""k-means clustering: ``k`` centers such that rows are near the nearest one.

.. math:: \min_{\mu_1,\dots,\mu_k} \; \sum_i w_i \min_c \lVert x_i - \mu_c \rVert^2
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from margin.cluster.lloyd import Partition, distances_to, labels_and_inertia, labels_for, mean_variance
from margin.cluster.plusplus import draw_rows, plusplus, random_rows
from margin.cluster.stream_lloyd import StreamLloyd, rows_for_start
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Function, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, Real, sometimes
from margin.core.kept_rows import keep_rows
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import COPY, VERBOSE, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike, as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.streaming import Stream
from margin.core.summaries import checked_sample, learn_columns
from margin.core.threads import blas_threads

__all__ = ["KMeans"]

# A large table is first solved on an eighth of its rows, at most SAMPLE_ROWS (per cluster, in all), as long as these
# are FEWEST_ROWS: SAMPLE_RUNS times from seeds among SEED_ROWS. The best of a few cheap runs has better seeds than one.
SAMPLE_ROWS, FEWEST_ROWS, SEED_ROWS, SAMPLE_RUNS = (256, 20480), (64, 1024), (128, 8192), 4
EQUAL = 1e-12  # runs whose inertias differ by less found the same centers: the first of them stays


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, IterativeEstimator):
    """Lloyd's algorithm from k-means++ seeds, the best of ``n_init`` restarts.

    On large tables "k-means++" seeds and converges a few times on a random sample before it looks at all rows. Records
    carry ``inertia`` (which never increases within a run), ``shift`` (the largest movement of a center), ``changed``
    (rows) and ``run``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[1.0, 2.0], [10.0, 2.0]], 16.0)
    """

    n_clusters: int = parameter(8, Integer(low=1, search=(2, 20)), "Number of clusters.")
    _: KW_ONLY
    init: Any = parameter(
        "k-means++",
        Either(Choice("k-means++", "random"), Array(ndim=2), Function("X, n_clusters and random_state")),
        'First centers: "k-means++" (far apart), "random" (rows), an array (n_clusters, p), or a function that gives '
        "one.",
    )
    n_init: Any = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1)),
        'Number of restarts; "auto" is 1 for k-means++ and given centers, 10 otherwise.',
    )
    max_iter: int = parameter(300, Integer(low=1), "Most iterations of a run.")
    tol: float = parameter(
        1e-4,
        Number(low=0),
        "A run ends when the squared movements of all centers sum to at most this times the mean variance of the "
        "columns, or when no row changes its cluster.",
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws the first centers.")
    copy_x: bool = parameter(True, Flag(), COPY)
    algorithm: str = parameter(
        "hamerly",
        Choice("lloyd", "elkan", "hamerly", search=False),
        'All take the same steps. "hamerly" and "elkan" skip rows that cannot have changed, by one bound per row; '
        '"lloyd" computes every distance.',
    )

    cluster_centers_: np.ndarray = attribute(ArrayOf("n_clusters", "n_features"), "The centers, (n_clusters, p).")
    labels_: np.ndarray = attribute(
        sometimes(ArrayOf(None, kind="i", low=0, below="n_clusters")),
        "The cluster of every training row; a fit on a stream does not keep it.",
    )
    inertia_: float = attribute(Real(), "Weighted sum of squared distances of the training rows to their centers.")
    n_iter_: int = attribute(Count(), "Iterations of the best run, the one that confirms it included.")

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> KMeans:
        """Learn the centers from ``X``; ``y`` is ignored."""
        with blas_threads(1):  # as all steps hold it: setting it once is cheaper
            return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per iteration of every run."""
        self._check_parameters()
        given, X = (
            X,
            dense_rows("KMeans", validate_squarable(self, X, dtype=np.float64, order="C", accept_sparse="csr")),
        )
        if len(X) < self.n_clusters:
            raise ValueError(f"KMeans: n_clusters={self.n_clusters} needs at least as many rows; got {len(X)}.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not isinstance(self.init, str) and not callable(self.init):
            self._checked_centers(self.init, X.shape[1])
            if self.n_init not in ("auto", 1):
                warn_user(f"KMeans: given centers make one run; n_init={self.n_init} is not needed.", RuntimeWarning)
        self._loop = loop = _KMeansRestarts(self, X, weights)
        if state is not None:
            loop.restore(state)
        for record in loop.iterations():
            self._learn(given, loop.shown())
            yield record
        best = loop.shown()
        self._learn(given, best)
        # What predict says: bounds and blocks may have settled ties otherwise, and float32 rounds centers.
        self.labels_, self.inertia_ = labels_and_inertia(X, weights, self._centers)
        if not best["settled"]:
            warn_user(
                f"KMeans: centers still move by more than tol={self.tol:g} after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )
        n_nonempty = np.count_nonzero(np.bincount(self.labels_))
        if n_nonempty < self.n_clusters:
            warn_user(
                f"KMeans: only {n_nonempty} of n_clusters={self.n_clusters} clusters have rows; X may have too few "
                "distinct ones.",
                ConvergenceWarning,
            )

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Lloyd's algorithm, a pass over the stream per iteration, from the centers of a sample.

        ``labels_`` is not kept: it would grow with the rows.
        """
        self._check_parameters()
        stream = keep_rows(stream)
        learn_columns(self, stream)
        self._loop = loop = StreamLloyd(self, stream)
        if state is None:
            loop.start(self._centers_of_stream_sample(stream))
        else:
            loop.restore(state)
        self.__dict__.pop("labels_", None)
        self._learn_from_stream(loop)
        for record in loop.iterations():
            self._learn_from_stream(loop)
            yield record
        if not loop.settled:
            warn_user(
                f"KMeans: centers still move by more than tol={self.tol:g} after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )

    def _centers_of_stream_sample(self, stream: Stream) -> np.ndarray:
        given = not isinstance(self.init, str) and not callable(self.init)
        if given:
            return self._checked_centers(self.init, self.n_features_in_)
        seed = int(as_generator(self.random_state).integers(2**31))
        checker = clone(self)
        X = checked_sample(
            stream,
            rows_for_start(self.n_clusters),
            seed,
            lambda rows: validate_squarable(checker, rows.X, dtype=np.float64, order="C"),
        )
        if len(X) < self.n_clusters:
            raise ValueError(f"KMeans: n_clusters={self.n_clusters} needs at least as many rows; got {len(X)}.")
        start = clone(self).set_params(random_state=seed, verbose=0)
        with warnings.catch_warnings():  # that the sample has not converged is no news about the stream
            warnings.simplefilter("ignore", ConvergenceWarning)
            return start.fit(X)._centers

    def _learn_from_stream(self, loop: StreamLloyd) -> None:
        self.cluster_centers_, self.inertia_ = loop.centers, loop.sums.inertia
        self.n_iter_ = max(loop.iteration, 1)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The index of the nearest center for every row."""
        return labels_for(self._check(X), self._centers)

    def transform(self, X: MatrixLike) -> np.ndarray:
        """The distance of every row to every center, (n, n_clusters)."""
        rows, centers = self._check(X), self._centers
        columns = [distances_to(rows, centers, np.full(len(rows), c)) for c in range(len(centers))]
        return in_precision_of(X, np.column_stack(columns))

    def score(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of ``X``, so that larger is better."""
        X = self._check(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -labels_and_inertia(X, weights, self._centers)[1]

    @property
    def _centers(self) -> np.ndarray:
        """The centers as distances are computed with them."""
        check_is_fitted(self)
        return np.asarray(self.cluster_centers_, dtype=np.float64)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return dense_rows(
            "KMeans", validate_squarable(self, X, reset=False, dtype=np.float64, order="C", accept_sparse="csr")
        )

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

    def _checked_centers(self, centers: Any, columns: int) -> np.ndarray:
        shape = np.shape(centers)
        if shape != (self.n_clusters, columns):
            raise ValueError(f"KMeans: init must have shape {(self.n_clusters, columns)}; got {shape}.")
        checked = np.array(centers, dtype=np.float64)
        if not np.isfinite(checked).all():
            raise ValueError("KMeans: init must hold finite numbers; got NaN or infinity.")
        return checked

    def _learn(self, rows: Any, solution: dict[str, Any]) -> None:
        self.cluster_centers_ = in_precision_of(rows, solution["centers"])
        self.labels_ = solution["labels"]
        self.inertia_ = solution["inertia"]
        self.n_iter_ = solution["iteration"]


class _KMeansRestarts:
    """The running fit: which run, where it stands, and the best of the runs before it."""

    def __init__(self, model: KMeans, X: np.ndarray, weights: np.ndarray):
        self.model, self.X, self.weights = model, X, weights
        self.rng = as_generator(model.random_state)
        with blas_threads(1):
            self.offset = weights @ X / weights.sum()
            self.movement_bound = model.tol * mean_variance(X, weights, self.offset)
        self.run, self.iteration = 0, 0
        self.settled = False
        self.unchanged = False  # the last iteration moved centers, but no row
        self.partition: Partition | None = None
        self.best: dict[str, Any] | None = None

    @property
    def runs(self) -> int:
        if not isinstance(self.model.init, str) and not callable(self.model.init):
            return 1  # the same centers would give the same run again
        if self.model.n_init != "auto":
            return int(self.model.n_init)
        return 1 if isinstance(self.model.init, str) and self.model.init == "k-means++" else 10

    def iterations(self) -> Iterator[Record]:
        total = self.runs * self.model.max_iter
        while self.run < self.runs:
            if self.partition is None:
                self.partition = self._partition(self.X, self.weights).start(self._first_centers())
            while self.partition.iteration < self.model.max_iter and not self.settled:
                shift, changed = self.partition.step()
                self.iteration += 1
                self.unchanged = changed == 0 and self.partition.movement > self.movement_bound
                self.settled = changed == 0 or self._hardly_moved(self.partition)
                values = {"inertia": self.partition.inertia, "shift": shift, "changed": changed, "run": self.run}
                yield Record(self.iteration, values, total=total)
            self.best = self.shown()
            self.partition, self.settled, self.unchanged = None, False, False
            self.run += 1

    def _hardly_moved(self, partition: Partition) -> bool:
        still = partition.movement <= self.movement_bound
        return still and bool((partition.counts > 0).all())  # an empty one is filled next

    def shown(self) -> dict[str, Any]:
        """The best partition so far, this run included."""
        now = self.partition
        if now is None or (self.best is not None and self.best["inertia"] <= now.inertia * (1 + EQUAL)):
            assert self.best is not None
            return self.best
        return {
            "centers": now.positions,
            "labels": now.labels.copy(),
            "inertia": now.inertia,
            # The iteration after the last move of the centers is counted, as in scikit-learn, which needs it to see
            # that the labels stay.
            "iteration": min(now.iteration + self.unchanged, self.model.max_iter),
            "settled": self.settled,
        }

    def state(self) -> dict[str, Any]:
        return {
            "rng": generator_state(self.rng),
            "run": self.run,
            "iteration": self.iteration,
            "settled": self.settled,
            "unchanged": self.unchanged,
            "partition": None if self.partition is None else self.partition.state(),
            "best": None if self.best is None else {name: np.copy(value) for name, value in self.best.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        if state["partition"] is not None:
            rows, columns = len(state["partition"]["labels"]), state["partition"]["centers"].shape[1]
            if (rows, columns) != self.X.shape:
                raise ValueError(f"KMeans: state belongs to X of shape {(rows, columns)}; got {self.X.shape}.")
        for name in ("partition", "best"):
            if state[name] is not None and len(state[name]["centers"]) != self.model.n_clusters:
                raise ValueError(
                    f"KMeans: state belongs to {len(state[name]['centers'])} clusters; got {self.model.n_clusters}."
                )
        self.rng = generator_from_state(state["rng"])
        self.run, self.iteration, self.settled = int(state["run"]), int(state["iteration"]), bool(state["settled"])
        self.unchanged = bool(state["unchanged"])
        if state["partition"] is not None:
            self.partition = self._partition(self.X, self.weights).restore(state["partition"])
        if state["best"] is not None:
            best = state["best"]
            numbers = {"inertia": float(best["inertia"]), "iteration": int(best["iteration"])}
            self.best = best | numbers | {"settled": bool(best["settled"])}

    def _partition(self, X: np.ndarray, weights: np.ndarray) -> Partition:
        return Partition(X, weights, self.offset, bounds=self.model.algorithm != "lloyd")

    def _first_centers(self) -> np.ndarray:
        k, init = self.model.n_clusters, self.model.init
        if callable(init):
            given = init(self.X, k, random_state=np.random.RandomState(int(self.rng.integers(2**31))))
            return self.model._checked_centers(given, self.X.shape[1])
        if not isinstance(init, str):
            return np.array(init, dtype=np.float64)
        if init == "random":
            return self.X[random_rows(self.weights, k, self.rng)]
        sample = min(len(self.X) // 8, _rows_for(k, SAMPLE_ROWS))
        if sample < _rows_for(k, FEWEST_ROWS):
            return self.X[plusplus(self.X, self.weights, k, self.rng)]
        return self._centers_of_sample(sample)

    def _centers_of_sample(self, size: int) -> np.ndarray:
        """The best of a few runs of k-means++ and Lloyd's algorithm on ``size`` rows drawn by weight."""
        rows = draw_rows(self.weights, size, self.rng)
        X, weights, k = self.X[rows], np.ones(size), self.model.n_clusters
        runs = []
        for _ in range(SAMPLE_RUNS):
            seeds = self.rng.choice(size, size=min(size, _rows_for(k, SEED_ROWS)), replace=False)
            partition = self._partition(X, weights)
            partition.start(X[seeds][plusplus(X[seeds], weights[seeds], k, self.rng)])
            while partition.iteration < self.model.max_iter:
                _, changed = partition.step()
                if changed == 0 or self._hardly_moved(partition):
                    break
            runs.append(partition)
        return min(runs, key=lambda run: run.inertia).positions


def _rows_for(k: int, rows: tuple[int, int]) -> int:
    """So many rows per cluster, and at least so many in all."""
    return max(rows[0] * k, rows[1])
