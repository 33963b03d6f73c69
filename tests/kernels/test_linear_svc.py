"""LinearSVC's parameters against scikit-learn and against each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import scale

from margin.compiled.svm import lasso_step
from margin.kernels import LinearSVC
from margin.kernels.l1_squared_hinge import l1_objective, least_subgradient


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_lasso_step_meets_the_conditions_of_its_minimum():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 12))
    H, g, w = A.T @ A, 20 * rng.normal(size=12), rng.normal(size=12) * (rng.random(12) < 0.5)
    penalty = np.append(np.ones(11), 0.0)
    d = np.zeros(12)
    lasso_step(H, g.copy(), w, penalty, 1e-12, 10_000, d)
    np.testing.assert_allclose(least_subgradient(w + d, g + H @ d, penalty), 0.0, atol=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_l1_penalty_is_at_least_as_low_as_the_peer(C, form):
    X, y = cancer()
    ours = LinearSVC(penalty="l1", C=C, tol=1e-8, intercept_scaling=1.0).fit(form(X), y)
    peer = svm.LinearSVC(penalty="l1", C=C, dual=False, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)

    def objective(model):
        slack = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
        return np.abs(model.coef_).sum() + np.abs(model.intercept_).sum() + C * (slack**2).sum()

    assert objective(ours) <= objective(peer) * (1 + 1e-9)
    assert ours.objective_[0] == pytest.approx(objective(ours), rel=1e-9)
    np.testing.assert_array_equal(ours.coef_ == 0, peer.coef_ == 0)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)


def test_l1_leaves_the_intercept_free_by_default():
    X, y = cancer()
    model = LinearSVC(penalty="l1", C=0.05, tol=1e-9).fit(X, y)
    theta = np.append(model.coef_[0], model.intercept_)
    _, gradient = l1_objective(theta, X, 2.0 * y - 1, np.full(len(y), 0.05), intercept=True)
    penalty = np.append(np.ones(X.shape[1]), 0.0)
    assert np.abs(least_subgradient(theta, gradient, penalty)).max() < 1e-5
    assert 0 < np.count_nonzero(model.coef_) < 20


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept_scaling", [1.0, 10.0])
def test_a_penalized_intercept_is_the_peers(loss, intercept_scaling):
    X, y = load_iris(return_X_y=True)
    settings = {"loss": loss, "intercept_scaling": intercept_scaling, "C": 0.5}
    ours = LinearSVC(tol=1e-9, **settings).fit(X, y)
    peer = svm.LinearSVC(tol=1e-9, max_iter=1_000_000, random_state=0, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=2e-3)
    free = LinearSVC(tol=1e-9, loss=loss, C=0.5).fit(X, y)
    assert np.abs(free.intercept_ - ours.intercept_).max() > 1e-3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("shape", [(60, 200), (300, 10)], ids=["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_both_systems_lead_to_the_same_machine(loss, shape, fit_intercept):
    X, y = make_classification(*shape, n_informative=6, random_state=0)
    settings = {"loss": loss, "C": 0.1, "tol": 1e-9, "fit_intercept": fit_intercept}
    dual, primal = (LinearSVC(dual=dual, **settings).fit(X, y) for dual in (True, False))
    np.testing.assert_allclose(dual.coef_, primal.coef_, atol=1e-5)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-5)


def test_random_state_draws_the_first_rows_and_not_the_solution():
    X, y = make_classification(40_000, 5, random_state=0)
    plain, drawn = LinearSVC(tol=1e-10), LinearSVC(tol=1e-10, random_state=1)
    first = [next(iter(model.iterate(X, y)))["objective"] for model in (plain, drawn)]
    assert first[0] != first[1]
    np.testing.assert_allclose(drawn.fit(X, y).coef_, plain.fit(X, y).coef_, atol=1e-8)
    np.testing.assert_array_equal(drawn.coef_, LinearSVC(tol=1e-10, random_state=1).fit(X, y).coef_)


def test_what_goes_together():
    X, y = cancer()
    with pytest.raises(ValueError, match="penalty='l1' goes with loss='squared_hinge'"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="got loss='squared_hinge' and dual=True"):
        LinearSVC(penalty="l1", dual=True).fit(X, y)


def test_verbose_prints_records(capsys):
    LinearSVC(verbose=1).fit(*cancer())
    assert "LinearSVC: iteration 1" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(8, 10), (120, 40), (40, 3)])
def test_a_large_c_is_no_reason_to_stop_early(shape):
    """The gradient at zero, by which it is judged, grows with C, the objective of separable classes does not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape)
    y = (X @ rng.normal(size=shape[1]) + 0.3 * rng.normal(size=shape[0]) > 0).astype(int)

    def objective(model):
        slack = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
        return 0.5 * float((model.coef_**2).sum()) + 1000 * float(slack @ slack)

    usual, exact = (LinearSVC(C=1000.0, max_iter=1000, **options).fit(X, y) for options in ({}, {"tol": 1e-10}))
    assert objective(usual) <= 1.05 * objective(exact)


def primal(model, X, y):
    slack = np.maximum(1 - (2 * y - 1) * model.decision_function(X), 0)
    return 0.5 * (model.coef_**2).sum() + model.C * (slack**2).sum()


def test_one_row_of_huge_numbers_hides_the_penalty_in_rounding_and_is_solved_all_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    far = X.copy()
    far[-1] = 1e9 if y[-1] else -1e9
    without = LinearSVC(tol=1e-8).fit(X[:-1], y[:-1])
    model = LinearSVC(tol=1e-8).fit(far, y)
    # A row this far on its own side has no slack, so it adds nothing to the solution of the others.
    assert (2 * y[-1] - 1) * without.decision_function(far[-1:])[0] > 1
    np.testing.assert_allclose(primal(model, far, y), primal(without, X[:-1], y[:-1]), rtol=1e-6)


def test_weights_whose_squares_underflow_give_a_machine_that_knows_nothing():
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = LinearSVC().fit(X, X[:, 0] > 0, sample_weight=np.full(40, 1e-300))
    assert np.abs(model.coef_).max() < 1e-290
