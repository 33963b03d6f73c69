r"""Regression that also says how sure it is: mean and log-variance are polynomials of the features.

.. math::
    y \mid x \sim \mathcal N\bigl(\mu(x), \sigma^2(x)\bigr),\qquad \mu(x) = a^\top \phi(x),\quad
    \log \sigma^2(x) = c^\top \psi(x),\qquad
    \min_{a, c} \tfrac12 \sum_i w_i \Bigl(\log 2\pi\sigma_i^2 + \tfrac{(y_i - \mu_i)^2}{\sigma_i^2}\Bigr) .

The logarithm keeps the variance positive. Fisher scoring: weighted least squares for a, and for c a step of least
squares on :math:`r_i^2/\sigma_i^2 - 1`, both halved until the likelihood rises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Either, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Real, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import finite_values, in_safe_units, require_variance
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.linear.basis import check_terms, monomial_powers, monomials
from margin.linear.moments import varies
from margin.linear.stored import ITERATIONS, SCALING, exponents_are_possible

__all__ = ["GaussianPrediction", "HeteroscedasticRegression", "gaussian_nll"]

# The variance stays above this fraction of the variance of y: a perfect fit would make the likelihood infinite.
VARIANCE_FLOOR = 1e-6
# Relative to the mean diagonal of the information. Steps along columns that depend on others stay short; where the
# solution is unique the steps still end there, since a step is zero only where the gradient is.
RIDGE = 1e-7
HALVINGS = 40


def gaussian_nll(y: np.ndarray, mean: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    r"""Per row: :math:`\tfrac12(\log 2\pi + \log\sigma^2 + (y - \mu)^2 / \sigma^2)`.

    >>> float(gaussian_nll(np.zeros(1), np.zeros(1), np.zeros(1)).round(6)[0])
    0.918939
    """
    return 0.5 * (np.log(2 * np.pi) + log_variance + (y - mean) ** 2 * np.exp(-log_variance))


@dataclass(frozen=True, eq=False)
class GaussianPrediction:
    """A normal law for every row."""

    mean: np.ndarray
    variance: np.ndarray

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(self.variance)

    def logpdf(self, y: ArrayLike) -> np.ndarray:
        """Log-density of ``y`` (n,), row by row."""
        return -gaussian_nll(np.asarray(y, dtype=np.float64), self.mean, np.log(self.variance))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, rows) draws."""
        return self.mean + self.std * rng.standard_normal((n, len(self.mean)))

    def interval(self, z: float = 1.959963984540054) -> tuple[np.ndarray, np.ndarray]:
        """Mean plus and minus ``z`` standard deviations, 95 percent by default."""
        return self.mean - z * self.std, self.mean + z * self.std


class HeteroscedasticRegression(RegressorMixin, IterativeEstimator):
    r"""Normal regression with input-dependent noise, by maximum likelihood.

    Mean and log-variance are polynomials of the features. Records carry ``nll`` and ``gradient_norm``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 2, 2000)
    >>> model = HeteroscedasticRegression(degree=1).fit(x[:, None], 1 + x + np.exp(x - 1) * rng.standard_normal(2000))
    >>> mean, std = model.predict([[0.5], [1.5]], return_std=True)
    >>> mean.round(0), (std / np.exp([-0.5, 0.5])).round(1)
    (array([1., 3.]), array([1., 1.]))
    """

    degree: int = parameter(1, Integer(low=0, search=(1, 6)), "Degree of the mean.")
    variance_degree: int = parameter(
        1,
        Integer(low=0, search=(0, 3)),
        "Degree of the log-variance; 0 makes the noise constant, its variance the mean squared residual.",
    )
    _: KW_ONLY
    tol: float = parameter(
        1e-8, Number(low=0), "A fit ends when no entry of the mean gradient (in scaled terms) exceeds this."
    )
    max_iter: int = parameter(200, Integer(low=1), "Most iterations.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    mean_coef_: np.ndarray = attribute(
        ArrayOf(None), "Coefficients of the scaled terms of the mean, first the constant."
    )
    log_variance_coef_: np.ndarray = attribute(ArrayOf(None), "Coefficients of the scaled terms of the log-variance.")
    scaling_: dict[str, Any] = attribute(SCALING, "Centers and scales of the columns and of y.")
    nll_: float = attribute(Real(), "The mean negative log-likelihood of the training rows.")
    n_iter_: int = attribute(sometimes(ITERATIONS), "Iterations that were run.")

    _stored_rules = (exponents_are_possible,)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from all rows."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per step of scoring."""
        self._check_parameters()
        X, y = validate_data(self, X, numeric_target(self, y), dtype=np.float64, order="C", y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weights = np.ones(len(y))
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        check_terms("HeteroscedasticRegression", X.shape[1], max(self.degree, self.variance_degree))
        center, spread = _weighted_scale(X, weights)
        # What differs by rounding only is constant: divided by its deviation it would be noise of size 1, and where it
        # moves later, a number in its own unit. It stays zero.
        spread = np.where(varies(spread, center, 1.0), spread, np.inf)
        middle, size = _weighted_scale(y[:, None], weights)
        size = np.where(size > 0, size, 1.0)
        self.scaling_ = {
            "center": center,
            "spread": spread,
            "middle": float(middle[0]),
            "size": float(size[0]),
        }
        require_variance("HeteroscedasticRegression", "y", size)
        terms = self._terms(X)
        self._loop = loop = _Scoring(*terms, (y - middle[0]) / size[0], weights)
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while not (loop.stuck or loop.residual <= self.tol or loop.iteration >= self.max_iter):
            loop.step()
            self._learn(loop)
            values = {"nll": self.nll_, "gradient_norm": loop.residual}
            yield Record(loop.iteration, values, total=self.max_iter)
        if not loop.stuck and loop.residual > self.tol:
            warn_user(
                f"HeteroscedasticRegression: gradient {loop.residual:.2g} above tol={self.tol:g} after "
                f"max_iter={self.max_iter}.",
                ConvergenceWarning,
            )

    def predict(self, X: MatrixLike, return_std: bool = False) -> Any:
        """The mean of every row, and with ``return_std`` also its standard deviation."""
        law = self.predict_distribution(X)
        return (law.mean, law.std) if return_std else law.mean

    def predict_distribution(self, X: Any) -> GaussianPrediction:
        """The normal law of y at every row."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        phi, psi = self._terms(X)
        middle, size = self.scaling_["middle"], self.scaling_["size"]
        name = "HeteroscedasticRegression"
        mean = finite_values(name, "X", X, lambda: middle + size * (phi @ self.mean_coef_))
        variance = finite_values(name, "X", X, lambda: np.exp(_floor(psi @ self.log_variance_coef_)) * size**2)
        return GaussianPrediction(mean, variance)

    def _terms(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = (X - self.scaling_["center"]) / self.scaling_["spread"]
        return _with_ones(scaled, self.degree), _with_ones(scaled, self.variance_degree)

    def _learn(self, loop: _Scoring) -> None:
        self.mean_coef_, self.log_variance_coef_ = loop.a.copy(), loop.c.copy()
        self.nll_ = loop.nll + float(np.log(self.scaling_["size"]))
        self.n_iter_ = max(loop.iteration, 1)


class _Scoring:
    """Fisher scoring in the middle of its iterations; ``y`` is scaled to unit variance."""

    def __init__(self, phi: np.ndarray, psi: np.ndarray, y: np.ndarray, weights: np.ndarray):
        self.phi, self.psi, self.y, self.weight_fraction = phi, psi, y, weights / weights.sum()
        self.iteration, self.stuck = 0, False
        self.c = np.zeros(psi.shape[1])
        self.a = _weighted_solve(phi, self.weight_fraction, self.y)
        residual = self.weight_fraction @ (y - phi @ self.a) ** 2
        self.c[0] = np.log(max(float(residual), VARIANCE_FLOOR))
        self.nll = self._nll(self.a, self.c)

    def step(self) -> None:
        """Both parts move together, by half as often as the likelihood does not rise."""
        log_variance = _floor(self.psi @ self.c)
        precision = self.weight_fraction * np.exp(-log_variance)
        r = self.y - self.phi @ self.a
        da = _weighted_solve(self.phi, precision, r)
        dc = _weighted_solve(self.psi, self.weight_fraction, r**2 * np.exp(-log_variance) - 1.0)
        self.iteration += 1
        for halving in range(HALVINGS):
            fraction = 0.5**halving
            nll = self._nll(self.a + fraction * da, self.c + fraction * dc)
            if nll < self.nll:
                self.a, self.c, self.nll = self.a + fraction * da, self.c + fraction * dc, nll
                return
        self.stuck = True

    @property
    def residual(self) -> float:
        """The largest entry of the gradient of the mean negative log-likelihood."""
        log_variance = _floor(self.psi @ self.c)
        r = self.y - self.phi @ self.a
        of_a = self.phi.T @ (self.weight_fraction * r * np.exp(-log_variance))
        of_c = 0.5 * self.psi.T @ (self.weight_fraction * (1.0 - r**2 * np.exp(-log_variance)))
        return float(max(np.abs(of_a).max(), np.abs(of_c).max()))

    def state(self) -> dict[str, Any]:
        return {
            "a": self.a.copy(),
            "c": self.c.copy(),
            "nll": self.nll,
            "iteration": self.iteration,
            "stuck": self.stuck,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.a, self.c = np.array(state["a"]), np.array(state["c"])
        self.nll, self.iteration, self.stuck = float(state["nll"]), int(state["iteration"]), bool(state["stuck"])

    def _nll(self, a: np.ndarray, c: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(self.weight_fraction @ gaussian_nll(self.y, self.phi @ a, _floor(self.psi @ c)))


def _with_ones(X: np.ndarray, degree: int) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), monomials(X, monomial_powers(X.shape[1], degree))])


def _floor(log_variance: np.ndarray) -> np.ndarray:
    return np.maximum(log_variance, np.log(VARIANCE_FLOOR))


def _weighted_solve(A: np.ndarray, weights: np.ndarray, target: np.ndarray) -> np.ndarray:
    gram = (A * weights[:, None]).T @ A
    gram.flat[:: len(gram) + 1] += RIDGE * np.trace(gram) / len(gram)
    return np.linalg.solve(gram, A.T @ (weights * target))


def _weighted_scale(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    fraction = weights / weights.sum()

    def rule(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = fraction @ rows
        return mean, np.sqrt(fraction @ (rows - mean) ** 2)

    return in_safe_units(rule, X)
