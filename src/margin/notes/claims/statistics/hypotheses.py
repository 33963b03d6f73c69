"""Null hypotheses, p-values, t-tests, intervals, analysis of variance and the bootstrap."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.statistics import (
    HypothesisTest,
    blood_pressure,
    blood_pressure_t_test,
    bootstrap,
    bootstrap_indices,
    bootstrap_interval,
    confidence_interval,
    distinct_fraction,
    linearity_test,
    nested_f_test,
    one_way_anova,
    p_value,
    studentized_mean,
    t_quantile,
    t_table,
    t_test,
    t_test_from_error,
    t_test_one_sample,
    with_intercept,
)
from margin.linear import LinearRegression
from margin.notes.claims import claim
from margin.notes.claims.chance import CHANCE, plausible, rate
from margin.selection import corrected_paired_test

LEVEL = 0.05


def _rejection_rate(tests: list[HypothesisTest]) -> float:
    return float(np.mean([test.reject(LEVEL) for test in tests]))


@claim("independent-samples")
def couples_need_the_paired_error(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    shared = np.array([[1.0, 0.0], [0.7, np.sqrt(1 - 0.7**2)]])
    couples = [(shared @ rng.normal(size=(2, 100))) for _ in range(1500)]
    strangers = [rng.normal(size=(2, 100)) for _ in range(1500)]
    # The means are equal, so one minus the rejection rate is the coverage of the 95 percent interval.
    paired = [t_test(*pair, paired_samples=True) for pair in couples]
    return every(
        men_and_women=rate(1 - _rejection_rate([t_test(*pair) for pair in strangers]), 0.95, 1500),
        couples_paired=rate(1 - _rejection_rate(paired), 0.95, 1500),
        couples_as_if_independent=above(1 - _rejection_rate([t_test(*pair) for pair in couples]), 0.99),
    )


@claim("null-hypothesis")
def a_true_null_is_rejected_as_often_as_the_level_says(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    drug_does_nothing = [t_test(*rng.normal(size=(2, 15))) for _ in range(2000)]
    drug_works = [t_test(rng.normal(size=15), rng.normal(1.5, 1, size=15)) for _ in range(300)]
    return every(
        text=equal(drug_does_nothing[0].null, "the two means are equal"),
        under_the_null=rate(_rejection_rate(drug_does_nothing), LEVEL, 2000),
        with_an_effect=above(_rejection_rate(drug_works), 0.9),
    )


@claim("p-value")
def a_p_value_counts_everything_at_least_as_extreme(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    T = studentized_mean(rng.normal(size=(20_000, 8)), 0.0)
    observed = 1.3
    p = p_value(observed, 7)
    uniform = stats.kstest([p_value(t, 7) for t in T[:2000]], "uniform").pvalue
    truth = every(
        at_least_as_extreme=rate(float(np.mean(np.abs(T) >= observed)), float(p), len(T)),
        scipy=near(p, 2 * stats.t.sf(observed, 7), tolerance=1e-12),
        uniform_under_the_null=plausible(uniform),
    )
    return corrected(truth, printed=near(np.mean(np.abs(T) == observed), p, tolerance=0.01))


@claim("significance-level-decision")
def reject_below_alpha_and_say_so() -> Verdict:
    clear, unclear = blood_pressure_t_test(), t_test_one_sample([1.0, -1.0, 2.0, -1.5])
    return every(
        decisions=equal([clear.reject(alpha=0.05), unclear.reject(alpha=0.05)], [True, False]),
        sentences=equal(["reject that" in clear.sentence(0.05), "do not refute" in unclear.sentence(0.05)], [True] * 2),
        boundary=equal(HypothesisTest("x", 0.0, 1.0, 0.05, "two-sided", 1.0).reject(0.05), False),
    )


@claim("t-statistic-one-sample")
def the_one_sample_t_uses_the_standard_deviation_of_the_sample(seed: int) -> Verdict:
    from scipy import stats

    sigma, n = 2.0, 6
    x = np.random.default_rng(seed).normal(1.0, sigma, size=n)
    ours, theirs = t_test_one_sample(x, 0.5), stats.ttest_1samp(x, 0.5)
    return every(
        formula=near(ours.statistic, (x.mean() - 0.5) / (x.std(ddof=1) / np.sqrt(n)), tolerance=1e-12),
        t=near(ours.statistic, theirs.statistic, tolerance=1e-12),
        df=equal(ours.df, n - 1.0),
        p=near(ours.p_value, theirs.pvalue, tolerance=1e-12),
        as_run=equal(ours, t_test_from_error("the mean is 0.5", x.mean() - 0.5, x.std(ddof=1) / np.sqrt(n), n - 1)),
        more_extreme_is_less_likely=below(t_test_one_sample(x, -5.0).p_value, ours.p_value),
    )


@claim("t-test")
def unequal_variances_need_welchs_degrees_of_freedom(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    tests = [t_test(rng.normal(0, 3, size=4), rng.normal(size=40)) for _ in range(2000)]
    with_pooled_df = np.mean([p_value(test.statistic, 4 + 40 - 2) < LEVEL for test in tests])
    a, b = rng.normal(size=(2, 12))
    ours = [t_test(a, b), t_test(a, b, equal_var=True), t_test(a, b, paired_samples=True)]
    theirs = [stats.ttest_ind(a, b, equal_var=False), stats.ttest_ind(a, b), stats.ttest_rel(a, b)]
    truth = every(
        scipy=near([test.p_value for test in ours], [test.pvalue for test in theirs], tolerance=1e-12),
        # The test of a comparison, for one fold of test rows beside so many that the folds do not overlap.
        as_run=near(corrected_paired_test(a, b, 10**15, 1).p_value, ours[2].p_value, tolerance=1e-9),
        level_with_welch=rate(_rejection_rate(tests), LEVEL, 2000),
        trial_df=near(blood_pressure_t_test(equal_var=False).df, 34.3, tolerance=0.05),
    )
    return corrected(truth, printed=rate(float(with_pooled_df), LEVEL, 2000))


@claim("t-table-lookup")
def a_table_gives_one_tail() -> Verdict:
    table = t_table([38], [0.95, 0.975]).splitlines()[1].split()
    truth = every(
        one_sided=near(p_value(1.61, 38, "greater"), 0.058, tolerance=5e-4),
        two_sided=near(p_value(1.61, 38), 0.116, tolerance=5e-4),
        df=equal(blood_pressure_t_test().df, 38.0),
        table=equal(table, ["38", "1.686", "2.024"]),
    )
    return corrected(truth, printed=near(p_value(1.61, 38, "two-sided"), 0.058, tolerance=5e-4))


@claim("blood-pressure-dataset")
def nine_of_twenty_values_do_not_give_the_summaries() -> Verdict:
    trial = blood_pressure()
    rows, quoted = list(trial.values.values()), list(trial.summaries.values())
    means = [np.mean(row) for row in rows]
    truth = every(
        rows=equal([len(row) for row in rows], [9] * 4),
        sizes=equal([summary.n for summary in quoted], [20] * 4),
        means=near(means, [151.7, 139.1, 150.1, 148.4], tolerance=0.06),
        sds=near([np.std(row, ddof=1) for row in rows], [5.07, 4.46, 4.78, 4.90], tolerance=0.006),
        quoted_means=near([summary.mean for summary in quoted], [153.6, 143.25, 150.45, 149.55], tolerance=1e-9),
        quoted_sds=near([summary.sd for summary in quoted], [5.45, 4.37, 3.34, 3.10], tolerance=1e-9),
    )
    return corrected(truth, printed=near(means, [summary.mean for summary in quoted], tolerance=0.1))


@claim("blood-pressure-t-test")
def the_drug_trial_clearly_rejects() -> Verdict:
    result, welch = blood_pressure_t_test(), blood_pressure_t_test(equal_var=False)
    truth = every(
        standard_error=near(result.standard_error, 1.198, tolerance=5e-4),
        t=near(result.statistic, -5.2585, tolerance=5e-4),
        df=equal(result.df, 38.0),
        p=near(result.p_value, 5.9e-6, tolerance=5e-8),
        welch_p=near(welch.p_value, 7.8e-6, tolerance=5e-8),
        rejected=equal(result.reject(0.05), True),
    )
    printed = {
        "t": near(result.statistic, 1.61, tolerance=0.01),
        "p": near(result.p_value, 0.058, tolerance=1e-3),
        "rejected": equal(result.reject(0.05), False),
    }
    return corrected(truth, **printed)


@claim("t-confidence-interval")
def the_t_interval_covers_at_its_level(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    samples = rng.normal(3, 2, size=(4000, 6))
    first = confidence_interval(samples[0], 0.95, method="t")
    covered = np.mean([confidence_interval(x).covers(3.0) for x in samples])
    T = studentized_mean(samples, 3.0)
    c = t_quantile(5, 0.975)
    return every(
        scipy=near(first, stats.t.interval(0.95, 5, samples[0].mean(), stats.sem(samples[0])), tolerance=1e-12),
        coverage=rate(float(covered), 0.95, 4000),
        lower_tail=rate(float(np.mean(-c > T)), 0.025, 4000),
        upper_tail=rate(float(np.mean(c < T)), 0.025, 4000),
    )


@claim("claim-t-pivot")
def the_studentized_mean_forgets_both_parameters(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    laws = [
        studentized_mean(rng.normal(mu, sigma, size=(10_000, 5)), mu) for mu, sigma in ((0, 1), (50, 0.1), (-3, 20))
    ]
    against_t = min(stats.kstest(T, stats.t(4).cdf).pvalue for T in laws)
    against_normal = max(stats.kstest(T, "norm").pvalue for T in laws)
    mutual = min(stats.ks_2samp(laws[0], other).pvalue for other in laws[1:])
    return every(
        t_law=plausible(against_t), each_other=plausible(mutual), not_the_normal_law=below(against_normal, CHANCE)
    )


@claim("anova-f-test")
def nested_models_are_compared_by_f(seed: int) -> Verdict:
    from scipy import stats

    rng = np.random.default_rng(seed)
    groups = [rng.normal(mean, 1, size=n) for mean, n in ((0.0, 8), (0.4, 12), (1.0, 10))]
    ours, theirs = one_way_anova(groups), stats.f_oneway(*groups)
    member = np.repeat(np.arange(3), [8, 12, 10])
    nested = nested_f_test(np.ones((30, 1)), np.eye(3)[member], np.concatenate(groups))
    x = np.sort(rng.uniform(-2, 2, 150))
    noise = rng.normal(scale=0.5, size=150)
    wide = with_intercept(np.column_stack([x, x**2]))
    return every(
        scipy=near([ours.statistic, ours.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-10),
        as_run=near(
            LinearRegression().fit(wide[:, 1:], x + noise).summary(wide[:, 1:], x + noise).f_statistic,
            nested_f_test(wide[:, :1], wide, x + noise).statistic,
            tolerance=1e-8,
        ),
        one_way_is_nested=near(nested.statistic, ours.statistic, tolerance=1e-10),
        bend_found_by_spline=below(linearity_test(x, np.sin(2 * x) + noise).p_value, CHANCE),
        bend_found_by_square=below(nested_f_test(wide[:, :2], wide, x**2 + noise).p_value, CHANCE),
        line_accepted=plausible(linearity_test(x, x + noise).p_value),
    )


@claim("bootstrap")
def resamples_are_independent_only_given_the_data(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=100)
    error = bootstrap(x, np.mean, 2000, rng).std()
    unique = np.mean([len(np.unique(bootstrap_indices(500, rng))) / 500 for _ in range(50)])

    def pair_of_means(data: np.ndarray) -> list[float]:
        return [float(data[bootstrap_indices(len(data), rng)].mean()) for _ in range(2)]

    given_data = np.corrcoef(np.array([pair_of_means(x) for _ in range(2000)]).T)[0, 1]
    over_data = np.corrcoef(np.array([pair_of_means(rng.normal(size=100)) for _ in range(2000)]).T)[0, 1]
    interval = bootstrap_interval(x, np.mean, rng, level=0.9, method="percentile")
    by_quantiles = np.quantile(bootstrap(x, np.mean, 20_000, rng), [0.05, 0.95])
    truth = every(
        few_rows=near([distinct_fraction(1), distinct_fraction(3, 2)], [1.0, 5 / 9], tolerance=1e-12),
        interval=near(interval, by_quantiles, tolerance=0.2 * error),
        standard_error=near(error / (x.std(ddof=1) / 10), 1.0, tolerance=0.15),
        distinct=near([unique, distinct_fraction(10**6)], [1 - np.exp(-1)] * 2, tolerance=0.005),
        independent_given_the_data=near(given_data, 0.0, tolerance=0.06),
        correlated_over_data_sets=near(over_data, 0.5, tolerance=0.06),
    )
    return corrected(truth, printed=near(over_data, 0.0, tolerance=0.06))
