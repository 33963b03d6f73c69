r"""k-means clustering: ``k`` centers such that rows are near the nearest one.

.. math:: \min_{\mu_1,\dots,\mu_k} \; \sum_i w_i \min_c \lVert x_i - \mu_c \rVert^2
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.cluster.lloyd import Partition, distances_to, labels_for
from margin.cluster.plusplus import draw_rows, plusplus, random_rows
from margin.core.domains import Array, Choice, Either, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.core.records import Record

__all__ = ["KMeans"]

# A large table is first solved on an eighth of its rows, at most SAMPLE_ROWS (per cluster, in all), as long as these
# are FEWEST_ROWS: SAMPLE_RUNS times from seeds among SEED_ROWS. The best of a few cheap runs has better seeds than one.
SAMPLE_ROWS, FEWEST_ROWS, SEED_ROWS, SAMPLE_RUNS = (256, 20480), (64, 1024), (128, 8192), 4


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, IterativeEstimator):
    """Lloyd's algorithm from k-means++ seeds, the best of ``n_init`` restarts.

    ``init`` is "k-means++", "random" (rows) or an array of centers; on large tables "k-means++" seeds and converges a
    few times on a random sample before it looks at all rows. ``n_init`` "auto" is 1 for k-means++, 10 for "random";
    given centers are run once. A run ends when no row changes its cluster, when the squared movement of every center
    is at most ``tol`` times the mean variance of the columns, or after ``max_iter`` iterations. ``algorithm``
    "hamerly" skips rows that cannot have changed, "lloyd" computes every distance; both take the same steps.

    Learned: ``cluster_centers_``, ``labels_``, ``inertia_``, ``n_iter_`` (of the best run). Records carry ``inertia``
    (which never increases within a run), ``shift`` (the largest movement of a center), ``changed`` (rows) and ``run``.

    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[1.0, 2.0], [10.0, 2.0]], 16.0)
    """

    domains = {
        "n_clusters": Integer(low=1, search=(2, 20)),
        "init": Either(Choice("k-means++", "random"), Array(ndim=2)),
        "n_init": Either(Choice("auto"), Integer(low=1)),
        "max_iter": Integer(low=1),
        "tol": Number(low=0),
        "algorithm": Choice("hamerly", "lloyd"),
        "random_state": Seed(),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        algorithm: str = "hamerly",
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Learn the centers from ``X``; ``y`` is ignored."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per iteration of every run."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, order="C")
        if len(X) < self.n_clusters:
            raise ValueError(f"KMeans: n_clusters={self.n_clusters} needs at least as many rows; got {len(X)}.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._check_centers(X.shape[1])
        self._loop = loop = _KMeansRestarts(self, X, weights)
        if state is not None:
            loop.restore(state)
        for record in loop.iterations():
            self._learn(loop.shown())
            yield record
        best = loop.shown()
        labels = labels_for(X, best["centers"])  # what predict says: bounds and blocks may have settled ties otherwise
        self._learn(
            best | {"labels": labels, "inertia": float(weights @ distances_to(X, best["centers"], labels) ** 2)}
        )
        found = len(np.unique(labels))
        if found < self.n_clusters:
            warn_user(
                f"KMeans: only {found} of n_clusters={self.n_clusters} clusters have rows; X may have too few "
                "distinct ones.",
                ConvergenceWarning,
            )

    def predict(self, X: Any) -> np.ndarray:
        """The index of the nearest center for every row."""
        return labels_for(self._checked(X), self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """The distance of every row to every center, (n, n_clusters)."""
        X = self._checked(X)
        columns = [
            distances_to(X, self.cluster_centers_, np.full(len(X), c)) for c in range(len(self.cluster_centers_))
        ]
        return np.column_stack(columns)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of ``X``, so that larger is better."""
        X = self._checked(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        labels = labels_for(X, self.cluster_centers_)
        return -float(weights @ distances_to(X, self.cluster_centers_, labels) ** 2)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")

    def _check_centers(self, columns: int) -> None:
        if isinstance(self.init, str):
            return
        shape = np.shape(self.init)
        if shape != (self.n_clusters, columns):
            raise ValueError(f"KMeans: init must have shape {(self.n_clusters, columns)}; got {shape}.")
        if not np.isfinite(np.asarray(self.init, dtype=float)).all():
            raise ValueError("KMeans: init must hold finite numbers; got NaN or infinity.")

    def _learn(self, found: dict[str, Any]) -> None:
        self.cluster_centers_ = found["centers"]
        self.labels_ = found["labels"]
        self.inertia_ = found["inertia"]
        self.n_iter_ = found["iteration"]


class _KMeansRestarts:
    """The running fit: which run, where it stands, and the best of the runs before it."""

    def __init__(self, model: KMeans, X: np.ndarray, weights: np.ndarray):
        self.model, self.X, self.weights = model, X, weights
        self.rng = as_generator(model.random_state)
        self.offset = weights @ X / weights.sum()
        variance = sum(weights[s : s + 4096] @ (X[s : s + 4096] - self.offset) ** 2 for s in range(0, len(X), 4096))
        self.movement_bound = model.tol * float(np.mean(variance)) / weights.sum()
        self.run, self.iteration = 0, 0
        self.settled = False
        self.partition: Partition | None = None
        self.best: dict[str, Any] | None = None

    @property
    def runs(self) -> int:
        if not isinstance(self.model.init, str):
            return 1  # the same centers would give the same run again
        if self.model.n_init != "auto":
            return int(self.model.n_init)
        return 10 if self.model.init == "random" else 1

    def iterations(self) -> Iterator[Record]:
        total = self.runs * self.model.max_iter
        while self.run < self.runs:
            if self.partition is None:
                self.partition = self._partition(self.X, self.weights).start(self._first_centers())
            while self.partition.iteration < self.model.max_iter and not self.settled:
                shift, changed = self.partition.step()
                self.iteration += 1
                self.settled = changed == 0 or self._hardly_moved(self.partition, shift)
                values = {"inertia": self.partition.inertia, "shift": shift, "changed": changed, "run": self.run}
                yield Record(self.iteration, values, total=total)
            self.best = self.shown()
            self.partition, self.settled = None, False
            self.run += 1

    def _hardly_moved(self, partition: Partition, shift: float) -> bool:
        return shift**2 <= self.movement_bound and bool((partition.counts > 0).all())  # an empty one is filled next

    def shown(self) -> dict[str, Any]:
        """The best partition so far, this run included."""
        now = self.partition
        if now is None or (self.best is not None and self.best["inertia"] <= now.inertia):
            assert self.best is not None
            return self.best
        return {
            "centers": now.positions,
            "labels": now.labels.copy(),
            "inertia": now.inertia,
            "iteration": now.iteration,
        }

    def state(self) -> dict[str, Any]:
        return {
            "rng": generator_state(self.rng),
            "run": self.run,
            "iteration": self.iteration,
            "settled": self.settled,
            "partition": None if self.partition is None else self.partition.state(),
            "best": None if self.best is None else {name: np.copy(value) for name, value in self.best.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        if state["partition"] is not None:
            rows, columns = len(state["partition"]["labels"]), state["partition"]["centers"].shape[1]
            if (rows, columns) != self.X.shape:
                raise ValueError(f"KMeans: state belongs to X of shape {(rows, columns)}; got {self.X.shape}.")
        self.rng = generator_from_state(state["rng"])
        self.run, self.iteration, self.settled = int(state["run"]), int(state["iteration"]), bool(state["settled"])
        if state["partition"] is not None:
            self.partition = self._partition(self.X, self.weights).restore(state["partition"])
        if state["best"] is not None:
            best = state["best"]
            self.best = best | {"inertia": float(best["inertia"]), "iteration": int(best["iteration"])}

    def _partition(self, X: np.ndarray, weights: np.ndarray) -> Partition:
        return Partition(X, weights, self.offset, bounds=self.model.algorithm == "hamerly")

    def _first_centers(self) -> np.ndarray:
        k, init = self.model.n_clusters, self.model.init
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
                shift, changed = partition.step()
                if changed == 0 or self._hardly_moved(partition, shift):
                    break
            runs.append(partition)
        return min(runs, key=lambda run: run.inertia).positions


def _rows_for(k: int, rows: tuple[int, int]) -> int:
    """So many rows per cluster, and at least so many in all."""
    return max(rows[0] * k, rows[1])
