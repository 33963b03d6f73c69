"""Support vector machines at the ends of their parameters: right, refused in words, or at least ended and said so."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from margin.foundations.probability.kernels import polynomial_kernel, raise_in_place
from margin.kernels import SVC, SVR, HardMarginSVC, KernelRidge, LinearSVC
from margin.kernels.hard_margin import hull_distance
from margin.kernels.hinge import Hinge, hinge_objective
from margin.kernels.kernel_columns import columns_of
from margin.kernels.stationary import RBF


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def separable(rng):
    X = rng.normal(size=(40, 3))
    return np.where(X[:, :1] > 0, X + 2, X - 2), (X[:, 0] > 0).astype(int)


def overlapping(rng, n=60):
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("C", [1e2, 1e6, 1e12])
def test_hinge_without_a_violated_margin_is_the_hard_margin_at_any_C(separable, C):
    X, y = separable
    hard = HardMarginSVC(tol=1e-10).fit(X, y)
    model = LinearSVC(loss="hinge", C=C, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.objective_, hard.objective_, rtol=1e-6)


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6, 1e12])
def test_a_hinge_that_says_it_is_solved_is(C):
    """The duality gap is that of a dual point, so no lower objective exists; the peer is another start's solution."""
    X, y = load_breast_cancer(return_X_y=True)
    X, signs, bounds = scale(X), np.where(y == 0, -1.0, 1.0), np.full(len(y), C)
    solver = Hinge(X, signs, bounds, intercept=True, tol=1e-4)
    while not solver.solved and solver.iteration < 300:
        solver.step()
    assert solver.solved
    assert solver.objective == hinge_objective(solver.theta, X, signs, bounds, intercept=True)
    w = X.T @ (solver.alpha * signs)
    assert solver.dual_value <= solver.objective
    rows = LinearSVC(loss="hinge", C=C, dual=True, tol=1e-4, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = rows.fit(X, y).objective_[0]
    assert solver.objective <= other * (1 + 2e-4)
    assert solver.alpha.sum() - 0.5 * w @ w <= other * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("settings", [{"loss": "hinge"}, {}, {"dual": True}, {"penalty": "l1"}], ids=str)
def test_columns_far_from_zero_give_the_same_machine(rng, settings):
    X, y = overlapping(rng)
    model = LinearSVC(tol=1e-8, **settings).fit(X, y)
    moved = LinearSVC(tol=1e-8, **settings).fit(X + 2.0**27, y)  # adding it rounds X to 2^-26
    np.testing.assert_allclose(moved.coef_, model.coef_, atol=1e-5)
    assert (moved.predict(X + 2.0**27) == model.predict(X)).mean() > 0.95


def test_a_machine_that_rounding_stops_says_so(rng):
    X, y = overlapping(rng)
    with pytest.warns(ConvergenceWarning, match="1 of 1 machines reached the limit of rounding before tol"):
        model = LinearSVC(loss="hinge", C=1e12).fit(1e3 * X, y)
    assert np.isfinite(model.coef_).all()


def test_a_stalled_fit_goes_on_from_its_state_as_it_would_have(rng):
    X, y = overlapping(rng)
    model = LinearSVC(loss="hinge", C=1e12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = [record.as_dict() for record in model.iterate(1e3 * X, y)]
        begun = LinearSVC(loss="hinge", C=1e12)
        records = begun.iterate(1e3 * X, y)
        first = [next(records).as_dict() for _ in range(len(whole) - 5)]
        resumed = LinearSVC(loss="hinge", C=1e12)
        rest = [record.as_dict() for record in resumed.iterate(1e3 * X, y, state=begun.get_state())]
    assert first + rest == whole
    np.testing.assert_array_equal(resumed.coef_, model.coef_)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="hinge"),
        LinearSVC(multi_class="crammer_singer", C=1e12),
        SVC(kernel="linear"),
        SVC(gamma=1e12),
        SVC(kernel="poly", gamma=1.0),
        SVR(kernel="linear"),
        SVR(gamma=1.0),
        HardMarginSVC(),
        KernelRidge(kernel="rbf", gamma=1e12),
    ],
    ids=str,
)
def test_rows_whose_squares_overflow_are_refused_and_change_nothing(separable, model):
    X, y = separable
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        before = model.fit(X, y).predict(X)
        with pytest.raises(
            ValueError, match=rf"^{type(model).__name__}: .*(overflow|squares add up to at most|not separable).*"
        ):
            model.fit(X * 1e300, y)
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 17, 32])
def test_powers_by_squaring_are_powers(rng, degree):
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(polynomial_kernel(X, Z, degree, 1.0), (X @ Z.T + 1.0) ** degree, rtol=1e-13)
    values = np.array([1.5, -2.0, 0.0])
    raise_in_place(values, degree)
    np.testing.assert_allclose(values, np.array([1.5, -2.0, 0.0]) ** degree, rtol=1e-14)


def test_a_great_degree_takes_no_time(rng):
    X, y = overlapping(rng)
    rows = X / np.linalg.norm(X, axis=1)[:, None]
    model = SVC(kernel="poly", degree=10**9, gamma=1.0).fit(rows, y)  # equal rows alone are alike
    assert model.score(rows, y) == 1.0


@pytest.mark.parametrize("gamma", [1e3, 1e12, 1e100])
def test_rows_far_apart_are_like_themselves_alone(rng, gamma):
    """Rounding of huge squared distances must not become an exponent above zero."""
    X = np.repeat(rng.normal(size=(30, 3)), 2, axis=0)
    y = np.arange(60) % 2
    matrix = np.empty((60, 60))
    columns_of(RBF(length_scale=1 / np.sqrt(2 * gamma)), X).fill(np.arange(60), matrix)
    assert matrix.max() <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = SVC(gamma=gamma).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(SVR(gamma=gamma).fit(X, X[:, 0]).predict(X)).all()


@pytest.mark.parametrize("model", [SVC(tol=1e-300), SVR(tol=1e-300)], ids=["SVC", "SVR"])
def test_a_tolerance_below_rounding_ends(rng, model):
    X, y = overlapping(rng)
    model.fit(X, y)
    assert np.max(model.violation_) < 1e-14


def test_classes_that_a_kernel_cannot_separate_are_found_out(rng):
    X, y = overlapping(rng)
    for rows, labels in ((X[:, :1], y), (np.zeros_like(X), y), (X, (np.arange(60) == 0).astype(int))):
        with pytest.raises(ValueError, match="HardMarginSVC: classes 0 and 1 are not separable with kernel='poly'"):
            HardMarginSVC(kernel="poly", degree=3).fit(rows, labels)


def test_no_margin_is_wider_than_half_the_distance_of_points_in_the_hulls(separable):
    X, y = separable
    model = HardMarginSVC(kernel="rbf", gamma=0.5, tol=1e-10).fit(X, y)
    columns = columns_of(model.kernel_, X)
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    assert hull_distance(columns, beta) / 2 == pytest.approx(model.margin_[0], rel=1e-6)
    anywhere = np.where(y == 1, 1.0, -1.0) * np.random.default_rng(1).random(len(X))
    assert hull_distance(columns, anywhere) / 2 >= model.margin_[0]
    assert hull_distance(columns, np.ones(len(X))) == np.inf
