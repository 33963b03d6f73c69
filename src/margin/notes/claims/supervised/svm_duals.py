"""Claims about the dual of a support vector machine: its solution, the gap, and what the primal can do without it."""

from __future__ import annotations

import numpy as np
from sklearn import svm as peer

from margin.core.verdict import Verdict, above, below, corrected, every, near, within
from margin.kernels import RBF, SVC, HardMarginSVC, Kernel, LinearKernel, LinearSVC, WhiteKernel
from margin.kernels.dual import DualProblem, duality_gap, objectives
from margin.kernels.kernel_columns import columns_of
from margin.notes.claims import claim
from margin.notes.claims.supervised.two_clouds import overlapping, separable
from margin.optimize.interior_point import hard_margin_primal


def _dual(kernel: Kernel, X: np.ndarray, y: np.ndarray, C: float) -> DualProblem:
    """The dual of a soft-margin machine, not solved yet: all multipliers are zero."""
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    return DualProblem(columns_of(kernel, X), y.astype(np.float64), low, high, 0.0, 1e-9)


def _solve(problem: DualProblem) -> DualProblem:
    while not problem.solved:
        problem.step()
    return problem


def _both_objectives(problem: DualProblem, K: np.ndarray, y: np.ndarray, C: float) -> tuple[float, float]:
    """Primal and dual objective written out; the primal takes the best offset, found by trying every kink."""
    values, quadratic = K @ problem.beta, 0.5 * problem.beta @ K @ problem.beta
    slack = min(float(np.maximum(0, 1 - y * (values + b)).sum()) for b in y - values)
    return float(quadratic + C * slack), float(np.abs(problem.beta).sum() - quadratic)


def _dual_of_a_soft_margin(seed: int) -> dict[str, Verdict]:
    """The box, the balance and the gap with the primal, and scikit-learn's multipliers, for a curved kernel."""
    X, y = overlapping(seed, 80)
    kernel, C = RBF(0.8), 1.7
    problem = _solve(_dual(kernel, X, y, C))
    K = kernel(X, X)
    theirs = peer.SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[theirs.support_] = theirs.dual_coef_[0]
    primal, dual = _both_objectives(problem, K, y, C)
    return {
        "box": within(float((y * problem.beta).min()), 0.0, C),
        "box_above": within(float((y * problem.beta).max()), 0.0, C),
        "classes_balance": near(problem.beta.sum(), 0.0, tolerance=1e-9),
        "multipliers_of_scikit_learn": near(problem.beta, alpha, tolerance=1e-4),
        "dual_objective": near(problem.objective, dual, tolerance=1e-8),
        "primal_objective": near(objectives(problem)[0], primal, tolerance=1e-6),
        "no_gap": near(duality_gap(problem), 0.0, tolerance=1e-6),
    }


@claim("svm-dual")
def dual_gives_the_primal_plane(seed: int) -> Verdict:
    X, y = separable(seed)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    lam, chosen = np.abs(model.dual_coef_[0]), model.support_
    w, primal = lam * y[chosen] @ X[chosen], hard_margin_primal(X, y)[0]
    truth = every(
        multipliers=above(lam.min(), 0.0),
        balance=near(float(lam @ y[chosen]), 0.0, tolerance=1e-9),
        w_is_the_weighted_sum=near(w, primal, tolerance=1e-4),
        half_the_norm=near(model.objective_[0], 0.5 * primal @ primal, tolerance=1e-4),
        **_dual_of_a_soft_margin(seed),
    )
    printed = {
        "gradient_without_multipliers": near(w, y[chosen] @ X[chosen], tolerance=1e-2),
        "dual_is_the_whole_norm": near(model.objective_[0], primal @ primal, tolerance=1e-2),
    }
    return corrected(truth, **printed)


@claim("claim-strong-duality-svm")
def no_gap_here_but_not_everywhere(seed: int) -> Verdict:
    X, y = separable(seed)
    hard, soft = HardMarginSVC(tol=1e-9).fit(X, y), SVC(kernel="linear", C=10.0, tol=1e-8).fit(X, y)
    records = list(SVC(kernel="linear", C=0.1).iterate(*overlapping(seed)))
    X, y = overlapping(seed, 60)
    started = _dual(LinearKernel(), X, y, 0.7)
    before, nothing = duality_gap(started), float(np.sum(started.beta**2))
    solved = _solve(started)
    K = X @ X.T
    primal, dual = _both_objectives(solved, K, y, 0.7)
    truth = every(
        # All multipliers zero: the dual is 0, and the primal pays 0.7 for every sample, whose slack is 1.
        gap_at_the_start=near([before, nothing], [0.7 * 60, 0.0], tolerance=1e-9),
        gap_at_the_end=near(duality_gap(solved), primal - dual, tolerance=1e-6),
        no_gap_at_the_end=near(primal, dual, tolerance=1e-6),
        separable=near(hard.objective_[0], 0.5 * float(np.sum(hard.coef_**2)), tolerance=1e-6),
        soft=below(abs(soft.gap_[0]), 1e-4),
        never_negative=above(min(record["gap"] for record in records), -1e-9),
    )
    # min -x^2 on [0, 2] subject to x <= 1 is -1; its dual stays at -2: without convexity there is a gap.
    x, multipliers = np.linspace(0, 2, 201), np.linspace(0, 4, 401)
    dual = max(np.min(-(x**2) + m * (x - 1)) for m in multipliers)
    return corrected(truth, printed=near(dual, np.min(-(x[x <= 1] ** 2)), tolerance=1e-2))


@claim("claim-why-solve-svm-dual")
def kernels_work_in_the_primal_too(seed: int) -> Verdict:
    X, y = overlapping(seed, 60)
    K, C = RBF(1.0)(X), 1.0
    # The primal over w = sum beta_i phi(x_i): with K = L L' the penalty is |L' beta|^2 and the values are L (L' beta).
    spectrum, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(spectrum, 0))
    values = LinearSVC(C=C, tol=1e-12).fit(L, y).decision_function(L)
    # Squared slack in the dual is a ridge 1/2C on the kernel matrix and no upper bound.
    dual = SVC(kernel=RBF(1.0) + WhiteKernel(1 / (2 * C)), C=1e8, tol=1e-9).fit(X, y)
    coef = np.zeros(60)
    coef[dual.support_] = dual.dual_coef_[0]
    gap = np.abs(K @ coef + dual.intercept_[0] - values).max()
    return corrected(below(gap, 1e-5), printed=above(gap, 1e-2))
