"""Claims about support vector machines: hard and soft margins, support vectors, kernels, risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import svm as peer

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.data import load
from margin.foundations.probability import rbf_kernel
from margin.foundations.probability.feature_maps import radial_features
from margin.kernels import SVC, HardMarginSVC, LinearSVC
from margin.kernels.geometry import margin_width, radius_margin_bound
from margin.kernels.hinge import hinge_objective
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.supervised.two_clouds import overlapping, separable
from margin.optimize import damped_newton, follow, minimize
from margin.optimize.interior_point import hard_margin_primal


def _street(X: np.ndarray, y: np.ndarray, price: float) -> tuple[float, float]:
    """Margin and sum of slacks of the machine that minimizes |w|^2 + price * sum xi."""
    model = LinearSVC(C=price / 2, loss="hinge", tol=1e-9).fit(X, y)  # halved
    return float(1 / np.linalg.norm(model.coef_)), float(np.maximum(0, 1 - y * model.decision_function(X)).sum())


def _plane(model: SVC | HardMarginSVC) -> np.ndarray:
    """(w, b) of a linear machine."""
    return np.append(model.dual_coef_ @ model.support_vectors_, model.intercept_)


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
    X, y = separable(seed)
    X = 1000 * X + [5e4, -3e4]  # neither centered nor scaled
    model = HardMarginSVC(tol=1e-8).fit(X, y)
    f, w = model.decision_function(X), hard_margin_primal(*separable(seed))[0]
    truth = every(
        touches=near((y * f).min(), 1.0, tolerance=1e-5),
        width=near(2 * model.margin_[0], margin_width(model.coef_[0]), tolerance=1e-4),
        widest=near(model.margin_[0] / 1000, 1 / np.linalg.norm(w), tolerance=1e-4),
        refuses=raises(ValueError, lambda: HardMarginSVC().fit(*overlapping(seed)), match="not separable"),
    )
    printed = {
        "zero_for_the_second_class": above((np.where(y > 0, 1, 0) * f).min(), 1 - 1e-5),
        "only_standardised_data_touch_one": above(abs((y * f).min() - 1), 1e-3),
        # Labels that are the sign of the plane agree with every plane: far away from all rows the margin has no bound.
        "labels_are_the_sign_of_the_plane": below(_margin_of_own_labels(model.coef_[0], 1e9, X), 2 * model.margin_[0]),
    }
    return corrected(truth, **printed)


def _margin_of_own_labels(w: np.ndarray, offset: float, X: np.ndarray) -> float:
    f = X @ w + offset * np.linalg.norm(w)
    return float((np.sign(f) * f).min() / np.linalg.norm(w))


@claim("support-vectors")
def support_vectors_lie_on_the_margin(seed: int) -> Verdict:
    X, y = separable(seed)
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
    X, y = separable(seed)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    alone = HardMarginSVC(tol=1e-9).fit(model.support_vectors_, y[model.support_])
    X, y = overlapping(seed)
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
        cost=_cost_by_support_vectors(X, y),
    )


def _cost_by_support_vectors(X: np.ndarray, y: np.ndarray) -> Verdict:
    """Bytes that a machine keeps and kernel values that a prediction takes grow with the support vectors alone."""
    asked, shapes = X[:7], []

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        shapes.append((len(A), len(B)))
        return rbf_kernel(A, B, length_scale=0.9)

    evaluated, stored, vectors = [], [], []
    for C in (0.02, 0.5, 30.0):
        model = SVC(C=C, kernel=kernel).fit(X, y)
        shapes.clear()
        model.decision_function(asked)
        evaluated.append(sum(rows * columns for rows, columns in shapes))
        stored.append(model.support_vectors_.nbytes + model.dual_coef_.nbytes)
        vectors.append(int(model.n_support_.sum()))
    return every(
        kernel_values=equal(evaluated, [len(asked) * count for count in vectors]),
        memory=equal(stored, [(X.shape[1] + 1) * X.itemsize * count for count in vectors]),
        fewer_of_each=above(vectors[0] / vectors[-1], 1.3),
        below_all_rows=below(vectors[-1], 0.8 * len(X)),
    )


@claim("svm-soft-margin")
def more_penalty_narrower_margin(seed: int) -> Verdict:
    notes = atlas.row("svm-soft-margin").values
    X, y = overlapping(seed, notes["n"])
    margins, slacks = [], []
    for lam in notes["prices"]:
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
    wide = np.mean([_street(*overlapping(seed + 1000 * k, notes["n"]), notes["prices"][0]) for k in range(12)], axis=0)
    truth = every(
        # At the smallest price every sample is inside the street; one draw still scatters by a tenth.
        wide_margin=near(float(wide[0]) / notes["margins"][0], 1.0, tolerance=0.12),
        wide_slack=near(float(wide[1]) / notes["slacks"][0], 1.0, tolerance=0.06),
        margins_fall=equal(margins == sorted(margins, reverse=True), True),
        slack_falls=equal(slacks == sorted(slacks, reverse=True), True),
        objective=near(hinge_objective(theta, X, y, prices, intercept=True), written_out, tolerance=1e-10),
        peer=below(abs(ours / objective - 1), 0.01),
        loss_beyond_the_margin=near(charged, notes["losses"], tolerance=1e-12),
    )
    return corrected(
        truth,
        larger_price_wider_margin=above(margins[2], margins[0]),
        wrong_side_is_dropped=near(charged[1], 0.0, tolerance=1e-9),
    )


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
    weights = minimize(notes, np.zeros(4), method="lbfgs", grad=True, tol=1e-8).x[:-1]
    half, same = (LinearSVC(C=C, tol=1e-10).fit(Z, y).coef_[0] for C in (lam / 2, lam))
    truth = every(
        lifted=near(lifted.score(radial_features(X), y), 1.0, tolerance=0.0),
        flat=below(flat.score(X, y), 0.75),
        penalty_halved=near(half, weights, tolerance=1e-5),
    )
    return corrected(truth, printed=near(same, weights, tolerance=1e-3))


@claim("svm-kernel")
def offset_from_any_free_support_vector(seed: int) -> Verdict:
    moons = load("moons", n_samples=200, noise=0.15, seed=seed)
    X, y = np.asarray(moons.X), np.where(np.asarray(moons.y) == 1, 1, -1)
    C = 10.0
    model: Any = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
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
    X, y = separable(seed + 1, gap=3.0)
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
        X, y = separable(seed + 3, 60, gap=gap)
        model = HardMarginSVC(tol=1e-8).fit(X, y)
        radius = float(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
        bounds.append(radius_margin_bound(radius, 1 / model.margin_[0], len(X)))
        training.append(1 - model.score(X, y))
        fresh, labels = separable(seed + 4, 4000, gap=gap)
        errors.append(1 - model.score(fresh, labels))
    return every(
        training_error_tells_nothing=equal(training, [0.0, 0.0, 0.0]),
        bound_falls=equal(bounds == sorted(bounds, reverse=True), True),
        error_is_below=equal([error <= bound for error, bound in zip(errors, bounds)], [True] * 3),
    )
