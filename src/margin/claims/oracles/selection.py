"""Parts of errors and features of sweeps against their definitions written out."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import eval_legendre

from margin.claims.chance import average, plausible
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near
from margin.selection import RegressionProblem, bias_variance, diagnose
from margin.selection.double_descent import legendre_features
from margin.selection.loss_parts import squared_parts


@oracle("margin.selection.loss_parts.squared_parts")
def parts_of_squared_errors(seed: int) -> Verdict:
    """The parts add up to the mean squared error of new targets, and the bias is that of the mean but for chance."""
    rng = np.random.default_rng(seed)
    said, mean, noise = rng.normal(0.7, 1.4, size=(6, 4)), rng.normal(size=4), np.array([0.3, 0.5, 0.1, 0.9])
    parts = squared_parts(said, mean, noise)
    variance = [sum((v - column.mean()) ** 2 for v in column) / 5 for column in said.T]
    error = np.mean((said - mean) ** 2, axis=0)
    return every(
        variance=near(parts.variance, variance, tolerance=1e-12),
        noise=near(parts.noise, noise, tolerance=1e-12),
        bias=near(parts.bias, error - variance, tolerance=1e-12),
        total=near(parts.total, error + noise, tolerance=1e-12),
    )


@oracle("margin.selection.double_descent.legendre_features")
def orthonormal_polynomials(seed: int) -> Verdict:
    x = np.random.default_rng(seed).uniform(-1, 1, size=7)
    wanted = [eval_legendre(k, x) * np.sqrt(k + 0.5) * (1.0 + k) ** -1.3 for k in range(5)]
    return near(legendre_features(x, 5, decay=1.3), np.array(wanted).T, tolerance=1e-10)


class _Constant:
    """A model that says the mean of what it has seen."""

    def fit(self, _X: np.ndarray, y: np.ndarray) -> _Constant:
        self.said = float(y.mean())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.said)


def _uneven() -> RegressionProblem:
    """Rows on [0, 1], mean 2 x, and noise that grows with x."""
    return RegressionProblem(lambda rng, n: rng.random((n, 1)), lambda X: 2 * X[:, 0], lambda X: 0.3 + X[:, 0])


@oracle("margin.selection.RegressionProblem", "margin.selection.bias_variance")
def means_of_samples(seed: int) -> Verdict:
    """For the mean of n responses all parts are known: bias (2x - 1)^2, variance Var(y)/n, and the noise itself."""
    rng = np.random.default_rng(seed)
    problem, X = _uneven(), np.random.default_rng(seed).random((4000, 1))
    noise = (problem.targets(rng, X) - 2 * X[:, 0]) / (0.3 + X[:, 0])
    rows, targets = problem.sample(rng, 4000)
    found = bias_variance(_Constant, problem, n_rows=20, n_sets=300, n_test=400, random_state=seed)
    spread = 1 / 3 + 0.09 + 0.3 + 1 / 3  # of a response: that of its mean and the mean of its noise
    repeats = [
        bias_variance(_Constant, problem, n_rows=20, n_sets=40, n_test=60, random_state=seed + k) for k in range(30)
    ]
    # The risks of training sets on the same test rows differ as much as their standard error says.
    told = np.mean([repeat.risk_error for repeat in repeats])
    return every(
        noise=plausible(stats.kstest(noise, "norm").pvalue),
        variance=near(problem.noise_variance(X), (0.3 + X[:, 0]) ** 2, tolerance=1e-12),
        sample=average(targets - 2 * rows[:, 0], 0.0),
        bias=near(found.bias, 1 / 3, tolerance=0.12),
        spread=near(found.variance, spread / 20, tolerance=0.015),
        left=near(found.noise, 0.09 + 0.3 + 1 / 3, tolerance=0.15),
        total=near(found.total, found.bias + found.variance + found.noise, tolerance=1e-9),
        risk=near(found.risk, found.total, tolerance=8 * found.risk_error + 0.02),
        error=near(np.log(told / (0.23 / np.sqrt(40))), 0.0, tolerance=0.7),
    )


@oracle("margin.selection.diagnose")
def words_at_the_borders(seed: int) -> Verdict:
    """Just before and just beyond each border, in units of a baseline that is not 1."""
    unit = float(np.random.default_rng(seed).uniform(3, 8))
    cases = {
        "underfitting": [(0.34, 0.34), (0.34, 0.9)],
        "overfitting": [(0.32, 0.65), (0.1, 0.21), (0.001, 0.052)],
        "good fit": [(0.33, 0.33), (0.32, 0.63), (0.1, 0.19), (0.001, 0.05), (0.03, 0.07)],
    }
    said = [diagnose(a * unit, b * unit, unit) for pairs in cases.values() for a, b in pairs]
    return equal(said, [word for word, pairs in cases.items() for _ in pairs])
