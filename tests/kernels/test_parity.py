"""Support vector machines and kernel regressions against scikit-learn on small real data."""

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.preprocessing import StandardScaler

from margin.kernels import SVC, SVR, KernelRidge, LinearSVC


def data(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"C": 10.0, "gamma": 0.01},
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_svc(name, params):
    X, y = data(name)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if "C" in params else None
    shape = {"tol": 1e-6, "decision_function_shape": "ovo"}
    ours = SVC(**params, **shape).fit(X, y, weights)
    # Weighted rows also weigh in our "scale" and in balanced classes; these cases have given numbers.
    theirs = svm.SVC(**params, **shape).fit(X, y, weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_allclose(ours.n_support_, theirs.n_support_, atol=2)
    # Votes may tie, which scikit-learn settles by the order of classes and we by the decision values.
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.995


def test_ovr_values_are_the_peers():
    X, y = data("wine")
    ours, theirs = (model(tol=1e-6).fit(X, y) for model in (SVC, svm.SVC))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    binary = y < 2
    ours, theirs = (model(tol=1e-6).fit(X[binary], y[binary]) for model in (SVC, svm.SVC))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("params", [{}, {"kernel": "linear", "C": 0.1}, {"kernel": "poly", "coef0": 1.0}], ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_svr(params, epsilon):
    X, y = data("diabetes")
    y = (y - y.mean()) / y.std()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if "C" in params else None
    ours = SVR(**params, epsilon=epsilon, tol=1e-6).fit(X, y, weights)
    theirs = svm.SVR(**params, epsilon=epsilon, tol=1e-6).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_precomputed_kernel_is_the_kernel():
    X, y = data("iris")
    K = X @ X.T
    ours, given = SVC(kernel="linear").fit(X, y), SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.decision_function(K), ours.decision_function(X), atol=1e-8)
    ridge, given = KernelRidge(kernel="linear").fit(X, y), KernelRidge(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.predict(K), ridge.predict(X), atol=1e-10)


@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_linear_svc_squared_hinge(name):
    X, y = data(name)
    ours = LinearSVC(C=0.5, tol=1e-10, fit_intercept=False).fit(X, y)
    theirs = svm.LinearSVC(C=0.5, tol=1e-10, dual=False, fit_intercept=False, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_linear_svc_hinge_solves_the_dual(C):
    X, y = data("breast_cancer")
    signs = 2.0 * y - 1
    primal = LinearSVC(C=C, loss="hinge", tol=1e-9).fit(X, y)
    dual = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)

    def objective(w, b):
        return 0.5 * float(w @ w) + C * np.maximum(0, 1 - signs * (X @ w + b)).sum()

    w = (dual.dual_coef_ @ dual.support_vectors_)[0]
    # Weak duality: the dual value bounds every primal one from below, and both solvers meet it. The coefficients
    # themselves follow the gap only by its root, since the objective is flat around its minimum.
    for value in (objective(primal.coef_[0], primal.intercept_[0]), objective(w, dual.intercept_[0])):
        assert dual.objective_[0] * (1 - 1e-8) <= value <= dual.objective_[0] * (1 + 1e-7)
    assert primal.objective_[0] == pytest.approx(objective(primal.coef_[0], primal.intercept_[0]), rel=1e-10)
    # Strong convexity in w: 1/2 |w - w*|^2 is at most what the objectives are apart.
    apart = 2 * (objective(w, dual.intercept_[0]) - dual.objective_[0] * (1 - 1e-8))
    assert np.sum((primal.coef_[0] - w) ** 2) <= 4 * apart + 1e-12
    # The peer holds its kernel in single precision, which shows in the coefficients but hardly in the objective.
    theirs = svm.SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
    slack = np.maximum(0, 1 - (2 * y - 1) * theirs.decision_function(X))
    objective = 0.5 * np.sum(theirs.coef_**2) + C * slack.sum()
    assert objective * (1 - 1e-4) < primal.objective_[0] <= objective * (1 + 1e-9)


@pytest.mark.parametrize("params", [{"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "gamma": 0.1}], ids=str)
def test_kernel_ridge(params):
    X, y = data("diabetes")
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    ours = KernelRidge(alpha=0.3, **params).fit(X, np.column_stack([y, -y]), weights)
    theirs = PeerRidge(alpha=0.3, **params).fit(X, np.column_stack([y, -y]), weights)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-7 * np.abs(theirs.dual_coef_).max())
    np.testing.assert_allclose(ours.predict(X[:10]), theirs.predict(X[:10]), rtol=1e-8)
