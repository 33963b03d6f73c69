"""Splines by their second derivatives: the basis against SciPy's splines, and rows that nearly tie."""

import numpy as np
import pytest
from scipy import integrate, interpolate

from margin.linear import SplineRegression
from margin.linear.bent_basis import bent_design, bent_roughness, bent_values
from margin.linear.spline_regression import roughness

KNOTS = np.array([-1.0, 0.3, 0.5, 2.0, 2.1, 4.0])


def test_curves_are_the_natural_splines_through_their_values():
    x = np.linspace(-1.0, 4.0, 41)
    spline = interpolate.CubicSpline(KNOTS, bent_values(KNOTS), bc_type="natural")
    np.testing.assert_allclose(bent_design(x, KNOTS), spline(x), atol=1e-12)
    np.testing.assert_allclose(bent_design(KNOTS, KNOTS).mean(axis=0), np.zeros(4), atol=1e-12)
    right = spline(4.0) + 3.0 * spline(4.0, 1)
    np.testing.assert_allclose(bent_design(np.array([-6.0, 7.0]), KNOTS), [spline(-1.0), right], atol=1e-12)


def test_roughness_is_the_integral_of_the_squared_second_derivative():
    second = interpolate.CubicSpline(KNOTS, bent_values(KNOTS), bc_type="natural").derivative(2)
    gram = integrate.quad_vec(lambda t: np.outer(second(t), second(t)), -1.0, 4.0, points=KNOTS[1:-1])[0]
    np.testing.assert_allclose(bent_roughness(KNOTS), gram, atol=1e-9)
    values = bent_values(KNOTS)
    np.testing.assert_allclose(bent_roughness(KNOTS), values.T @ roughness(KNOTS) @ values, atol=1e-9)


@pytest.mark.parametrize("n_knots", [1, 2])
def test_no_curve_with_fewer_than_three_knots(n_knots):
    knots = np.arange(float(n_knots))
    assert bent_design(np.zeros(5), knots).shape == (5, 0)
    assert bent_values(knots).shape == (n_knots, 0)
    assert bent_roughness(knots).shape == (0, 0)


def test_conditioning_does_not_depend_on_the_gaps():
    gaps = 10.0 ** np.random.default_rng(0).uniform(-9, 2, size=60)
    assert np.linalg.cond(bent_roughness(np.cumsum(gaps))) < 4


@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("smoothing", [1e-3, 0.4, 1e5])
def test_rows_that_nearly_tie_count_as_ties(gap, smoothing):
    """As the gap closes, two rows are one of twice the weight; the fit must go there without a jump."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 5, 30) + rng.uniform(0, 0.1, size=30)
    y = np.sin(x) + 0.2 * rng.normal(size=30)
    near, tied = x.copy(), x.copy()
    tied[11], near[11] = x[10], x[10] + gap
    fits = [SplineRegression(smoothing).fit(values[:, None], y) for values in (near, tied)]
    at = np.linspace(-1, 6, 50)[:, None]
    np.testing.assert_allclose(fits[0].predict(at), fits[1].predict(at), atol=20 * gap + 1e-9)
    assert fits[0].df_ == pytest.approx(fits[1].df_, rel=1e-3)


@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-9, 1e-12])
def test_rows_that_nearly_tie_leave_the_chosen_penalty_where_it_was(gap):
    """Penalties were tried relative to a roughness that one small gap made huge: none of them smoothed any more."""
    rng = np.random.default_rng(5)
    x = np.linspace(0, 5, 60)
    y = np.sin(x) + 0.2 * rng.normal(size=60)
    alone = SplineRegression().fit(x[:, None], y)
    x[11] = x[10] + gap
    model = SplineRegression().fit(x[:, None], y)
    assert 2 < alone.df_ < 10
    assert model.df_ == pytest.approx(alone.df_, rel=0.1)
    assert np.isfinite(model.gcv_)
