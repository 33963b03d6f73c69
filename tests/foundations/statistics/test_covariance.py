"""Variance, covariance and correlation against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.statistics import correlation, covariance, covariance_matrix, variance, variance_shortcut

X = np.random.default_rng(0).normal(size=(50, 4)) @ np.random.default_rng(1).normal(size=(4, 4)) + 5


@pytest.mark.parametrize("ddof", [0, 1])
def test_against_numpy(ddof):
    np.testing.assert_allclose(variance(X, ddof), X.var(axis=0, ddof=ddof), rtol=1e-12)
    np.testing.assert_allclose(covariance_matrix(X, ddof), np.cov(X, rowvar=False, ddof=ddof), rtol=1e-11)
    assert covariance(X[:, 0], X[:, 1], ddof) == pytest.approx(np.cov(X[:, 0], X[:, 1], ddof=ddof)[0, 1])
    assert correlation(X[:, 0], X[:, 1]) == pytest.approx(np.corrcoef(X[:, 0], X[:, 1])[0, 1])


def test_covariance_matrix_is_symmetric_and_semidefinite():
    wide = np.random.default_rng(2).normal(size=(5, 9))  # fewer rows than columns: singular
    S = covariance_matrix(wide)
    np.testing.assert_array_equal(S, S.T)
    assert np.linalg.eigvalsh(S).min() > -1e-12
    assert np.linalg.matrix_rank(S) == 4


@given(st.floats(-5, 5).filter(lambda a: abs(a) > 0.01), st.floats(-100, 100))
@settings(max_examples=25, deadline=None)
def test_correlation_ignores_shift_and_scale(a, b):
    x, y = X[:, 0], X[:, 2]
    assert correlation(a * x + b, y) == pytest.approx(np.sign(a) * correlation(x, y), abs=1e-10)
    assert abs(correlation(x, a * x + b)) == pytest.approx(1.0, abs=1e-10)


def test_correlation_of_very_large_and_very_small_values():
    x, y = X[:, 0], X[:, 2]
    assert correlation(x * 1e200, y * 1e-200) == pytest.approx(correlation(x, y), abs=1e-12)


def test_shortcut_holds_near_zero_and_fails_far_away():
    x = np.random.default_rng(3).normal(size=1000)
    assert variance_shortcut(x) == pytest.approx(float(variance(x)), rel=1e-12)
    far = x + 1e9
    assert float(variance(far)) == pytest.approx(float(variance(x)), rel=1e-6)
    assert abs(variance_shortcut(far) - float(variance(x))) > 1


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: correlation([1.0, 1.0], [1.0, 2.0]), "x must vary"),
        (lambda: correlation([1.0, 2.0], [0.1 + 0.2, 0.3]), "y must vary"),
        (lambda: covariance([1.0, 2.0], [1.0]), "one length; got 2 and 1"),
        (lambda: covariance([1.0], [1.0], ddof=1), "ddof must be below"),
        (lambda: covariance([1.0, "a"], [1.0, 2.0]), "array of real numbers"),
        (lambda: variance_shortcut([[1.0]]), "one-dimensional"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
