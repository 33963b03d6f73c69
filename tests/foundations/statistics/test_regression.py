"""Regression inference, F-tests, likelihood, GLM and Bayesian regression against statsmodels, SciPy, scikit-learn."""

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from sklearn.linear_model import Ridge
from statsmodels.stats.anova import anova_lm

from margin.foundations.statistics import (
    correlation,
    elliptical_slice_samples,
    fit_conditional,
    fit_glm,
    jarque_bera,
    least_squares,
    linear_posterior,
    linearity_test,
    mle,
    mle_numerical,
    natural_spline_basis,
    nested_f_test,
    normal_quantile_points,
    one_way_anova,
    r_squared_forms,
    regression_slope,
    residuals,
    with_intercept,
)

rng = np.random.default_rng(0)
X = with_intercept(rng.normal(size=(80, 3)))
y = X @ [1.0, 2.0, 0.0, -0.5] + rng.normal(size=80)


def test_least_squares_table_matches_statsmodels():
    ours, theirs = least_squares(X, y), sm.OLS(y, X).fit()
    table = ours.table(0.9)
    np.testing.assert_allclose(table.estimate, theirs.params, rtol=1e-10)
    np.testing.assert_allclose(table.standard_error, theirs.bse, rtol=1e-10)
    np.testing.assert_allclose(table.statistic, theirs.tvalues, rtol=1e-10)
    np.testing.assert_allclose(table.p_value, theirs.pvalues, rtol=1e-8)
    np.testing.assert_allclose(np.column_stack([table.low, table.high]), theirs.conf_int(0.1), rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.fittedvalues, rtol=1e-9)


def test_columns_of_very_different_size_are_not_dependent():
    scaled = X * [1.0, 1e-12, 1e9, 1.0]
    np.testing.assert_allclose(
        least_squares(scaled, y).table().statistic, least_squares(X, y).table().statistic, rtol=1e-8
    )
    counts = np.random.default_rng(1).poisson(2.0, 80).astype(float)
    np.testing.assert_allclose(
        fit_glm(scaled, counts, "poisson").summary().statistic,
        fit_glm(X, counts, "poisson").summary().statistic,
        rtol=1e-6,
    )


def test_r_squared_forms_agree_for_training_least_squares_and_part_elsewhere():
    fit = least_squares(X, y)
    forms = r_squared_forms(y, fit.predict(X))
    expected = sm.OLS(y, X).fit().rsquared
    assert (forms.unexplained, forms.explained, forms.squared_correlation) == pytest.approx((expected,) * 3, rel=1e-10)
    assert correlation(y, fit.predict(X)) ** 2 == pytest.approx(expected, rel=1e-10)
    swung = r_squared_forms(y, 10 * fit.predict(X) + 50)
    assert swung.unexplained < 0
    assert swung.explained > 1
    assert swung.squared_correlation == pytest.approx(expected, rel=1e-10)
    assert r_squared_forms([1.0, 2.0], [1.5, 1.5]).unexplained == 0


def test_nested_f_test_matches_statsmodels():
    small, big = sm.OLS(y, X[:, :2]).fit(), sm.OLS(y, X).fit()
    table = anova_lm(small, big)
    ours = nested_f_test(X[:, :2], X, y)
    assert ours.statistic == pytest.approx(table["F"].iloc[1], rel=1e-10)
    assert ours.p_value == pytest.approx(table["Pr(>F)"].iloc[1], rel=1e-8)
    assert ours.df == (2, 76)


def test_one_way_anova_matches_scipy_and_the_nested_form():
    groups = [rng.normal(m, 1, n) for m, n in ((0, 7), (0.5, 12), (1, 9))]
    theirs = scipy.stats.f_oneway(*groups)
    ours = one_way_anova(groups)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
    labels = np.repeat(np.arange(3), [7, 12, 9])
    nested = nested_f_test(np.ones((28, 1)), np.eye(3)[labels], np.concatenate(groups))
    assert nested.statistic == pytest.approx(ours.statistic, rel=1e-9)


def test_two_group_anova_is_the_pooled_t_test_squared():
    a, b = rng.normal(size=9), rng.normal(size=14)
    assert one_way_anova([a, b]).statistic == pytest.approx(scipy.stats.ttest_ind(a, b).statistic ** 2)


def test_linearity_test_has_its_level_and_finds_a_bend():
    x = np.sort(rng.uniform(-2, 2, 200))
    assert linearity_test(x, x**2 + rng.normal(size=200)).p_value < 1e-6
    null = [linearity_test(x, 1 + x + rng.normal(size=200)).p_value for _ in range(300)]
    assert scipy.stats.kstest(null, "uniform").pvalue > 0.01


def test_natural_spline_is_straight_outside_its_knots():
    knots = [-1.0, 0.0, 0.5, 1.0]
    for side in (np.linspace(-5, -1, 30), np.linspace(1, 5, 30)):
        basis = natural_spline_basis(side, knots)
        assert np.abs(np.diff(basis, n=2, axis=0)).max() < 1e-12


SAMPLES = {
    "bernoulli": lambda g: g.integers(2, size=80),
    "categorical": lambda g: g.choice(4, p=[0.1, 0.2, 0.3, 0.4], size=200),
    "poisson": lambda g: g.poisson(3.2, 100),
    "geometric": lambda g: g.geometric(0.3, 100),
    "exponential": lambda g: g.exponential(2.0, 100),
    "normal": lambda g: g.normal(1, 3, 100),
    "laplace": lambda g: g.laplace(1, 3, 101),
}


@pytest.mark.parametrize("family", SAMPLES)
def test_closed_form_equals_the_numerical_maximum(family):
    data = SAMPLES[family](np.random.default_rng(4))
    closed, searched = mle(family, data), mle_numerical(family, data)
    np.testing.assert_allclose(searched.parameters, closed.parameters, atol=2e-6)
    assert closed.log_likelihood >= searched.log_likelihood - 1e-9


def test_log_likelihoods_are_scipys():
    g = np.random.default_rng(5)
    x = g.normal(2, 3, 50)
    assert mle("normal", x).log_likelihood == pytest.approx(scipy.stats.norm(*scipy.stats.norm.fit(x)).logpdf(x).sum())
    x = g.laplace(2, 3, 50)
    fit = mle("laplace", x)
    assert fit.log_likelihood == pytest.approx(scipy.stats.laplace(*fit.parameters).logpdf(x).sum())
    k = g.poisson(3, 50)
    assert mle("poisson", k).log_likelihood == pytest.approx(scipy.stats.poisson(k.mean()).logpmf(k).sum())
    k = g.geometric(0.3, 50)
    assert mle("geometric", k).log_likelihood == pytest.approx(scipy.stats.geom(1 / k.mean()).logpmf(k).sum())
    x = g.exponential(3, 50)
    assert mle("exponential", x).log_likelihood == pytest.approx(scipy.stats.expon(scale=x.mean()).logpdf(x).sum())


def test_conditional_models_are_least_squares_and_logistic_regression():
    def linear(inputs, phi):
        return np.column_stack([inputs @ phi[:4], np.full(len(inputs), phi[4])])

    fit = fit_conditional("normal", linear, X, y, np.zeros(5))
    np.testing.assert_allclose(fit.parameters[:4], sm.OLS(y, X).fit().params, atol=1e-6)
    labels = (y > 1).astype(float)
    logistic = fit_conditional("bernoulli", lambda i, phi: (i @ phi)[:, None], X, labels, np.zeros(4))
    np.testing.assert_allclose(logistic.parameters, sm.Logit(labels, X).fit(disp=0).params, atol=1e-5)


@pytest.mark.parametrize(
    "family, link, oracle",
    [
        ("gaussian", "identity", sm.families.Gaussian()),
        ("gaussian", "log", sm.families.Gaussian(sm.families.links.Log())),
        ("bernoulli", "logit", sm.families.Binomial()),
        ("bernoulli", "probit", sm.families.Binomial(sm.families.links.Probit())),
        ("poisson", "log", sm.families.Poisson()),
    ],
)
def test_glm_matches_statsmodels(family, link, oracle):
    g = np.random.default_rng(6)
    design = with_intercept(g.normal(size=(300, 2)))
    eta = design @ [0.5, 0.4, -0.3]
    if family == "gaussian":
        target = (eta if link == "identity" else np.exp(eta)) + 0.1 * np.abs(g.normal(size=300)) + 0.05
        target = np.maximum(target, 0.01) if link == "log" else target
    else:
        target = g.poisson(np.exp(eta)) if family == "poisson" else g.random(300) < scipy.special.expit(eta)
    ours = fit_glm(design, target.astype(float), family, link)
    theirs = sm.GLM(target.astype(float), design, family=oracle).fit(tol=1e-13, maxiter=200)
    np.testing.assert_allclose(ours.coefficients, theirs.params, atol=1e-6)
    np.testing.assert_allclose(ours.summary().standard_error, theirs.bse, rtol=2e-4)
    assert ours.dispersion == pytest.approx(theirs.scale, rel=1e-6)
    np.testing.assert_allclose(ours.predict(design), theirs.fittedvalues, atol=1e-6)
    if family != "gaussian":
        assert ours.log_likelihood == pytest.approx(theirs.llf, rel=1e-9)


def test_separable_classes_have_no_estimate():
    with pytest.raises(ValueError, match=r"no finite maximum|weights have vanished"):
        fit_glm(with_intercept([-2.0, -1.0, 1.0, 2.0]), [0, 0, 1, 1], "bernoulli")


def test_posterior_mean_is_ridge_and_covariance_is_the_inverse_precision():
    fit = linear_posterior(X, y, prior_variance=0.5, noise_variance=2.0)
    np.testing.assert_allclose(fit.mean, Ridge(alpha=4.0, fit_intercept=False).fit(X, y).coef_, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance @ (X.T @ X / 2 + 2 * np.eye(4)), np.eye(4), atol=1e-12)
    _, sd = fit.predict(X[:3])
    np.testing.assert_allclose(sd, np.sqrt(np.diag(X[:3] @ fit.covariance @ X[:3].T) + 2), rtol=1e-12)


def test_slice_samples_follow_the_conjugate_posterior():
    exact = linear_posterior(X[:20, :2], y[:20])

    def log_likelihood(beta):
        return -0.5 * float(np.sum((y[:20] - X[:20, :2] @ beta) ** 2))

    draws = elliptical_slice_samples(log_likelihood, np.ones(2), 4000, np.random.default_rng(7), burn_in=100, thin=2)
    np.testing.assert_allclose(draws.mean(axis=0), exact.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), exact.covariance, atol=0.012)


def test_jarque_bera_matches_scipy():
    x = np.random.default_rng(8).normal(size=500)
    theirs = scipy.stats.jarque_bera(x)
    assert (jarque_bera(x).statistic, jarque_bera(x).p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    theory, observed = normal_quantile_points(x)
    assert correlation(theory, observed) > 0.995


def test_residuals_and_slope():
    e = residuals(lambda rows: np.asarray(rows) @ np.ones(4), X, y)
    np.testing.assert_allclose(e, y - X.sum(axis=1))
    slope = regression_slope(X[:, 1], y)
    assert slope == pytest.approx(scipy.stats.linregress(X[:, 1], y).slope)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: least_squares(X, y[:-1]), "one length; got 80 and 79"),
        (lambda: least_squares(X[:3], y[:3]), "more rows than columns"),
        (lambda: least_squares(np.ones((5, 2)), y[:5]), "linearly dependent"),
        (lambda: nested_f_test(X[:, :2], X[:, 2:], y), "more columns"),
        (lambda: nested_f_test(X[:, :1], X[:, 1:], y), "must lie in the span"),
        (lambda: one_way_anova([[1.0, 2.0]]), "at least two"),
        (lambda: one_way_anova([[1.0, 1.0], [2.0, 2.0]]), "must vary"),
        (lambda: natural_spline_basis([1.0], [0.0, 0.0, 1.0]), "increase strictly"),
        (lambda: r_squared_forms([1.0, 1.0], [1.0, 2.0]), "y must vary"),
        (lambda: mle("cauchy", [1.0]), "family must be one of"),
        (lambda: mle("bernoulli", [0, 2]), "data must be zeros and ones"),
        (lambda: mle("geometric", [0, 1]), "data must be counts 1, 2"),
        (lambda: mle("normal", [1.0, 1.0]), "data must be numbers that vary"),
        (lambda: fit_glm(X, y, "bernoulli"), "y must be zeros and ones"),
        (lambda: fit_glm(X, -np.abs(y), "gaussian", "log"), "inside the range of the log link"),
        (lambda: fit_glm(X, y, "gamma"), "family must be one of"),
        (lambda: fit_glm(X, y, "gaussian", "cloglog"), "link must be one of"),
        (lambda: linear_posterior(X, y, prior_variance=0), "prior_variance must be a positive number; got 0"),
        (lambda: elliptical_slice_samples(lambda b: -np.inf, [1.0], 5, rng), "finite at zero"),
        (lambda: elliptical_slice_samples(lambda b: 0.0, [0.0], 5, rng), "prior_sd must be positive"),
        (lambda: jarque_bera([1.0] * 10), "must vary"),
        (lambda: residuals(lambda rows: [1.0], X, y), "predict must return shape"),
        (lambda: regression_slope([1.0, 1.0], [1.0, 2.0]), "x must vary"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
