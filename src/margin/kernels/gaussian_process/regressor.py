r"""Gaussian-process regression with learned hyperparameters.

.. math::
    f\sim GP(0,k_\theta),\quad y = f(x)+\varepsilon,\qquad \hat\theta = \arg\max_\theta \log p(y\mid X,\theta) .
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.randomness import as_generator
from margin.core.records import Record
from margin.kernels.gaussian_process.hyperparameter_search import EvaluationRequest, HyperparameterSearch
from margin.kernels.gaussian_process.initial_kernel import KERNEL_DOMAIN, initial_kernel, with_noise_term
from margin.kernels.gaussian_process.likelihood import Evaluation, MarginalLikelihood
from margin.kernels.gaussian_process.posterior import (
    draw_normal,
    posterior_covariance,
    posterior_mean,
    posterior_variance,
)
from margin.kernels.gaussian_process.radial import noise_variance, signal_of
from margin.kernels.kernel import Kernel

__all__ = ["GaussianProcessRegressor", "location_and_scale"]


class GaussianProcessRegressor(RegressorMixin, IterativeEstimator):
    r"""A distribution over functions, conditioned on the rows; the kernel is learned by marginal likelihood.

    ``kernel`` is a kernel object or "rbf", "matern", "laplace", "linear"; ``ard`` gives every column a length scale of
    its own. ``alpha`` is the variance of the noise in units of the (normalized) targets, a number or one per row, or
    "learn": then white noise is a term of the kernel. ``optimizer`` None keeps the kernel as it is. ``n_restarts``
    further searches begin at random; with ``warm_up`` (a number of rows, "auto" for a quarter of 1600 rows or more,
    None for none) searches first run on a part of the rows. A search ends when the likelihood can rise by no more than
    ``tol`` nats or after ``max_iter`` evaluations. ``normalize_y`` centers and scales the targets.

    Cost: :math:`n^3` per evaluation, :math:`8n^2` bytes times three. Records carry ``log_marginal_likelihood``,
    ``gradient_norm``, ``jitter``, ``rows`` and ``run`` of every evaluation; the model is that of the best so far.

    Learned: ``kernel_`` (white noise included), ``noise_`` (variance in units of y), ``L_``, ``weights_``,
    ``X_train_``, ``y_train_``, ``y_mean_``, ``y_std_``, ``jitter_`` (added to the diagonal relative to its mean, 0 if
    none was needed), ``log_marginal_likelihood_value_``, ``n_iter_`` (evaluations).

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> model = GaussianProcessRegressor(alpha=1e-4).fit(x, np.sin(x[:, 0]))
    >>> mean, std = model.predict([[1.5], [20.0]], return_std=True)
    >>> mean.round(2).tolist()[0], bool(std[0] < 0.02 < 0.3 < std[1])
    (1.0, True)
    """

    domains = {
        "kernel": KERNEL_DOMAIN,
        "alpha": Either(Choice("learn"), Number(low=0), Array(ndim=1)),
        "ard": Flag(),
        "optimizer": Optional(Choice("bfgs")),
        "n_restarts": Integer(low=0),
        "warm_up": Optional(Either(Choice("auto"), Integer(low=1))),
        "normalize_y": Flag(),
        "max_iter": Integer(low=1),
        "tol": Number(low=0),
        "random_state": Seed(),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        alpha: Any = "learn",
        ard: bool = False,
        optimizer: str | None = "bfgs",
        n_restarts: int = 0,
        warm_up: Any = "auto",
        normalize_y: bool = True,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.ard = ard
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.warm_up = warm_up
        self.normalize_y = normalize_y
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per evaluation of the marginal likelihood."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        alpha = self._alpha(len(X))
        kernel = initial_kernel("GaussianProcessRegressor", self.kernel, X, self.ard)
        kernel = with_noise_term(kernel) if isinstance(self.alpha, str) else kernel
        self.y_mean_, self.y_std_ = location_and_scale(y) if self.normalize_y else (0.0, 1.0)
        problem = _Exact(kernel, X, (y - self.y_mean_) / self.y_std_, alpha)
        self._loop = loop = HyperparameterSearch(self, kernel, len(X), problem, self.warm_up, state)
        yield from loop.records(self)
        if sentence := loop.warning(self):
            warn_user(sentence, ConvergenceWarning)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, with_noise: bool = False) -> Any:
        """The mean of f at every row; with its standard deviation or covariance if asked (of f + noise
        if ``with_noise``)."""
        if return_std and return_cov:
            raise ValueError("GaussianProcessRegressor: predict gives return_std or return_cov; got both as True.")
        check_is_fitted(self)
        at = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        kernel = self._signal()
        mean = self.y_mean_ + self.y_std_ * posterior_mean(kernel, self.X_train_, at, self.weights_)
        if not (return_std or return_cov):
            return mean
        noise = self.noise_ if with_noise else 0.0
        if return_std:
            variance = self.y_std_**2 * posterior_variance(kernel, self.X_train_, at, self.L_)
            return mean, np.sqrt(variance + noise)
        covariance = self.y_std_**2 * posterior_covariance(kernel, self.X_train_, at, self.L_)
        return mean, covariance + noise * np.eye(len(at))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, with_noise: bool = False) -> np.ndarray:
        """Functions at the rows of X, (rows, n_samples): from the posterior, or from the prior before any fit."""
        rng = as_generator(random_state)
        if hasattr(self, "weights_"):
            mean, covariance = self.predict(X, return_cov=True, with_noise=with_noise)
            return draw_normal(mean, covariance, n_samples, rng)
        self._check_parameters()
        at = np.atleast_2d(np.asarray(X, dtype=np.float64))
        kernel = initial_kernel("GaussianProcessRegressor", self.kernel, at, self.ard)
        covariance = (kernel if with_noise else signal_of(kernel) or kernel)(at)
        return draw_normal(np.zeros(len(at)), covariance, n_samples, rng)

    def log_density(self, X: Any, y: Any) -> np.ndarray:
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
        likelihood = MarginalLikelihood(self.kernel_, self.X_train_, self.y_train_, self.alpha_train_)
        found = likelihood.at(theta, gradient=eval_gradient)
        return (found.value, found.gradient) if eval_gradient else found.value

    def _signal(self) -> Kernel:
        return signal_of(self.kernel_) or self.kernel_

    def _alpha(self, n: int) -> Any:
        if isinstance(self.alpha, str):
            return 0.0
        if np.ndim(self.alpha) == 0:
            return float(self.alpha)
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if len(alpha) != n or not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ValueError(
                f"GaussianProcessRegressor: alpha must hold one variance of at least 0 per row, {n}; "
                f"got {len(alpha)} numbers, the least {alpha.min(initial=np.inf):g}."
            )
        return alpha


class _Exact:
    """The marginal likelihood of the rows asked for: all of them or the first part."""

    def __init__(self, kernel: Kernel, X: np.ndarray, y: np.ndarray, alpha: Any):
        self.kernel, self.X, self.y, self.alpha = kernel, X, y, alpha
        self.coarse_rows = np.zeros(0, dtype=np.int64)
        self._likelihoods: dict[bool, MarginalLikelihood] = {}

    def evaluate(self, question: EvaluationRequest, *, gradient: bool) -> Evaluation:
        return self._likelihood(question.coarse).at(question.theta, gradient=gradient)

    def publish(self, model: GaussianProcessRegressor, question: EvaluationRequest, found: Evaluation) -> None:
        likelihood = self._likelihood(question.coarse)
        model.kernel_ = self.kernel.clone_with_theta(question.theta)
        model.X_train_, model.y_train_, model.alpha_train_ = likelihood.X, likelihood.y, likelihood.alpha
        model.L_, model.weights_ = likelihood.keep(found), found.weights
        model.jitter_ = found.jitter
        model.log_marginal_likelihood_value_ = found.value
        given = 0.0 if np.ndim(self.alpha) else float(self.alpha)
        model.noise_ = (noise_variance(model.kernel_) + given) * model.y_std_**2

    def describe(self, question: EvaluationRequest, found: Evaluation) -> dict[str, float]:
        return {
            "log_marginal_likelihood": found.value,
            "gradient_norm": float(np.linalg.norm(found.gradient)),
            "jitter": found.jitter,
            "rows": len(found.weights),
        }

    def _likelihood(self, coarse: bool) -> MarginalLikelihood:
        if coarse not in self._likelihoods:
            self._likelihoods.clear()  # what was needed for the first rows is not needed any more
            rows = self.coarse_rows if coarse else slice(None)
            alpha = self.alpha if np.ndim(self.alpha) == 0 else self.alpha[rows]
            self._likelihoods[coarse] = MarginalLikelihood(self.kernel, self.X[rows], self.y[rows], alpha)
        return self._likelihoods[coarse]


def location_and_scale(y: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation, 1 for constant targets."""
    spread = float(y.std())
    return float(y.mean()), spread if spread > 0 else 1.0
