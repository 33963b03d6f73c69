"""Tests and intervals against SciPy's and formulas written out."""

from __future__ import annotations

import numpy as np
from scipy import stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near, raises
from margin.foundations import statistics as ours

PATH = "margin.foundations.statistics"


@oracle(
    *(
        f"{PATH}.{name}"
        for name in ("t_test", "t_test_from_summaries", "t_test_one_sample", "welch_df", "p_value", "studentized_mean")
    ),
)
def tests_of_means(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.6, 1.4, size=9), rng.normal(0.1, 0.8, size=14)
    parts: dict[str, Verdict] = {}
    for side in ("two-sided", "greater", "less"):
        for name, test, theirs in (
            ("welch", ours.t_test(a, b, alternative=side), stats.ttest_ind(a, b, equal_var=False, alternative=side)),
            ("pooled", ours.t_test(a, b, equal_var=True, alternative=side), stats.ttest_ind(a, b, alternative=side)),
            ("pairs", ours.t_test(a, b[:9], paired_samples=True, alternative=side),
             stats.ttest_rel(a, b[:9], alternative=side)),
            ("one", ours.t_test_one_sample(a, 0.9, side), stats.ttest_1samp(a, 0.9, alternative=side)),
        ):  # fmt: skip
            expected = [theirs.statistic, theirs.pvalue, theirs.df]
            parts[f"{name}_{side}"] = near([test.statistic, test.p_value, test.df], expected, tolerance=1e-9)
            parts[f"tail_{name}_{side}"] = near(
                ours.p_value(theirs.statistic, theirs.df, side), theirs.pvalue, tolerance=1e-9
            )
    rows = rng.normal(2.0, 1.7, size=(5, 6))
    pivots = stats.ttest_1samp(rows, 1.3, axis=1).statistic
    freedom = stats.ttest_ind(a, b, equal_var=False).df
    return every(
        **parts,
        freedom=near(ours.welch_df(a.var(ddof=1) / 9, 9, b.var(ddof=1) / 14, 14), freedom, tolerance=1e-9),
        pivot=near(ours.studentized_mean(rows, 1.3), pivots, tolerance=1e-9),
    )


@oracle(
    "margin.foundations.statistics.bootstrap_indices",
    "margin.foundations.statistics.bootstrap",
    f"{PATH}.confidence_interval",
    f"{PATH}.coefficient_table",
    f"{PATH}.bootstrap_interval",
)
def intervals(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, center, error = rng.normal(2.0, 1.7, size=11), np.array([0.7, -1.2]), np.array([[0.3, 0.1], [0.1, 0.8]])
    spread = np.sqrt(np.diag(error))
    parts: dict[str, Verdict] = {}
    for df, law in ((None, stats.norm()), (7.0, stats.t(7))):
        table, reach = ours.coefficient_table(center, error, df, level=0.9), law.ppf(0.95) * spread
        parts |= {
            f"estimate_{df}": near([table.estimate, table.standard_error], [center, spread], tolerance=1e-12),
            f"z_{df}": near(table.statistic, center / spread, tolerance=1e-12),
            f"p_{df}": near(table.p_value, 2 * law.sf(np.abs(center / spread)), tolerance=1e-9),
            f"ends_{df}": near([table.low, table.high], [center - reach, center + reach], tolerance=1e-9),
        }
    for method, law in (("t", stats.t(10)), ("normal", stats.norm())):
        expected = x.mean() + np.array([-1, 1]) * law.ppf(0.9) * x.std(ddof=1) / np.sqrt(11)
        parts[method] = near(ours.confidence_interval(x, 0.8, method), expected, tolerance=1e-9)
    skewed = rng.exponential(size=30)
    for method in ("percentile", "BCa"):
        theirs = stats.bootstrap(
            (skewed,), np.mean, confidence_level=0.8, n_resamples=3000, method=method.lower(), rng=rng
        )
        interval = ours.bootstrap_interval(skewed, np.mean, rng, level=0.8, n_resamples=3000, method=method.lower())
        wide = 0.3 * skewed.std() / np.sqrt(30)  # two sets of 3,000 resamples differ by a tenth of the mean's error
        parts[method] = near(interval, theirs.confidence_interval, tolerance=float(wide))
    return every(**parts)


@oracle(*(f"{PATH}.{name}" for name in ("nested_f_test", "one_way_anova", "linearity_test")))
def tests_of_variance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    groups = [rng.normal(center, 1.2, size=n) for center, n in ((0.3, 5), (1.0, 8), (-0.4, 6))]
    theirs, anova = stats.f_oneway(*groups), ours.one_way_anova(groups)
    y, membership = np.concatenate(groups), np.repeat(np.eye(3), [5, 8, 6], axis=0)
    nested = ours.nested_f_test(np.ones((19, 1)), membership, y)
    x = rng.uniform(-2, 3, size=7)
    curve = np.sin(2 * x) + 0.3 * rng.normal(size=7)
    straight = ours.linearity_test(x, curve, n_knots=5)
    f, degrees = _spline_test(x, curve, 5)
    return every(
        between=near([anova.statistic, anova.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-9),
        degrees=equal((anova.df, nested.df, straight.df), ((2, 16), (2, 16), degrees)),
        nested=near([nested.statistic, nested.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-9),
        straight=near(straight.statistic / f, 1.0, tolerance=1e-6),
        tail=near(straight.p_value, stats.f(*degrees).sf(f), tolerance=1e-6),
        too_few=raises(ValueError, lambda: ours.linearity_test(x[:6], curve[:6], n_knots=5), match="7"),
    )


def _spline_test(x: np.ndarray, y: np.ndarray, n_knots: int) -> tuple[float, tuple[int, int]]:
    """F of a line against natural cubic splines, these taken as cardinal splines of SciPy, straight outside."""
    from scipy.interpolate import CubicSpline

    knots = np.quantile(x, np.linspace(0.05, 0.95, n_knots))
    spline = CubicSpline(knots, np.eye(n_knots), bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    basis = spline(inside) + spline(inside, 1) * (x - inside)[:, None]

    def rest(design: np.ndarray) -> float:
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    line, free = rest(np.column_stack([np.ones_like(x), x])), rest(basis)
    degrees = n_knots - 2, len(x) - n_knots
    return (line - free) / degrees[0] / (free / degrees[1]), degrees


@oracle(*(f"{PATH}.{name}" for name in ("residuals", "jarque_bera", "normal_quantile_points")))
def looks_normal(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, size=60)
    theirs, test = stats.jarque_bera(x), ours.jarque_bera(x)
    where, values = ours.normal_quantile_points(x)
    levels = [(i - 0.5) / 60 for i in range(1, 61)]
    return every(
        statistic=near([test.statistic, test.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-9),
        degrees=equal(test.df, 2.0),
        quantiles=near(where, stats.norm.ppf(levels), tolerance=1e-9),
        values=near(values, np.sort(stats.zscore(x)), tolerance=1e-9),
        left=near(ours.residuals(lambda rows: np.asarray(rows)[:, 0], x[:, None], 3 * x), 2 * x, tolerance=1e-12),
    )
