r"""Kernel density: a bump on every training row.

.. math:: \hat p(x) = \frac{1}{n h^d} \sum_i K\Bigl(\frac{\lVert x - x_i \rVert}{h}\Bigr)
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Integer, Number
from margin.core.estimator import Estimator
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator

__all__ = ["KERNELS", "KernelDensity", "kernel_radii", "log_kernel", "log_kernel_volume"]

BLOCK = 2**17  # distances that are held at a time: a megabyte, which stays in the second-level cache


KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def log_kernel(name: str, squared: np.ndarray) -> np.ndarray:
    """Logarithm of the kernel, 1 at distance 0, from squared distances in bandwidths."""
    if name == "gaussian":
        return -0.5 * squared
    if name == "exponential":
        return -np.sqrt(squared)
    inside = {
        "tophat": lambda: np.ones_like(squared),
        "epanechnikov": lambda: 1.0 - squared,
        "linear": lambda: 1.0 - np.sqrt(squared),
        "cosine": lambda: np.cos(0.5 * np.pi * np.sqrt(squared)),
    }[name]()
    with np.errstate(divide="ignore"):
        return np.log(np.where(squared < 1.0, np.maximum(inside, 0.0), 0.0))


def log_kernel_volume(name: str, d: int) -> float:
    r"""Logarithm of the integral of the kernel over d dimensions, :math:`d V_d \int_0^\infty r^{d-1} K(r) dr`."""
    if name == "gaussian":
        return 0.5 * d * float(np.log(2 * np.pi))
    ball = 0.5 * d * float(np.log(np.pi)) - float(gammaln(0.5 * d + 1))
    if name == "exponential":
        return ball + float(gammaln(d + 1))
    if name == "cosine":
        return ball + float(np.log(d * quad(lambda r: r ** (d - 1) * np.cos(0.5 * np.pi * r), 0, 1)[0]))
    return ball + {"tophat": 0.0, "epanechnikov": float(np.log(2 / (d + 2))), "linear": -float(np.log(d + 1))}[name]


def kernel_radii(name: str, d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    r"""``n`` distances in bandwidths with density proportional to :math:`r^{d-1} K(r)`."""
    if name == "gaussian":
        return np.sqrt(rng.chisquare(d, size=n))
    if name == "exponential":
        return rng.gamma(d, size=n)
    if name == "linear":
        return rng.beta(d, 2.0, size=n)
    if name in ("tophat", "epanechnikov"):
        return np.sqrt(rng.beta(0.5 * d, 1.0 if name == "tophat" else 2.0, size=n))
    found = np.empty(0)
    while len(found) < n:  # cos(pi r / 2) is never above 1 - r^2, and never below pi / 4 of it
        radii = kernel_radii("epanechnikov", d, 2 * n, rng)
        height = np.cos(0.5 * np.pi * radii) / np.maximum(1.0 - radii**2, np.finfo(float).tiny)
        found = np.append(found, radii[rng.random(2 * n) < height])
    return found[:n]


class KernelDensity(DensityMixin, Estimator):
    r"""Density estimate with one kernel per training row.

    Examples
    --------
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    >>> np.exp(model.score_samples([[0.5]])).round(4)
    array([0.4839])
    """

    _: KW_ONLY
    bandwidth: float | str = parameter(
        1.0,
        Either(Number(above=0, search=(1e-2, 10.0), log=True), Choice("scott", "silverman")),
        "Width of the kernel, or the rule that finds it: n^(-1/(d+4)), with Silverman's factor (4/(d+2))^(1/(d+4)).",
    )
    kernel: str = parameter(
        "gaussian",
        Choice(*KERNELS),
        "Shape of the bump; all but 'gaussian' and 'exponential' end at one bandwidth.",
    )

    bandwidth_: float = attribute("The width that is used.")
    rows_: np.ndarray = attribute("The training rows.")
    weights_: np.ndarray = attribute("Weights of the training rows, which sum to 1.")

    log_density_kind = "exact"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelDensity:
        """Keep the rows; ``y`` is ignored."""
        from sklearn.utils.validation import _check_sample_weight

        self._check_parameters()
        self.rows_ = validate_data(self, X, dtype=np.float64, copy=True)
        weights = _check_sample_weight(sample_weight, self.rows_, dtype=np.float64, ensure_non_negative=True)
        if weights.sum() <= 0:
            raise ValueError("KernelDensity: sample_weight must have a positive sum.")
        self.weights_ = weights / weights.sum()
        n, d = self.rows_.shape
        rules = {"scott": n ** (-1 / (d + 4)), "silverman": (n * (d + 2) / 4) ** (-1 / (d + 4))}
        self.bandwidth_ = rules[self.bandwidth] if isinstance(self.bandwidth, str) else float(self.bandwidth)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """The exact log-density of every row, in nats; minus infinity beyond every kernel."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        n, d = self.rows_.shape
        constant = log_kernel_volume(self.kernel, d) + d * float(np.log(self.bandwidth_))
        center = self.rows_.mean(axis=0)  # distances by products lose digits far from the origin
        rows, queries = (self.rows_ - center) / self.bandwidth_, (X - center) / self.bandwidth_
        norms, turned = (rows**2).sum(axis=1), -2.0 * rows.T
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights_)
        result = np.empty(len(X))
        step = max(BLOCK // n, 1)
        for begin in range(0, len(X), step):
            block = queries[begin : begin + step]
            squared = block @ turned
            squared += norms
            squared += (block**2).sum(axis=1)[:, None]
            logs = log_kernel(self.kernel, np.maximum(squared, 0.0, out=squared))
            logs += log_weights
            result[begin : begin + step] = _log_of_sums(logs)
        return result - constant

    def score(self, X: Any, y: Any = None) -> float:
        """The total log-density of the rows, as scikit-learn has it."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: RandomLike = None) -> np.ndarray:
        """``n_samples`` new rows: a training row and a step from it."""
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"KernelDensity.sample: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        centers = self.rows_[rng.choice(len(self.rows_), size=n_samples, p=self.weights_)]
        steps = rng.standard_normal(centers.shape)
        if self.kernel != "gaussian":
            radii = kernel_radii(self.kernel, centers.shape[1], n_samples, rng)
            steps *= (radii / np.linalg.norm(steps, axis=1))[:, None]
        return centers + self.bandwidth_ * steps


def _log_of_sums(logs: np.ndarray) -> np.ndarray:
    """Logarithm of the sum of exponentials along every row; ``logs`` is overwritten."""
    largest = logs.max(axis=1)
    largest[np.isneginf(largest)] = 0.0  # nothing to add: the logarithm of zero
    logs -= largest[:, None]
    with np.errstate(divide="ignore"):
        return largest + np.log(np.exp(logs, out=logs).sum(axis=1))
