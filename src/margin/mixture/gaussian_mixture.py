r"""Gaussian mixture: a density that is a weighted sum of normal densities, fitted by expectation-maximization.

.. math:: p(x) = \sum_{c=1}^k \pi_c \, \mathcal{N}(x \mid \mu_c, \Sigma_c)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, OneOf, Real, TrueOrFalse
from margin.core.kept_rows import keep_rows
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.streaming import Stream
from margin.core.summaries import learn_columns
from margin.foundations.statistics.criteria import aic, bic
from margin.mixture.covariances import SHAPES
from margin.mixture.em import MixtureParameters, log_joint, responsibilities
from margin.mixture.restarts import EMRestarts
from margin.mixture.stream_em import StreamRestarts

__all__ = ["GaussianMixture"]

MOST_COLUMNS = 20_000  # of a matrix of covariances, which takes three gigabytes then


class GaussianMixture(DensityMixin, IterativeEstimator):
    r"""Gaussians by maximum likelihood, the best of ``n_init`` runs of EM.

    With ``reg_covar=0`` the log-likelihood never decreases, otherwise it may by about as much as that changes it.
    Records carry ``log_likelihood``, ``change`` and ``run``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(model.means_.round(6).tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> float(model.score_samples([[1, 2]]).round(3)[0])
    3.886
    """

    n_components: int = parameter(1, Integer(low=1, search=(1, 20)), "Number of Gaussians.")
    _: KW_ONLY
    covariance_type: str = parameter(
        "full",
        Choice("full", "tied", "diag", "spherical"),
        'Shape of the covariances: any, one for all ("tied"), diagonal, or a multiple of the identity.',
    )
    tol: float = parameter(1e-3, Number(low=0), "A run ends when the mean log-likelihood changes by less.")
    reg_covar: float = parameter(1e-6, Number(low=0), "Added to the diagonal of covariances.")
    max_iter: int = parameter(100, Integer(low=0), "Most iterations of a run; 0 stays at its start.")
    n_init: int = parameter(1, Integer(low=1), "Number of runs, of which the best is kept.")
    init_params: str = parameter(
        "kmeans",
        Choice("kmeans", "k-means++", "random", "random_from_data"),
        'Where the first responsibilities come from: clusters, drawn rows, or "random" numbers.',
    )
    weights_init: Any = parameter(
        None, Optional(Array(ndim=1)), "First weights; None takes what follows from the rest."
    )
    means_init: Any = parameter(
        None, Optional(Array(ndim=2)), "First means, (n_components, p): every row begins with the nearest of them."
    )
    precisions_init: Any = parameter(
        None,
        Optional(Either(Array(ndim=1), Array(ndim=2), Array(ndim=3))),
        "First inverse covariances, in the shape of covariance_type.",
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the first responsibilities.")
    warm_start: bool = parameter(
        False, Flag(), "Whether a fit starts from the solution of the last one, with a single run."
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    verbose_interval: int = parameter(10, Integer(low=1), "Iterations between two printed records.")

    weights_: np.ndarray = attribute(ArrayOf("n_components", low=0), "Weights of the components, (n_components,).")
    means_: np.ndarray = attribute(ArrayOf("n_components", "n_features"), "Means of the components, (n_components, p).")
    covariances_: np.ndarray = attribute(
        OneOf(
            ArrayOf("n_components", "n_features", "n_features"),
            ArrayOf("n_features", "n_features"),
            ArrayOf("n_components", "n_features"),
            ArrayOf("n_components"),
        ),
        "Covariances in the shape of covariance_type.",
    )
    log_likelihood_: float = attribute(
        Real(), "Mean log-likelihood of the training rows under exactly these parameters."
    )
    lower_bounds_: np.ndarray = attribute(
        ArrayOf("n_iterations"), "The same after each iteration of the best run, (n_iter_,)."
    )
    converged_: bool = attribute(TrueOrFalse(), "Whether the best run ended before max_iter.")
    n_iter_: int = attribute(Count(), "Iterations of the best run.")

    _may_be_empty = ("n_iterations",)

    log_density_kind = "exact"

    @property
    def precisions_(self) -> np.ndarray:
        """Inverse covariances in the shape of covariance_type."""
        return SHAPES[self.covariance_type].covariances_of(self.covariances_)

    @property
    def precisions_cholesky_(self) -> np.ndarray:
        """Factors U of the inverse covariances U U', upper triangles; square roots of diagonal and spherical ones."""
        return SHAPES[self.covariance_type].precision_factors(self.covariances_)

    @property
    def lower_bound_(self) -> float:
        """The bound that EM raises, which after an E step is the mean log-likelihood."""
        return self.log_likelihood_

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X``, yielding a record per EM step of every run; ``y`` is ignored."""
        self._check_parameters()
        X = validate_squarable(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        self._check_start(X.shape[1])
        yield from self._steps(EMRestarts(self, X, self._last(X.shape[1])), state)

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """EM with a pass over the stream per step; every run begins on a sample of the rows."""
        self._check_parameters()
        stream = keep_rows(stream)
        learn_columns(self, stream)
        self._check_start(self.n_features_in_)
        yield from self._steps(StreamRestarts(self, stream, self._last(self.n_features_in_), state), state)

    def _steps(self, loop: EMRestarts, state: dict[str, Any] | None) -> Iterator[Record]:
        if len(loop.X) < self.n_components:
            raise ValueError(
                f"GaussianMixture: n_components={self.n_components} needs as many rows; got {len(loop.X)}."
            )
        self._loop = loop
        if state is not None:
            loop.restore(state)
        for record in loop.iterations():
            self._learn(loop)
            yield record
        self._learn(loop)
        if not self.converged_ and self.max_iter > 0:
            warn_user(
                f"GaussianMixture: EM has not converged after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
            )

    def fit_predict(self, X: MatrixLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit, and the most probable component of every row."""
        return self.fit(X, y).predict(X)

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """The exact log-density of every row, in nats."""
        return self._responsibilities(X)[0]

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean log-density of the rows."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """The probability of every component given the row, (n, n_components)."""
        return self._responsibilities(X)[1]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable component of every row."""
        return log_joint(self._check(X), self._mixture()).argmax(axis=1)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """``n_samples`` new rows drawn from the density, in random order."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"GaussianMixture.sample: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        components = self._mixture().components
        chosen = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        rows = rng.standard_normal((n_samples, self.means_.shape[1]))
        for c in range(len(self.weights_)):
            mine = chosen == c
            rows[mine] = rows[mine] @ components.root(c).T + self.means_[c]
        return rows

    def bic(self, X: Any) -> float:
        r"""Bayesian information criterion :math:`-2 \log p(X) + m \log n` with m free parameters; lower is better."""
        return bic(self.score(X) * len(X), self._n_parameters(), len(X))

    def aic(self, X: Any) -> float:
        r"""Akaike information criterion :math:`-2 \log p(X) + 2 m`; lower is better."""
        return aic(self.score(X) * len(X), self._n_parameters())

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        return SHAPES[self.covariance_type].n_parameters(k, d) + k * d + k - 1

    def _responsibilities(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return responsibilities(self._check(X), self._mixture())

    def _check(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_squarable(self, X, reset=False, dtype=[np.float64, np.float32], order="C")

    def _mixture(self) -> MixtureParameters:
        offset = self.weights_ @ self.means_
        shape = SHAPES[self.covariance_type]
        return MixtureParameters(self.weights_, shape(self.means_ - offset, self.covariances_), offset)

    def _last(self, d: int) -> MixtureParameters | None:
        """The solution of the last fit, if this one is to start from it and it fits."""
        if not self.warm_start or not hasattr(self, "means_") or self.means_.shape != (self.n_components, d):
            return None
        shape = SHAPES[self.covariance_type]
        return self._mixture() if self.covariances_.shape == shape.shape_of(self.n_components, d) else None

    def _learn(self, loop: EMRestarts) -> None:
        shown = loop.shown()
        self.weights_ = shown.mixture.weights.copy()
        self.means_ = shown.mixture.components.means + shown.mixture.offset
        self.covariances_ = shown.mixture.components.covariances.copy()
        self.log_likelihood_ = shown.log_likelihood
        self.lower_bounds_ = np.array(shown.bounds)
        self.converged_ = shown.converged
        self.n_iter_ = shown.iteration

    def _check_start(self, d: int) -> None:
        k = self.n_components
        if d > MOST_COLUMNS and self.covariance_type in ("full", "tied"):
            raise ValueError(
                f"GaussianMixture: covariance_type {self.covariance_type!r} takes at most {MOST_COLUMNS:,} columns, of "
                f"which every covariance is a square matrix; got {d:,}; 'diag' and 'spherical' take any number."
            )
        shapes = {"weights_init": (k,), "means_init": (k, d)}
        shapes["precisions_init"] = SHAPES[self.covariance_type].shape_of(k, d)
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is None:
                continue
            given = np.asarray(value, dtype=float)
            if given.shape != shape:
                raise ValueError(f"GaussianMixture: {name} must have shape {shape}; got {given.shape}.")
            if not np.isfinite(given).all():
                raise ValueError(f"GaussianMixture: {name} must hold finite numbers; got NaN or infinity.")
            if name == "precisions_init" and not SHAPES[self.covariance_type].are_positive(given):
                raise ValueError("GaussianMixture: precisions_init must be symmetric and positive definite.")
        if self.weights_init is not None:
            total = float(np.sum(self.weights_init))
            if np.min(self.weights_init) < 0 or abs(total - 1) > 1e-6:
                raise ValueError(
                    f"GaussianMixture: weights_init must be non-negative and sum to 1; the sum is {total:g}."
                )
