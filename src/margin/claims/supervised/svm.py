"""Claims about separating planes and support vector machines: margins, support vectors, duals, risk."""

from __future__ import annotations

import numpy as np
from sklearn import svm as peer

from margin import atlas
from margin.claims import claim
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.data import load
from margin.foundations.linalg.hyperplanes import project_to_hyperplane, signed_distance
from margin.foundations.probability.feature_maps import radial_features
from margin.kernels import RBF, SVC, HardMarginSVC, Kernel, LinearKernel, LinearSVC, WhiteKernel
from margin.kernels.dual import DualProblem, duality_gap, objectives
from margin.kernels.geometry import (
    distance_from_origin,
    margin_width,
    parallel_distance,
    radius_margin_bound,
    side_of_plane,
)
from margin.kernels.hinge import hinge_objective
from margin.kernels.kernel_columns import columns_of
from margin.optimize import damped_newton, follow, minimize
from margin.optimize.interior_point import hard_margin_primal

W, B = np.array([3.0, 4.0]), -5.0


def _separable(seed: int, n: int = 40, gap: float = 4.0, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of spread 1/2 whose centers are ``gap`` apart, labels -1 and 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return 0.5 * rng.normal(size=(n, d)) + gap * y[:, None] / (2 * np.sqrt(d)), y


def _overlapping(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return rng.normal(size=(n, 2)) + y[:, None], y


def _street(X: np.ndarray, y: np.ndarray, price: float) -> tuple[float, float]:
    """Margin and sum of slacks of the machine that minimizes |w|^2 + price * sum xi."""
    model = LinearSVC(C=price / 2, loss="hinge", tol=1e-9).fit(X, y)  # halved
    return float(1 / np.linalg.norm(model.coef_)), float(np.maximum(0, 1 - y * model.decision_function(X)).sum())


def _dual(kernel: Kernel, X: np.ndarray, y: np.ndarray, C: float) -> DualProblem:
    """The dual of a soft-margin machine, not solved yet: all multipliers are zero."""
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    return DualProblem(columns_of(kernel, X), y.astype(np.float64), low, high, 0.0, 1e-9)


def _solved(problem: DualProblem) -> DualProblem:
    while not problem.solved:
        problem.step()
    return problem


def _both_objectives(problem: DualProblem, K: np.ndarray, y: np.ndarray, C: float) -> tuple[float, float]:
    """Primal and dual objective written out; the primal takes the best offset, found by trying every kink."""
    values, quadratic = K @ problem.beta, 0.5 * problem.beta @ K @ problem.beta
    slack = min(float(np.maximum(0, 1 - y * (values + b)).sum()) for b in y - values)
    return float(quadratic + C * slack), float(np.abs(problem.beta).sum() - quadratic)


def _plane(model: SVC | HardMarginSVC) -> np.ndarray:
    """(w, b) of a linear machine."""
    return np.append(model.dual_coef_ @ model.support_vectors_, model.intercept_)


@claim("hyperplane")
def plane_is_affine_of_one_dimension_less(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(50, 2))
    on_plane = project_to_hyperplane(X, W, B)
    directions = on_plane - on_plane[0]
    truth = every(
        side=equal(side_of_plane(X, W, B).tolist(), np.sign(X @ W + B).astype(int).tolist()),
        on_plane=near(signed_distance(on_plane, W, B), np.zeros(50), tolerance=1e-12),
        dimension=equal(int(np.linalg.matrix_rank(directions, tol=1e-9)), len(W) - 1),
    )
    return corrected(
        truth,
        # In a space of m + 1 dimensions it would have dimension m.
        lives_in_one_dimension_more=equal(int(np.linalg.matrix_rank(directions, tol=1e-9)), len(W)),
        # A linear subspace would contain the double of each of its points.
        linear_subspace=near(signed_distance(2 * on_plane, W, B), np.zeros(50), tolerance=1e-12),
    )


@claim("hyperplane-distance-from-origin")
def distance_from_the_origin_has_no_sign() -> Verdict:
    nearest = project_to_hyperplane(np.zeros(2), W, B)
    truth = every(
        distance=near(distance_from_origin(W, B), 1.0, tolerance=1e-15),
        other_side=near(distance_from_origin(W, -B), 1.0, tolerance=1e-15),
        nearest_point=near(np.linalg.norm(nearest), 1.0, tolerance=1e-12),
    )
    # The plane w x - b = 0 with b = -5 lies on the other side of the origin, and is not -1 away.
    return corrected(truth, printed=near(-5.0 / np.linalg.norm(W), distance_from_origin(W, 5.0), tolerance=1e-12))


@claim("distance-between-parallel-hyperplanes")
def parallel_planes() -> Verdict:
    point = project_to_hyperplane(np.array([7.0, -2.0]), W, 1.0)  # w x = -1
    across = abs(float(signed_distance(point, W, -1.0)))  # to w x = 1
    truth = every(
        formula=near(parallel_distance(W, -1.0, 1.0), 0.4, tolerance=1e-15), measured=near(across, 0.4, tolerance=1e-12)
    )
    step = -(1.0 - -1.0) / np.linalg.norm(W)  # as the derivation ends
    return corrected(
        truth,
        sign_of_the_step=near(step, across, tolerance=1e-6),
        multiple_of_w=near(np.linalg.norm(abs(step) * W), across, tolerance=1e-6),
    )


@claim("claim-no-sample-on-hyperplane")
def no_sample_lies_on_the_fitted_plane(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10_000, 3))
    model = LinearSVC().fit(X, (X[:, 0] + rng.normal(size=10_000) > 0).astype(int))
    tie = LinearSVC(fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    return every(
        on_the_plane=equal(int((model.decision_function(X) == 0).sum()), 0),
        tie_goes_to_class_0=equal(tie.predict([[0.0]]).tolist(), [0]),
    )


@claim("support-vector-machine")
def machine_of_the_peer() -> Verdict:
    iris = load("iris")
    X, y = np.asarray(iris.X), np.asarray(iris.y)
    ours, theirs = (model(C=1.0, kernel="rbf", tol=1e-6).fit(X, y) for model in (SVC, peer.SVC))
    return every(
        accuracy=near(ours.score(X, y), theirs.score(X, y), tolerance=0.0),
        support=equal(ours.n_support_.tolist(), theirs.n_support_.tolist()),
        values=near(ours.decision_function(X), theirs.decision_function(X), tolerance=1e-4),
    )


@claim("svm-hard-margin")
def hard_margin_touches_one_whatever_the_scale(seed: int) -> Verdict:
    X, y = _separable(seed)
    X = 1000 * X + [5e4, -3e4]  # neither centered nor scaled
    model = HardMarginSVC(tol=1e-8).fit(X, y)
    f, w = model.decision_function(X), hard_margin_primal(*_separable(seed))[0]
    truth = every(
        touches=near((y * f).min(), 1.0, tolerance=1e-5),
        width=near(2 * model.margin_[0], margin_width(model.coef_[0]), tolerance=1e-4),
        widest=near(model.margin_[0] / 1000, 1 / np.linalg.norm(w), tolerance=1e-4),
        refuses=raises(ValueError, lambda: HardMarginSVC().fit(*_overlapping(seed)), match="not separable"),
    )
    printed = {
        "zero_for_the_second_class": above((np.where(y > 0, 1, 0) * f).min(), 1 - 1e-5),
        "only_standardised_data_touch_one": above(abs((y * f).min() - 1), 1e-3),
    }
    return corrected(truth, **printed)


@claim("support-vectors")
def support_vectors_lie_on_the_margin(seed: int) -> Verdict:
    X, y = _separable(seed)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    on_margin = np.abs(y * model.decision_function(X) - 1) < 1e-6
    others = np.setdiff1d(np.arange(len(X)), model.support_)
    moved = [
        np.abs(_plane(HardMarginSVC(tol=1e-9).fit(np.delete(X, i, 0), np.delete(y, i))) - _plane(model)).max()
        for i in others[:8]
    ]
    return every(
        on_the_margin=equal(on_margin[model.support_].all(), np.True_), without_another=below(max(moved), 1e-6)
    )


@claim("claim-svm-determined-by-support-vectors")
def support_vectors_alone_give_the_plane(seed: int) -> Verdict:
    X, y = _separable(seed)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    alone = HardMarginSVC(tol=1e-9).fit(model.support_vectors_, y[model.support_])
    X, y = _overlapping(seed)
    counts = {
        f"{kernel}, C={C:g}": int(SVC(C=C, kernel=kernel).fit(X, y).n_support_.sum())
        for kernel in ("linear", "rbf")
        for C in (0.01, 1.0, 100.0)
    }
    fewer = counts["linear, C=100"] < counts["linear, C=1"] < counts["linear, C=0.01"]
    w = model.coef_[0]
    return every(
        margin=near(model.margin_[0], 1 / np.linalg.norm(w), tolerance=1e-6),
        objective=near(model.objective_[0], 0.5 * w @ w, tolerance=1e-6),
        same_plane=near(_plane(alone), _plane(model), tolerance=1e-4),
        sparse=below(len(model.support_), 6),
        counts_vary=equal((fewer, len(set(counts.values())) > 3), (True, True)),
    )


@claim("svm-soft-margin")
def more_penalty_narrower_margin(seed: int) -> Verdict:
    told = atlas.row("svm-soft-margin").values
    X, y = _overlapping(seed, told["n"])
    margins, slacks = [], []
    for lam in told["prices"]:
        margin, slack = _street(X, y, lam)
        margins.append(margin)
        slacks.append(slack)
    theirs = peer.LinearSVC(C=0.5, loss="hinge", intercept_scaling=100.0, max_iter=200_000, tol=1e-6).fit(X, y)
    w = theirs.coef_[0]
    objective = 0.5 * w @ w + 0.5 * np.maximum(0, 1 - y * theirs.decision_function(X)).sum()
    ours = LinearSVC(C=0.5, loss="hinge").fit(X, y).objective_[0]
    # A single sample with y f = 2, then -2, at a price of 1; w = 0 costs nothing and b makes f.
    charged = [
        hinge_objective(np.array([0.0, f]), np.ones((1, 1)), np.ones(1), np.ones(1), intercept=True)
        for f in (2.0, -2.0)
    ]
    theta, prices = np.array([0.7, -0.4, 0.3]), np.linspace(0.1, 2, len(y))
    written_out = 0.5 * (0.7**2 + 0.4**2) + prices @ np.maximum(0, 1 - y * (X @ theta[:2] + 0.3))
    wide = np.mean([_street(*_overlapping(seed + 1000 * k, told["n"]), told["prices"][0]) for k in range(12)], axis=0)
    truth = every(
        # At the smallest price every sample is inside the street; one draw still scatters by a tenth.
        wide_margin=near(float(wide[0]) / told["margins"][0], 1.0, tolerance=0.12),
        wide_slack=near(float(wide[1]) / told["slacks"][0], 1.0, tolerance=0.06),
        margins_fall=equal(margins == sorted(margins, reverse=True), True),
        slack_falls=equal(slacks == sorted(slacks, reverse=True), True),
        objective=near(hinge_objective(theta, X, y, prices, intercept=True), written_out, tolerance=1e-10),
        peer=below(abs(ours / objective - 1), 0.01),
        loss_beyond_the_margin=near(charged, told["losses"], tolerance=1e-12),
    )
    return corrected(
        truth,
        larger_price_wider_margin=above(margins[2], margins[0]),
        wrong_side_is_dropped=near(charged[1], 0.0, tolerance=1e-9),
    )


def _dual_of_a_soft_margin(seed: int) -> dict[str, Verdict]:
    """The box, the balance and the gap with the primal, and scikit-learn's multipliers, for a curved kernel."""
    X, y = _overlapping(seed, 80)
    kernel, C = RBF(0.8), 1.7
    problem = _solved(_dual(kernel, X, y, C))
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
    X, y = _separable(seed)
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
    X, y = _separable(seed)
    hard, soft = HardMarginSVC(tol=1e-9).fit(X, y), SVC(kernel="linear", C=10.0, tol=1e-8).fit(X, y)
    records = list(SVC(kernel="linear", C=0.1).iterate(*_overlapping(seed)))
    X, y = _overlapping(seed, 60)
    started = _dual(LinearKernel(), X, y, 0.7)
    before, nothing = duality_gap(started), float(np.sum(started.beta**2))
    solved = _solved(started)
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
    X, y = _overlapping(seed, 60)
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


@claim("svm-nonlinear-feature-map")
def rings_in_three_dimensions(seed: int) -> Verdict:
    rings = load("circles", n_samples=200, noise=0.05, seed=seed)
    X, y = np.asarray(rings.X), np.asarray(rings.y)
    flat, lifted = LinearSVC(loss="hinge").fit(X, y), HardMarginSVC().fit(radial_features(X), y)
    lam = 0.2

    def notes(theta: np.ndarray) -> tuple[float, np.ndarray]:
        """|theta_+|^2 + lam sum xi^2, as in the section on soft margins but smooth."""
        slack = np.maximum(0, 1 - labels * (Z @ theta[:-1] + theta[-1]))
        gradient = np.append(2 * theta[:-1] - 2 * lam * Z.T @ (slack * labels), -2 * lam * float(slack @ labels))
        return float(theta[:-1] @ theta[:-1] + lam * slack @ slack), gradient

    Z, labels = radial_features(X), np.where(y == 1, 1.0, -1.0)
    found = minimize(notes, np.zeros(4), method="lbfgs", grad=True, tol=1e-8).x[:-1]
    half, same = (LinearSVC(C=C, tol=1e-10).fit(Z, y).coef_[0] for C in (lam / 2, lam))
    truth = every(
        lifted=near(lifted.score(radial_features(X), y), 1.0, tolerance=0.0),
        flat=below(flat.score(X, y), 0.75),
        penalty_halved=near(half, found, tolerance=1e-5),
    )
    return corrected(truth, printed=near(same, found, tolerance=1e-3))


@claim("svm-kernel")
def offset_from_any_free_support_vector(seed: int) -> Verdict:
    moons = load("moons", n_samples=200, noise=0.15, seed=seed)
    X, y = np.asarray(moons.X), np.where(np.asarray(moons.y) == 1, 1, -1)
    C = 10.0
    model = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
    coef, chosen = model.dual_coef_[0], model.support_
    free = np.abs(coef) < C * (1 - 1e-9)
    sums = model.kernel_(X, X[chosen]) @ coef
    offsets = y[chosen][free] - sums[chosen][free]
    w = coef @ X[chosen]  # what w x means without the feature space
    truth = every(
        accuracy=above(model.score(X, y), 0.95),
        one_offset=below(np.ptp(offsets), 1e-4),
        decision=near(model.decision_function(X), sums + offsets.mean(), tolerance=1e-6),
        peer=equal((model.predict(X) == peer.SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y).predict(X)).all(), np.True_),
    )
    # As printed, b = w x - y with the input itself (subtracted in f): not even one number.
    return corrected(truth, printed=below(np.ptp(X[chosen][free] @ w - y[chosen][free]), 1e-4))


@claim("claim-svm-versus-logistic-regression")
def logistic_regression_runs_off_towards_the_margin(seed: int) -> Verdict:
    X, y = _separable(seed + 1, gap=3.0)
    best = HardMarginSVC(tol=1e-9).fit(X, y).coef_[0]
    rows = np.column_stack([X, np.ones(len(X))]) * y[:, None]
    norms, cosines = [], []
    for ridge in (1e-1, 1e-5, 1e-10):
        penalty = ridge * np.array([1.0, 1.0, 0.0])

        def loss(t: np.ndarray, penalty: np.ndarray = penalty) -> float:
            return float(np.logaddexp(0, -rows @ t).sum() + 0.5 * penalty @ t**2)

        def slope(t: np.ndarray, penalty: np.ndarray = penalty) -> np.ndarray:
            return -rows.T @ np.exp(-np.logaddexp(0, rows @ t)) + penalty * t

        def curvature(t: np.ndarray, penalty: np.ndarray = penalty) -> np.ndarray:
            p = np.exp(-np.logaddexp(0, rows @ t))
            return (rows.T * (p * (1 - p))) @ rows + np.diag(penalty)

        theta = follow(damped_newton(loss, slope, np.zeros(3), hess=curvature, tol=ridge * 1e-6)).x[:2]
        norms.append(float(np.linalg.norm(theta)))
        cosines.append(float(theta @ best / (np.linalg.norm(theta) * np.linalg.norm(best))))
    truth = every(
        nearly_the_margin=above(cosines[-1], 0.99),
        runs_off=above(norms[-1] / norms[0], 4.0),
    )
    # A solution that merely separates would settle: its length would no longer depend on a vanishing penalty.
    return corrected(truth, printed=below(norms[-1] / norms[-2], 1.01))


@claim("structural-risk-minimisation")
def wide_margins_bound_the_error(seed: int) -> Verdict:
    bounds, errors, training = [], [], []
    for gap in (3.0, 6.0, 12.0):
        X, y = _separable(seed + 3, 60, gap=gap)
        model = HardMarginSVC(tol=1e-8).fit(X, y)
        radius = float(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
        bounds.append(radius_margin_bound(radius, 1 / model.margin_[0], len(X)))
        training.append(1 - model.score(X, y))
        fresh, labels = _separable(seed + 4, 4000, gap=gap)
        errors.append(1 - model.score(fresh, labels))
    return every(
        training_error_tells_nothing=equal(training, [0.0, 0.0, 0.0]),
        bound_falls=equal(bounds == sorted(bounds, reverse=True), True),
        error_is_below=equal([error <= bound for error, bound in zip(errors, bounds)], [True] * 3),
    )
