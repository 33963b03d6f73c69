r"""Gaussian-process regression on many rows through a few inducing points.

.. math::
    \log p(y) \ge F(\theta) = \log N(y; 0, Q+\sigma^2I) - \tfrac1{2\sigma^2}\mathrm{tr}(K-Q),\qquad
    Q = K_{xz}K_{zz}^{-1}K_{zx} .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ModelWith, OneOf, Real, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.kernels.gaussian_process.bound_notices import warn_of_bounds
from margin.kernels.gaussian_process.hyperparameter_search import HyperparameterSearch
from margin.kernels.gaussian_process.inducing import SparseEvaluation, SparseObjective, spread_rows
from margin.kernels.gaussian_process.initial_kernel import initial_kernel, with_noise_term
from margin.kernels.gaussian_process.radial import noise_variance, signal_of, terms_of
from margin.kernels.gaussian_process.regressor import location_and_scale
from margin.kernels.gaussian_process.search_parameters import SearchParameters
from margin.kernels.gaussian_process.search_runs import EvaluationRequest
from margin.kernels.kernel import Kernel
from margin.kernels.stationary import WhiteKernel

__all__ = ["SparseGaussianProcessRegressor"]

ROWS = 1024  # of a block of predictions


class SparseGaussianProcessRegressor(RegressorMixin, SearchParameters, IterativeEstimator):
    r"""A Gaussian process seen through m inducing points: cost :math:`nm^2` in place of :math:`n^3`.

    Titsias' variational bound never exceeds the exact evidence and approaches it as m grows; FITC keeps the exact
    variance of every row and may overstate the evidence. Records carry ``bound`` (the objective), ``gradient_norm`` and
    ``jitter`` of every evaluation.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 500)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=500)
    >>> model = SparseGaussianProcessRegressor(n_inducing=10, random_state=0).fit(x, y)
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.05), round(model.noise_**0.5, 1)
    (True, 0.1)
    """

    _: KW_ONLY
    n_inducing: int = parameter(200, Integer(low=1, search=(50, 500), log=True), "Number m of inducing points.")
    method: str = parameter("vfe", Choice("vfe", "fitc"), "Variational bound, or the FITC approximation.")
    inducing: Any = parameter(
        "spread",
        Either(Choice("spread", "random"), Array(ndim=2)),
        "Rows far from each other (chosen like k-means++ seeds), random rows, or the points (m, d) themselves.",
    )
    noise: Any = parameter(
        "learn",
        Either(Choice("learn"), Number(above=0)),
        "Variance of the noise in units of the (normalized) targets, or 'learn'.",
    )
    normalize_y: bool = parameter(True, Flag(), "Whether targets are centered and scaled.")
    tol: float = default(1e-2)

    kernel_: Kernel = attribute(ModelWith(["diag"]), "The learned kernel, white noise included.")
    noise_: float = attribute(sometimes(OneOf(Real(), ArrayOf("n_targets"))), "Variance of the noise in units of y.")
    inducing_points_: np.ndarray = attribute(ArrayOf("n_inducing", "n_features"), "The inducing points, (m, d).")
    bound_: float = attribute(sometimes(Real()), "The objective: for 'vfe' a lower bound of the log evidence.")
    L_: np.ndarray = attribute(
        ArrayOf("n_inducing", "n_inducing"), "Lower Cholesky factor of the kernel matrix of the inducing points."
    )
    B_factor_: np.ndarray = attribute(
        ArrayOf("n_inducing", "n_inducing"),
        "Lower Cholesky factor of the matrix B of the inducing points and the rows.",
    )
    weights_: np.ndarray = attribute(
        OneOf(ArrayOf("n_inducing"), ArrayOf("n_inducing", "n_targets")),
        "Weights of the inducing points in the mean, (m,).",
    )
    y_mean_: float = attribute(OneOf(Real(finite=True), ArrayOf("n_targets")), "What was subtracted from the targets.")
    y_std_: float = attribute(OneOf(Real(finite=True), ArrayOf("n_targets")), "What they were divided by.")
    jitter_: float = attribute(
        Real(finite=True), "What was added to the diagonal relative to its mean, 0 if none was needed."
    )
    n_iter_: int = attribute(Count(), "Evaluations of the objective.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per evaluation of the objective."""
        self._check_parameters()
        X, y = validate_squarable(self, X, numeric_target(self, y), dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kernel = self._start(X)
        Z = self._points(X) if state is None else self._points_of(state, X)
        self.y_mean_, self.y_std_ = (
            location_and_scale("SparseGaussianProcessRegressor", y) if self.normalize_y else (0.0, 1.0)
        )
        objective = SparseObjective(kernel, X, (y - self.y_mean_) / self.y_std_, Z, fitc=self.method == "fitc")
        self._loop = loop = _SparseSearch(self, kernel, len(X), _Sparse(kernel, objective), None, state)
        yield from loop.records(self)
        if sentence := loop.warning(self):
            warn_user(sentence, ConvergenceWarning)
        warn_of_bounds(self, [self.kernel_])

    def predict(self, X: MatrixLike, return_std: bool = False, *, with_noise: bool = True) -> Any:
        """The mean at every row; with its standard deviation if asked (of f alone if ``with_noise`` is False)."""
        check_is_fitted(self)
        at = validate_squarable(self, X, reset=False, dtype=np.float64, order="C")
        kernel = signal_of(self.kernel_)
        assert kernel is not None
        means, variances = [], []
        for start in range(0, len(at), ROWS):
            block = at[start : start + ROWS]
            cross = kernel(self.inducing_points_, block)
            means.append(self.weights_ @ cross)
            if return_std:
                half = solve_triangular(self.L_, cross, lower=True, check_finite=False)
                seen = solve_triangular(self.B_factor_, half, lower=True, check_finite=False)
                variances.append(kernel.diag(block) - np.einsum("ij,ij->j", half, half) + (seen**2).sum(axis=0))
        mean = self.y_mean_ + self.y_std_ * np.concatenate(means)
        if not return_std:
            return mean
        variance = self.y_std_**2 * np.maximum(np.concatenate(variances), 0.0)
        return mean, np.sqrt(variance + (self.noise_ if with_noise else 0.0))

    def log_density(self, X: MatrixLike, y: ArrayLike) -> np.ndarray:
        """log p(y | x, training rows) of every row, noise included."""
        mean, std = self.predict(X, return_std=True, with_noise=True)
        y = np.asarray(y, dtype=np.float64)
        if y.shape != mean.shape:
            raise ValueError(
                f"SparseGaussianProcessRegressor: log_density needs one y per row, {mean.shape}; got shape {y.shape}."
            )
        return -0.5 * np.log(2 * np.pi) - np.log(std) - 0.5 * ((y - mean) / std) ** 2

    def _start(self, X: np.ndarray) -> Kernel:
        kernel = initial_kernel(self.kernel, X, self.ard)
        if all(isinstance(term, WhiteKernel) for term in terms_of(kernel)):
            raise ValueError(f"SparseGaussianProcessRegressor: kernel must hold more than white noise; got {kernel!r}.")
        if isinstance(self.noise, str):
            return with_noise_term(kernel)
        return kernel + WhiteKernel(float(self.noise), noise_level_bounds="fixed")

    def _points(self, X: np.ndarray) -> np.ndarray:
        if not isinstance(self.inducing, str):
            points = np.array(self.inducing, dtype=np.float64)
            if points.shape[1] != X.shape[1] or not np.isfinite(points).all() or not len(points):
                raise ValueError(
                    f"SparseGaussianProcessRegressor: inducing must hold finite points with {X.shape[1]} columns; "
                    f"got shape {points.shape}."
                )
            return points
        rng, m = as_generator(self.random_state), min(self.n_inducing, len(X))
        if self.inducing == "random":
            return X[np.sort(rng.choice(len(X), size=m, replace=False))]
        return X[spread_rows(X, m, rng)]

    def _points_of(self, state: dict[str, Any], X: np.ndarray) -> np.ndarray:
        """The points that the fit began with: those that were given, or some of its rows."""
        points = np.array(state["points"], dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != X.shape[1] or not len(points):
            shape = f"(m, {X.shape[1]})"
            raise ValueError(f"{type(self).__name__}: points of the state must have shape {shape}; got {points.shape}.")
        known = X if isinstance(self.inducing, str) else self._points(X)
        if not ((points >= known.min(axis=0)) & (points <= known.max(axis=0))).all():
            raise ValueError(f"{type(self).__name__}: points of the state must lie among the rows of X; some do not.")
        return points


class _SparseSearch(HyperparameterSearch):
    """Also remembers the inducing points, which were drawn at random."""

    def state(self) -> dict[str, Any]:
        points: np.ndarray = self.problem.objective.Z  # type: ignore[attr-defined]
        return super().state() | {"points": points.copy()}


class _Sparse:
    """The objective as a problem for the searches."""

    def __init__(self, kernel: Kernel, objective: SparseObjective):
        self.kernel, self.objective = kernel, objective
        self.coarse_rows = np.zeros(0, dtype=np.int64)

    def evaluate(self, request: EvaluationRequest, *, gradient: bool) -> SparseEvaluation:
        return self.objective.at(request.theta, gradient=gradient)

    def publish(
        self, model: SparseGaussianProcessRegressor, request: EvaluationRequest, evaluation: SparseEvaluation
    ) -> None:
        model.kernel_ = self.kernel.clone_with_theta(request.theta)
        model.inducing_points_ = self.objective.Z
        model.L_, model.B_factor_, model.jitter_ = evaluation.L, evaluation.B_factor, evaluation.jitter
        model.weights_ = solve_triangular(evaluation.L, evaluation.e, lower=True, trans="T", check_finite=False)
        model.bound_ = evaluation.value
        model.noise_ = noise_variance(model.kernel_) * model.y_std_**2

    def describe(self, request: EvaluationRequest, evaluation: SparseEvaluation) -> dict[str, float]:
        return {
            "bound": evaluation.value,
            "gradient_norm": float(np.linalg.norm(evaluation.gradient)),
            "jitter": evaluation.jitter,
        }
