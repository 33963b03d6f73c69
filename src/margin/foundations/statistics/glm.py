r"""Generalized linear models: an exponential family whose mean is a function of :math:`X\beta`.

A natural exponential family has density :math:`h(y)\exp(y\eta - A(\eta))`; its mean is :math:`A'(\eta)` and its
variance :math:`A''(\eta)`. With a link :math:`g(\mu) = X\beta` the likelihood is maximized by Fisher scoring,
each step a least-squares problem with weights :math:`w = (d\mu/d\eta)^2 / V(\mu)`:

.. math:: \beta \leftarrow \arg\min_b \sum_i w_i \Big(\eta_i + \frac{y_i - \mu_i}{d\mu_i/d\eta_i} - x_i^\top b\Big)^2 .

The inverse Fisher information :math:`(X^\top W X)^{-1}` is the covariance behind the Wald tests.

Textbook form of scoring for any family; :class:`~margin.linear.LogisticRegression` has solvers of its own for large
tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from margin.foundations.statistics.arguments import Floats, integer, matrix
from margin.foundations.statistics.glm_families import GLM_FAMILIES, LINKS, GLMFamily, Link
from margin.foundations.statistics.regression_inference import (
    CoefficientTable,
    coefficient_table,
    design_and_target,
    full_rank_qr,
)

__all__ = ["GLMFit", "fit_glm"]

MAX_HALVINGS = 30  # 2^-30 of a scoring step: if even that is no better, the likelihood is at its maximum
ROUNDING = 1e-14  # relative error of a summed log-likelihood; steps within it are still worth taking
SMALL_STEP = 1e-12  # scoring converges quadratically: after such a step the coefficients are at their last digits
NO_MAXIMUM = "fit_glm: the likelihood has no finite maximum (separable classes, or a mean at its limit)"

Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False)
class GLMFit:
    """Coefficients, their covariance, and where the scoring ended."""

    coefficients: Floats
    covariance: Floats
    log_likelihood: float
    dispersion: float
    n_iter: int
    link: Link
    df: int | None

    def predict(self, X: ArrayLike) -> Floats:
        """The mean for each row of a design with the same columns."""
        return self.link.inverse(matrix("GLMFit.predict", "X", X) @ self.coefficients)

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Wald tests of the coefficients: t for the Gaussian family, z for the others."""
        return coefficient_table(self.coefficients, self.covariance, self.df, level)


def fit_glm(
    X: ArrayLike, y: ArrayLike, family: str = "gaussian", link: str | None = None, max_iter: int = 100
) -> GLMFit:
    """Maximum likelihood for ``y`` given the design ``X``; the canonical link unless another is named.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Design matrix; an intercept is a column of ones.
    y : array-like of shape (n,)
        Responses.
    family : str
        Distribution of the response.
    link : str, optional
        From the mean to the linear predictor.
    max_iter : int
        Most iterations.

    Examples
    --------
    >>> fit = fit_glm(np.ones((4, 1)), [0, 1, 2, 5], "poisson")
    >>> round(float(np.exp(fit.coefficients[0])), 10)
    2.0
    """
    law = _entry("family", family, GLM_FAMILIES)
    g = _entry("link", law.canonical if link is None else link, LINKS)
    design, target = design_and_target("fit_glm", X, y)
    n, p = design.shape
    if n <= p:
        raise ValueError(f"fit_glm: X needs more rows than columns; got shape {design.shape}.")
    if not law.allowed(target):
        raise ValueError(f"fit_glm: y must be {law.support} for the {family} family; got mean {target.mean():g}.")
    with np.errstate(invalid="ignore"):
        eta = g.link(law.start(target))
    if not np.isfinite(eta).all():
        raise ValueError(f"fit_glm: y must be inside the range of the {link} link; got {target.min():g}.")
    start, _ = _scoring_step(design, target, eta, law, g)
    beta, R, n_iter = _maximize(design, target, start, law, g, integer("fit_glm", "max_iter", max_iter, low=1))
    mu = g.inverse(design @ beta)
    dispersion = float(np.sum((target - mu) ** 2) / (n - p)) if law.free_dispersion else 1.0
    root = solve_triangular(R, np.eye(p))
    df = n - p if law.free_dispersion else None
    return GLMFit(beta, dispersion * root @ root.T, law.log_likelihood(target, mu), dispersion, n_iter, g, df)


def _maximize(
    design: Floats, target: Floats, beta: Floats, law: GLMFamily, g: Link, max_iter: int
) -> tuple[Floats, Floats, int]:
    """Scoring steps, halved while they lower the likelihood, until the step is nothing or no longer helps."""
    value, stalled = law.log_likelihood(target, g.inverse(design @ beta)), 0
    for iteration in range(1, max_iter + 1):
        proposal, R = _scoring_step(design, target, design @ beta, law, g)
        step = proposal - beta
        for halving in range(MAX_HALVINGS):
            candidate = beta + step / 2**halving
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                reached = law.log_likelihood(target, g.inverse(design @ candidate))
            if reached >= value - ROUNDING * abs(value):  # false for NaN: a mean outside the family
                break
        else:
            return beta, R, iteration
        stalled = 0 if reached > value else stalled + 1
        moved = np.abs(candidate - beta).max()
        beta, value = candidate, reached
        if moved <= SMALL_STEP * (1 + np.abs(beta).max()) or stalled == 2:
            return beta, R, iteration
    raise ValueError(f"{NO_MAXIMUM}; got no end after max_iter={max_iter} steps.")


def _scoring_step(design: Floats, target: Floats, eta: Floats, law: GLMFamily, g: Link) -> tuple[Floats, Floats]:
    """The next coefficients and the triangular factor R with :math:`R^T R = X^T W X`."""
    mu, slope = g.inverse(eta), g.slope(eta)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = slope / np.sqrt(law.variance(mu))
        working = weight * eta + weight * (target - mu) / slope
    if not (np.isfinite(weight).all() and np.isfinite(working).all()):
        raise ValueError(f"{NO_MAXIMUM}; got fitted means at the edge of the family.")
    complaint = "fit_glm: the columns of X are linearly dependent, or their weights have vanished"
    Q, R = full_rank_qr(complaint, weight[:, None] * design)
    return solve_triangular(R, Q.T @ working), R


def _entry(name: str, key: str, table: dict[str, Entry]) -> Entry:
    if key not in table:
        raise ValueError(f"fit_glm: {name} must be one of {', '.join(table)}; got {key!r}.")
    return table[key]
