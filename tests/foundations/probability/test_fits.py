"""``fit`` maximizes the likelihood: nothing near it, and nothing a numerical search finds, is better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from margin.foundations.probability import (
    AlphaStable,
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteUniform,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    Levy,
    Logistic,
    Mixture,
    Multinomial,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    likelihood,
    log_likelihood,
    maximum_a_posteriori,
    maximum_likelihood,
)

SMOOTH = [
    (Poisson(3.0), Poisson.fit, lambda p: Poisson(np.exp(p[0])), [0.0]),
    (Bernoulli(0.3), Bernoulli.fit, lambda p: Bernoulli(1 / (1 + np.exp(-p[0]))), [0.0]),
    (Geometric(0.3), Geometric.fit, lambda p: Geometric(1 / (1 + np.exp(-p[0]))), [0.0]),
    (Binomial(7, 0.4), lambda x: Binomial.fit(x, 7), lambda p: Binomial(7, 1 / (1 + np.exp(-p[0]))), [0.0]),
    (
        NegativeBinomial(2.5, 0.3),
        NegativeBinomial.fit,
        lambda p: NegativeBinomial(np.exp(p[0]), 1 / (1 + np.exp(-p[1]))),
        [0.0, 0.0],
    ),
    (Normal(2, 3), Normal.fit, lambda p: Normal(p[0], np.exp(p[1])), [0.0, 1.0]),
    (Exponential(2), Exponential.fit, lambda p: Exponential(np.exp(p[0])), [0.0]),
    (Gamma(2.5, 3), Gamma.fit, lambda p: Gamma(np.exp(p[0]), np.exp(p[1])), [0.0, 0.0]),
    (Logistic(1, 2), Logistic.fit, lambda p: Logistic(p[0], np.exp(p[1])), [0.0, 0.0]),
    (StudentT(3, 1, 2), StudentT.fit, lambda p: StudentT(np.exp(p[0]), p[1], np.exp(p[2])), [1.0, 0.0, 0.0]),
    (Cauchy(1, 2), Cauchy.fit, lambda p: Cauchy(p[0], np.exp(p[1])), [0.0, 0.0]),
    (Levy(0, 2), lambda x: Levy.fit(x, loc=0.0), lambda p: Levy(0.0, np.exp(p[0])), [0.0]),
]


@pytest.mark.parametrize("law, fit, family, start", SMOOTH, ids=lambda v: type(v).__name__)
def test_fit_is_the_maximum_that_a_numerical_search_finds(law, fit, family, start):
    data = law.sample(500, np.random.default_rng(5))
    fitted = fit(data)
    found = maximum_likelihood(family, start, data)
    assert log_likelihood(fitted, data) >= found.value - 1e-7
    assert log_likelihood(fitted, data) == pytest.approx(found.value, abs=1e-5)
    assert found.value >= log_likelihood(law, data)


@pytest.mark.parametrize(
    "law, fit",
    [
        (Laplace(1, 2), Laplace.fit),
        (Uniform(-1, 2), Uniform.fit),
        (DiscreteUniform(-4000, 9000), DiscreteUniform.fit),
        (Categorical([0.2, 0.5, 0.3]), Categorical.fit),
        (Levy(3, 0.5), Levy.fit),
        (Mixture([0.3, 0.7], [Normal(-2, 0.5), Normal(1, 1)]), Mixture.fit),
    ],
    ids=lambda v: type(v).__name__,
)
def test_fit_beats_the_law_that_made_the_data(law, fit):
    data = law.sample(400, np.random.default_rng(6))
    gain = log_likelihood(fit(data), data) - log_likelihood(law, data)
    assert 0 < gain < 20  # a handful of parameters gains a few nats, never many


def test_fits_agree_with_scipy():
    rng = np.random.default_rng(7)
    x = stats.t(4, 1, 2).rvs(300, random_state=rng)
    nu, mu, sigma = stats.t.fit(x)
    ours = StudentT.fit(x)
    np.testing.assert_allclose([ours.nu, ours.mu, ours.sigma], [nu, mu, sigma], rtol=2e-3)
    g = stats.gamma(2.5, scale=2).rvs(300, random_state=rng)
    shape, _, scale = stats.gamma.fit(g, floc=0)
    np.testing.assert_allclose([Gamma.fit(g).shape, Gamma.fit(g).rate], [shape, 1 / scale], rtol=1e-5)
    laplace = Laplace.fit(x)
    np.testing.assert_allclose([laplace.mu, laplace.b], stats.laplace.fit(x))


@pytest.mark.parametrize("alpha, beta", [(1.6, 0.5), (0.8, -0.3), (1.0, 0.0)])
def test_alpha_stable_fit_recovers_its_parameters(alpha, beta):
    law = AlphaStable(alpha, beta, 2.0, -1.0)
    data = law.sample(3000, np.random.default_rng(8))
    fitted = AlphaStable.fit(data)
    assert fitted.alpha == pytest.approx(alpha, abs=0.1)
    assert fitted.beta == pytest.approx(beta, abs=0.15)
    assert fitted.gamma == pytest.approx(2.0, rel=0.1)
    gain = log_likelihood(fitted, data) - log_likelihood(law, data)
    assert -0.5 < gain < 10


def test_student_fit_of_normal_data_goes_to_the_normal_limit():
    x = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    assert StudentT.fit(x).nu > 100


def test_multivariate_fits():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    fitted = MultivariateNormal.fit(X)
    np.testing.assert_allclose(fitted.covariance, np.cov(X.T, bias=True), rtol=1e-12)
    np.testing.assert_allclose(fitted.mean, X.mean(axis=0))
    counts = Multinomial(20, [0.2, 0.3, 0.5]).sample(40, rng)
    np.testing.assert_allclose(Multinomial.fit(counts).p, counts.sum(axis=0) / 800)


def test_the_coin_of_the_notes():
    tosses = [1] * 49 + [0] * 31
    assert Bernoulli.fit(tosses).p == pytest.approx(0.6125)
    likelihoods = [float(Binomial(80, p).pmf(49)) for p in np.linspace(0.5, 0.7, 81)]
    assert np.linspace(0.5, 0.7, 81)[int(np.argmax(likelihoods))] == pytest.approx(49 / 80)
    arrangements = stats.binom(80, 0.6125).pmf(49) / likelihood(Bernoulli(0.6125), tosses)
    from math import comb

    assert arrangements == pytest.approx(comb(80, 49), rel=1e-9)


def test_a_normal_prior_pulls_the_estimate_as_ridge_does():
    data = np.array([1.0, 2.0, 4.5])
    found = maximum_a_posteriori(lambda p: Normal(p[0], 1), [0.0], data, lambda p: float(Normal(0, 0.5).log_prob(p[0])))
    assert found.parameters[0] == pytest.approx(data.sum() / (3 + 1 / 0.25), abs=1e-6)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=40).filter(lambda k: np.var(k) > np.mean(k) + 0.1))
def test_negative_binomial_keeps_the_mean_of_the_data(k):
    fitted = NegativeBinomial.fit(k)
    assert fitted.mean == pytest.approx(np.mean(k), rel=1e-9)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Poisson.fit([1, 2.5]), "Poisson.fit: data must be integers; got 2.5"),
        (lambda: Poisson.fit([-1, 2]), "Poisson.fit: data must be at least 0; got -1."),
        (lambda: Poisson.fit([0, 0]), "only zeros"),
        (lambda: Normal.fit([2.0, 2.0]), "Normal.fit: data must not all be equal; got 2 times 2."),
        (lambda: Normal.fit([[1.0]]), r"Normal.fit: data must be a non-empty vector; got shape \(1, 1\)."),
        (lambda: Normal.fit([1.0, np.nan]), "Normal.fit: data must be finite; got nan"),
        (lambda: Cauchy.fit([1.0, 1.0]), "data must not all be equal"),
        (lambda: Gamma.fit([0.0, 1.0]), "Gamma.fit: data must be positive"),
        (lambda: Bernoulli.fit([0, 2]), "Bernoulli.fit: data must be 0 or 1; got 2."),
        (lambda: Binomial.fit([5], n=4), "Binomial.fit: data must not exceed n=4; got 5."),
        (lambda: Categorical.fit([3], n_classes=2), "Categorical.fit: data must be below n_classes=2; got 3."),
        (lambda: NegativeBinomial.fit([3, 3, 3]), "a variance above their mean"),
        (lambda: Levy.fit([1.0, 2.0], loc=1.5), "Levy.fit: data must exceed loc=1.5; got 1."),
        (lambda: Mixture.fit([1.0, 1.0, 2.0]), "need at least 4 distinct values"),
        (lambda: Multinomial.fit([[1, 2], [1, 3]]), "share one positive total"),
        (lambda: AlphaStable.fit([1.0] * 9 + [2.0]), "positive interquartile range"),
        (lambda: MultivariateNormal.fit([[1.0, 2.0]]), "positive definite"),
        (lambda: maximum_likelihood(lambda p: Normal(p[0], 1), [0.0], []), "data must not be empty"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
