"""Machines beyond parity: hard margins, probabilities, resuming, kernels as objects, storage, bad input."""

import itertools

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.model_selection import GridSearchCV

import margin
from margin.kernels import RBF, SVC, SVR, HardMarginSVC, KernelRegression, KernelRidge, LinearKernel, LinearSVC, dual
from margin.kernels.hard_margin import is_separable
from margin.kernels.one_vs_one import couple_probabilities
from margin.kernels.platt import fit_sigmoid, sigmoid_probability
from margin.optimize.interior_point import hard_margin_primal

X2 = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 2.0], [-1.0, 0.5], [5.0, 5.0]])
Y2 = np.array([0, 0, 1, 1, 0, 1])


def test_hard_margin_is_the_primal_solution():
    model = HardMarginSVC(tol=1e-9).fit(X2, Y2)
    w, b = hard_margin_primal(X2, 2.0 * Y2 - 1)
    # The oracle stops on its residuals; its point is good to the root of that.
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-3)
    values = (2 * Y2 - 1) * model.decision_function(X2)
    assert values.min() == pytest.approx(1, abs=1e-6)
    assert model.margin_[0] == pytest.approx(1 / np.linalg.norm(w), abs=1e-6)


def test_hard_margin_refuses_what_is_not_separable():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 0]
    assert not is_separable(X, np.array([1, -1, 1]))
    with pytest.raises(ValueError, match="classes 0 and 1 are not separable with kernel='linear'; use SVC"):
        HardMarginSVC().fit(X, y)
    assert HardMarginSVC(kernel="rbf").fit(X, y).score(X, y) == 1
    twice = np.array([[0.0], [1.0], [1.0], [3.0]])
    with pytest.raises(ValueError, match="not separable with kernel='rbf'"):
        HardMarginSVC(kernel="rbf").fit(twice, [0, 0, 1, 1])


def test_probabilities_of_two_classes_are_near_the_peers():
    X, y = make_moons(400, noise=0.3, random_state=0)
    ours = SVC(probability=True, random_state=0).fit(X, y)
    values = svm.SVC().fit(X, y).decision_function(X)
    # The peer's own folds are random: its sigmoid on held-out values, computed openly.
    from sklearn.model_selection import cross_val_predict

    held = cross_val_predict(svm.SVC(), X, y, cv=5, method="decision_function")
    slope, shift = fit_sigmoid(held, y == 1)
    assert np.abs(ours.predict_proba(X)[:, 1] - sigmoid_probability(values, slope, shift)).max() < 0.05
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1)
    assert not hasattr(SVC().fit(X, y), "predict_proba")


def test_sigmoid_minimizes_its_loss():
    import scipy.optimize

    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    f = rng.normal(size=300) + 2 * positive
    targets = np.where(positive, (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2))

    def loss(theta):
        z = theta[0] * f + theta[1]
        return np.sum(targets * z + np.logaddexp(0, -z))

    best = scipy.optimize.minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(fit_sigmoid(f, positive), best, atol=1e-4)


def test_coupling_recovers_consistent_probabilities():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    pairwise = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    np.testing.assert_allclose(couple_probabilities(pairwise), p, atol=1e-10)


@pytest.mark.parametrize("model", [SVC(probability=True, random_state=3), SVC(), LinearSVC(loss="hinge"), LinearSVC()])
def test_resumed_fit_has_the_same_bits_with_many_working_sets(model, monkeypatch):
    monkeypatch.setattr(dual, "WHOLE_ROWS", 20)
    monkeypatch.setattr(dual, "PART", 8)
    monkeypatch.setattr("margin.kernels.dual_records.SETS_PER_RECORD", 1)
    X, y = load_iris(return_X_y=True)
    whole = clone(model)
    records = list(whole.iterate(X, y))
    for stop in (1, len(records) // 2, len(records) - 1):
        part, rest = clone(model), clone(model)
        first = list(itertools.islice(part.iterate(X, y), stop))
        second = list(rest.iterate(X, y, state=part.get_state()))
        assert [r.values for r in first + second] == [r.values for r in records]
        name = "predict_proba" if hasattr(whole, "predict_proba") else "decision_function"
        np.testing.assert_array_equal(getattr(rest, name)(X), getattr(whole, name)(X))


def test_kernel_objects_are_parameters_to_search_and_to_store(tmp_path):
    X, y = make_circles(150, noise=0.1, factor=0.4, random_state=0)
    model = SVC(kernel=RBF(1.0) + 0.5 * LinearKernel())
    search = GridSearchCV(model, {"kernel__k1__length_scale": [0.3, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    best = search.best_estimator_
    margin.save(best, tmp_path / "m.safetensors")
    again = margin.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.decision_function(X), best.decision_function(X))
    assert repr(again.kernel) == repr(best.kernel)


def test_gap_closes_and_records_tell_it():
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = SVC(tol=1e-8)
    *_, last = model.iterate(X, y)
    assert last["violation"] <= 1e-8
    assert last["gap"] < 1e-5
    assert model.gap_[0] == last["gap"]


def test_single_precision_rows_stay_single(monkeypatch):
    X, y = make_moons(3000, noise=0.3, random_state=0)
    single, double = SVC().fit(X.astype(np.float32), y), SVC().fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    assert np.abs(single.decision_function(X.astype(np.float32)) - double.decision_function(X)).max() < 5e-3
    assert single.objective_[0] == pytest.approx(double.objective_[0], rel=1e-5)


def test_large_problem_has_the_peers_objective():
    X, y = make_moons(4000, noise=0.35, random_state=1)
    ours, theirs = SVC(C=2.0).fit(X, y), svm.SVC(C=2.0).fit(X, y)
    beta = theirs.dual_coef_[0]
    K = RBF.from_gamma(1 / (2 * X.var()))(theirs.support_vectors_)
    objective = np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert ours.objective_[0] == pytest.approx(objective, rel=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.999


def test_svr_by_decomposition(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(500, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    whole = SVR(tol=1e-6).fit(X, y)
    monkeypatch.setattr(dual, "WHOLE_ROWS", 20)
    monkeypatch.setattr(dual, "PART", 32)
    parts = SVR(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-4)


def test_kernel_regression_is_the_weighted_mean():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), rng.normal(size=(5, 2))
    weights = rng.uniform(0, 2, 50)
    K = RBF(0.5)(Z, X) * weights
    model = KernelRegression(kernel=RBF(0.5)).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(Z), K @ y / K.sum(axis=1, keepdims=True), atol=1e-12)
    plain = KernelRegression(kernel=RBF(0.5), normalize=False).fit(X, y, weights)
    np.testing.assert_allclose(plain.predict(Z), K @ y, atol=1e-12)
    far = KernelRegression(gamma=1.0).fit(X, y)
    nearest = np.argmin(((X - 1000.0) ** 2).sum(axis=1))
    np.testing.assert_allclose(far.predict([[1000.0, 1000.0]])[0], y[nearest])


def test_kernel_ridge_interpolates_with_duplicate_rows():
    X = np.array([[0.0], [0.0], [1.0]])
    model = KernelRidge(alpha=0.0, kernel="rbf", gamma=1.0).fit(X, [1.0, 3.0, 5.0])
    np.testing.assert_allclose(model.predict(X), [2.0, 2.0, 5.0], atol=1e-8)


def test_hinge_with_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 200)), np.arange(40) % 2
    primal, dual_machine = LinearSVC(loss="hinge", tol=1e-9).fit(X, y), SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(primal.coef_, dual_machine.dual_coef_ @ dual_machine.support_vectors_, atol=1e-6)


def test_squared_hinge_on_a_part_then_on_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=40_000) > 0).astype(int)
    model = LinearSVC(tol=1e-10).fit(X, y)
    from margin.kernels.squared_hinge import squared_hinge_objective

    theta = np.append(model.coef_[0], model.intercept_)
    value, gradient = squared_hinge_objective(theta, X, 2.0 * y - 1, np.ones(40_000), intercept=True)
    assert np.linalg.norm(gradient) < 1e-5
    assert value == pytest.approx(model.objective_[0], rel=1e-12)


@pytest.mark.parametrize("model", [SVC(), HardMarginSVC(), LinearSVC()], ids=lambda m: type(m).__name__)
def test_one_class_is_an_error(model):
    with pytest.raises(ValueError, match=r"y must have at least two classes .*; got 1 class\."):
        model.fit(X2, np.zeros(6))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((6, 2), np.nan), Y2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(kernel="sigmoids"), "SVC: kernel must be one of 'linear', 'poly'"),
        (SVC(kernel="precomputed"), r"SVC: a precomputed kernel must be a square matrix; got shape \(6, 2\)\."),
        (SVC(class_weight={7: 1.0}), "SVC: class_weight names 7, which is not a class of y"),
        (SVC(class_weight={0: 0.0}), "SVC: class_weight leaves no weight to class 0"),
        (SVC(kernel="poly", coef0=-1.0), "PolynomialKernel: coef0 must be a number at least 0; got -1.0"),
        (KernelRegression(kernel=LinearKernel()), "KernelRegression: kernel must not be negative"),
        (SVR(epsilon=-0.1), "SVR: epsilon must be a number at least 0; got -0.1"),
    ],
)
def test_bad_input_is_one_sentence(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X2 - 1.0, Y2)


def test_the_weights_of_a_linear_kernel_cannot_be_changed_unheard():
    for model in (SVC(kernel="linear"), SVR(kernel="linear")):
        fitted = model.fit(X2, Y2)
        with pytest.raises(ValueError, match="read-only"):
            fitted.coef_[0, 0] = 0.0
        with pytest.raises(AttributeError):
            fitted.coef_ = np.zeros((1, 2))
