"""Every univariate law against SciPy and against the laws that all of them obey."""

import numpy as np
import pytest
from scipy import integrate, stats

from margin.foundations.probability import (
    AlphaStable,
    Bernoulli,
    Binomial,
    Categorical,
    Cauchy,
    DiscreteUniform,
    Empirical,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    Levy,
    Logistic,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
)

DISCRETE = [
    (Bernoulli(0.3), stats.bernoulli(0.3)),
    (Binomial(80, 49 / 80), stats.binom(80, 49 / 80)),
    (Binomial(5, 1.0), stats.binom(5, 1.0)),
    (Categorical([0.2, 0.5, 0.3]), stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3]))),
    (Geometric(0.4), stats.geom(0.4, loc=-1)),
    (Geometric(0.4, start=1), stats.geom(0.4)),
    (NegativeBinomial(3, 0.4), stats.nbinom(3, 0.4)),
    (NegativeBinomial(2.7, 0.2), stats.nbinom(2.7, 0.2)),
    (Poisson(3.4), stats.poisson(3.4)),
    (DiscreteUniform(-2, 6), stats.randint(-2, 7)),
]
CONTINUOUS = [
    (Normal(1.5, 2.0), stats.norm(1.5, 2.0)),
    (Uniform(-1, 3), stats.uniform(-1, 4)),
    (Exponential(0.5), stats.expon(scale=2)),
    (Gamma(2.5, 3), stats.gamma(2.5, scale=1 / 3)),
    (Gamma(0.5), stats.gamma(0.5)),
    (Laplace(-1, 0.7), stats.laplace(-1, 0.7)),
    (Logistic(2, 0.5), stats.logistic(2, 0.5)),
    (StudentT(1.0), stats.t(1.0)),
    (StudentT(3.5, 1, 2), stats.t(3.5, 1, 2)),
    (StudentT(80), stats.t(80)),
    (Cauchy(1, 2), stats.cauchy(1, 2)),
    (Levy(-1, 2), stats.levy(-1, 2)),
]
OTHERS = [
    Mixture([0.3, 0.7], [Normal(-2, 0.5), Laplace(1, 0.5)]),
    AlphaStable(1.5, 0.5, 2, 1),
    AlphaStable(0.7, 1.0),
    AlphaStable(1.0, -0.5, 2, 1),
]
ALL_CONTINUOUS = [law for law, _ in CONTINUOUS] + OTHERS
LEVELS = np.array([0.001, 0.1, 0.3, 0.5, 0.77, 0.95, 0.9999])


@pytest.mark.parametrize("law, oracle", DISCRETE, ids=lambda v: str(v) if hasattr(v, "log_prob") else "")
def test_discrete_laws_agree_with_scipy(law, oracle):
    k = np.arange(-4, 90)
    np.testing.assert_allclose(law.pmf(k), oracle.pmf(k), rtol=1e-10, atol=1e-300)
    between = k + 0.5
    np.testing.assert_allclose(law.cdf(between), oracle.cdf(between), atol=1e-14)
    np.testing.assert_allclose(law.survival(k), oracle.sf(k), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(law.quantile(LEVELS), oracle.ppf(LEVELS))
    assert np.all(law.pmf(between) == 0)
    np.testing.assert_allclose([law.mean, law.variance], oracle.stats(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(law.entropy(), oracle.entropy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("law, oracle", CONTINUOUS, ids=lambda v: str(v) if hasattr(v, "log_prob") else "")
def test_continuous_laws_agree_with_scipy(law, oracle):
    x = np.concatenate([oracle.ppf(LEVELS), [-30.0, -1.0, 0.0, 0.3, 40.0]])
    np.testing.assert_allclose(law.log_prob(x), oracle.logpdf(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(law.cdf(x), oracle.cdf(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(law.survival(x), oracle.sf(x), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(law.log_survival(x), oracle.logsf(x), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(law.quantile(LEVELS), oracle.ppf(LEVELS), rtol=1e-9)
    np.testing.assert_allclose(law.entropy(), oracle.entropy(), rtol=1e-7)


@pytest.mark.parametrize(
    "law, oracle",
    [pair for pair in CONTINUOUS if np.isfinite(pair[0].variance)],
    ids=lambda v: str(v) if hasattr(v, "log_prob") else "",
)
def test_means_and_variances_agree_with_scipy_and_with_quadrature(law, oracle):
    np.testing.assert_allclose([law.mean, law.variance], oracle.stats(), rtol=1e-12)
    np.testing.assert_allclose(law.expectation(lambda x: x), law.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(law.expectation(lambda x: (x - law.mean) ** 2), law.variance, rtol=1e-6)


@pytest.mark.parametrize("law", ALL_CONTINUOUS, ids=str)
def test_density_integrates_to_the_cdf_and_is_its_derivative(law):
    low, high = law.quantile([0.2, 0.9])
    assert integrate.quad(law.pdf, low, high, epsabs=1e-12)[0] == pytest.approx(law.probability(low, high), abs=1e-9)
    assert law.expectation(lambda x: 1.0) == pytest.approx(1, abs=1e-8)
    x = law.quantile(np.array([0.15, 0.4, 0.6, 0.85]))
    h = 1e-5 * (high - low)
    np.testing.assert_allclose((law.cdf(x + h) - law.cdf(x - h)) / (2 * h), law.pdf(x), atol=1e-6 * law.pdf(x).max())


@pytest.mark.parametrize("law", ALL_CONTINUOUS + [law for law, _ in DISCRETE], ids=str)
def test_cdf_rises_from_zero_to_one_and_quantile_inverts_it(law):
    x = np.linspace(law.quantile(0.001) - 1, law.quantile(0.99) + 1, 101)
    F = law.cdf(x)
    assert np.all(np.diff(F) >= 0)
    assert law.cdf(-np.inf) == 0
    assert law.cdf(np.inf) == 1
    np.testing.assert_allclose(law.cdf(x) + law.survival(x), 1, atol=1e-12)
    q = np.array([0.03, 0.5, 0.9])
    assert np.all(law.cdf(law.quantile(q)) >= q - 1e-12)


@pytest.mark.parametrize("law", ALL_CONTINUOUS, ids=str)
def test_quantiles_at_zero_and_one_are_the_ends_of_the_support(law):
    assert law.quantile([0.0, 1.0]).tolist() == [law.support.low, law.support.high]


@pytest.mark.parametrize("law", ALL_CONTINUOUS, ids=str)
def test_draws_follow_the_cdf(law):
    x = law.sample(4000, np.random.default_rng(3))
    assert stats.kstest(x, law.cdf).pvalue > 1e-3
    assert np.all(law.support.contains(x))
    np.testing.assert_array_equal(x, law.sample(4000, np.random.default_rng(3)))


@pytest.mark.parametrize("law", [law for law, _ in DISCRETE], ids=str)
def test_draws_have_the_frequencies_of_the_masses(law):
    x = law.sample(20_000, np.random.default_rng(4))
    assert np.all(law.support.contains(x))
    for k in np.unique(x):
        p = float(law.pmf(k))
        assert abs(np.mean(x == k) - p) < 5 * np.sqrt(p * (1 - p) / 20_000) + 1e-4


@pytest.mark.parametrize("law", ALL_CONTINUOUS + [law for law, _ in DISCRETE], ids=str)
def test_nan_stays_nan_and_the_outside_has_no_mass(law):
    assert np.isnan(law.log_prob(np.nan))
    assert np.isnan(law.cdf(np.nan))
    if np.isfinite(law.support.low):
        assert law.log_prob(law.support.low - 0.5) == -np.inf
        assert law.cdf(law.support.low - 0.5) == 0
    assert law.log_prob(np.inf) == -np.inf


def test_survival_of_the_t_law_does_not_underflow_in_logarithms():
    mpmath = pytest.importorskip("mpmath")

    for nu, t in [(3.0, 1e5), (100.0, 1e6), (0.5, 1e30), (7.0, 4.0)]:
        w = mpmath.mpf(nu) / (nu + mpmath.mpf(t) ** 2)
        exact = float(mpmath.log(mpmath.betainc(nu / 2, 0.5, 0, w, regularized=True) / 2))
        assert float(StudentT(nu).log_survival(t)) == pytest.approx(exact, rel=1e-11)


def test_expectation_that_diverges_is_reported():
    for law, g in [
        (Cauchy(), lambda x: x),
        (StudentT(2), np.square),
        (Levy(), np.abs),
        (Exponential(1), np.exp),
        (Exponential(1), lambda x: np.exp(1.5 * x)),
        (Laplace(0, 2), np.exp),
        (Geometric(0.5), lambda k: 2.0**k),
        (Geometric(0.5), lambda k: 3.0**k),
        (NegativeBinomial(2, 0.3), np.exp),
    ]:
        with pytest.raises(ValueError, match=f"{type(law).__name__}: the expectation does not converge"):
            law.expectation(g)
    assert Normal(0, 3).expectation(np.exp) == pytest.approx(np.exp(4.5), rel=1e-8)
    assert Exponential(1).expectation(lambda x: np.exp(0.9 * x)) == pytest.approx(10, rel=1e-7)
    assert Geometric(0.5).expectation(lambda k: 1.9**k) == pytest.approx(10, rel=1e-9)
    assert Poisson(2).expectation(np.exp) == pytest.approx(np.exp(2 * (np.e - 1)), rel=1e-12)
    assert StudentT(2.1).expectation(np.square) == pytest.approx(21, rel=1e-6)


def test_probability_includes_both_ends_of_a_discrete_range():
    die = DiscreteUniform(1, 6)
    assert die.probability(2, 4) == pytest.approx(0.5)
    assert die.probability(2.5, 2.9) == 0
    assert Uniform(4, 6).probability(5, 5.01) == pytest.approx(0.005, abs=1e-15)
    assert Uniform(4, 6).probability(5, 5) == 0


def test_large_parameters_need_no_large_memory():
    for law, oracle in [
        (Poisson(1e9), stats.poisson(1e9)),
        (Binomial(10**9, 0.5), stats.binom(10**9, 0.5)),
        (Geometric(1e-6), stats.geom(1e-6, loc=-1)),
    ]:
        np.testing.assert_allclose(law.quantile(LEVELS), oracle.ppf(LEVELS), rtol=1e-7)
    assert Poisson(1e9).atoms().size < 10**6
    assert Poisson(1e9).entropy() == pytest.approx(0.5 * np.log(2 * np.pi * np.e * 1e9), rel=1e-6)


def test_one_toss_two_forms():
    p, x = 0.3, np.array([0, 1])
    np.testing.assert_allclose(Bernoulli(p).pmf(x), p**x * (1 - p) ** (1 - x), rtol=1e-15)
    np.testing.assert_allclose(Categorical([1 - p, p]).pmf(x), Bernoulli(p).pmf(x), rtol=1e-15)


def test_empirical_law_is_the_sample():
    data = [3.0, 1.0, 1.0, 5.5]
    law = Empirical(data)
    assert law.pmf([1, 2, 3]).tolist() == [0.5, 0.0, 0.25]
    assert law.cdf([0.9, 1, 4, 6]).tolist() == [0, 0.5, 0.75, 1]
    assert law.expectation(np.exp) == pytest.approx(np.exp(data).mean())
    assert law.mean == np.mean(data)
    assert law.variance == np.var(data)
    assert set(law.sample(100, np.random.default_rng(0))) == set(data)
    assert law.quantile(0.5) == 1.0
    assert law.probability(1, 3) == 0.75


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: Normal(0, 0), "Normal: sigma must be a positive number; got 0."),
        (lambda: Normal(np.nan, 1), "Normal: mu must be one finite number; got nan."),
        (lambda: Normal("a", 1), "Normal: mu must be an array of real numbers; got 'a'."),
        (lambda: Normal("3", 1), "Normal: mu must be an array of real numbers; got '3'."),
        (lambda: Normal(1j, 1), "Normal: mu must be an array of real numbers; got 1j."),
        (lambda: Normal() + Normal(), "Normal: the shift must be an array of real numbers"),
        (lambda: Bernoulli(1.2), r"Bernoulli: p must lie in \[0, 1\]; got 1.2."),
        (lambda: Geometric(0), r"Geometric: p must lie in \(0, 1\]; got 0."),
        (lambda: Geometric(0.5, start=2), "Geometric: start must be 0 or 1; got 2."),
        (lambda: Binomial(2.5, 0.5), "Binomial: n must be an integer of at least 0; got 2.5."),
        (lambda: Categorical([0.5, 0.6]), "Categorical: p must sum to 1; got a sum of 1.1."),
        (lambda: Categorical([1.5, -0.5]), "Categorical: p must be non-negative"),
        (lambda: Categorical([]), "Categorical: p must be a non-empty vector"),
        (lambda: Uniform(2, 2), "Uniform: a must be below b; got 2 and 2."),
        (lambda: AlphaStable(2.1), r"AlphaStable: alpha must lie in \(0, 2\]; got 2.1."),
        (lambda: AlphaStable(0.0), "AlphaStable: alpha must be a positive number; got 0.0."),
        (lambda: AlphaStable(1, 1.5), r"AlphaStable: beta must lie in \[-1, 1\]; got 1.5."),
        (lambda: Mixture([1.0], [Normal(), Normal()]), "Mixture: weights and components must be equally many"),
        (lambda: Empirical([]), "Empirical: data must be a non-empty vector"),
        (lambda: Empirical([1, np.inf]), "Empirical: data must be finite; got inf"),
        (lambda: Normal().log_prob("x"), "Normal: x must be an array of real numbers; got 'x'."),
        (lambda: Normal().quantile(1.5), r"Normal: q must lie in \[0, 1\]; got 1.5."),
        (lambda: Normal().sample(3, 0), "Normal: rng must be a numpy.random.Generator; got 0."),
        (
            lambda: Normal().sample(-1, np.random.default_rng(0)),
            "Normal: n must be an integer of at least 0; got -1.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_laws_are_frozen():
    with pytest.raises(AttributeError):
        Normal().mu = 3
    with pytest.raises(ValueError, match="read-only"):
        Categorical([0.5, 0.5]).p[0] = 1
