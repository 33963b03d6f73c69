r"""Gaussian-process regression with learned hyperparameters.

.. math::
    f\sim GP(0,k_\theta),\quad y = f(x)+\varepsilon,\qquad \hat\theta = \arg\max_\theta \log p(y\mid X,\theta) .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ModelWith, OneOf, Real, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import in_safe_units, require_variance, validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.kernels.gaussian_process.bound_notices import warn_of_bounds
from margin.kernels.gaussian_process.hyperparameter_search import HyperparameterSearch
from margin.kernels.gaussian_process.initial_kernel import (
    initial_kernel,
    row_rules,
    start_at_spread,
    with_noise_term,
)
from margin.kernels.gaussian_process.likelihood import Evaluation, MarginalLikelihood
from margin.kernels.gaussian_process.posterior import (
    draw_normal,
    posterior_covariance,
    posterior_mean,
    posterior_variance,
)
from margin.kernels.gaussian_process.radial import noise_variance, signal_of
from margin.kernels.gaussian_process.search_parameters import SearchParameters
from margin.kernels.gaussian_process.search_runs import SCREENED_ROWS, EvaluationRequest, best_start
from margin.kernels.kernel import Kernel

__all__ = ["GaussianProcessRegressor", "location_and_scale"]

DEFAULT_ALPHA = 1e-10  # scikit-learn's, for a kernel given as an object


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, SearchParameters, IterativeEstimator):
    r"""A distribution over functions, conditioned on the rows; the kernel is learned by marginal likelihood.

    Several targets share one kernel. Cost: :math:`n^3` per evaluation, :math:`8n^2` bytes times three. Records carry
    ``log_marginal_likelihood``, ``gradient_norm``, ``jitter``, ``rows`` and ``run`` of every evaluation; the model is
    that of the best so far.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GaussianProcessRegressor(alpha=1e-4).fit(x, np.sin(x[:, 0]))
    >>> mean, std = model.predict([[1.5], [20.0]], return_std=True)
    >>> mean.round(2).tolist()[0], bool(std[0] < 0.02 < 0.3 < std[1])
    (1.0, True)
    """

    _: KW_ONLY
    alpha: Any = parameter(
        "auto",
        Either(Choice("auto", "learn"), Number(low=0), Array(ndim=1)),
        "Variance of the noise, one or one per row, in units of the (normalized) targets; 'learn' makes it a term of "
        "the kernel; 'auto' learns it for a named kernel and is 1e-10 for an object, whose WhiteKernel is the noise.",
    )
    normalize_y: bool | str = parameter(
        "auto",
        Either(Choice("auto"), Flag()),
        "Whether targets are centered and scaled; 'auto' does it for a named kernel, which starts at that scale.",
    )
    copy_X_train: bool = parameter(True, Flag(), "Whether the model keeps a copy of the rows instead of a reference.")
    n_targets: int | None = parameter(
        None, Optional(Integer(low=1)), "Number of targets; needed to sample from a prior of several."
    )
    warm_up: Any = parameter(
        "auto",
        Optional(Either(Choice("auto"), Integer(low=1))),
        "Rows on which searches run first: 'auto' is a quarter of 1600 rows or more, None is all.",
    )

    kernel_: Kernel = attribute(ModelWith(["diag"]), "The learned kernel; learned noise is a WhiteKernel in it.")
    noise_: Any = attribute(
        sometimes(OneOf(Real(), ArrayOf("n_targets"))),
        "Variance of the noise in units of y, one number or one per target.",
    )
    L_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_samples"), "Lower Cholesky factor of the kernel matrix with its noise."
    )
    alpha_: np.ndarray = attribute(
        OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", "n_targets")),
        "Dual weights of the rows, (n,) or (n, targets).",
    )
    X_train_: np.ndarray = attribute(ArrayOf("n_samples", "n_features"), "The training rows.")
    y_train_: np.ndarray = attribute(
        OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", "n_targets")), "The (normalized) training targets."
    )
    train_noise_: Any = attribute(
        OneOf(Real(finite=True), ArrayOf("n_samples")), "The variances that were added to the diagonal."
    )
    y_mean_: Any = attribute(OneOf(Real(finite=True), ArrayOf("n_targets")), "What was subtracted from the targets.")
    y_std_: Any = attribute(OneOf(Real(finite=True), ArrayOf("n_targets")), "What they were divided by.")
    jitter_: float = attribute(
        Real(finite=True), "What was added to the diagonal relative to its mean, 0 if none was needed."
    )
    log_marginal_likelihood_value_: float = attribute(
        sometimes(Real()), "Log marginal likelihood of the (normalized) targets."
    )
    n_iter_: int = attribute(Count(), "Evaluations of the likelihood.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per evaluation of the marginal likelihood."""
        self._check_parameters()
        X, y = validate_squarable(
            self, X, numeric_target(self, y), **row_rules(self.kernel), y_numeric=True, multi_output=True
        )
        y = self._targets(y)
        alpha, learns_noise, normalizes = self._noise_settings(len(X))
        kernel = initial_kernel(self.kernel, X, self.ard)
        kernel = with_noise_term(kernel) if learns_noise else kernel
        self.y_mean_, self.y_std_ = location_and_scale("GaussianProcessRegressor", y) if normalizes else (0.0, 1.0)
        X = np.array(X) if self.copy_X_train else X
        y = (y - self.y_mean_) / self.y_std_
        also = start_at_spread(kernel, X) if isinstance(self.optimizer, str) and state is None else ()
        if len(also) and len(X) > SCREENED_ROWS:
            kernel, also = self._screen(kernel, also, X, y, alpha), ()
        objective = _Exact(kernel, X, y, alpha)
        self._loop = loop = HyperparameterSearch(self, kernel, len(X), objective, self.warm_up, state, also)
        yield from loop.records(self)
        if sentence := loop.warning(self):
            warn_user(sentence, ConvergenceWarning)
        warn_of_bounds(self, [self.kernel_])

    def _screen(self, kernel: Kernel, also: Any, X: np.ndarray, y: np.ndarray, alpha: Any) -> Kernel:
        """``kernel`` at its own theta or at the row of ``also``, by searches on every k-th row."""
        part = slice(None, None, -(-len(X) // SCREENED_ROWS))
        few = MarginalLikelihood(kernel, X[part], y[part], alpha if np.ndim(alpha) == 0 else alpha[part])
        starts, bounds = np.concatenate([kernel.theta[None], also]), kernel.bounds
        theta = best_start(starts, bounds, partial(few.at, gradient=True), tol=self.tol, max_iter=self.max_iter)
        return kernel.clone_with_theta(theta)

    def predict(
        self, X: MatrixLike, return_std: bool = False, return_cov: bool = False, *, with_noise: bool | None = None
    ) -> Any:
        """The mean at every row, (n,) or (n, targets); with its standard deviation or covariance if asked.

        They are those of f and the noise of the kernel's ``WhiteKernel``, as in scikit-learn; with ``with_noise`` also
        of the noise ``alpha``, or of f alone if it is False. Before a fit they are those of the prior.
        """
        if return_std and return_cov:
            raise RuntimeError("GaussianProcessRegressor: predict gives return_std or return_cov; got both as True.")
        if not hasattr(self, "alpha_"):
            return self._prior(X, return_std, return_cov, with_noise)
        at = validate_squarable(self, X, reset=False, **row_rules(self.kernel))
        kernel, several = self._signal(), self.y_train_.ndim == 2
        mean = self.y_mean_ + self.y_std_ * posterior_mean(kernel, self.X_train_, at, self.alpha_)
        if not (return_std or return_cov):
            return mean
        scale, noise = np.square(self.y_std_), self._noise(with_noise)
        if return_std:
            variance = posterior_variance(kernel, self.X_train_, at, self.L_)
            return mean, np.sqrt((variance[:, None] if several else variance) * self._per_target(scale) + noise)
        covariance = posterior_covariance(kernel, self.X_train_, at, self.L_)
        identity = np.eye(len(at))
        if several:
            return mean, covariance[..., None] * self._per_target(scale) + identity[..., None] * noise
        return mean, scale * covariance + noise * identity

    def sample_y(
        self, X: MatrixLike, n_samples: int = 1, random_state: Any = 0, *, with_noise: bool | None = None
    ) -> np.ndarray:
        """Functions at the rows of X, (n, n_samples) or (n, targets, n_samples): from the posterior, or from the prior
        before any fit."""
        rng = as_generator(random_state)
        if hasattr(self, "alpha_"):
            mean, covariance = self.predict(X, return_cov=True, with_noise=with_noise)
            if mean.ndim == 1:
                return draw_normal(mean, covariance, n_samples, rng)
            pairs = zip(mean.T, np.moveaxis(covariance, -1, 0))
            return np.stack([draw_normal(m, c, n_samples, rng) for m, c in pairs], axis=1)
        mean, covariance = self._prior(X, False, True, with_noise)
        if mean.ndim == 1:
            return draw_normal(mean, covariance, n_samples, rng)
        draws = [draw_normal(m, covariance[..., 0], n_samples, rng) for m in mean.T]
        return np.stack(draws, axis=1)

    def _prior(self, X: Any, return_std: bool, return_cov: bool, with_noise: bool | None) -> Any:
        """What is known before any fit: mean zero, and the kernel; of several targets one after another."""
        self._check_parameters()
        at = check_array(X, dtype=np.float64, order="C")
        kernel = initial_kernel(self.kernel, at, self.ard)
        if with_noise is False:
            kernel = signal_of(kernel) or kernel
        given = 0.0 if not with_noise or isinstance(self.alpha, str) else float(np.mean(self.alpha))
        targets = () if self.n_targets in (None, 1) else (self.n_targets,)
        mean = np.zeros((len(at), *targets))
        if return_std:
            deviation = np.sqrt(kernel.diag(at) + given)
            return mean, np.broadcast_to(deviation.reshape(-1, *[1] * len(targets)), mean.shape).copy()
        if return_cov:
            covariance = kernel(at) + given * np.eye(len(at))
            return mean, np.broadcast_to(
                covariance[(..., *[None] * len(targets))], (*covariance.shape, *targets)
            ).copy()
        return mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False  # before a fit the prior answers
        return tags

    def log_density(self, X: MatrixLike, y: ArrayLike) -> np.ndarray:
        """log p(y | x, training rows) of every row, noise included: what calibrated uncertainty maximizes."""
        mean, std = self.predict(X, return_std=True, with_noise=True)
        y = np.asarray(y, dtype=np.float64)
        if y.shape != mean.shape:
            raise ValueError(
                f"GaussianProcessRegressor: log_density needs one y per row, {mean.shape}; got shape {y.shape}."
            )
        with np.errstate(divide="ignore"):
            return -0.5 * np.log(2 * np.pi) - np.log(std) - 0.5 * ((y - mean) / std) ** 2

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Of the (normalized) training targets at ``theta``, the logarithms of the free parameters of ``kernel_``."""
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        theta = self.kernel_.theta if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != self.kernel_.theta.shape:
            raise ValueError(
                f"GaussianProcessRegressor: theta must have the shape {self.kernel_.theta.shape} of kernel_.theta; "
                f"got {theta.shape}."
            )
        likelihood = MarginalLikelihood(self.kernel_, self.X_train_, self.y_train_, self.train_noise_)
        evaluation = likelihood.at(theta, gradient=eval_gradient)
        return (evaluation.value, evaluation.gradient) if eval_gradient else evaluation.value

    def _targets(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        count = 1 if y.ndim == 1 else y.shape[1]
        if self.n_targets not in (None, count):
            raise ValueError(f"GaussianProcessRegressor: n_targets={self.n_targets} but y has {count} targets.")
        return y

    def _signal(self) -> Kernel:
        return signal_of(self.kernel_) or self.kernel_

    def _per_target(self, scale: Any) -> Any:
        return np.broadcast_to(scale, self.y_train_.shape[1:])

    def _noise(self, with_noise: bool | None) -> Any:
        if with_noise:
            return self.noise_
        if with_noise is False or signal_of(self.kernel_) is None:  # a kernel of noise alone is the signal itself
            return 0.0
        return noise_variance(self.kernel_) * np.square(self.y_std_)

    def _noise_settings(self, n: int) -> tuple[Any, bool, bool]:
        """The variances on the diagonal, whether noise is learned, and whether targets are normalized."""
        named = isinstance(self.kernel, str)
        normalizes = named if isinstance(self.normalize_y, str) else bool(self.normalize_y)
        if isinstance(self.alpha, str):
            learns = self.alpha == "learn" or named
            return (0.0 if learns else DEFAULT_ALPHA), learns, normalizes
        if np.ndim(self.alpha) == 0:
            return float(self.alpha), False, normalizes
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if len(alpha) != n or not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ValueError(
                f"GaussianProcessRegressor: alpha must hold one variance of at least 0 per row, {n}; "
                f"got {len(alpha)} numbers, the least {alpha.min(initial=np.inf):g}."
            )
        return alpha, False, normalizes


class _Exact:
    """The marginal likelihood of the rows asked for: all of them or the first part."""

    def __init__(self, kernel: Kernel, X: np.ndarray, y: np.ndarray, alpha: Any):
        self.kernel, self.X, self.y, self.alpha = kernel, X, y, alpha
        self.coarse_rows = np.zeros(0, dtype=np.int64)
        self._likelihoods: dict[bool, MarginalLikelihood] = {}

    def evaluate(self, request: EvaluationRequest, *, gradient: bool) -> Evaluation:
        return self._likelihood(request.coarse).at(request.theta, gradient=gradient)

    def publish(self, model: GaussianProcessRegressor, request: EvaluationRequest, evaluation: Evaluation) -> None:
        likelihood = self._likelihood(request.coarse)
        model.kernel_ = self.kernel.clone_with_theta(request.theta)
        model.X_train_, model.y_train_, model.train_noise_ = likelihood.X, likelihood.y, likelihood.alpha
        model.L_, model.alpha_ = likelihood.keep(evaluation), evaluation.weights
        model.jitter_ = evaluation.jitter
        model.log_marginal_likelihood_value_ = evaluation.value
        given = 0.0 if np.ndim(self.alpha) else float(self.alpha)
        model.noise_ = (noise_variance(model.kernel_) + given) * np.square(model.y_std_)

    def describe(self, request: EvaluationRequest, evaluation: Evaluation) -> dict[str, float]:
        return {
            "log_marginal_likelihood": evaluation.value,
            "gradient_norm": float(np.linalg.norm(evaluation.gradient)),
            "jitter": evaluation.jitter,
            "rows": len(evaluation.weights),
        }

    def _likelihood(self, coarse: bool) -> MarginalLikelihood:
        if coarse not in self._likelihoods:
            self._likelihoods.clear()  # what was needed for the first rows is not needed any more
            rows = self.coarse_rows if coarse else slice(None)
            alpha = self.alpha if np.ndim(self.alpha) == 0 else self.alpha[rows]
            self._likelihoods[coarse] = MarginalLikelihood(self.kernel, self.X[rows], self.y[rows], alpha)
        return self._likelihoods[coarse]


def location_and_scale(owner: str, y: np.ndarray) -> tuple[Any, Any]:
    """Mean and standard deviation of every target, 1 for constant ones."""
    mean, spread = in_safe_units(lambda part: (part.mean(axis=0), part.std(axis=0)), y)
    scale = np.where(spread > 0, spread, 1.0)
    require_variance(owner, "y", scale)
    return (float(mean), float(scale)) if y.ndim == 1 else (mean, scale)
