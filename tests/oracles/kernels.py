"""Machines and kernels against scikit-learn's, with prices and weights that are not 1."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import svm as peers
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor as PeerProcess
from sklearn.gaussian_process import kernels as peer_kernels
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.metrics import pairwise
from tests.oracles import oracle

from margin import kernels as ours
from margin.core.verdict import Verdict, above, equal, every, near, raises
from margin.kernels import geometry
from margin.kernels.dual import DualProblem, duality_gap
from margin.kernels.hard_margin import is_separable
from margin.kernels.kernel_columns import ProductColumns
from margin.kernels.optimality import dual_objective, offset_between
from margin.kernels.word_kernel import word_kernel


def clouds(seed: int, n: int = 75) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Three overlapping classes, weights, and new rows."""
    rng = np.random.default_rng([seed, 12])
    labels = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [1.5, 0.5], [0.0, 2.0]])[labels]
    return X, labels, rng.uniform(0.3, 2, size=n), rng.normal(size=(20, 2)) + 0.5


@oracle("margin.kernels.SVC", "margin.kernels.dual.DualProblem")
def svc(seed: int) -> Verdict:
    X, y, w, fresh = clouds(seed)
    two, parts = y < 2, {}
    settings: dict[str, dict[str, Any]] = {
        "rbf": {"kernel": "rbf", "gamma": 0.6, "C": 1.7},
        "poly": {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.3, "C": 0.8},
        "linear": {"kernel": "linear", "C": 0.6, "class_weight": {0: 2.0, 1: 1.0, 2: 0.5}},
    }
    for name, chosen in settings.items():
        model, theirs = (m(tol=1e-7, **chosen).fit(X, y, sample_weight=w) for m in (ours.SVC, peers.SVC))
        parts[name] = near(model.decision_function(fresh), theirs.decision_function(fresh), tolerance=1e-4)
        chosen["class_weight"] = {0: 2.0, 1: 0.7}
        pair, other = (m(tol=1e-7, **chosen).fit(X[two], y[two]) for m in (ours.SVC, peers.SVC))
        parts[f"{name}_two"] = near(pair.decision_function(fresh), other.decision_function(fresh), tolerance=1e-4)
        parts[f"{name}_intercept"] = near(pair.intercept_, other.intercept_, tolerance=1e-4)
        parts[f"{name}_labels"] = near(model.predict(fresh), theirs.predict(fresh), tolerance=0.0)
    return every(**parts)


@oracle("margin.kernels.hinge.hinge_objective", "margin.kernels.LinearSVC")
def linear_svc(seed: int) -> Verdict:
    X, y, w, _ = clouds(seed)
    two, parts = y < 2, {}
    signs = np.where(y[two] == 1, 1.0, -1.0)
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        model = ours.LinearSVC(C=0.7, loss=loss, tol=1e-9).fit(X[two], y[two], sample_weight=w[two])

        def objective(theta: np.ndarray, power: int = power) -> float:
            slack = np.maximum(0, 1 - signs * (X[two] @ theta[:2] + theta[2]))
            return float(0.5 * theta[:2] @ theta[:2] + 0.7 * w[two] @ slack**power)

        theta = np.append(model.coef_[0], model.intercept_)
        moves = 0.02 * np.random.default_rng(seed).normal(size=(200, 3))
        lowest = min(objective(theta + move) for move in moves)
        parts[loss] = near(min(lowest - objective(theta), 0.0), 0.0, tolerance=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = peers.LinearSVC(C=0.7, intercept_scaling=1e3, tol=1e-9, max_iter=100_000).fit(X, y)
    model = ours.LinearSVC(C=0.7, tol=1e-9).fit(X, y)
    return every(**parts, three_classes=near(model.coef_, theirs.coef_, tolerance=1e-2))


@oracle("margin.kernels.HardMarginSVC")
def hard_margin(seed: int) -> Verdict:
    X, y, _, fresh = clouds(seed)
    X = X + 9 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]])[y]
    theirs = peers.SVC(kernel="linear", C=1e8, tol=1e-9).fit(X, y)
    model = ours.HardMarginSVC(tol=1e-9).fit(X, y)
    widths = 1 / np.linalg.norm(theirs.coef_, axis=1)
    # Where every class has one vote, libsvm takes the first and we the surest: neither is wrong.
    sides = theirs.set_params(decision_function_shape="ovo").decision_function(8 * fresh) > 0
    tied = (sides == [True, False, True]).all(axis=1) | (sides == [False, True, False]).all(axis=1)
    predicted, expected = (m.predict(8 * fresh[~tied]) for m in (model, theirs))
    pair, other = ours.HardMarginSVC(tol=1e-9).fit(X[y < 2], y[y < 2]), y[y < 2]
    plane = peers.SVC(kernel="linear", C=1e8, tol=1e-9).fit(X[y < 2], other)
    return every(
        **_thinnest_margins(),
        labels=near(predicted, expected, tolerance=0.0),
        untied=above(int((~tied).sum()), 9),
        margins=near(model.margin_, widths, tolerance=1e-4),
        values=near(pair.decision_function(fresh), plane.decision_function(fresh), tolerance=1e-4),
        objective=near(pair.objective_[0], 0.5 * float(np.sum(plane.coef_**2)), tolerance=1e-4),
    )


def _thinnest_margins() -> dict[str, Verdict]:
    """Two rows of length 3 whose margin is a little above and a little below a ten-millionth of that."""
    parts: dict[str, Verdict] = {}
    for factor in (1.2, 1.05, 0.95, 0.8):
        h = (factor * 1e-7) ** 2
        gram = 9 * np.array([[1.0, 1 - 2 * h], [1 - 2 * h, 1.0]])
        fit = partial(ours.HardMarginSVC(kernel="precomputed").fit, gram, [0, 1])
        if factor > 1:
            parts[f"margin_{factor:g}"] = near(fit().margin_ / 3e-7, [factor], tolerance=0.01)
        else:
            parts[f"none_{factor:g}"] = raises(ValueError, fit, match="not separable")
    return parts


@oracle("margin.kernels.hard_margin.is_separable")
def separable_or_not(seed: int) -> Verdict:
    """In the plane: some direction has all of one class beyond all of the other, tried in ten thousand directions."""
    rng = np.random.default_rng(seed)
    angles = np.linspace(0, 2 * np.pi, 10_000)
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    separable, true = [], []
    for gap in np.repeat([0.0, 1.5, 4.0], 8):
        X, labels = rng.normal(size=(9, 2)), np.where(np.arange(9) < 4, 1, -1)
        X[labels > 0] += gap * ways[rng.integers(10_000)]
        reach = X @ ways.T
        best = (reach[labels > 0].min(axis=0) - reach[labels < 0].max(axis=0)).max()
        if abs(best) > 1e-2:  # else too near for the directions to decide
            true.append(bool(best > 0))
            separable.append(is_separable(X * [1.0, 1e3] + 7.0, labels))
    return equal(separable, true)


@oracle(*(f"margin.kernels.optimality.{name}" for name in ("offset_between", "dual_objective")))
def parts_of_optimality(seed: int) -> Verdict:
    """At scikit-learn's solution of a support vector regression, whose intercept and multipliers are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y, K = X[:, 0] + 0.4 * rng.normal(size=30), X @ X.T
    theirs = peers.SVR(kernel="linear", C=0.8, epsilon=0.3, tol=1e-10).fit(X, y)
    beta = np.zeros(30)
    beta[theirs.support_] = theirs.dual_coef_[0]
    score, low, high = y - K @ beta, np.full(30, -0.8), np.full(30, 0.8)
    inside = (np.abs(beta) > 1e-9) & (np.abs(beta) < 0.8 - 1e-9)
    beta[~inside] = np.round(beta[~inside] / 0.8) * 0.8  # exactly on their bounds
    expected = float(y @ beta - 0.5 * beta @ K @ beta - 0.3 * np.abs(beta).sum())
    return every(
        offset=near(offset_between(score, beta, low, high, 0.3), theirs.intercept_[0], tolerance=1e-5),
        objective=near(dual_objective(score, beta, y, 0.3), expected, tolerance=1e-6),
    )


@oracle(
    "margin.kernels.word_kernel.word_kernel",
    *(
        f"margin.kernels.geometry.{name}"
        for name in ("radius_margin_bound", "parallel_distance", "distance_from_origin")
    ),
)
def words_and_planes(seed: int) -> Verdict:
    texts, others = ["the cat the dog", "a dog ran ran ran"], ["dog the", "ran a a", "nothing here"]
    counter = CountVectorizer(token_pattern=r"\S+").fit(texts + others)
    rows, columns = (counter.transform(part).toarray() for part in (texts, others))
    w = np.random.default_rng(seed).normal(size=3)
    foot = -0.7 * w / (w @ w)  # the point of the plane w x = -0.7 nearest to the origin
    return every(
        words=near(word_kernel(texts, others), pairwise.cosine_similarity(rows, columns), tolerance=1e-12),
        alone=near(word_kernel(texts), pairwise.cosine_similarity(rows), tolerance=1e-12),
        bound=near(geometry.radius_margin_bound(1.7, 0.6, 7), 1.7 * 1.7 * 0.36 / 7, tolerance=1e-12),
        origin=near(geometry.distance_from_origin(w, 0.7), np.linalg.norm(foot), tolerance=1e-12),
        parallel=near(geometry.parallel_distance(w, -0.7, 1.4), 3 * np.linalg.norm(foot), tolerance=1e-12),
    )


@oracle(
    "margin.kernels.PolynomialKernel",
)
def polynomial_kernel(seed: int) -> Verdict:
    X, _, _, fresh = clouds(seed)
    model = ours.PolynomialKernel(degree=3, gamma=0.6, coef0=1.3)
    K, square = (pairwise.polynomial_kernel(A, fresh, degree=3, gamma=0.6, coef0=1.3) for A in (X[:9], fresh))
    return every(
        matrix=near(model(X[:9], fresh), K, tolerance=1e-9),
        diagonal=near(model.diag(fresh), np.diag(square), tolerance=1e-9),
    )


@oracle(
    "margin.kernels.gaussian_process.triangular.solve_factored",
    "margin.kernels.gaussian_process.triangular.cholesky_in_place",
    "margin.kernels.GaussianProcessRegressor",
)
def gaussian_process(seed: int) -> Verdict:
    X, _, _, fresh = clouds(seed, 30)
    y = 3 + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    kernel = 1.7 * peer_kernels.RBF([0.8, 1.4])
    settings: dict[str, Any] = {"kernel": kernel, "alpha": 0.05, "optimizer": None}
    parts = {}
    for normalized in (False, True):
        models = (ours.GaussianProcessRegressor, PeerProcess)
        model, theirs = (m(normalize_y=normalized, **settings).fit(X, y) for m in models)
        (mean, std), (their_mean, their_std) = (m.predict(fresh, return_std=True) for m in (model, theirs))
        parts[f"mean_{normalized}"] = near(mean, their_mean, tolerance=1e-7)
        parts[f"deviation_{normalized}"] = near(std, their_std, tolerance=1e-6)
        parts[f"likelihood_{normalized}"] = near(
            model.log_marginal_likelihood(), theirs.log_marginal_likelihood(), tolerance=1e-6
        )
    noisy = {"kernel": kernel + peer_kernels.WhiteKernel(0.3), "alpha": 1e-6, "optimizer": None, "normalize_y": True}
    model, theirs = (m(**noisy).fit(X, 5 * y) for m in (ours.GaussianProcessRegressor, PeerProcess))
    stds = [m.predict(fresh, return_std=True)[1] for m in (model, theirs)]
    return every(**parts, noise=near(stds[0], stds[1], tolerance=1e-6))


@oracle("margin.kernels.KernelRegression")
def weighted_means(seed: int) -> Verdict:
    """Weights times kernel values written out, for one and two targets; far from all rows the nearest one answers."""
    X, _, w, fresh = clouds(seed, 25)
    rng = np.random.default_rng(seed)
    Y, parts = rng.normal(size=(25, 2)) + 4, {}
    w = np.asarray(w if w is not None else rng.uniform(0.3, 2.0, size=25), dtype=float)
    w[3] = 0.0
    K = np.exp(-0.6 * cdist(fresh, X, "sqeuclidean"))
    for name, y in (("two", Y), ("one", Y[:, 0])):
        mean = ours.KernelRegression(gamma=0.6).fit(X, y, w)
        total = ours.KernelRegression(gamma=0.6, normalize=False).fit(X, y, w)
        plain = ours.KernelRegression(gamma=0.6).fit(X, y)
        sums = (K * w) @ y
        parts[f"{name}_mean"] = near(mean.predict(fresh), (sums.T / (K @ w)).T, tolerance=1e-8)
        parts[f"{name}_sum"] = near(total.predict(fresh), sums, tolerance=1e-8)
        parts[f"{name}_plain"] = near(plain.predict(fresh), ((K @ y).T / K.sum(axis=1)).T, tolerance=1e-8)
        far = X[7] + 1e4 * (X[7] - X.mean(axis=0))
        nearest = np.argmin(np.where(w > 0, cdist(far[None], X)[0], np.inf))
        parts[f"{name}_far"] = near(mean.predict(far[None])[0], y[nearest], tolerance=1e-8)
    return every(**parts, rows=equal(len(mean.X_fit_), 24))


@oracle("margin.kernels.RBF", "margin.kernels.Kernel", "margin.kernels.KernelRidge")
def kernels_and_their_algebra(seed: int) -> Verdict:
    """Values by scikit-learn's kernels; slopes in the logarithms of the widths by differences; ridge with weights."""
    rng = np.random.default_rng(seed)
    X, Z, W, Y = (rng.normal(size=size) for size in ((8, 2), (4, 2), (8, 8), (8, 2)))
    W, w = W + W.T, rng.uniform(0.3, 2.0, size=8)
    kernel, theirs = ours.RBF([0.7, 1.6]), peer_kernels.RBF([0.7, 1.6])
    sides = [kernel.clone_with_theta(kernel.theta + step) for step in (*(1e-5 * np.eye(2)), *(-1e-5 * np.eye(2)))]
    heights = [float((W * side(X)).sum()) for side in sides]
    mixed: Any = 2.0 * kernel**1.5 + 0.3
    peer_mixed = 2.0 * theirs**1.5 + 0.3
    ridge, peer_ridge = (
        model(0.4, kernel="rbf", gamma=0.8).fit(X, Y, sample_weight=w) for model in (ours.KernelRidge, PeerRidge)
    )
    alone = ours.KernelRidge(0.4, kernel="rbf", gamma=0.8).fit(X, Y[:, 0])
    return every(
        across=near(kernel(X, Z), theirs(X, Z), tolerance=1e-12),
        inside=near(kernel(X), theirs(X), tolerance=1e-9),
        by_gamma=near(ours.RBF.from_gamma(0.7)(X, Z), pairwise.rbf_kernel(X, Z, 0.7), tolerance=1e-12),
        slope=near(kernel.gradient(X, W), [(heights[k] - heights[k + 2]) / 2e-5 for k in range(2)], tolerance=1e-6),
        theta=near(kernel.theta, theirs.theta, tolerance=1e-12),
        bounds=near(kernel.bounds, theirs.bounds, tolerance=1e-12),
        count=equal((kernel.n_dims, ours.RBF(0.7).clone_with_theta(np.log([0.5])).length_scale), (2, 0.5)),
        mixed=near(mixed(X, Z), peer_mixed(X, Z), tolerance=1e-12),
        ridge=near(ridge.predict(Z), peer_ridge.predict(Z), tolerance=1e-8),
        duals=near(ridge.dual_coef_, peer_ridge.dual_coef_, tolerance=1e-8),
        alone=near(
            alone.predict(Z), PeerRidge(0.4, kernel="rbf", gamma=0.8).fit(X, Y[:, 0]).predict(Z), tolerance=1e-8
        ),
    )


@oracle("margin.kernels.geometry.side_of_plane", "margin.kernels.dual.duality_gap")
def sides_and_gaps(seed: int) -> Verdict:
    """Signs of inner products; half the quadratic form and the slacks minus the dual, where that is not optimal."""
    rng = np.random.default_rng(seed)
    X, w, y = rng.normal(size=(9, 3)), rng.normal(size=3), np.repeat([-1.0, 1.0], [5, 4])
    signs = [int(np.sign(sum(a * b for a, b in zip(row, w)) - 0.3)) for row in X]
    K = np.exp(-0.4 * cdist(X, X, "sqeuclidean"))
    C = rng.uniform(0.5, 1.5, 9)
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    columns = ProductColumns(K, np.eye(9), lambda block: None, np.dtype(np.float64))
    problem = DualProblem(columns, y, low, high, 0.0, 1e-9)
    beta = rng.uniform(0.1, 0.9, 9) * np.where(y > 0, high, low)
    beta[y > 0] *= -beta[y < 0].sum() / beta[y > 0].sum()
    problem.beta, problem.score = beta, y - K @ beta
    scores = K @ beta + problem.offset
    primal = 0.5 * beta @ K @ beta + (C * np.maximum(0, 1 - y * scores)).sum()
    dual = y @ beta - 0.5 * beta @ K @ beta
    return every(
        sides=equal(geometry.side_of_plane(X, w, -0.3).tolist(), signs),
        gap=near(duality_gap(problem), primal - dual, tolerance=1e-9),
    )
