"""Linear models against scikit-learn's, with weights, and least squares against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate, optimize, stats
from sklearn import linear_model as peers
from sklearn import metrics, pipeline, preprocessing
from tests.oracles import oracle

from margin import linear as ours
from margin.core.verdict import Verdict, equal, every, near
from margin.linear.interpolation import gaussian_outputs_log_likelihood
from margin.linear.least_squares import least_squares as solve_least_squares


def table(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows whose columns are shifted and of unlike size, a response, weights, and new rows."""
    rng = np.random.default_rng([seed, 11])
    size, shift = np.array([1.0, 4.0, 0.3]), np.array([2.0, -1.0, 0.5])
    X, fresh = (rng.normal(size=(m, 3)) * size + shift for m in (n, 15))
    return X, X @ [1.5, -0.4, 3.0] + 2 + 0.5 * rng.normal(size=n), rng.uniform(0.2, 3, size=n), fresh


@oracle("margin.linear.LinearRegression")
def linear_regression(seed: int) -> Verdict:
    X, y, w, fresh = table(seed)
    both = np.column_stack([y, X[:, 0] ** 2])
    parts = {}
    for intercept in (True, False):
        model = ours.LinearRegression(fit_intercept=intercept).fit(X, both, sample_weight=w)
        theirs = peers.LinearRegression(fit_intercept=intercept).fit(X, both, sample_weight=w)
        parts[f"coef_{intercept}"] = near(model.coef_, theirs.coef_, tolerance=1e-8)
        parts[f"predicted_{intercept}"] = near(model.predict(fresh), theirs.predict(fresh), tolerance=1e-8)
    model = ours.LinearRegression().fit(X, y)
    A = np.column_stack([X, np.ones(len(y))])
    theta, rss = np.linalg.lstsq(A, y)[:2]
    halves = ours.LinearRegression().partial_fit(X[:25], y[:25]).partial_fit(X[25:], y[25:])
    return every(
        **parts,
        theta=near([*model.coef_, model.intercept_], theta, tolerance=1e-8),
        noise=near(model.residual_variance_, rss[0] / (len(y) - 4), tolerance=1e-8),
        in_two_parts=near(halves.coef_, model.coef_, tolerance=1e-8),
        rank=equal(ours.LinearRegression().fit(np.column_stack([X, X[:, 0]]), y).rank_, 3),
    )


@oracle("margin.linear.Ridge")
def ridge(seed: int) -> Verdict:
    X, y, w, fresh = table(seed)
    both, parts = np.column_stack([y, X[:, 0] ** 2]), {}
    for intercept in (True, False):
        model = ours.Ridge(2.7, fit_intercept=intercept).fit(X, both, sample_weight=w)
        theirs = peers.Ridge(2.7, fit_intercept=intercept).fit(X, both, sample_weight=w)
        parts[f"coef_{intercept}"] = near(model.coef_, theirs.coef_, tolerance=1e-8)
        parts[f"predicted_{intercept}"] = near(model.predict(fresh), theirs.predict(fresh), tolerance=1e-8)
    wide = ours.Ridge(0.8).fit(X[:2], y[:2])
    return every(**parts, wide=near(wide.coef_, peers.Ridge(0.8).fit(X[:2], y[:2]).coef_, tolerance=1e-8))


@oracle("margin.linear.LogisticRegression")
def logistic_regression(seed: int) -> Verdict:
    X, y, w, fresh = table(seed, 150)
    parts = {}
    high = (y > np.quantile(y, 0.6)).astype(int)
    for name, labels in (("two", high), ("three", np.digitize(y, np.quantile(y, [0.3, 0.6])))):
        for intercept in (True, False):
            model = ours.LogisticRegression(C=0.7, fit_intercept=intercept, tol=1e-9)
            theirs = peers.LogisticRegression(C=0.7, fit_intercept=intercept, tol=1e-9, max_iter=5000)
            proba, oracle_proba = (m.fit(X, labels, sample_weight=w).predict_proba(fresh) for m in (model, theirs))
            parts[f"{name}_{intercept}"] = near(proba, oracle_proba, tolerance=1e-4)
            values = model.decision_function(fresh)
            parts[f"{name}_{intercept}_values"] = near(values, theirs.decision_function(fresh), tolerance=1e-3)
    balanced = [
        m(C=0.7, class_weight="balanced", tol=1e-9, max_iter=5000).fit(X, high).coef_
        for m in (ours.LogisticRegression, peers.LogisticRegression)
    ]
    return every(**parts, balanced=near(balanced[0], balanced[1], tolerance=1e-4))


@oracle("margin.linear.HeteroscedasticRegression", "margin.linear.heteroscedastic.gaussian_nll")
def noise_that_varies(seed: int) -> Verdict:
    """The maximum of the weighted likelihood by SciPy's search, in the units of the data."""
    rng = np.random.default_rng(seed)
    x, w = rng.uniform(2, 6, size=80), rng.uniform(0.3, 2, size=80)
    y = 30 + 5 * x + np.exp(0.5 * x - 1) * rng.normal(size=80)
    z = (x - 4) / 1.2

    def loss(t: np.ndarray) -> float:
        law = stats.norm(t[0] + t[1] * z, np.exp((t[2] + t[3] * z) / 2))
        return float(-(w @ law.logpdf(y)) / w.sum())

    best = optimize.minimize(loss, [50.0, 6.0, 2.0, 0.0], method="BFGS", options={"gtol": 1e-7})
    model = ours.HeteroscedasticRegression().fit(x[:, None], y, sample_weight=w)
    at, (mean, deviation) = np.array([2.5, 5.5]), model.predict([[2.5], [5.5]], return_std=True)
    scaled = (at - 4) / 1.2
    law = model.predict_distribution([[2.5], [5.5]])
    draws = law.sample(4000, rng)
    records = list(ours.HeteroscedasticRegression().iterate(x[:, None], y, w))
    return every(
        mean=near(mean, best.x[0] + best.x[1] * scaled, tolerance=1e-2),
        deviation=near(np.log(deviation), (best.x[2] + best.x[3] * scaled) / 2, tolerance=1e-2),
        loss=near(model.nll_, best.fun, tolerance=1e-4),
        records=near(records[-1]["nll"], best.fun, tolerance=1e-4),
        counted=equal((records[-1].iteration, records[-1].total), (model.n_iter_, 200)),
        density=near(law.logpdf([40.0, 60.0]), stats.norm(mean, deviation).logpdf([40.0, 60.0]), tolerance=1e-9),
        interval=near(law.interval(), stats.norm(mean, deviation).interval(0.95), tolerance=1e-8),
        draws=near((draws.mean(axis=0) - mean) / deviation, np.zeros(2), tolerance=6 / np.sqrt(4000)),
        spread=near(draws.std(axis=0) / deviation, np.ones(2), tolerance=6 / np.sqrt(8000)),
        row=near(
            ours.heteroscedastic.gaussian_nll(y, 3 * z, z), -stats.norm(3 * z, np.exp(z / 2)).logpdf(y), tolerance=1e-8
        ),
    )


@oracle("margin.linear.SplineRegression")
def smoothing_splines(seed: int) -> Verdict:
    """SciPy's smoothing spline where every value is a knot, straight outside; quantiles where there are too many."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 5, size=40))
    y, w = np.sin(x) + 0.2 * rng.normal(size=40), rng.uniform(0.3, 2, size=40)
    theirs = interpolate.make_smoothing_spline(x, y, w=w, lam=0.4)
    model = ours.SplineRegression(0.4).fit(x[:, None], y, sample_weight=w)
    few = ours.SplineRegression(0.4, n_knots=9).fit(x[:, None], y, sample_weight=np.ones(40))
    doubled = ours.SplineRegression(0.4, n_knots=9).fit(np.repeat(x, 2)[:, None], np.repeat(y, 2))
    twice = ours.SplineRegression(0.4, n_knots=9).fit(x[:, None], y, sample_weight=np.full(40, 2.0))
    slope = theirs.derivative()(x[-1])
    return every(
        inside=near(model.predict(x[:, None]), theirs(x), tolerance=1e-6),
        outside=near(model.predict([[x[-1] + 2.0]]), [theirs(x[-1]) + 2 * slope], tolerance=1e-5),
        quantiles=equal(
            few.knots_[0].tolist(), x[[0, *(int(np.ceil(1 + 39 * k / 8 - 1e-9)) - 1 for k in range(1, 9))]].tolist()
        ),
        weights=near(twice.predict(x[:, None]), doubled.predict(x[:, None]), tolerance=1e-8),
    )


@oracle("margin.linear.PolynomialRegression", "margin.linear.polynomial.PolynomialRegression")
def polynomials(seed: int) -> Verdict:
    X, y, w, fresh = table(seed)
    peer = pipeline.make_pipeline(preprocessing.PolynomialFeatures(3), peers.LinearRegression())
    peer.fit(X[:, :2], y, linearregression__sample_weight=w)
    model = ours.PolynomialRegression(3).fit(X[:, :2], y, sample_weight=w)
    one = ours.PolynomialRegression(2).fit(X[:, :1], y)
    return every(
        several=near(model.predict(fresh[:, :2]), peer.predict(fresh[:, :2]), tolerance=1e-5),
        one=near(one.predict(fresh[:, :1]), np.polyval(np.polyfit(X[:, 0], y, 2), fresh[:, 0]), tolerance=1e-7),
        score=near(model.score(X[:, :2], y), metrics.r2_score(y, peer.predict(X[:, :2])), tolerance=1e-7),
    )


@oracle(
    "margin.linear.interpolation.gaussian_outputs_log_likelihood", "margin.linear.levenberg.nonlinear_least_squares"
)
def likelihoods_and_curves(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    residuals = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    S = residuals.T @ residuals / 30
    forms = {"full": S, "diagonal": np.diag(np.diag(S)), "spherical": np.diag(S).mean() * np.eye(3)}
    parts = {
        name: near(
            gaussian_outputs_log_likelihood(residuals, name),
            stats.multivariate_normal(np.zeros(3), form).logpdf(residuals).sum(),
            tolerance=1e-8,
        )
        for name, form in forms.items()
    }
    x = np.linspace(0, 2, 30)
    y = 2 * np.exp(-1.5 * x) + 0.05 * rng.normal(size=30)
    curve = lambda x, t: t[0] * np.exp(t[1] * x)  # noqa: E731
    start = np.array([1.0, 0.3])
    theirs = optimize.least_squares(lambda t: curve(x, t) - y, start, xtol=1e-12)
    fitted = ours.nonlinear_least_squares(curve, start, x, y)
    once, scaled = (ours.nonlinear_least_squares(curve, s, x, y, max_iter=1) for s in (start, [1.2, -0.9]))
    return every(
        first_step=near(once.sums[0], fitted.sums[0], tolerance=1e-12),
        second_step=near(scaled.theta, _damped_step(curve, np.array([1.2, -0.9]), x, y), tolerance=1e-7),
        **parts,
        curve=near(fitted.theta, theirs.x, tolerance=1e-5),
        first=near(fitted.sums[0], float(((y - curve(x, start)) ** 2).sum()), tolerance=1e-9),
        last=near(fitted.sums[-1], 2 * theirs.cost, tolerance=1e-8),
    )


def _damped_step(curve: Any, t: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One step of Levenberg and Marquardt with the diagonal of the curvature, a thousandth of it."""
    J = np.stack([np.exp(t[1] * x), t[0] * x * np.exp(t[1] * x)], axis=1)
    H = J.T @ J
    return t + np.linalg.solve(H + 1e-3 * np.diag(np.diag(H)), J.T @ (y - curve(x, t)))


@oracle("margin.linear.least_squares.least_squares", "margin.linear.least_squares.solve_rows")
def least_squares_solutions(seed: int) -> Verdict:
    """Weighted, with as many rows as columns, with dependent columns and with a fit so good that moments cancel."""
    X, y, w, _ = table(seed)
    rng = np.random.default_rng(seed)
    Y, root, parts = np.column_stack([y, X[:, 0] ** 2]), np.sqrt(w)[:, None], {}
    wide = rng.normal(size=(4, 4))
    dependent = np.column_stack([X, X[:, 0] + 1e3 * X[:, 1]])
    exact = 1e4 + X[:, :1] @ [[3.0]] + 1e-5 * rng.normal(size=(60, 1))
    cases = {
        "tall": (X, Y, w),
        "square": (wide, wide @ rng.normal(size=(4, 2)) + rng.normal(size=(4, 2)), None),
        "dependent": (dependent, Y, None),
        "exact": (X[:, :1], exact, None),
    }
    for name, (A, B, weights) in cases.items():
        for intercept in (True, False):
            scale = root if weights is not None else np.ones((len(A), 1))
            center = np.average(A, axis=0, weights=weights) if intercept else np.zeros(A.shape[1])
            height = np.average(B, axis=0, weights=weights) if intercept else np.zeros(B.shape[1])
            coef = np.linalg.pinv(scale * (A - center), rcond=1e-13) @ (scale * (B - height))
            rest = ((scale * (B - height - (A - center) @ coef)) ** 2).sum(axis=0)
            solution = solve_least_squares(A, B, weights, intercept=intercept)
            parts[f"{name}_{intercept}"] = near(solution.coef, coef, tolerance=1e-6)
            parts[f"{name}_{intercept}_intercept"] = near(solution.intercept, height - center @ coef, tolerance=1e-5)
            if rest.min() > 1e-15:  # else nothing is left but rounding
                parts[f"{name}_{intercept}_rest"] = near(solution.rss / rest, np.ones_like(rest), tolerance=1e-2)
    return every(**parts)
