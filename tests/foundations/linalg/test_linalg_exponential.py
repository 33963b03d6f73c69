import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from margin.foundations.linalg import (
    exp_series,
    expm,
    linear_ode_solution,
    log_partial_sums,
    log_series,
    logm,
    logm_partial_sums,
    spectral_radius,
)

seeds = st.integers(0, 10_000)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 6), st.floats(0, 10), st.sampled_from(["pade", "series"]))
def test_expm_against_scipy(seed, n, scale, method):
    A = scale * np.random.default_rng(seed).standard_normal((n, n)) / math.sqrt(n)
    expected = scipy.linalg.expm(A)
    np.testing.assert_allclose(expm(A, method), expected, atol=1e-10 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("method", ["pade", "series"])
def test_expm_survives_large_negative_matrices(method):
    A = np.array([[-49.0, 24.0], [-64.0, 31.0]])  # plain Taylor summation fails here
    expected = np.array([[-0.735759, 0.551819], [-1.471518, 1.103638]])  # eigenvalues -1 and -17
    np.testing.assert_allclose(expm(A, method), expected, atol=1e-6)
    for tiny in (0.0, 5e-324):
        np.testing.assert_array_equal(expm(np.full((2, 2), tiny), method).round(300), np.eye(2))


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 6), st.floats(0.01, 0.9))
def test_logm_series_against_scipy_inside_its_domain(seed, n, radius):
    M = np.random.default_rng(seed).standard_normal((n, n))
    A = np.eye(n) + radius * M / spectral_radius(M)
    np.testing.assert_allclose(logm(A, "series"), np.real(scipy.linalg.logm(A)), atol=1e-8)
    np.testing.assert_allclose(expm(logm(A, "series")), A, atol=1e-8)


def test_logm_series_refuses_the_counterexample_that_schur_solves():
    A = np.array([[3.0, 0.1], [0.1, 0.9]])
    with pytest.raises(ValueError, match=r"eigenvalues of A - I inside the unit disc; the largest has size 2"):
        logm(A, "series")
    np.testing.assert_allclose(expm(logm(A)), A, atol=1e-12)
    assert np.abs(logm_partial_sums(A, 50)[-1]).max() == pytest.approx(1.7e13, rel=0.05)


@pytest.mark.parametrize("A", [[[-1.0]], [[0.0]], [[1.0, 0.0], [0.0, -2.0]], np.zeros((2, 2))])
def test_logm_refuses_matrices_without_a_real_principal_logarithm(A):
    with pytest.raises(ValueError):
        logm(A)


def test_logm_of_a_rotation_is_its_angle():
    c, s = math.cos(2.5), math.sin(2.5)
    np.testing.assert_allclose(logm([[c, -s], [s, c]]), [[0, -2.5], [2.5, 0]], atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.floats(-20, 20))
def test_exponential_series_converges(a):
    # The terms are as large as exp(|a|), so for negative a their rounding errors are all that is left.
    assert exp_series(a, 120).errors[-1] < 1e-14 * math.exp(abs(a))


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 1.95))
def test_logarithm_series_converges(a):
    assert log_series(a, 800).errors[-1] < 1e-10


def test_logarithm_series_at_the_end_of_its_domain_and_beyond():
    assert log_series(2.0, 1000).errors[-1] == pytest.approx(1 / 2000, rel=1e-2)
    assert abs(log_partial_sums(3.0, 60)[-1]) > 1e15
    for a in (0.0, -1.0, 2.0001, math.nan):
        with pytest.raises(ValueError, match=r"a must be in \(0, 2\]"):
            log_series(a, 5)


def test_linear_ode_against_runge_kutta():
    rng = np.random.default_rng(0)
    A, c = rng.standard_normal((4, 4)), rng.standard_normal(4)
    reference = solve_ivp(lambda _, f: A @ f, (0, 1.5), c, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(linear_ode_solution(A, c, 1.5), reference, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: expm([[1.0]], "taylor"), ValueError, "expm: method must be 'pade' or 'series'; got 'taylor'."),
        (lambda: expm([[1000.0]]), OverflowError, "expm: exp(A) exceeds the largest floating-point number"),
        (lambda: expm(np.diag([1000.0, -1000.0])), OverflowError, "the norm of A is 1e+03."),
        (lambda: logm([[1.0]], "pade"), ValueError, "logm: method must be 'schur' or 'series'; got 'pade'."),
        (lambda: logm([[1.9999999]], "series"), ValueError, "use method='schur'"),
        (lambda: exp_series(1.0, 0), ValueError, "exp_series: terms must be an integer of at least 1; got 0."),
        (lambda: exp_series(math.inf, 3), ValueError, "exp_series: a must be between -700 and 700; got inf."),
        (lambda: linear_ode_solution([[1.0]], [1.0, 2.0], 1), ValueError, "c must be a vector of 1 numbers"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
