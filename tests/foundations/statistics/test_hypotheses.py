"""Tests, intervals, power and the bootstrap against SciPy and statsmodels."""

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from margin.foundations.statistics import (
    Summary,
    blood_pressure,
    blood_pressure_t_test,
    bootstrap,
    bootstrap_indices,
    bootstrap_interval,
    confidence_interval,
    distinct_fraction,
    f_test_from_sums,
    mean_interval,
    p_value,
    sample_size,
    studentized_mean,
    t_quantile,
    t_table,
    t_test,
    t_test_from_error,
    t_test_from_summaries,
    t_test_one_sample,
    t_test_power,
)

rng = np.random.default_rng(0)
A, B = rng.normal(0.3, 1, 15), rng.normal(0, 2, 22)
ALTERNATIVES = ["two-sided", "greater", "less"]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_t_tests_match_scipy(alternative):
    pairs = [
        (t_test_one_sample(A, 0.1, alternative), scipy.stats.ttest_1samp(A, 0.1, alternative=alternative)),
        (t_test(A, B, alternative=alternative), scipy.stats.ttest_ind(A, B, equal_var=False, alternative=alternative)),
        (t_test(A, B, equal_var=True, alternative=alternative), scipy.stats.ttest_ind(A, B, alternative=alternative)),
        (
            t_test(A, B[:15], paired_samples=True, alternative=alternative),
            scipy.stats.ttest_rel(A, B[:15], alternative=alternative),
        ),
    ]
    for ours, theirs in pairs:
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
        assert ours.df == pytest.approx(theirs.df, rel=1e-12)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


@pytest.mark.parametrize("equal_var", [True, False])
def test_summaries_match_scipy(equal_var):
    ours = t_test_from_summaries(Summary(1.0, 2.0, 10), Summary(3.0, 1.0, 30), equal_var=equal_var)
    theirs = scipy.stats.ttest_ind_from_stats(1.0, 2.0, 10, 3.0, 1.0, 30, equal_var=equal_var)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_one_constant_group_is_no_obstacle():
    constant, varying = [5.0, 5.0, 5.0], [5.5, 6.0, 7.0, 6.1]
    theirs = scipy.stats.ttest_ind(constant, varying, equal_var=False)
    ours = t_test(constant, varying)
    assert (ours.statistic, ours.df, ours.p_value) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue))


@pytest.mark.parametrize("effect, n", [(10.0, 1000), (1.0, 100_000), (0.01, 10), (5.0, 2)])
def test_power_stays_a_probability_far_out(effect, n):
    assert 0.05 <= t_test_power(effect, n) <= 1.0


@pytest.mark.parametrize("t", [-40.0, -1.6, 0.0, 1.61, 40.0])
@pytest.mark.parametrize("df", [1, 4.7, 38, 1e6])
def test_p_values_keep_their_digits_in_the_tail(t, df):
    law = scipy.stats.t(df)
    assert p_value(t, df, "greater") == pytest.approx(law.sf(t), rel=1e-9)
    assert p_value(t, df, "less") == pytest.approx(law.cdf(t), rel=1e-9)
    assert p_value(t, df) == pytest.approx(2 * law.sf(abs(t)), rel=1e-9)


def test_numbers_of_the_worked_trial():
    assert round(p_value(1.61, 38, "greater"), 3) == 0.058
    result = blood_pressure_t_test()
    assert (round(result.standard_error, 3), round(result.statistic, 2), result.df) == (1.198, -5.26, 38)
    assert result.p_value == pytest.approx(5.9e-6, rel=0.01)
    welch = blood_pressure_t_test(equal_var=False)
    assert (round(welch.df, 1), welch.p_value) == (34.3, pytest.approx(7.8e-6, rel=0.02))
    assert result.reject(0.05)
    assert "reject that the two means are equal" in result.sentence(0.05)
    assert "do not refute" in result.sentence(1e-6)
    means = [round(float(np.mean(row)), 1) for row in blood_pressure().values.values()]
    assert means == [151.7, 139.1, 150.1, 148.4]
    sds = [round(float(np.std(row, ddof=1)), 2) for row in blood_pressure().values.values()]
    assert sds == [5.07, 4.46, 4.78, 4.90]


def test_t_table_rows_are_quantiles():
    table = [line.split() for line in t_table([3, 38, 120]).splitlines()]
    for df, *cells in table[1:]:
        for level, cell in zip(table[0][1:], cells):
            assert float(cell) == pytest.approx(scipy.stats.t.ppf(float(level), float(df)), abs=5e-4)
    assert t_quantile(38, 0.975) == pytest.approx(scipy.stats.t.ppf(0.975, 38))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_match_scipy(level):
    error = scipy.stats.sem(A)
    assert confidence_interval(A, level) == pytest.approx(scipy.stats.t.interval(level, 14, A.mean(), error))
    normal = scipy.stats.norm.interval(level, A.mean(), error)
    assert confidence_interval(A, level, "normal") == pytest.approx(normal)


def test_studentized_mean_is_the_one_sample_statistic():
    rows = rng.normal(size=(5, 8))
    expected = scipy.stats.ttest_1samp(rows, 0.5, axis=1).statistic
    np.testing.assert_allclose(studentized_mean(rows, 0.5), expected)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("effect", [-0.4, 0.0, 0.1, 0.8])
def test_power_matches_statsmodels(effect, alternative):
    names = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}
    one = TTestPower().power(effect, 25, 0.05, alternative=names[alternative])
    assert t_test_power(effect, 25, alternative=alternative) == pytest.approx(one, abs=1e-9)
    two = TTestIndPower().power(effect, 20, 0.01, ratio=1.5, alternative=names[alternative])
    assert t_test_power(effect, 20, 30, 0.01, alternative) == pytest.approx(two, abs=1e-9)


def test_power_is_what_a_simulation_sees():
    x = np.random.default_rng(1).normal(0.5, 1, size=(4000, 20))
    rejected = np.mean(np.abs(studentized_mean(x, 0.0)) > t_quantile(19, 0.975))
    assert t_test_power(0.5, 20) == pytest.approx(rejected, abs=0.025)


@pytest.mark.parametrize("effect", [0.2, -0.5, 1.0])
def test_sample_size_is_the_least_that_suffices(effect):
    n = sample_size(effect, 0.9)
    assert t_test_power(effect, n, n) >= 0.9 > t_test_power(effect, n - 1, n - 1)
    solved = TTestIndPower().solve_power(abs(effect), power=0.9, alpha=0.05)
    assert n == int(np.ceil(solved))


def test_bootstrap_interval_matches_scipy():
    x = np.random.default_rng(2).exponential(size=60)
    for ours, theirs in (("bca", "BCa"), ("percentile", "percentile")):
        mine = bootstrap_interval(x, np.mean, np.random.default_rng(3), n_resamples=8000, method=ours)
        oracle = scipy.stats.bootstrap(
            (x,), np.mean, n_resamples=8000, method=theirs, rng=np.random.default_rng(4)
        ).confidence_interval
        assert mine == pytest.approx((oracle.low, oracle.high), abs=0.02)


def test_bootstrap_standard_error_and_distinct_rows():
    x = np.random.default_rng(5).normal(size=200)
    spread = bootstrap(x, np.mean, 2000, np.random.default_rng(6)).std()
    assert spread == pytest.approx(x.std(ddof=1) / np.sqrt(200), rel=0.1)
    indices = bootstrap_indices(50_000, np.random.default_rng(7))
    assert len(np.unique(indices)) / 50_000 == pytest.approx(distinct_fraction(50_000), abs=0.005)
    assert distinct_fraction(4, 2) == pytest.approx(1 - 0.75**2)
    assert distinct_fraction(1) == 1.0


def test_bootstrap_is_reproducible_and_resamples_rows():
    table = np.random.default_rng(8).normal(size=(30, 2))
    first, second = (
        bootstrap(table, lambda rows: np.corrcoef(rows.T)[0, 1], 50, np.random.default_rng(9)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: t_test_one_sample([1.0]), "at least 2 values; got 1"),
        (lambda: t_test_one_sample([2.0, 2.0]), "must vary"),
        (lambda: t_test([1.0, np.nan], [1.0, 2.0]), "a must be finite"),
        (lambda: t_test([1.0, 2.0], [1.0, 2.0, 3.0], paired_samples=True), "one length; got 2 and 3"),
        (lambda: t_test([1.0, 2.0], [1.0, 3.0], paired_samples=True, equal_var=True), "no meaning for paired"),
        (lambda: t_test(A, B, alternative="both"), "alternative must be one of"),
        (lambda: t_test_from_summaries(Summary(0, -1, 5), Summary(0, 1, 5)), "sd must be at least 0; got -1"),
        (lambda: t_test_from_summaries(Summary(0, 1, 1), Summary(0, 1, 5)), "n must be an integer"),
        (lambda: t_test([1.0, 1.0], [2.0, 2.0]), "must vary"),
        (lambda: p_value(1.0, 0), "df must be a positive"),
        (lambda: p_value(float("nan"), 3), "t must be a number"),
        (lambda: blood_pressure_t_test().reject(5), "alpha must lie strictly between 0 and 1; got 5"),
        (lambda: confidence_interval(A, 95), "level must lie strictly between"),
        (lambda: confidence_interval(A, method="z"), "method must be 't' or 'normal'"),
        (lambda: studentized_mean([1.0, 2.0], 0), "samples must be"),
        (lambda: sample_size(0.0), "effect must be a number other than 0"),
        (lambda: sample_size(1e-9), "effect must be reachable"),
        (lambda: t_test_power(0.5, 1), "n must be an integer of at least 2"),
        (lambda: bootstrap_indices(0, rng), "n must be an integer of at least 1; got 0"),
        (lambda: bootstrap([1.0], np.mean, 5, rng), "at least two observations"),
        (lambda: bootstrap_interval(A, np.mean, rng, method="x", n_resamples=5), "method must be"),
        (lambda: bootstrap_interval(A, lambda x: 1.0 + (len(x) < 15), rng, n_resamples=5, level=2), "level must lie"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_tests_and_intervals_share_against_scipy():
    error = scipy.stats.sem(A)
    assert mean_interval(A.mean(), error, 14, 0.9) == pytest.approx(scipy.stats.t.interval(0.9, 14, A.mean(), error))
    assert confidence_interval(A, 0.9) == mean_interval(float(A.mean()), float(error), 14, 0.9)
    theirs = scipy.stats.ttest_1samp(A, 0.2, alternative="less")
    ours = t_test_from_error("the mean is 0.2", A.mean() - 0.2, error, 14, "less")
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    f = f_test_from_sums("no column tells anything", 7.5, 3, 1.8, 14)
    assert (f.statistic, f.p_value) == pytest.approx((7.5 / 5.4, scipy.stats.f.sf(7.5 / 5.4, 3, 14)))
    assert f_test_from_sums("x", -1e-16, 3, 1.8, 14).statistic == 0.0
    with pytest.raises(ValueError, match="the values must vary"):
        t_test_from_error("the mean is 0", 1.0, 0.0, 3)
