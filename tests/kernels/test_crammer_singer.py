"""The linear machine of all classes at once: against scikit-learn, its own dual and its plain twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from margin.compiled.svm import sweep_rows
from margin.kernels import LinearSVC
from margin.kernels.crammer_singer import crammer_singer_objectives

X, Y = load_iris(return_X_y=True)
OPTIONS = {"multi_class": "crammer_singer", "C": 0.5, "random_state": 0, "max_iter": 20_000}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_machine_is_that_of_scikit_learn(form, fit_intercept):
    ours = LinearSVC(**OPTIONS, tol=1e-7, fit_intercept=fit_intercept).fit(form(X), Y)
    theirs = svm.LinearSVC(**OPTIONS, tol=1e-8, fit_intercept=fit_intercept).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_of_two_classes_the_difference_is_one_machine():
    part = Y < 2
    ours = LinearSVC(**OPTIONS, tol=1e-8).fit(X[part], Y[part])
    theirs = svm.LinearSVC(**OPTIONS, tol=1e-8).fit(X[part], Y[part])
    assert ours.coef_.shape == (1, 4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


def sweep_reference(X, order, codes, bounds, squares, W, alpha):
    """One pass over the rows of dense ``X``, in place: the twin of the compiled loop."""
    for i in order:
        if squares[i] == 0:
            continue
        own = np.arange(W.shape[1]) == codes[i]
        b = X[i] @ W + ~own - squares[i] * alpha[i]
        pull = np.sort(b + np.where(own, squares[i] * bounds[i], 0.0))[::-1]
        # The largest number of classes r whose coefficients are not at their bounds.
        levels = (np.cumsum(pull) - squares[i] * bounds[i]) / np.arange(1, len(pull) + 1)
        beyond = np.flatnonzero(levels[:-1] >= pull[1:])
        level = levels[beyond[0] if len(beyond) else -1]
        new = np.minimum(np.where(own, bounds[i], 0.0), (level - b) / squares[i])
        W += np.outer(X[i], new - alpha[i])
        alpha[i] = new


@pytest.mark.parametrize("seed", range(3))
def test_a_pass_lowers_the_dual_and_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    rows, codes, bounds = rng.normal(size=(30, 4)), rng.integers(0, 5, 30), rng.uniform(0.5, 2.0, 30)
    rows[3] = 0.0
    squares, table = (rows**2).sum(axis=1), sp.csr_array(rows)
    W, alpha = np.zeros((4, 5)), np.zeros((30, 5))
    other, beta = W.copy(), alpha.copy()
    parts = table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64)
    last = -np.inf
    for _ in range(5):
        order = rng.permutation(30)
        sweep_rows(*parts, order, codes, bounds, squares, W, alpha, np.empty(5), np.empty(5))
        sweep_reference(rows, order, codes, bounds, squares, other, beta)
        np.testing.assert_allclose(alpha, beta, atol=1e-9)
        np.testing.assert_allclose(W, rows.T @ alpha, atol=1e-9)
        np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-9)
        own = codes[:, None] == np.arange(5)
        assert np.all(alpha <= np.where(own, bounds[:, None], 0.0) + 1e-12)
        primal, dual = crammer_singer_objectives(rows, codes, bounds, W, alpha)
        assert last - 1e-9 <= dual <= primal + 1e-9
        last = dual


def test_fits_resume_and_end_with_a_warning():
    model = LinearSVC(**OPTIONS, tol=1e-6)
    records = model.iterate(X, Y)
    for _ in range(4):
        next(records)
    again = LinearSVC(**OPTIONS, tol=1e-6)
    list(again.iterate(X, Y, state=model.get_state()))
    np.testing.assert_array_equal(again.coef_, LinearSVC(**OPTIONS, tol=1e-6).fit(X, Y).coef_)
    with pytest.warns(ConvergenceWarning, match="1 of 1 machines reached max_iter=2 steps"):
        LinearSVC(**{**OPTIONS, "max_iter": 2}, tol=1e-9).fit(X, Y)
    with pytest.raises(ValueError, match="multi_class='crammer_singer' goes with penalty='l2'; got 'l1'"):
        LinearSVC(**OPTIONS, penalty="l1").fit(X, Y)
