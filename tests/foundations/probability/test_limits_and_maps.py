"""Moments, convolutions, limits, Monte Carlo, transformations, tails and the gamma function."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from margin.foundations.probability import (
    AlphaStable,
    Binomial,
    Cauchy,
    Exponential,
    Gamma,
    Laplace,
    Levy,
    Logistic,
    Mixture,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    absolute_central_moment,
    binomial_normal_approximation,
    convolve_densities,
    convolve_masses,
    expectation,
    gamma_function,
    heavy_tail_report,
    jensen_gap,
    kolmogorov_distance,
    kolmogorov_p_value,
    log_abs_det_jacobian,
    means_of_samples,
    moment,
    monte_carlo,
    monte_carlo_pi,
    noised_density,
    pathwise_derivative,
    pushforward_log_density,
    running_mean,
    sample_inverse_cdf,
    sample_moment,
    self_convolve_masses,
    skewness,
    stability_test,
    standardized_means,
)


def test_moments_agree_with_scipy():
    assert skewness(Gamma(2.0)) == pytest.approx(stats.gamma(2.0).stats("s"), rel=1e-7)
    assert moment(Poisson(3.0), 4) == pytest.approx(3 * 3.0**2 + 3.0, rel=1e-12)
    assert moment(Normal(1, 2), 4, standardized=True) == pytest.approx(3, rel=1e-7)
    assert moment(Exponential(1), 3, central=False) == pytest.approx(6, rel=1e-7)
    assert moment(Exponential(0.5), 3) == pytest.approx(16, rel=1e-7)
    assert absolute_central_moment(Normal(0, 1), 3) == pytest.approx(2 * np.sqrt(2 / np.pi), rel=1e-7)
    x = np.random.default_rng(0).exponential(size=300)
    assert sample_moment(x, 3, standardized=True) == pytest.approx(stats.skew(x))
    assert sample_moment(x, 2) == pytest.approx(np.var(x))
    assert expectation(Uniform(0, 2)) == pytest.approx(1)


def test_convolutions():
    np.testing.assert_allclose(self_convolve_masses([0.7, 0.3], 9), Binomial(9, 0.3).pmf(np.arange(10)), rtol=1e-12)
    np.testing.assert_allclose(convolve_masses([0.2, 0.8], [0.5, 0.5]), [0.1, 0.5, 0.4])
    z, density = convolve_densities(Normal(0.3, 1).pdf, Normal(-0.1, 2).pdf, -20, 20)
    np.testing.assert_allclose(density, Normal(0.2, np.sqrt(5)).pdf(z), atol=1e-9)
    z, density = convolve_densities(Uniform(0, 1).pdf, Uniform(0, 1).pdf, 0, 1, n=1000)
    np.testing.assert_allclose(density, np.minimum(z, 2 - z), atol=2e-3)
    with pytest.raises(ValueError, match="low must be below high"):
        convolve_densities(Normal().pdf, Normal().pdf, 1, 1)


def test_noised_density_grows_each_variance():
    law = Mixture([0.4, 0.6], [Normal(-1, 0.2), Normal(1.5, 0.3)])
    grid = np.linspace(-6, 6, 4001)
    np.testing.assert_allclose(noised_density(law.pdf, 0.5, grid), law.add_noise(0.5).pdf(grid), atol=1e-8)
    with pytest.raises(ValueError, match="too coarse"):
        noised_density(law.pdf, 0.001, grid)
    with pytest.raises(ValueError, match="evenly spaced"):
        noised_density(law.pdf, 0.5, [0.0, 1.0, 3.0])


def test_limits():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 50))
    np.testing.assert_allclose(running_mean(x)[:, -1], x.mean(axis=1))
    means = means_of_samples(Exponential(1), 400, 4000, rng)
    assert means.std() == pytest.approx(1 / 20, rel=0.05)
    z = standardized_means(Uniform(0, 1), 30, 5000, rng)
    assert kolmogorov_distance(z, Normal().cdf) == pytest.approx(stats.kstest(z, "norm").statistic, abs=1e-15)
    assert kolmogorov_p_value(z, Normal().cdf) == pytest.approx(stats.kstest(z, "norm").pvalue, rel=0.05)
    with pytest.raises(ValueError, match="must have a finite variance; Cauchy has nan"):
        standardized_means(Cauchy(), 3, 3, rng)
    np.testing.assert_allclose(
        binomial_normal_approximation(6000, 1 / 6, 990, 1020), [0.40250, 0.39127, 0.40316], atol=5e-6
    )


def test_monte_carlo_error_shrinks_like_one_over_root_n():
    rng = np.random.default_rng(0)
    small, large = (monte_carlo(np.exp, Normal().sample, n, rng) for n in (4000, 400_000))
    assert small.standard_error / large.standard_error == pytest.approx(10, rel=0.2)
    assert abs(large.value - np.exp(0.5)) < 4 * large.standard_error
    pi = monte_carlo_pi(100_000, rng)
    assert abs(pi.value - np.pi) < 4 * pi.standard_error
    assert pi.standard_error == pytest.approx(np.sqrt(np.pi * (4 - np.pi) / 1e5), rel=0.02)
    with pytest.raises(ValueError, match="one number per draw"):
        monte_carlo(lambda x: 1.0, Normal().sample, 10, rng)


@pytest.mark.parametrize("law", [Exponential(2), Laplace(1, 2), Logistic(-1, 0.5)], ids=str)
def test_inverse_cdf_sampling(law):
    x = sample_inverse_cdf(law.quantile, 5000, np.random.default_rng(1))
    assert stats.kstest(x, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "family, parameter, slope",
    [
        (Exponential, 2.0, lambda law, z: -z / 2.0),
        (lambda s: Laplace(1, s), 0.7, lambda law, z: (z - 1) / 0.7),
        (lambda m: Logistic(m, 2.0), 0.3, lambda law, z: np.ones_like(z)),
    ],
)
def test_pathwise_derivative_is_that_of_the_quantile(family, parameter, slope):
    z = family(parameter).quantile(np.array([0.1, 0.4, 0.8]))
    np.testing.assert_allclose(pathwise_derivative(family, parameter, z), slope(family(parameter), z), rtol=1e-6)


def test_pathwise_gradient_agrees_with_automatic_differentiation():
    torch = pytest.importorskip("torch")
    u = np.random.default_rng(0).random(1000)
    rate = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (-(torch.log1p(-torch.tensor(u))) / rate).square().mean().backward()
    z = Exponential(2.0).quantile(u)
    assert float(np.mean(2 * z * pathwise_derivative(Exponential, 2.0, z))) == pytest.approx(rate.grad.item(), rel=1e-7)


def test_pushforward_density():
    A = np.array([[2.0, 0.0], [0.7, 0.5]])
    base = lambda x: np.sum(Normal().log_prob(x), axis=1)  # noqa: E731
    y = np.random.default_rng(0).normal(size=(6, 2))
    found = pushforward_log_density(base, lambda y: np.linalg.solve(A, y.T).T, y)
    np.testing.assert_allclose(found, stats.multivariate_normal([0, 0], A @ A.T).logpdf(y), rtol=1e-8)
    # a bent map: y = (x1, x2 + x1^2) keeps volumes
    np.testing.assert_allclose(
        log_abs_det_jacobian(lambda x: np.column_stack([x[:, 0], x[:, 1] + x[:, 0] ** 2]), y), 0, atol=1e-9
    )
    lognormal = pushforward_log_density(lambda x: Normal().log_prob(x[:, 0]), np.log, np.array([[0.5], [2.0]]))
    np.testing.assert_allclose(lognormal, stats.lognorm(1).logpdf([0.5, 2.0]), rtol=1e-8)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20))
def test_jensen_has_its_sign(x):
    slack = 1e-9 * max(x) ** 2
    assert jensen_gap(np.square, x) >= -slack
    assert jensen_gap(np.log, x) <= 1e-9
    assert jensen_gap(np.sqrt, x) <= 1e-9
    assert abs(jensen_gap(lambda v: 3 * v + 1, x)) < 1e-9 * max(1, max(x))


def test_tails():
    assert [heavy_tail_report(law).heavy for law in (StudentT(1.5), StudentT(50), Levy(3, 2), Cauchy(5, 10))] == [
        True
    ] * 4
    light = (Normal(3, 100), Exponential(0.01), Laplace(), Logistic(), Gamma(0.3))
    assert [heavy_tail_report(law).heavy for law in light] == [False] * 5
    report = heavy_tail_report(Exponential(1))
    assert report.diverges.tolist() == [bool(rate > 1) for rate in report.rates]


@pytest.mark.parametrize(
    "law, alpha", [(Normal(0, 2), 2), (Cauchy(0, 1), 1), (Levy(0, 1), 0.5), (AlphaStable(1.5, 0.5), 1.5)], ids=str
)
def test_stable_laws_pass_and_give_their_index(law, alpha):
    found = stability_test(law, 1.0, 2.0, 20_000, np.random.default_rng(1))
    assert found.p_value > 1e-3
    assert found.c**alpha == pytest.approx(1 + 2**alpha, rel=0.06)


@pytest.mark.parametrize("law", [Exponential(1), Uniform(0, 1), Laplace()], ids=str)
def test_other_laws_are_not_stable(law):
    assert stability_test(law, 1.0, 1.0, 100_000, np.random.default_rng(2)).p_value < 1e-3


@pytest.mark.parametrize("alpha, beta", [(0.5, 0.3), (0.8, -0.6), (1.2, 0.9), (1.5, 0.0), (1.5, 1.0), (1.9, 0.3)])
def test_alpha_stable_agrees_with_scipy(alpha, beta):
    x = np.array([-20, -1.0, -0.3, 0.4, 1.0, 3.0, 40.0])
    law, oracle = AlphaStable(alpha, beta, 1.7, 0.4), stats.levy_stable(alpha, beta, loc=0.4, scale=1.7)
    np.testing.assert_allclose(law.pdf(x), oracle.pdf(x), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(law.cdf(x), oracle.cdf(x), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("alpha, beta", [(1.0, 0.5), (1.0, -0.7), (1.01, 0.5), (1.001, 0.2), (0.999, -0.3)])
def test_alpha_stable_near_one_inverts_its_characteristic_function(alpha, beta):
    """SciPy itself is wrong by up to a factor of two here, so the Fourier integral is taken directly."""
    law = AlphaStable(alpha, beta)
    center = 0.0 if alpha == 1 else -beta * np.tan(np.pi * alpha / 2)  # where the bulk lies in the form S1
    edges = np.linspace(0, 40 ** (1 / alpha), 3001)
    node, weight = np.polynomial.legendre.leggauss(12)
    t = edges[:-1, None] + np.diff(edges)[:, None] * (node + 1) / 2
    skew = -2 / np.pi * np.log(t) if alpha == 1 else np.tan(np.pi * alpha / 2)
    for x in center + np.array([-2.0, -0.5, 0.3, 2.0]):
        phi = np.exp(-(t**alpha) * (1 - 1j * beta * skew) - 1j * t * x)
        exact = np.sum(np.diff(edges)[:, None] / 2 * weight * phi.real) / np.pi
        assert float(law.pdf(x)) == pytest.approx(exact, rel=1e-5)


def test_alpha_stable_special_members():
    x = np.linspace(-3, 9, 9)
    np.testing.assert_allclose(AlphaStable(2, 0.7, 1.5, 1).pdf(x), Normal(1, 1.5 * np.sqrt(2)).pdf(x), rtol=1e-12)
    np.testing.assert_allclose(AlphaStable(1, 0, 1.5, 1).cdf(x), Cauchy(1, 1.5).cdf(x), rtol=1e-12)
    np.testing.assert_allclose(AlphaStable(0.5, 1, 1.5, 1).pdf(x), Levy(1, 1.5).pdf(x), rtol=1e-11)
    np.testing.assert_allclose(AlphaStable(0.5, -1, 1.5, -1).cdf(-x), Levy(1, 1.5).survival(x), rtol=1e-11)
    assert float(AlphaStable(1.5).survival(1e12)) == pytest.approx(
        special.gamma(1.5) * np.sin(0.75 * np.pi) / np.pi * 1e-18, rel=1e-8
    )


def test_gamma_function():
    x = np.array([-3.3, -0.5, 0.1, 0.5, 1.0, 5.0, 17.25, 30.0])
    np.testing.assert_allclose(gamma_function(x), [math.gamma(v) for v in x], rtol=1e-12)
    assert float(gamma_function(0.5)) == pytest.approx(np.sqrt(np.pi), rel=1e-13)
    with pytest.raises(ValueError, match="not 0, -1, -2"):
        gamma_function(-2)
