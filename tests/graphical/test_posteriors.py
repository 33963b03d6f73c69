"""Posteriors by chains and by optimization, against posteriors that are known."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from margin.graphical.fields import ising_grid
from margin.graphical.mcmc import effective_sample_size, metropolis
from margin.graphical.mean_field import mean_field_steps, mixture_coordinate_ascent, normal_mean_field
from margin.graphical.normal_families import FAMILIES
from margin.graphical.variational import balanced_draws, elbo_gradient, fit_variational

COVARIANCE = np.array([[2.0, 1.2], [1.2, 1.0]])
MEAN = np.array([1.0, -2.0])
PRECISION = np.linalg.inv(COVARIANCE)
BUMPS = [multivariate_normal([c, c], 0.3 * np.eye(2)) for c in (-1.0, 1.0)]


def log_normal(z):
    centered = z - MEAN
    return -0.5 * ((centered @ PRECISION) * centered).sum(axis=-1) - 0.5 * np.log(
        4 * np.pi**2 * np.linalg.det(COVARIANCE)
    )


def slope(z):
    return -(z - MEAN) @ PRECISION


def two_bumps(z):
    parts = [bump.logpdf(z) for bump in BUMPS]
    return logsumexp(parts, axis=0, b=0.5)


def two_bumps_slope(z):
    parts = np.array([bump.logpdf(z) for bump in BUMPS])
    share = np.exp(parts - logsumexp(parts, axis=0))
    return sum(share[i][:, None] * (c - z) / 0.3 for i, c in enumerate((-1.0, 1.0)))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_gradients_equal_finite_differences(family):
    rng = np.random.default_rng(0)
    chosen = FAMILIES[family](2, 2 if family == "mixture" else 1)
    packed = chosen.start(rng) + 0.3 * rng.normal(size=len(chosen.start(rng)))
    noise = balanced_draws(8, 2, rng)
    arguments = (noise, two_bumps, two_bumps_slope)
    value, gradient = elbo_gradient(chosen, packed, *arguments)
    numeric = approx_fprime(packed, lambda w: elbo_gradient(chosen, w, *arguments)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, atol=2e-4 * max(1.0, abs(value)))


def test_the_exact_posterior_is_found_and_mean_field_is_too_narrow():
    full = fit_variational(log_normal, slope, 2, "full")
    np.testing.assert_allclose(full.q.mean, MEAN, atol=1e-4)
    np.testing.assert_allclose(full.q.covariance, COVARIANCE, atol=1e-3)
    assert full.elbo == pytest.approx(0.0, abs=1e-6)  # the density is normalized: its evidence is 1
    narrow = fit_variational(log_normal, slope, 2, "mean-field")
    np.testing.assert_allclose(np.diag(narrow.q.covariance), normal_mean_field(PRECISION), atol=1e-3)
    assert (normal_mean_field(PRECISION) < np.diag(COVARIANCE)).all()
    assert np.diff(full.trace).min() > -1e-9


def test_larger_families_have_larger_bounds():
    bounds = [fit_variational(two_bumps, two_bumps_slope, 2, family, n_draws=256).elbo for family in FAMILIES]
    assert bounds == sorted(bounds)
    assert bounds[-1] < 0.02
    with pytest.raises(ValueError, match="family must be one of"):
        fit_variational(two_bumps, two_bumps_slope, 2, "flow")


@pytest.mark.parametrize("seed", range(3))
def test_coordinate_ascent_climbs_and_stays_below(seed):
    field = ising_grid(3, 3, 0.2, 0.3)
    bounds = [step.elbo for step in islice(mean_field_steps(field.potentials, seed), 15)]
    assert np.diff(bounds).min() > -1e-10
    assert field.log_partition() - 0.5 < bounds[-1] < field.log_partition()
    x = np.random.default_rng(seed).normal(size=12) + np.where(np.arange(12) < 6, -2, 2)
    steps = list(islice(mixture_coordinate_ascent(x, 2, 3.0, seed), 60))
    assert np.diff([step.elbo for step in steps]).min() > -1e-9
    assert steps[-1].elbo < evidence_of_two_means(x, 3.0)


def evidence_of_two_means(x, deviation):
    """By a grid over both means."""
    grid = np.linspace(-15, 15, 601)
    log_p = -0.5 * (x[:, None] - grid) ** 2 - 0.5 * np.log(2 * np.pi)
    prior = -0.5 * (grid / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    likelihood = np.logaddexp(log_p[:, :, None], log_p[:, None, :]).sum(axis=0) - len(x) * np.log(2)
    return logsumexp(likelihood + prior[:, None] + prior) + 2 * np.log(grid[1] - grid[0])


@pytest.mark.parametrize("seed", range(3))
def test_metropolis_finds_a_known_posterior(seed):
    chain = metropolis(log_normal, [0.0, 0.0], 20_000, seed)
    errors = chain.standard_errors()
    assert (np.abs(chain.draws.mean(axis=0) - MEAN) < 4 * errors).all()
    np.testing.assert_allclose(np.cov(chain.draws.T), COVARIANCE, atol=0.35)
    assert 0.15 < chain.acceptance < 0.5
    with pytest.raises(ValueError, match="finite at start"):
        metropolis(lambda z: -np.inf, [0.0], 10)


def test_the_effective_size_of_an_autoregression():
    rng = np.random.default_rng(0)
    x = np.zeros(200_000)
    for t, e in enumerate(rng.normal(size=len(x) - 1)):
        x[t + 1] = 0.8 * x[t] + e
    assert effective_sample_size(x) / len(x) == pytest.approx((1 - 0.8) / (1 + 0.8), rel=0.1)
    assert effective_sample_size(rng.normal(size=5000)) > 3500
