import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet as PeerNet
from sklearn.linear_model import Lasso as PeerLasso
from sklearn.linear_model import lasso_path as peer_path

from margin.linear import ElasticNet, Lasso, elastic_net_path, lasso_path
from margin.linear.coordinate_kernels import quadratic_descent
from margin.linear.moments import moments
from margin.linear.sparse_descent import SparseDescent, jump_to_face_minimum
from margin.linear.sparse_problem import ActiveColumns, GramColumns, columns_of

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
    net = ElasticNet(0.3, 0.4, fit_intercept=intercept, tol=1e-12).fit(A, target, w)
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
    model = ElasticNet(alpha, ratio, tol=1e-13).fit(A, target)
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
    for one, two in zip(gram.slack(w), active.slack(w)):
        np.testing.assert_allclose(one, two, atol=1e-12)
    names = np.concatenate(active.grown)
    np.testing.assert_allclose(active.products[:3, :3], gram.Q[np.ix_(names, names)], atol=1e-12)


def quadratic_descent_twin(Q, order, slack, w, l1, l2, tol, max_sweeps):
    for sweep in range(max_sweeps):
        most = 0.0
        for j in order:
            pull = slack[j] + Q[j, j] * w[j]
            new = np.sign(pull) * max(abs(pull) - l1[j], 0.0) / (Q[j, j] + l2[j])
            move = new - w[j]
            w[j] = new
            slack -= move * Q[j]
            most = max(most, 0.5 * move**2 * (Q[j, j] + l2[j]))
        if most <= tol:
            return sweep + 1
    return max_sweeps


def test_kernel_equals_its_twin_and_jump_lowers_the_value():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 6))
    Q, q = A.T @ A, A.T @ rng.normal(size=30)
    l1, l2 = np.full(6, 2.0), np.full(6, 0.5)
    pairs = []
    for descend in (quadratic_descent, quadratic_descent_twin):
        w, slack = np.zeros(6), q.copy()
        sweeps = descend(Q, np.array([0, 1, 3, 5]), slack, w, l1, l2, 1e-9, 3)
        pairs.append((w, slack, sweeps))
    np.testing.assert_allclose(pairs[0][0], pairs[1][0], atol=1e-13)
    np.testing.assert_allclose(pairs[0][1], pairs[1][1], atol=1e-12)
    assert pairs[0][2] == pairs[1][2]
    value = lambda w: 0.5 * w @ Q @ w - q @ w + 2.0 * np.abs(w).sum() + 0.25 * w @ w  # noqa: E731
    w = rng.normal(size=6)
    before = value(w)
    jump_to_face_minimum(Q, q - Q @ w, w, 2.0, 0.5)
    assert value(w) <= before


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
    np.testing.assert_allclose(path.coefs[:, 1], ElasticNet(0.1, 0.5, tol=1e-12).fit(X, y).coef_, atol=1e-7)
    with pytest.raises(ValueError, match="l1_ratio"):
        elastic_net_path(X, y, l1_ratio=0.0)
    with pytest.raises(ValueError, match="alphas"):
        lasso_path(X, y, alphas=[-1.0])
    with pytest.raises(ValueError, match="finite"):
        lasso_path(np.where(X > 0.1, np.nan, X), y)
    with pytest.raises(ValueError, match="sample_weight"):
        lasso_path(X, y, sample_weight=-np.ones(len(y)))
