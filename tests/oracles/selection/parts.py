"""Parts of errors and features of sweeps against their definitions written out."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import eval_legendre
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.claims.chance import average, plausible
from margin.selection import RegressionProblem, bias_variance, diagnose
from margin.selection.double_descent import legendre_features, random_relu_features, width_sweep
from margin.selection.loss_parts import cross_entropy_parts, geometric_mean, squared_parts
from margin.selection.ridge_tradeoff import ridge_tradeoff


@oracle("margin.selection.loss_parts.squared_parts")
def parts_of_squared_errors(seed: int) -> Verdict:
    """The parts add up to the mean squared error of new targets, and the bias is that of the mean but for chance."""
    rng = np.random.default_rng(seed)
    predictions, mean, noise = rng.normal(0.7, 1.4, size=(6, 4)), rng.normal(size=4), np.array([0.3, 0.5, 0.1, 0.9])
    parts = squared_parts(predictions, mean, noise)
    variance = [sum((v - column.mean()) ** 2 for v in column) / 5 for column in predictions.T]
    error = np.mean((predictions - mean) ** 2, axis=0)
    return every(
        variance=near(parts.variance, variance, tolerance=1e-12),
        noise=near(parts.noise, noise, tolerance=1e-12),
        bias=near(parts.bias, error - variance, tolerance=1e-12),
        total=near(parts.total, error + noise, tolerance=1e-12),
    )


@oracle("margin.selection.double_descent.legendre_features")
def orthonormal_polynomials(seed: int) -> Verdict:
    x = np.random.default_rng(seed).uniform(-1, 1, size=7)
    expected = [eval_legendre(k, x) * np.sqrt(k + 0.5) * (1.0 + k) ** -1.3 for k in range(5)]
    return near(legendre_features(x, 5, decay=1.3), np.array(expected).T, tolerance=1e-10)


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
    decomposition = bias_variance(_Constant, problem, n_rows=20, n_sets=300, n_test=400, random_state=seed)
    spread = 1 / 3 + 0.09 + 0.3 + 1 / 3  # of a response: that of its mean and the mean of its noise
    repeats = [
        bias_variance(_Constant, problem, n_rows=20, n_sets=40, n_test=60, random_state=seed + k) for k in range(30)
    ]
    # The risks of training sets on the same test rows differ as much as their standard error says.
    mean_error = np.mean([repeat.risk_error for repeat in repeats])
    return every(
        noise=plausible(stats.kstest(noise, "norm").pvalue),
        variance=near(problem.noise_variance(X), (0.3 + X[:, 0]) ** 2, tolerance=1e-12),
        sample=average(targets - 2 * rows[:, 0], 0.0),
        bias=near(decomposition.bias, 1 / 3, tolerance=0.12),
        spread=near(decomposition.variance, spread / 20, tolerance=0.015),
        left=near(decomposition.noise, 0.09 + 0.3 + 1 / 3, tolerance=0.15),
        total=near(
            decomposition.total, decomposition.bias + decomposition.variance + decomposition.noise, tolerance=1e-9
        ),
        risk=near(decomposition.risk, decomposition.total, tolerance=8 * decomposition.risk_error + 0.02),
        error=near(np.log(mean_error / (0.23 / np.sqrt(40))), 0.0, tolerance=0.7),
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
    diagnoses = [diagnose(a * unit, b * unit, unit) for pairs in cases.values() for a, b in pairs]
    return equal(diagnoses, [word for word, pairs in cases.items() for _ in pairs])


@oracle("margin.selection.loss_parts.cross_entropy_parts", "margin.selection.loss_parts.geometric_mean")
def parts_of_cross_entropy(seed: int) -> Verdict:
    """Entropies and divergences by SciPy, point by point; a probability of zero among the true ones costs nothing."""
    rng = np.random.default_rng(seed)
    predicted = rng.dirichlet([2.0, 1.0, 3.0], size=(6, 4))
    p = np.vstack([rng.dirichlet([1.0, 2.0, 2.0], size=3), [0.4, 0.6, 0.0]])
    center = np.array([stats.gmean(predicted[:, i]) / stats.gmean(predicted[:, i]).sum() for i in range(4)])
    parts, total = (
        cross_entropy_parts(predicted, p),
        [np.mean([-(p[i] @ np.log(q)) for q in predicted[:, i]]) for i in range(4)],
    )
    return every(
        center=near(geometric_mean(predicted), center, tolerance=1e-12),
        noise=near(parts.noise, stats.entropy(p, axis=1), tolerance=1e-12),
        bias=near(parts.bias, stats.entropy(p, center, axis=1), tolerance=1e-12),
        variance=near(parts.variance, [stats.entropy(center[i], predicted[:, i], axis=1).mean() for i in range(4)],
                      tolerance=1e-12),
        total=near(parts.total, total, tolerance=1e-12),
    )  # fmt: skip


@oracle("margin.selection.ridge_tradeoff.ridge_tradeoff")
def ridge_by_matrices(seed: int) -> Verdict:
    """Bias and variance of (X'X + a I)^-1 X'y from its mean and covariance as matrices, also with more columns."""
    rng = np.random.default_rng(seed)
    parts: dict[str, Verdict] = {}
    for n, p in ((7, 3), (3, 5)):
        X, beta, alphas = rng.normal(size=(n, p)), rng.normal(size=p), np.array([0.3, 2.5])
        tradeoff = ridge_tradeoff(X, beta, 0.7, alphas)
        for k, alpha in enumerate(alphas):
            H = np.linalg.solve(X.T @ X + alpha * np.eye(p), X.T)
            parts[f"bias_{n}_{k}"] = near(tradeoff.bias[k], np.sum((H @ X @ beta - beta) ** 2), tolerance=1e-9)
            parts[f"variance_{n}_{k}"] = near(tradeoff.variance[k], 0.49 * np.trace(H @ H.T), tolerance=1e-9)
        parts[f"error_{n}"] = near(tradeoff.mse, tradeoff.bias + tradeoff.variance, tolerance=1e-12)
    return every(**parts)


@oracle(*(f"margin.selection.double_descent.{name}" for name in ("width_sweep", "WidthSweep.threshold",
                                                                  "random_relu_features")))  # fmt: skip
def widths_one_by_one(seed: int) -> Verdict:
    """Solutions by the pseudo-inverse, or with a penalty by the normal equations, with errors on both sets of rows."""
    rng = np.random.default_rng(seed)
    X, X_test, widths = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), [2, 4, 6, 9]
    features, tested = random_relu_features(np.random.default_rng(seed), X, X_test, 9)
    W = np.random.default_rng(seed).standard_normal((3, 9))
    W = W / np.sqrt((W**2).sum(axis=0))
    wide = rng.normal(size=(6, 9))
    # A threshold is relative to the targets: with large ones rounding is larger, with small ones so is what is left.
    large, small = rng.normal(size=6) * 1e6, rng.normal(size=6) * 1e-9
    parts: dict[str, Verdict] = {
        "features": near(features, np.clip(X @ W, 0, None), tolerance=1e-12),
        "tested": near(tested, np.clip(X_test @ W, 0, None), tolerance=1e-12),
        "threshold_large": equal(width_sweep(wide, large, wide, large, widths).threshold, 6),
        "threshold_small": equal(width_sweep(wide, small, wide, small, widths).threshold, 6),
        "no_threshold": equal(width_sweep(wide, small, wide, small, [2, 4]).threshold, None),
    }
    Phi, Phi_test, Y, Y_test = (rng.normal(size=size) for size in ((6, 9), (5, 9), (6, 2), (5, 2)))
    for alpha in (0.0, 0.4):
        sweep = width_sweep(Phi, Y, Phi_test, Y_test, widths, alpha)
        for k, p in enumerate(widths):
            A = Phi[:, :p]
            theta = np.linalg.pinv(A) @ Y if alpha == 0 else ridge_solution(A, Y, alpha)
            errors = [np.mean((A @ theta - Y) ** 2), np.mean((Phi_test[:, :p] @ theta - Y_test) ** 2)]
            parts[f"errors_{alpha}_{p}"] = near([sweep.train[k], sweep.test[k]], errors, tolerance=1e-7)
            parts[f"norm_{alpha}_{p}"] = near(sweep.norm[k], np.sqrt((theta**2).sum()), tolerance=1e-7)
    return every(**parts)


def ridge_solution(A: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    return np.linalg.solve(A.T @ A + alpha * np.eye(A.shape[1]), A.T @ Y)
