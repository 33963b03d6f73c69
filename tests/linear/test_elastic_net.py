import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as PeerNet
from sklearn.linear_model import Lasso as PeerLasso
from sklearn.linear_model import lasso_path as peer_path

from margin.compiled.linear import descend_to_gap, quadratic_descent, quadratic_gap, sweep
from margin.linear import ElasticNet, Lasso, LinearRegression, elastic_net, elastic_net_path, lasso_path
from margin.linear.moments import moments
from margin.linear.path_descent import Point, follow
from margin.linear.sparse_descent import SparseDescent, jump_to_face_minimum
from margin.linear.sparse_problem import ActiveColumns, GramColumns, columns_of, duality_gap

X, y = load_diabetes(return_X_y=True)


def wide(seed=0, n=40, p=100):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p))
    return A, A[:, :3] @ [3.0, -2.0, 1.0] + rng.normal(size=n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("data", [(X, y), wide()], ids=["tall", "wide"])
def test_equals_scikit_learn(data, intercept, weighted):
    A, target = data
    w = np.random.default_rng(1).integers(0, 3, len(target)).astype(float) if weighted else None
    lasso = Lasso(0.3, fit_intercept=intercept, tol=1e-12).fit(A, target, w)
    peer = PeerLasso(0.3, fit_intercept=intercept, tol=1e-12, max_iter=100_000).fit(A, target, sample_weight=w)
    np.testing.assert_allclose(lasso.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_array_equal(lasso.coef_ == 0, peer.coef_ == 0)
    net = ElasticNet(0.3, l1_ratio=0.4, fit_intercept=intercept, tol=1e-12).fit(A, target, w)
    other = PeerNet(alpha=0.3, l1_ratio=0.4, fit_intercept=intercept, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(net.coef_, other.fit(A, target, sample_weight=w).coef_, atol=1e-6)


def test_path_equals_scikit_learn_and_gaps_bound_the_excess():
    path = lasso_path(X, y, n_alphas=30, tol=1e-9)
    alphas, coefs, _ = peer_path(X - X.mean(axis=0), y - y.mean(), alphas=path.alphas, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(path.alphas, alphas)
    np.testing.assert_allclose(path.coefs, coefs, atol=1e-3)
    assert not path.coefs[:, 0].any()
    loose = lasso_path(X, y, alphas=path.alphas, tol=1e-3)
    objective = lambda w, a: np.mean((y - y.mean() - (X - X.mean(axis=0)) @ w) ** 2) / 2 + a * np.abs(w).sum()  # noqa: E731
    for k, a in enumerate(path.alphas):
        assert objective(loose.coefs[:, k], a) - objective(path.coefs[:, k], a) <= loose.gaps[k] + 1e-8 * y.var()


@given(st.integers(0, 10**6), st.floats(0.02, 1.0), st.floats(0.1, 1.0))
@settings(max_examples=20, deadline=None)
def test_optimality_conditions(seed, share, ratio):
    rng = np.random.default_rng(seed)
    A, target = rng.normal(size=(20, int(rng.integers(2, 40)))), rng.normal(size=20)
    centered, t = A - A.mean(axis=0), target - target.mean()
    alpha = share * np.abs(centered.T @ t).max() / 20 / ratio
    model = ElasticNet(alpha, l1_ratio=ratio, tol=1e-13).fit(A, target)
    slack = centered.T @ (t - centered @ model.coef_) / 20 - alpha * (1 - ratio) * model.coef_
    used = model.coef_ != 0
    np.testing.assert_allclose(slack[used], alpha * ratio * np.sign(model.coef_[used]), atol=1e-5 * (1 + alpha))
    assert (np.abs(slack) <= alpha * ratio * (1 + 1e-5) + 1e-7).all()


def test_both_representations_have_one_slack():
    A, target = wide(n=30, p=12)
    w = np.zeros(12)
    w[[2, 5]] = 1.0, -2.0
    gram = GramColumns(moments(A, target[:, None]))
    active = ActiveColumns(A, target, None, intercept=True)
    active.gram(np.array([5, 2]))
    active.gram(np.array([2, 7]))
    for one, two in zip(gram.slacks(w[None]), active.slacks(w[None])):
        np.testing.assert_allclose(one, two, atol=1e-12)
    names = np.concatenate(active.grown)
    np.testing.assert_allclose(active.products[:3, :3], gram.Q[np.ix_(names, names)], atol=1e-12)


def quadratic_descent_twin(Q, order, slack, w, l1, l2, tol, max_sweeps, positive=False):
    for done in range(max_sweeps):
        most = 0.0
        for j in order:
            pull = slack[j] + Q[j, j] * w[j]
            new = np.sign(pull) * max(abs(pull) - l1[j], 0.0) / (Q[j, j] + l2[j])
            new = max(new, 0.0) if positive else new
            move = new - w[j]
            w[j] = new
            slack -= move * Q[j]
            most = max(most, 0.5 * move**2 * (Q[j, j] + l2[j]))
        if most <= tol:
            return done + 1
    return max_sweeps


@pytest.mark.parametrize("positive", [False, True])
def test_kernel_equals_its_twin_and_jump_lowers_the_value(positive):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 6))
    Q, q = A.T @ A, A.T @ rng.normal(size=30)
    l1, l2 = np.full(6, 2.0), np.full(6, 0.5)
    pairs = []
    for descend in (quadratic_descent, quadratic_descent_twin):
        w, slack = np.zeros(6), q.copy()
        sweeps = descend(Q, np.array([0, 1, 3, 5]), slack, w, l1, l2, 1e-9, 3, positive)
        pairs.append((w, slack, sweeps))
    np.testing.assert_allclose(pairs[0][0], pairs[1][0], atol=1e-13)
    np.testing.assert_allclose(pairs[0][1], pairs[1][1], atol=1e-12)
    assert pairs[0][2] == pairs[1][2]
    value = lambda w: 0.5 * w @ Q @ w - q @ w + 2.0 * np.abs(w).sum() + 0.25 * w @ w  # noqa: E731
    w = rng.normal(size=6)
    before = value(w)
    jump_to_face_minimum(Q, q - Q @ w, w, 2.0, 0.5)
    assert value(w) <= before


def descend_to_gap_twin(Q, order, q, square, slack, w, l1, l2, bound, least, max_sweeps):
    for done in range(max_sweeps):
        before = w.copy()
        quadratic_descent_twin(Q, order, slack, w, l1, l2, np.inf, 1)
        gain = (0.5 * (w - before) ** 2 * (Q.diagonal() + l2)).max()
        residual_square = square - w @ (q + slack)
        gap = duality_gap(w, slack, residual_square, residual_square + w @ slack, l1[0], l2[0]).gap
        if gain <= least or (done > 0 and gap <= bound):
            return done + 1
    return max_sweeps + 1


@pytest.mark.parametrize("bound", [np.inf, 1e-5, 1e-9, 0.0])
def test_descent_to_a_gap_equals_its_twin(bound):
    rng = np.random.default_rng(0)
    A, target = rng.normal(size=(30, 6)), rng.normal(size=30)
    Q, q, square = A.T @ A / 30, A.T @ target / 30, target @ target / 30
    l1, l2 = np.full(6, 0.05), np.full(6, 0.2)
    found = []
    for descend in (descend_to_gap, descend_to_gap_twin):
        w, slack = np.zeros(6), q.copy()
        found.append((w, slack, descend(Q, np.arange(6), q, square, slack, w, l1, l2, bound, 1e-30, 12)))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-13)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-13)
    assert found[0][2] == found[1][2]
    assert found[0][2] == 2 if bound == np.inf else found[0][2] > 2
    w, slack = found[0][:2]
    r = target - A @ w
    expected = duality_gap(w, A.T @ r / 30, r @ r / 30, target @ r / 30, 0.05, 0.2).gap
    assert quadratic_gap(q, slack, w, square, 0.05, 0.2) == pytest.approx(expected, abs=1e-12)
    assert sweep(Q, np.arange(6), slack, np.array(w), l1, l2, False) <= 0.5 * square


@given(st.integers(0, 10**6), st.floats(0.2, 1.0), st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_every_point_of_a_path_is_certified(seed, ratio, ahead):
    """Wide and tall tables, penalties that fall fast or hardly: the gap at all columns is what was asked for."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(5, 40)), int(rng.integers(2, 150))
    A = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    target = A[:, 0] * 3 + rng.normal(size=n)
    columns = ActiveColumns(A, target, None, intercept=True)
    columns.ahead = ahead
    l1 = np.abs(columns.q).max() * np.sort(rng.random(7))[::-1] * 1.1
    found = follow(columns, np.column_stack([l1 * ratio, l1 * (1 - ratio)]), 1e-7 * columns.square)
    centered, t = A - A.mean(axis=0), target - target.mean()
    for k in range(7):
        w = found.coefs[k]
        r = t - centered @ w
        gap = duality_gap(w, centered.T @ r / n, r @ r / n, t @ r / n, l1[k] * ratio, l1[k] * (1 - ratio)).gap
        assert gap <= 1e-7 * columns.square * (1 + 1e-6)
        assert found.gaps[k] == pytest.approx(gap, abs=1e-12 * columns.square)


def test_a_face_is_left_along_its_line():
    """Orthogonal columns: soft thresholding is linear until the first coefficient vanishes."""
    two, one = (Point(a, np.array([3 - a, 1 - a]), np.array([a, a])) for a in (0.9, 0.6))
    there = one.toward(0.2, two)
    np.testing.assert_allclose(there.w, [2.8, 0.8])
    np.testing.assert_allclose(there.slack, [0.2, 0.2])
    assert there.l1 == 0.2
    np.testing.assert_array_equal(one.toward(0.2, one).w, one.w)


@pytest.mark.parametrize("below", [1e-16, 1e-15, 1e-12, 1e-8])
def test_a_path_may_begin_a_rounding_below_the_largest_penalty(below):
    """The line through two points that are so close would be nothing but their rounding."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 60))
    for j in range(1, 60):
        A[:, j] = 0.9 * A[:, j - 1] + np.sqrt(1 - 0.9**2) * A[:, j]
    target = A @ (rng.normal(size=60) * (rng.random(60) < 0.2)) + rng.normal(size=120)
    largest = np.abs(A.T @ target).max() / 120
    alphas = largest * (1 - below) * np.logspace(0, -3, 40)
    path = lasso_path(A, target, alphas=alphas, fit_intercept=False)
    assert (path.gaps <= 1e-4 * np.mean(target**2)).all()
    coefs = peer_path(A, target, alphas=alphas, tol=1e-10, max_iter=100_000)[1]
    np.testing.assert_allclose(A @ path.coefs, A @ coefs, atol=0.1)


def test_a_gap_that_stays_above_the_tolerance_is_told():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 8))
    with pytest.warns(ConvergenceWarning, match="penalties the duality gap stays above tol"):
        lasso_path(A, A.sum(axis=1) + rng.normal(size=30), alphas=np.logspace(-1, -3, 20), tol=0.0)


def test_a_path_of_repeated_rising_and_dependent_columns():
    A, target = wide(5, n=30, p=20)
    A = np.column_stack([A, A[:, :5], np.ones(30), np.zeros(30)])
    path = lasso_path(A, target, alphas=[0.01, 1.0, 0.1, 0.1, 100.0], tol=1e-9)
    assert path.alphas.tolist() == [100.0, 1.0, 0.1, 0.1, 0.01]
    assert (path.gaps <= 1e-9 * target.var() * (1 + 1e-9)).all()
    np.testing.assert_allclose(path.coefs[:, 2], path.coefs[:, 3], atol=1e-4)
    assert not path.coefs[25:].any(), "a constant column has no coefficient"
    flat = lasso_path(A, np.ones(30))
    assert not flat.coefs.any()
    np.testing.assert_allclose(flat.intercepts, 1.0)


def test_a_wide_path_that_starts_far_down_looks_again():
    A, target = wide(7, n=60, p=3000)
    columns = columns_of(A, target, None, intercept=True)
    l1 = 0.02 * np.abs(columns.q).max()
    found = follow(columns, np.array([[l1, 0.0]]), 1e-8 * columns.square)
    assert found.gaps[0] <= 1e-8 * columns.square
    peer = PeerLasso(l1, tol=1e-10, max_iter=100_000).fit(A, target)
    np.testing.assert_allclose(found.coefs[0], peer.coef_, atol=1e-3)
    assert columns.count < 3000, "most columns were never needed"


@pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
def test_threads_change_no_bit(shape, monkeypatch):
    A, target = wide(2, *shape)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MARGIN_NUM_THREADS", threads)
        found.append(lasso_path(A, target, n_alphas=20).coefs)
    np.testing.assert_array_equal(*found)


def test_screening_never_loses_a_column():
    A, target = wide(3, n=50, p=200)
    descent = SparseDescent(columns_of(A, target, None, intercept=True))
    size = descent.size
    descent.aim(0.05 * size, 0.0)  # straight to a small penalty: the strong rule must be corrected by the check
    while descent.moved and descent.gap().gap > 1e-12 * target.var():
        descent.step(1e-14)
    assert np.abs(descent.slack).max() <= 0.05 * size * (1 + 1e-4)


def test_path_of_the_elastic_net_and_refusals():
    path = elastic_net_path(X, y, l1_ratio=0.5, alphas=[0.1, 1.0], tol=1e-12)
    assert path.alphas.tolist() == [1.0, 0.1]
    np.testing.assert_allclose(path.coefs[:, 1], ElasticNet(0.1, l1_ratio=0.5, tol=1e-12).fit(X, y).coef_, atol=1e-7)
    with pytest.raises(ValueError, match="l1_ratio"):
        elastic_net_path(X, y, l1_ratio=0.0)
    with pytest.raises(ValueError, match="alphas"):
        lasso_path(X, y, alphas=[-1.0])
    with pytest.raises(ValueError, match="finite"):
        lasso_path(np.where(X > 0.1, np.nan, X), y)
    with pytest.raises(ValueError, match="sample_weight"):
        lasso_path(X, y, sample_weight=-np.ones(len(y)))


def kkt(model, A, Y, alpha, ratio, positive=False):
    """How far a solution is from the conditions of optimality, relative to the penalty."""
    centered = A - A.mean(axis=0)
    worst = 0.0
    for w, target in zip(np.atleast_2d(model.coef_), Y.reshape(len(Y), -1).T):
        slack = centered.T @ (target - target.mean() - centered @ w) / len(A) - alpha * (1 - ratio) * w
        used = w != 0
        worst = max(worst, np.abs(slack[used] - alpha * ratio * np.sign(w[used])).max(initial=0.0))
        excess = (slack if positive else np.abs(slack))[~used] - alpha * ratio
        worst = max(worst, excess.max(initial=0.0))
    return worst / alpha


@pytest.mark.parametrize("shape", [(60, 8), (30, 90)])
@pytest.mark.parametrize("sparse", [False, True])
def test_several_targets_positive_and_sparse_rows(shape, sparse):
    import scipy.sparse as sp

    rng = np.random.default_rng(3)
    A = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    Y = A[:, :3] @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(shape[0], 2))
    rows = sp.csr_array(A) if sparse else A
    for positive in (False, True):
        ours = ElasticNet(0.05, l1_ratio=0.7, tol=1e-12, positive=positive).fit(rows, Y)
        peer = PeerNet(alpha=0.05, l1_ratio=0.7, tol=1e-12, positive=positive, max_iter=100_000).fit(A, Y)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)
        assert kkt(ours, A, Y, 0.05, 0.7, positive) < 1e-4
        assert ours.coef_.shape == (2, shape[1])
        assert len(ours.n_iter_) == 2
        assert not positive or (ours.coef_ >= 0).all()


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_shapes_are_those_of_scikit_learn(columns):
    A, target = wide(4)
    Y = target if columns == 0 else np.column_stack([target, -target])[:, :columns]
    for intercept in (True, False):
        ours, peer = (cls(alpha=0.1, fit_intercept=intercept).fit(A, Y) for cls in (Lasso, PeerLasso))
        for name in ("coef_", "intercept_", "n_iter_", "dual_gap_"):
            assert np.shape(getattr(ours, name)) == np.shape(getattr(peer, name)), name
        assert ours.predict(A).shape == peer.predict(A).shape


def test_inner_products_may_be_computed_or_given():
    A, target = wide(5, n=20, p=50)
    plain = Lasso(0.1, tol=1e-12).fit(A, target)
    centered = A - A.mean(axis=0)
    for precompute in (True, centered.T @ centered, A.T @ A):
        np.testing.assert_allclose(
            Lasso(0.1, precompute=precompute, tol=1e-12).fit(A, target).coef_, plain.coef_, atol=1e-6
        )
    with pytest.raises(ValueError, match=r"Lasso: precompute must have shape \(50, 50\); got \(2, 2\)"):
        Lasso(precompute=np.eye(2)).fit(A, target)
    with pytest.raises(ValueError, match="Lasso: precompute must hold the inner products of the columns of X"):
        Lasso(precompute=np.eye(50)).fit(A, target)
    raw = Lasso(0.1, precompute=A.T @ A, fit_intercept=False, tol=1e-12).fit(A, target)
    np.testing.assert_allclose(raw.coef_, Lasso(0.1, fit_intercept=False, tol=1e-12).fit(A, target).coef_, atol=1e-6)
    np.testing.assert_array_equal(plain.sparse_coef_.toarray(), [plain.coef_])


def test_a_warm_start_continues_and_a_random_order_follows_the_seed():
    A, target = wide(6, n=80, p=60)
    sweeps = {}
    for warm in (False, True):
        model = Lasso(0.05, tol=1e-12, warm_start=warm).fit(A, target)
        solved = model.coef_
        next(model.iterate(A, target))
        sweeps[warm] = model._loop.now.descent.sweeps
        np.testing.assert_allclose(model.coef_, solved, atol=1e-6)
    assert sweeps[True] < sweeps[False], "from the minimum there is less to do"
    cyclic = Lasso(0.05, tol=1e-12).fit(A, target)
    drawn = [Lasso(0.05, tol=1e-12, selection="random", random_state=seed).fit(A, target) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0].coef_, drawn[1].coef_)
    np.testing.assert_allclose(drawn[2].coef_, cyclic.coef_, atol=1e-6)


def test_no_penalty_on_absolute_values_is_ridge_regression():
    from margin.linear import LinearRegression, Ridge

    net = ElasticNet(0.2, l1_ratio=0.0, tol=1e-14).fit(X, y)
    np.testing.assert_allclose(net.coef_, Ridge(0.2 * len(X)).fit(X, y).coef_, rtol=1e-6)
    np.testing.assert_allclose(Lasso(0.0, tol=1e-14).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-6)


def test_no_penalty_is_advised_against_and_still_least_squares():
    with pytest.warns(UserWarning, match="Lasso: alpha=0 is no penalty"):
        model = Lasso(alpha=0.0, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-6)
    assert model.n_iter_ < 1000, "no dual point bounds the objective, so the gradient has to end the fit"


def test_a_warm_start_from_numbers_that_are_none_is_refused():
    model = ElasticNet(alpha=0.1, warm_start=True).fit(X, y)
    model.coef_[3] = np.inf
    with pytest.raises(ValueError, match="ElasticNet: coef_, from which warm_start goes on, must be finite; got inf"):
        model.fit(X, y)


def test_rows_known_to_be_finite_are_not_looked_through(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30.0)
    seen = []
    monkeypatch.setattr(
        elastic_net, "validate_data", lambda *_, ensure_all_finite, **__: (seen.append(ensure_all_finite), (X, y))[1]
    )
    checked, trusted = ElasticNet(alpha=0.1).fit(X, y), ElasticNet(alpha=0.1).fit(X, y, check_input=False)
    np.testing.assert_array_equal(checked.coef_, trusted.coef_)
    assert seen == [True, False]


def test_without_a_penalty_a_weighted_constant_column_gets_nothing():
    rng = np.random.default_rng(0)
    A, target = np.column_stack([np.full(120, 3.0), rng.normal(size=120)]), rng.normal(size=120)
    with pytest.warns(UserWarning, match="alpha=0"):
        model = Lasso(alpha=0.0).fit(A, target, sample_weight=rng.random(120))
    assert model.coef_[0] == 0


def test_the_gap_is_that_of_the_present_coefficients_and_penalties():
    """It is kept until something changes it: new penalties, a step, another start, a restored state."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    columns = columns_of(X, y, None, intercept=True)
    A, target = X - X.mean(axis=0), y - y.mean()

    def expected(l1, l2):
        r = target - A @ descent.w
        return duality_gap(descent.w, A.T @ r / 40, r @ r / 40, target @ r / 40, l1, l2)

    descent = SparseDescent(columns)
    descent.gap()
    before = descent.aim(0.05, 0.1).gap()
    assert before == pytest.approx(expected(0.05, 0.1))
    state = descent.state()
    after = descent.step(1e-9)
    assert after == pytest.approx(expected(0.05, 0.1)) != before
    assert descent.gap() == after
    assert descent.aim(0.2, 0.0).gap() == pytest.approx(expected(0.2, 0.0)) != after
    assert descent.begin_at(rng.normal(size=6)).gap() == pytest.approx(expected(0.2, 0.0))
    descent.restore(state)
    assert descent.gap() == before
