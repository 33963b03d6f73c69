"""Linear models against scikit-learn's, with weights, and least squares against NumPy's."""

from __future__ import annotations

import numpy as np
from sklearn import linear_model as peers

from margin import linear as ours
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near


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


@oracle("margin.linear.LogisticRegression", "margin.linear.logistic_loss.Likelihood")
def logistic_regression(seed: int) -> Verdict:
    X, y, w, fresh = table(seed, 150)
    parts = {}
    high = (y > np.quantile(y, 0.6)).astype(int)
    for name, labels in (("two", high), ("three", np.digitize(y, np.quantile(y, [0.3, 0.6])))):
        for intercept in (True, False):
            model = ours.LogisticRegression(C=0.7, fit_intercept=intercept, tol=1e-9)
            theirs = peers.LogisticRegression(C=0.7, fit_intercept=intercept, tol=1e-9, max_iter=5000)
            said, oracle_said = (m.fit(X, labels, sample_weight=w).predict_proba(fresh) for m in (model, theirs))
            parts[f"{name}_{intercept}"] = near(said, oracle_said, tolerance=1e-4)
            values = model.decision_function(fresh)
            parts[f"{name}_{intercept}_values"] = near(values, theirs.decision_function(fresh), tolerance=1e-3)
    balanced = [
        m(C=0.7, class_weight="balanced", tol=1e-9, max_iter=5000).fit(X, high).coef_
        for m in (ours.LogisticRegression, peers.LogisticRegression)
    ]
    return every(**parts, balanced=near(balanced[0], balanced[1], tolerance=1e-4))
