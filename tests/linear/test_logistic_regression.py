import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import StandardScaler

from margin.linear import LogisticRegression
from margin.linear.logistic_descent import PreconditionedQuasiNewton
from margin.linear.logistic_loss import LabeledRows, Likelihood, binary_terms, softmax_terms
from margin.linear.logistic_threshold import choose_threshold
from margin.linear.separation import separating_direction

SETS = {"cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine}


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def noisy(n=300, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ np.arange(1, p + 1) / 2))).astype(int)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("ours", "peer"),
    [
        ({"C": 1.0}, {"C": 1.0, "solver": "lbfgs", "tol": 1e-10}),
        ({"C": 1.0, "solver": "lbfgs"}, {"C": 1.0, "solver": "lbfgs", "tol": 1e-10}),
        ({"penalty": "l1", "C": 0.1}, {"C": 0.1, "l1_ratio": 1.0, "solver": "saga", "tol": 1e-7}),
        (
            {"penalty": "elasticnet", "C": 0.1, "l1_ratio": 0.3},
            {"C": 0.1, "l1_ratio": 0.3, "solver": "saga", "tol": 1e-7},
        ),
    ],
)
def test_equals_scikit_learn(name, ours, peer):
    X, y = scaled(SETS[name])
    model = LogisticRegression(**ours, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = Peer(**peer, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=2e-5)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    np.testing.assert_array_equal(model.coef_ == 0, other.coef_ == 0)


def test_digits_equal_scikit_learn():
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(tol=1e-7, max_iter=500).fit(X / 16, y)
    other = Peer(tol=1e-9, max_iter=5000).fit(X / 16, y)
    np.testing.assert_allclose(model.predict_proba(X / 16), other.predict_proba(X / 16), atol=1e-4)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=10, deadline=None)
def test_gradient_and_hessian_by_differences(seed, several):
    rng = np.random.default_rng(seed)
    X, k = rng.normal(size=(20, 3)), 3 if several else 1
    y, weights = rng.integers(0, 3 if several else 2, 20), rng.random(20)
    likelihood = Likelihood(LabeledRows(X, y, weights), k, 0.1, True)
    theta, h = rng.normal(size=likelihood.shape), 1e-6
    gradient = likelihood.value_and_gradient(theta)[1]
    hessian = likelihood.hessian(theta, column=k - 1)
    for i, j in itertools.product(*map(range, theta.shape)):
        move = np.zeros_like(theta)
        move[i, j] = h
        up, down = (likelihood.value_and_gradient(theta + s * move) for s in (1, -1))
        assert gradient[i, j] == pytest.approx((up[0] - down[0]) / (2 * h), abs=1e-7)
        if j == k - 1:
            np.testing.assert_allclose(hessian[:, i], (up[1] - down[1])[:, k - 1] / (2 * h), atol=1e-6)


def test_terms_do_not_overflow_and_agree():
    z = np.array([-800.0, -1.0, 0.0, 3.0, 800.0])
    y = np.array([1, 0, 1, 0, 1])
    loss, residual, p = binary_terms(z, y)
    two = softmax_terms(np.column_stack([np.zeros(5), z]), y)
    np.testing.assert_allclose(loss, two[0], rtol=1e-12)
    np.testing.assert_allclose(residual, two[1][:, 1], atol=1e-15)
    np.testing.assert_allclose(p, two[2][:, 1], atol=1e-15)


@pytest.mark.parametrize("params", [{}, {"solver": "lbfgs"}, {"penalty": "l1"}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_weight_counts_rows(params, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5][: classes - 1])
    w = rng.integers(0, 4, 60)
    weighted = LogisticRegression(**params, tol=1e-9).fit(X, y, w)
    repeated = LogisticRegression(**params, tol=1e-9).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_class_weights():
    X, y = noisy()
    by_dict = LogisticRegression(class_weight={0: 1.0, 1: 3.0}, tol=1e-10).fit(X, y)
    by_rows = LogisticRegression(tol=1e-10).fit(X, y, np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_dict.coef_, by_rows.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="class_weight names 'x'"):
        LogisticRegression(class_weight={"x": 1.0}).fit(X, y)


def test_large_table_on_a_sample_start_is_newtons_solution():
    X, y = noisy(40_000, 20)
    newton = LogisticRegression(solver="newton-cholesky", tol=1e-9).fit(X, y)
    sampled = LogisticRegression(solver="lbfgs", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(sampled.coef_, newton.coef_, atol=1e-6)
    assert sampled.n_iter_ <= 15


def test_sparse_and_wide_tables():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 40)) < 0.2).astype(float)
    y = rng.integers(0, 3, 80)
    dense, sparse = LogisticRegression(tol=1e-8).fit(X, y), LogisticRegression(tol=1e-8).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-6)
    wide = rng.normal(size=(30, 5000))
    label = (wide[:, 0] > 0).astype(int)
    assert LogisticRegression().fit(wide, label).score(wide, label) == 1.0


def test_float32_stays_close():
    X, y = noisy(2000, 10)
    np.testing.assert_allclose(
        LogisticRegression().fit(X.astype(np.float32), y).coef_, LogisticRegression().fit(X, y).coef_, atol=1e-3
    )


@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
def test_records_fall(penalty):
    X, y = noisy()
    records = list(LogisticRegression(penalty=penalty).iterate(X, y))
    values = [record["objective"] for record in records]
    assert values == sorted(values, reverse=True)
    assert records[-1]["gradient_norm"] <= 1e-4


def test_separation_is_reported_and_bounded():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    for y in ((X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])):
        with pytest.warns(ConvergenceWarning, match="separable"):
            model = LogisticRegression(penalty=None).fit(X, y)
        assert model.separable_ is True
        assert np.isfinite(model.coef_).all()
        assert model.score(X, y) == 1.0
    quasi = np.array([[1.0], [2.0], [3.0], [3.0], [4.0], [5.0]])
    with pytest.warns(ConvergenceWarning, match="separable"):
        assert LogisticRegression(penalty=None).fit(quasi, [0, 0, 0, 1, 1, 1]).separable_ is True
    assert LogisticRegression(penalty=None).fit(*noisy()).separable_ is False
    assert LogisticRegression().fit(X, X[:, 0] > 0).separable_ is None


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_separating_direction_separates(seed):
    rng = np.random.default_rng(seed)
    X, normal = rng.normal(size=(15, 2)), rng.normal(size=2)
    y = (X @ normal > 0.1).astype(int)
    beta = separating_direction(X, y)
    if y.min() == y.max():
        return
    assert beta is not None
    margins = np.where(y == 1, 1, -1) * (X @ beta[:-1, 0] + beta[-1, 0])
    assert margins.min() > -1e-6
    assert margins.max() > 0
    assert separating_direction(np.vstack([X, X]), np.r_[y, 1 - y]) is None


def test_summary_equals_statsmodels():
    X, y = noisy()
    model = LogisticRegression(penalty=None, tol=1e-12).fit(X, y)
    found, other = model.summary(X, y), sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(found.table.estimate, other.params, rtol=1e-6)
    np.testing.assert_allclose(found.table.standard_error, other.bse, rtol=1e-6)
    np.testing.assert_allclose(found.table.p_value, other.pvalues, rtol=1e-5)
    np.testing.assert_allclose(np.column_stack([found.table.low, found.table.high]), other.conf_int(), rtol=1e-5)
    np.testing.assert_allclose(found.odds_ratio, np.exp(other.params), rtol=1e-6)
    assert found.pseudo_r2 == pytest.approx(other.prsquared, rel=1e-9)
    assert "odds ratio" in str(found)


def test_thresholds():
    X, y = noisy()
    model = LogisticRegression().fit(X, y)
    threshold = model.choose_threshold(X, y, precision=0.9)
    called = model.predict(X, threshold=threshold) == 1
    assert y[called].mean() >= 0.9
    p = model.predict_proba(X)[:, 1]
    reaching = [t for t in p if y[p >= t].mean() >= 0.9]
    assert called.sum() == max(
        (p >= t).sum() for t in reaching if y[p >= t].sum() == max(y[p >= u].sum() for u in reaching)
    )
    with pytest.raises(ValueError, match="one of them"):
        choose_threshold(y == 1, p)
    with pytest.raises(ValueError, match="no threshold reaches"):
        choose_threshold(np.array([True, False]), np.array([0.1, 0.9]), precision=1.0)


def test_refusals():
    X, y = noisy()
    with pytest.raises(ValueError, match="two classes"):
        LogisticRegression().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="cannot take a penalty on absolute values"):
        LogisticRegression(penalty="l1", solver="lbfgs").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        LogisticRegression().fit(np.where(X > 2, np.nan, X), y)
    iris = LogisticRegression().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="two classes"):
        iris.summary(*load_iris(return_X_y=True))


def objective(model, X, y, C, ratio=0.0):
    """The sum that logistic regression minimizes, from its definition."""
    loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
    return loss + ((1 - ratio) / 2 * (model.coef_**2).sum() + ratio * np.abs(model.coef_).sum()) / C


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cholesky", "newton-cg", "sag", "saga"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_solver_reaches_the_minimum(solver, classes, sparse):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 4)) * (rng.random((120, 4)) < 0.7)
    y = np.digitize(X[:, 0] + rng.normal(size=120), [-0.5, 0.5][: classes - 1])
    rows = sp.csr_array(X) if sparse else X
    model = LogisticRegression(solver=solver, tol=1e-8, max_iter=5000, random_state=0).fit(rows, y)
    best = LogisticRegression(tol=1e-10).fit(X, y)
    assert objective(model, X, y, 1.0) <= objective(best, X, y, 1.0) * (1 + 1e-9)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-4)
    assert model.objective_ == pytest.approx(objective(model, X, y, 1.0), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_products_and_the_joint_hessian_are_those_of_differences(classes):
    rng = np.random.default_rng(6)
    k = 1 if classes == 2 else classes
    likelihood = Likelihood(
        LabeledRows(rng.normal(size=(15, 2)), rng.integers(0, classes, 15), rng.random(15)), k, 0.3, True
    )
    theta, direction, h = rng.normal(size=likelihood.shape), rng.normal(size=likelihood.shape), 1e-6
    up, down = (likelihood.value_and_gradient(theta + s * h * direction)[1] for s in (1, -1))
    np.testing.assert_allclose(likelihood.product(theta, direction), (up - down) / (2 * h), atol=1e-7)
    flat = likelihood.joint_hessian(theta) @ direction.T.ravel()
    np.testing.assert_allclose(flat.reshape(k, -1).T, likelihood.product(theta, direction), atol=1e-12)


@pytest.mark.parametrize(
    ("params", "same"),
    [
        ({"l1_ratio": 1.0}, {"penalty": "l1"}),
        ({"l1_ratio": 0.4}, {"penalty": "elasticnet", "l1_ratio": 0.4}),
        ({"C": np.inf}, {"penalty": None}),
        ({"l1_ratio": 0.0}, {"penalty": "l2"}),
    ],
)
def test_the_penalty_follows_from_c_and_l1_ratio(params, same):
    X, y = noisy()
    ours, named = (LogisticRegression(**{"C": 0.05, **given}, tol=1e-9).fit(X, y) for given in (params, same))
    np.testing.assert_array_equal(ours.coef_, named.coef_)
    peer = Peer(**{"C": 0.05, **params}, solver="saga", tol=1e-9, max_iter=50_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)


@pytest.mark.parametrize("scaling", [1.0, 10.0])
@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_liblinear_penalizes_the_intercept(scaling, ratio):
    X, y = noisy(seed=3)
    options = {"solver": "liblinear", "intercept_scaling": scaling, "l1_ratio": ratio, "C": 0.1}
    ours = LogisticRegression(**options, tol=1e-9).fit(X + 1, y)
    peer = Peer(**options, tol=1e-10, max_iter=10_000, random_state=0).fit(X + 1, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "liblinear"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_span_of_the_rows_holds_the_solution(solver, sparse):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(30, 80))
    y = (X[:, 0] + rng.normal(size=30) > 0).astype(int)
    rows = sp.csr_array(X) if sparse else X
    primal = LogisticRegression(solver=solver, tol=1e-10).fit(X, y)
    dual = LogisticRegression(solver=solver, dual=True, tol=1e-10)
    next(dual.iterate(rows, y))
    assert dual._loop.solver.theta.shape[0] <= 32, "30 unknowns, an intercept and the penalized constant"
    np.testing.assert_allclose(dual.fit(rows, y).coef_, primal.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="dual=True needs a pure L2 penalty"):
        LogisticRegression(dual=True, l1_ratio=0.5).fit(X, y)


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs", "newton-cg", "saga", "proximal"])
def test_a_warm_start_begins_where_the_last_fit_ended(solver):
    X, y = scaled(load_wine)
    model = LogisticRegression(solver=solver, warm_start=True, max_iter=300, random_state=0).fit(X, y)
    before = objective(model, X, y, 1.0)
    first = next(model.iterate(X, y), None)
    assert first is None or first["objective"] <= before * (1 + 1e-2)
    model.fit(X[:, :5], y)  # another table: there is nothing to begin with
    assert model.coef_.shape == (3, 5)


def rare_columns(n, seed):
    """Standardized numbers and indicators, some of which a handful of rows have: values above a hundred."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 3))
    kind = np.argmax(latent @ rng.normal(size=(3, 30)) + np.linspace(3, -6, 30) + rng.gumbel(size=(n, 30)), axis=1)
    X = np.hstack([latent @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(n, 8)), np.eye(30)[kind]])
    y = np.argmax(X @ rng.normal(size=(38, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("all_rows", [True, False])
def test_rare_columns_do_not_slow_the_descent(seed, all_rows, monkeypatch):
    from margin.linear import logistic_descent

    X, y = rare_columns(12_000, seed)
    assert np.abs(X).max() > 60
    if not all_rows:
        monkeypatch.setattr(logistic_descent, "TYPICAL_PASSES", 0)
    model = LogisticRegression().fit(X, y)
    peer = Peer(max_iter=1000).fit(X, y)
    assert objective(model, X, y, 1.0) <= objective(peer, X, y, 1.0) * (1 + 1e-3)
    assert model.n_iter_[0] < peer.n_iter_[0] * (1 if all_rows else 2)


def test_two_classes_with_rare_columns(monkeypatch):
    from margin.linear import logistic_fit

    monkeypatch.setattr(logistic_fit, "NEWTON_WORK", 0)  # as for a large table
    X, y = rare_columns(12_000, 5)
    y = (y > 1).astype(int)
    model = LogisticRegression().fit(X, y)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-9).fit(X, y)
    assert model.objective_ <= exact.objective_ * (1 + 1e-4)
    assert model.n_iter_[0] <= 40


def test_the_limit_of_iterations_is_told_and_counted():
    X, y = scaled(load_wine)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        model = LogisticRegression(solver="lbfgs", max_iter=2).fit(X, y)
    assert model.n_iter_.tolist() == [2]
    with pytest.raises(ValueError, match="solver='liblinear' is for two classes; got 3"):
        LogisticRegression(solver="liblinear").fit(X, y)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_what_the_classes_leave_open_is_zero(C):
    """A number added to all classes' scores changes nothing; scikit-learn's are zero on average, and so are ours."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3))
    y = np.argmax(X @ rng.normal(size=(3, 4)) + 2 * rng.gumbel(size=(90, 4)) + [0, 1, 2, 0], axis=1)
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.intercept_.sum(), 0.0, atol=1e-10)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10 if np.isinf(C) else 1e-6)
    peer = Peer(C=C, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)


def test_wide_sparse_rows_need_no_factor_of_all_columns():
    rng = np.random.default_rng(0)
    X = sp.random(150, 1200, 0.01, format="csr", random_state=0)
    y = (X @ rng.normal(size=1200) + 0.1 * rng.normal(size=150) > 0).astype(int)
    ours = LogisticRegression(C=10.0, tol=1e-8).fit(X, y)
    theirs = Peer(C=10.0, tol=1e-10, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    wide, narrow = (
        PreconditionedQuasiNewton(Likelihood(LabeledRows(A, y, None), 1, 0.1, True)) for A in (X, X[:, :20])
    )
    assert wide.start().preconditioner.lower is None
    assert narrow.start().preconditioner.lower is not None


def test_few_dense_rows_of_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 900))
    y = rng.integers(0, 3, 30)
    ours, theirs = LogisticRegression(tol=1e-8).fit(X, y), Peer(tol=1e-10, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_a_penalty_of_none_says_that_c_has_no_use():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X[:, :3])
    with pytest.warns(UserWarning, match="penalty=None leaves no use for C; got C=4"):
        free = LogisticRegression(penalty=None, C=4.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(LogisticRegression(penalty=None).fit(X, y).coef_, free.coef_)


def test_a_warm_start_from_numbers_that_are_none_is_refused():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(warm_start=True, max_iter=500).fit(X, y)
    model.coef_[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"from which warm_start goes on, must be finite; got nan at index \(2, 1\)"):
        model.fit(X, y)


@pytest.mark.parametrize("solver", ["sag", "saga"])
def test_a_stochastic_warm_start_knows_the_gradients_of_all_rows(solver):
    X, y = scaled(load_wine)
    model = LogisticRegression(solver=solver, warm_start=True, tol=1e-8, max_iter=5000, random_state=0).fit(X, y)
    before, coef = objective(model, X, y, 1.0), model.coef_.copy()
    first = next(model.iterate(X, y), None)
    assert first is None or first["objective"] <= before * (1 + 1e-9)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-5)


@pytest.mark.parametrize(("penalty", "l1_ratio", "unused"), [("l1", 0.5, True), ("l2", 1.0, True), ("l1", 1.0, False)])
def test_a_mix_that_the_penalty_does_not_use_is_pointed_out(penalty, l1_ratio, unused):
    X, y = scaled(load_wine)
    model = LogisticRegression(penalty=penalty, l1_ratio=l1_ratio, solver="saga", max_iter=5000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert any("does not mix" in str(warning.message) for warning in caught) == unused


@pytest.mark.parametrize(("l1_ratio", "classes"), [(1.0, 2), (0.5, 2), (1.0, 3)])
def test_columns_far_from_zero_change_nothing_but_the_intercept(l1_ratio, classes):
    """The intercept has no penalty: adding a number to a column moves it and nothing else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = np.digitize(X @ rng.normal(size=6) + rng.normal(size=200), [0.0, 1.5][: classes - 1])
    far = X + 1e4 * rng.normal(size=6)
    near, moved = (LogisticRegression(l1_ratio=l1_ratio, tol=1e-6).fit(rows, y) for rows in (X, far))
    np.testing.assert_allclose(moved.coef_, near.coef_, atol=1e-4)
    np.testing.assert_allclose(moved.predict_proba(far), near.predict_proba(X), atol=1e-4)


# "lbfgs" starts from a fit of some rows by Newton's method, which for a small table are all.
@pytest.mark.parametrize("solver", ["auto", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_no_iterations_show_the_start(solver):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver=solver, max_iter=0).fit(X, y == 2)
    assert not model.coef_.any()
    assert model.n_iter_ == 0
    assert model.predict(X).dtype == bool


def in_other_units(n=12, p=40, seed=2372):
    """Few rows of three classes, columns of deviations from 1e-5 to 1e5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.exp(rng.uniform(-12, 12, size=p))
    return X, np.arange(n) % 3


def test_units_of_columns_do_not_keep_several_classes_from_the_minimum():
    X, y = in_other_units()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        found = LogisticRegression(tol=1e-7, max_iter=200).fit(X, y)
    exact = LogisticRegression(tol=1e-7, max_iter=200, solver="newton-cholesky").fit(X, y)
    assert found.n_iter_ > 50, "quasi-Newton steps come first"
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("stop", [10, 50, 52])
def test_a_fit_that_changes_its_solver_goes_on_where_it_was_left(stop):
    X, y = in_other_units()
    whole = LogisticRegression(tol=1e-7, max_iter=200).fit(X, y)
    first = LogisticRegression(tol=1e-7, max_iter=200)
    for record in first.iterate(X, y):
        if record.iteration == stop:
            break
    state = first.get_state()
    second = LogisticRegression(tol=1e-7, max_iter=200)
    for _ in second.iterate(X, y, state=state):
        pass
    np.testing.assert_array_equal(second.coef_, whole.coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg"])
def test_rows_far_on_the_right_side_do_not_end_a_fit_early(solver):
    """Their gradients vanish: with the tolerance alone a fit ended at two and a half times the smallest objective."""
    rng = np.random.default_rng(5237)
    X, y = rng.integers(0, 6, size=(30, 40)).astype(float), np.repeat([0, 1, 2], 10)

    def objective(**settings):
        return LogisticRegression(C=1000, max_iter=2000, solver=solver, **settings).fit(X, y).objective_

    assert objective() <= 1.1 * objective(tol=1e-10)
