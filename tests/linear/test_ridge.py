import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge as Peer
from sklearn.linear_model import RidgeCV

from margin.linear import LinearRegression, Ridge
from margin.linear.penalized_least_squares import leave_one_out, ridge

RNG = np.random.default_rng(0)
X, y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("shape", [(442, 10), (8, 10), (30, 80)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 100.0])
def test_equals_scikit_learn(shape, intercept, alpha):
    A = np.random.default_rng(1).normal(size=shape)
    target = y[: shape[0]]
    weights = np.random.default_rng(2).integers(0, 4, shape[0]).astype(float)
    ours = Ridge(alpha, fit_intercept=intercept).fit(A, target, weights)
    peer = Peer(alpha, fit_intercept=intercept, solver="svd").fit(A, target, weights)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-7, atol=1e-8)


def test_sparse_and_several_targets_equal_dense_ones():
    A = RNG.normal(size=(60, 7)) * (RNG.random((60, 7)) < 0.4)
    Y = RNG.normal(size=(60, 2))
    dense, sparse = Ridge(2.0).fit(A, Y), Ridge(2.0).fit(sp.csr_array(A), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-12)
    assert dense.coef_.shape == (2, 7)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(A)), dense.predict(A), atol=1e-12)


def test_ill_conditioned_columns_keep_their_digits():
    base = RNG.normal(size=(50, 1))
    A = np.hstack([base, base + 1e-9 * RNG.normal(size=(50, 1))])
    target = A.sum(axis=1)
    augmented = np.vstack([A - A.mean(axis=0), 1e-5 * np.eye(2)])
    expected = np.linalg.lstsq(augmented, np.r_[target - target.mean(), 0, 0], rcond=None)[0]
    np.testing.assert_allclose(Ridge(1e-10).fit(A, target).coef_, expected, rtol=1e-5)


@given(st.integers(3, 12), st.integers(1, 15), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_leave_one_out_is_exact(n, p, intercept, seed):
    rng = np.random.default_rng(seed)
    A, target = rng.normal(size=(n, p)), rng.normal(size=(n, 1))
    weights = rng.integers(1, 4, n).astype(float)
    found = leave_one_out(A, target, [0.3, 3.0], weights, intercept=intercept)
    for i in range(n):
        fewer = weights.copy()
        fewer[i] -= 1
        for k, alpha in enumerate((0.3, 3.0)):
            rest = ridge(A, target, alpha, fewer, intercept=intercept)
            predicted = A[i] @ rest.coef[:, 0] + (rest.intercept[0] if intercept else 0.0)
            assert found[i, 0, k] == pytest.approx(target[i, 0] - predicted, rel=1e-6, abs=1e-8)


def test_loo_chooses_as_scikit_learn():
    alphas = np.logspace(-3, 3, 13)
    ours, peer = Ridge("loo", alphas=alphas).fit(X, y), RidgeCV(alphas).fit(X, y)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert ours.loo_mse_.min() == pytest.approx(-peer.best_score_)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8)


def test_zero_penalty_is_least_squares_and_scale_free_grid():
    np.testing.assert_allclose(Ridge(0.0).fit(X, y).coef_, LinearRegression().fit(X, y).coef_)
    small, large = Ridge("loo").fit(X, y), Ridge("loo").fit(1000 * X, y)
    np.testing.assert_allclose(large.alpha_, 1e6 * small.alpha_, rtol=1e-9)


def test_refusals():
    with pytest.raises(ValueError, match="NaN"):
        Ridge().fit([[1.0], [np.nan]], [1.0, 2.0])
    with pytest.raises(ValueError, match="dense X"):
        Ridge("loo").fit(sp.csr_array(np.eye(3)), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="alpha must be"):
        Ridge(alpha=-1.0).fit(X, y)


def test_a_wide_table_in_very_different_units_keeps_its_digits():
    """Inner products of rows would lose what the small columns say."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40)) * np.exp(rng.uniform(-12, 12, size=40))
    y = rng.normal(size=30)
    for alpha in (1e-6, 1e-3):
        ours, exact = (Ridge(alpha=alpha, solver=solver).fit(X, y) for solver in ("auto", "svd"))
        values = [((y - m.predict(X)) ** 2).sum() + alpha * (m.coef_**2).sum() for m in (ours, exact)]
        assert values[0] <= values[1] * (1 + 1e-6)
