import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from margin.foundations.transport import (
    cdf_difference_norm,
    cost_matrix,
    is_coupling,
    monotone_plan,
    solve,
    wasserstein_1d,
    wasserstein_1d_cdf,
)

sizes = st.integers(1, 25)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), sizes, sizes, st.sampled_from([1, 1.5, 2, 3]))
def test_sorting_solves_the_linear_program(seed, m, n, p):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-5, 5, m).astype(float), rng.normal(size=n)  # ties on one side
    a, b = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
    exact = solve(a, b, cost_matrix(x, y, p), "linprog").cost
    assert wasserstein_1d(x, y, p, a, b) ** p == pytest.approx(exact, rel=1e-9, abs=1e-12)
    plan = monotone_plan(x, y, a, b)
    assert is_coupling(plan.dense(m, n), a, b, tolerance=1e-12)
    assert len(plan.mass) <= m + n - 1
    assert (np.diff(x[plan.source]) >= 0).all()
    assert (np.diff(y[plan.target]) >= 0).all()


def test_against_scipy_with_and_without_weights():
    rng = np.random.default_rng(0)
    for m, n in ((50, 50), (50, 31), (1000, 7)):
        x, y = rng.normal(size=m), rng.normal(1, 2, size=n)
        a, b = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
        for mine in (wasserstein_1d, wasserstein_1d_cdf):
            assert mine(x, y) == pytest.approx(stats.wasserstein_distance(x, y), rel=1e-12)
            assert mine(x, y, 1, a, b) == pytest.approx(stats.wasserstein_distance(x, y, a, b), rel=1e-12)


def test_unequal_sizes_equal_their_repetition():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=6), rng.normal(size=4)
    assert wasserstein_1d(x, y, 3) == pytest.approx(wasserstein_1d(np.repeat(x, 2), np.repeat(y, 3), 3), rel=1e-12)


def test_squares_of_the_notes():
    place = np.arange(5.0)
    nu, mu = [5, 1, 1, 1, 1], [1, 2, 2, 2, 2]
    assert wasserstein_1d(place, place, 1, nu, mu) == pytest.approx(10)
    assert wasserstein_1d(place, place, 2, nu, mu) ** 2 == pytest.approx(16)
    assert cdf_difference_norm(place, place, 2, nu, mu) ** 2 == pytest.approx(30)
    assert wasserstein_1d(place, place, 2, [4, 0, 0, 0, 0], [0, 1, 1, 1, 1]) ** 2 == pytest.approx(30)


def test_cdf_formula_refuses_other_powers():
    with pytest.raises(ValueError, match="needs p = 1; got 2"):
        wasserstein_1d_cdf([0.0], [2.0], 2)
    assert cdf_difference_norm([0.0], [2.0], 2) == pytest.approx(np.sqrt(2))
    assert wasserstein_1d([0.0], [2.0], 2) == 2


def test_bad_input_and_untouched_arguments():
    x = np.array([3.0, 1.0, 2.0])
    wasserstein_1d(x, x[::-1], 2)
    np.testing.assert_array_equal(x, [3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="x must be finite"):
        wasserstein_1d([np.nan], [1.0])
    with pytest.raises(ValueError, match="points on a line"):
        wasserstein_1d(np.ones((2, 2)), [1.0])
    with pytest.raises(ValueError, match="equal total mass"):
        wasserstein_1d([0.0], [1.0], 1, [1.0], [2.0])
