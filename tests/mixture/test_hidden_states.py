"""The evidence bound, mixtures of coins and binary factors against brute force and numerical maximization."""

import numpy as np
import pytest
import scipy.optimize as so
import scipy.stats as ss

from margin.mixture.bound import elbo, evidence, posterior
from margin.mixture.coins import Coins, coins_em, coins_log_joint
from margin.mixture.factorial import Factors, factorized_posterior, factors_em, states_of


def test_bound_is_evidence_minus_divergence():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 4))
    p, q = posterior(table), rng.dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(p, np.exp(table) / np.exp(table).sum(axis=1, keepdims=True), rtol=1e-12)
    assert evidence(table) == pytest.approx(np.log(np.exp(table).sum(axis=1)).sum(), rel=1e-12)
    assert elbo(table, q) == pytest.approx(evidence(table) - ss.entropy(q, p, axis=1).sum(), rel=1e-12)
    sure = np.eye(4)[[0, 1, 2, 3, 0]]  # no entropy, and zeros that must not become NaN
    assert elbo(table, sure) == pytest.approx(table[range(5), [0, 1, 2, 3, 0]].sum(), rel=1e-12)


def test_coins_are_recovered_and_the_likelihood_rises():
    rng = np.random.default_rng(0)
    coin = rng.random(600) < 0.3
    heads = rng.binomial(20, np.where(coin, 0.8, 0.4))
    found = coins_em(heads, np.full(600, 20), [0.6, 0.5])
    np.testing.assert_allclose(found.heads, [0.8, 0.4], atol=0.03)
    np.testing.assert_allclose(found.weights, [0.3, 0.7], atol=0.05)
    assert min(np.diff(found.trace)) >= -1e-9

    def minus_log_likelihood(v):
        a, b, w = 1 / (1 + np.exp(-v))
        mixture = w * ss.binom.pmf(heads, 20, a) + (1 - w) * ss.binom.pmf(heads, 20, b)
        return -np.log(mixture).sum()

    best = so.minimize(minus_log_likelihood, [1.0, -0.5, -0.5])
    assert found.trace[-1] == pytest.approx(-best.fun, abs=1e-5)


def test_coins_name_bad_input():
    with pytest.raises(ValueError, match="0 <= heads <= tosses"):
        coins_em([3], [2], [0.5, 0.6])
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        coins_em([1], [2], [0.5, 1.0])
    table = coins_log_joint(np.array([0, 2]), np.array([2, 2]), Coins(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    assert np.exp(table[:, 0]) == pytest.approx([0.25, 0.25])


def factors(overlap):
    loadings = np.array([[2.0, overlap], [0.0, 2.0], [0.0, 0.0]])
    return Factors(loadings, np.zeros(3), 0.5, np.array([0.4, 0.6]))


def rows(model, n=300):
    rng = np.random.default_rng(1)
    z = rng.random((n, 2)) < model.chances
    return z @ model.loadings.T + model.offset + np.sqrt(model.variance) * rng.normal(size=(n, 3))


def test_factor_densities_are_those_of_scipy():
    model = factors(1.0)
    X = rows(model, 20)
    for s, state in enumerate(states_of(2)):
        prior = np.prod(np.where(state == 1, model.chances, 1 - model.chances))
        normal = ss.multivariate_normal(model.loadings @ state, 0.5 * np.eye(3))
        np.testing.assert_allclose(model.log_joint(X)[:, s], np.log(prior) + normal.logpdf(X), rtol=1e-10)


def test_factorized_posterior_is_the_best_product():
    table = factors(1.5).log_joint(rows(factors(1.5), 6))
    q = factorized_posterior(table)
    for i in range(6):
        row = table[i : i + 1]

        def minus_bound(v, row=row):
            a, b = 1 / (1 + np.exp(-v))
            return -elbo(row, np.array([[(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b]]))

        best = max(
            -so.minimize(minus_bound, start, method="BFGS").fun for start in np.array([[3, -3], [-3, 3], [0, 0]])
        )
        assert elbo(row, q[i : i + 1]) == pytest.approx(best, abs=1e-6)


def test_variational_em_is_exact_only_for_a_factorizing_posterior():
    coupled, apart = factors(1.5), factors(0.0)
    X = rows(coupled)
    exact = [record["bound"] for record, _ in factors_em(X, coupled, max_iter=60)]
    product = [record["bound"] for record, _ in factors_em(X, coupled, family="factorized", max_iter=60)]
    assert min(np.diff(exact)) >= -1e-9
    assert min(np.diff(product)) >= -1e-6
    assert product[-1] < exact[-1] - 1
    table = apart.log_joint(rows(apart))
    np.testing.assert_allclose(factorized_posterior(table), posterior(table), atol=1e-10)
    with pytest.raises(ValueError, match="family must be 'exact' or 'factorized'"):
        next(factors_em(X, coupled, family="gaussian"))


def overlapping(seed):
    rng = np.random.default_rng([seed, 1])
    model = Factors(np.array([[2.0, 1.5], [0.0, 2.0]]), np.zeros(2), 0.5, np.array([0.4, 0.6]))
    z = rng.random((200, 2)) < model.chances
    return model, z @ model.loadings.T + np.sqrt(model.variance) * rng.normal(size=(200, 2))


@pytest.mark.parametrize("seed", [1214, 1220])
def test_the_bound_of_a_factorized_e_step_never_falls(seed):
    """A fresh start of every E step ended in a lower maximum for some row, and the bound fell by 0.01."""
    model, X = overlapping(seed)
    bounds = [record["bound"] for record, _ in factors_em(X, model, family="factorized", max_iter=12)]
    assert min(np.diff(bounds)) > -1e-9


def test_a_row_with_two_maxima_gets_the_higher_one():
    """From the true marginals alone the ascent ends 0.06 below the best product of one of these rows."""
    model, X = overlapping(1255)
    table = model.log_joint(X[:3])
    a, b = (side.ravel()[:, None] for side in np.meshgrid(*[np.linspace(0, 1, 201)[1:-1]] * 2))
    products = np.hstack([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b])
    best = sum((products @ row + ss.entropy(products, axis=1)).max() for row in table)
    assert elbo(table, factorized_posterior(table)) > best - 1e-6
