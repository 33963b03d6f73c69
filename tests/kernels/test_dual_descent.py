"""Coordinate descent in the dual of the squared hinge: the compiled pass, its solution, and the way back to Newton."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from margin.compiled.svm import dual_pass
from margin.kernels import LinearSVC, squared_hinge
from margin.kernels.dual_descent import DualDescent
from margin.kernels.squared_hinge import squared_hinge_objective


def texts(n=300, d=120, seed=0):
    """Rows of some of many columns, one row empty, and labels with noise."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.08, rng=rng, format="csr")
    X.data += 0.5
    X.data[X.indptr[7] : X.indptr[8]] = 0.0
    X.eliminate_zeros()
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.4, 1.0, -1.0)
    return X, y, rng.uniform(0.2, 2.0, size=n)


@pytest.fixture
def descent_for_all(monkeypatch):
    monkeypatch.setattr(squared_hinge, "DESCENT_ENTRIES", 0)
    monkeypatch.setattr(squared_hinge, "DIRECT_COLUMNS", 10)


def dual_pass_reference(X, order, y, inverse, curvature, constant, settled, limit, alpha, theta):
    """One pass over the rows of dense ``X``, in place: the twin of the compiled loop."""
    largest = 0.0
    rows = np.column_stack([X, np.full(len(X), constant)])
    for i in order:
        if settled[i]:
            continue
        slope = y[i] * (rows[i] @ theta[:-1] + theta[-1]) - 1 + inverse[i] * alpha[i]
        if alpha[i] == 0 and slope >= 0:
            settled[i] = slope > limit
            continue
        largest = max(largest, abs(slope))
        after = max(alpha[i] - slope / curvature[i], 0.0)
        theta[:-1] += (after - alpha[i]) * y[i] * rows[i]
        alpha[i] = after
    return largest


@pytest.mark.parametrize("intercept", [False, True])
def test_the_compiled_pass_is_its_twin(intercept):
    X, y, bounds = texts()
    ours, twin = (DualDescent(X, y, bounds, intercept=intercept, seed=3) for _ in range(2))
    assert (ours.constant > 0) == intercept
    settled = [np.zeros(len(y), dtype=np.uint8) for _ in range(2)]
    limits = [np.inf, np.inf]
    for number in range(4):
        order = np.random.default_rng(number).permutation(len(y))
        given = order, y, ours.inverse, ours.curvature, ours.constant
        limits[0] = dual_pass(X.data, X.indices, X.indptr, *given, settled[0], limits[0], ours.alpha, ours.theta)
        limits[1] = dual_pass_reference(X.toarray(), *given, settled[1], limits[1], twin.alpha, twin.theta)
        assert limits[0] == pytest.approx(limits[1], rel=1e-9)
    np.testing.assert_array_equal(*settled)
    assert settled[0].any()
    np.testing.assert_allclose(ours.alpha, twin.alpha, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.theta, twin.theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.theta[:-2], X.T @ (ours.alpha * y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_descent_ends_at_the_minimum_of_the_primal(intercept):
    X, y, bounds = texts()
    descent = DualDescent(X, y, bounds, intercept=intercept, seed=None)
    for _ in range(60):
        theta = descent.step()
    _, gradient = squared_hinge_objective(theta, X, y, bounds, intercept=intercept)
    _, first = squared_hinge_objective(0 * theta, X, y, bounds, intercept=intercept)
    assert np.linalg.norm(gradient) < 1e-6 * np.linalg.norm(first)
    slack = np.maximum(1 - y * (X @ theta[: X.shape[1]] + (theta[-1] if intercept else 0.0)), 0)
    np.testing.assert_allclose(descent.alpha, 2 * bounds * slack, atol=1e-5)  # what optimality says of the dual


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"intercept_scaling": 2.0}, {"C": 1000.0}], ids=str)
def test_the_machine_is_that_of_newton(descent_for_all, settings, monkeypatch):
    X, y, weights = texts()
    model = LinearSVC(tol=1e-8, random_state=0, **settings).fit(X, y, weights)
    monkeypatch.setattr(squared_hinge, "DIRECT_COLUMNS", 1500)
    newton = LinearSVC(tol=1e-10, dual=False, **settings).fit(X.toarray(), y, weights)
    assert model.n_iter_ > newton.n_iter_  # another way was gone
    np.testing.assert_allclose(model.objective_, newton.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), newton.decision_function(X), atol=1e-4)


def test_a_broken_off_descent_goes_on_with_the_same_bits(descent_for_all):
    X, y, _ = texts()
    labels = y + 2 * (X[:, 0].toarray().ravel() > 0)  # several machines
    whole = LinearSVC(tol=1e-6, C=100.0, random_state=1).fit(X, labels)
    for steps in (1, 4, 15):  # the last one is among Newton's
        part = LinearSVC(tol=1e-6, C=100.0, random_state=1)
        list(itertools.islice(part.iterate(X, labels), steps))
        resumed = clone(part)
        list(resumed.iterate(X, labels, state=part.get_state()))
        np.testing.assert_array_equal(resumed.coef_, whole.coef_)
        np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)
