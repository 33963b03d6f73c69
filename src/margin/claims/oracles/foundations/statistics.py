"""Samples, tests and estimates against SciPy's, and against exact arithmetic where floats run out of digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from margin.claims.chance import plausible
from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near, raises
from margin.foundations import statistics as ours

PATH = "margin.foundations.statistics"
FAR = 1e8  # a mean so large that a deviation from the wrong center loses its digits


@oracle(f"{PATH}.covariance", f"{PATH}.correlation", f"{PATH}.variance", f"{PATH}.covariance_matrix")
def second_moments(seed: int) -> Verdict:
    """Around a mean of 1e8, where only deviations from the mean keep their digits; no correlation exceeds 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) @ np.array([[1.3, 0.4], [0.0, 0.7]])
    x, y = X.T
    shifted, exact = X + FAR, np.cov((X + FAR - FAR).T)
    lines = rng.normal(size=(300, 7))
    slopes = [ours.correlation(line, sign * 3.1 * line) * sign for line in lines for sign in (-1, 1)]
    return every(
        pair=near(ours.covariance(shifted[:, 0], shifted[:, 1], ddof=1), exact[0, 1], tolerance=1e-6),
        divisor=near(ours.covariance(x, y), np.cov(X.T, bias=True)[0, 1], tolerance=1e-12),
        variance=near(ours.variance(shifted, ddof=1), np.diag(exact), tolerance=1e-6),
        matrix=near(ours.covariance_matrix(shifted, ddof=1), exact, tolerance=1e-6),
        correlation=near(ours.correlation(x, y), stats.pearsonr(x, y).statistic, tolerance=1e-12),
        straight=near(slopes, np.ones(600), tolerance=1e-12),
        at_most_one=equal(bool(max(slopes) <= 1.0), True),
    )


@oracle(f"{PATH}.Moments", f"{PATH}.CoMoments")
def moments_in_parts(seed: int) -> Verdict:
    """Integers around 1e15, whose means lie between two floats, in one piece, in blocks, merged and one by one."""
    rng = np.random.default_rng(seed)
    columns = 40  # four thousand rows of them are more than one block
    small = rng.integers(-9, 10, size=(5001, columns)) + 3 * (np.arange(5001)[:, None] // 2048)
    far = 1e15 + small.astype(float)
    few, half = far[:23, :3], 2503
    one_by_one = ours.Moments.of(few[:9])
    for row in few[9:]:
        one_by_one = one_by_one.push(row)
    told = {
        "whole": (ours.Moments.of(far), small),
        "merged": (ours.Moments.of(far[:half]).update(far[half:]), small),
        "pushed": (one_by_one, small[:23, :3]),
    }
    parts: dict[str, Verdict] = {}
    for name, (found, numbers) in told.items():
        n, total = len(numbers), numbers.sum(axis=0)
        parts[f"{name}_mean"] = near((found.mean - 1e15) + found.tail, total / n, tolerance=1e-9)
        squares = (numbers**2).sum(axis=0) - total**2 / n
        parts[f"{name}_variance"] = near(found.variance(ddof=1), squares / (n - 1), tolerance=1e-9)
    exact = np.cov(small.T)
    for name, both in {
        "of": ours.CoMoments.of(far),
        "merge": ours.CoMoments.of(far[:half]).merge(ours.CoMoments.of(far[half:])),
        "update": ours.CoMoments.of(far[:half]).update(far[half:]),
    }.items():
        parts[f"{name}_center"] = near((both.mean - 1e15) + both.tail, small.mean(axis=0), tolerance=1e-9)
        parts[f"{name}_covariance"] = near(both.covariance(ddof=1), exact, tolerance=1e-9)
    return every(**parts)


@oracle(*(f"{PATH}.{name}" for name in ("updated_mean", "updated_squares", "updated_squares_from_means")))
def one_more_observation(seed: int) -> Verdict:
    numbers = [Fraction(int(v), 7) for v in np.random.default_rng(seed).integers(-50, 90, size=6)]
    before, after = (sum(part, Fraction(0)) / len(part) for part in (numbers[:5], numbers))
    squares = [sum((v - m) ** 2 for v in part) for part, m in ((numbers[:5], before), (numbers, after))]
    return every(
        mean=equal(ours.updated_mean(before, numbers[5], 6), after),
        squares=equal(ours.updated_squares(squares[0], numbers[5], before, after), squares[1]),
        from_means=equal(ours.updated_squares_from_means(squares[0], 6, before, after), squares[1]),
    )


@oracle(
    *(
        f"{PATH}.{name}"
        for name in ("t_test", "t_test_from_summaries", "t_test_one_sample", "welch_df", "p_value", "studentized_mean")
    )
)
def tests_of_means(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.6, 1.4, size=9), rng.normal(0.1, 0.8, size=14)
    parts: dict[str, Verdict] = {}
    for side in ("two-sided", "greater", "less"):
        for name, found, theirs in (
            ("welch", ours.t_test(a, b, alternative=side), stats.ttest_ind(a, b, equal_var=False, alternative=side)),
            ("pooled", ours.t_test(a, b, equal_var=True, alternative=side), stats.ttest_ind(a, b, alternative=side)),
            ("pairs", ours.t_test(a, b[:9], paired_samples=True, alternative=side),
             stats.ttest_rel(a, b[:9], alternative=side)),
            ("one", ours.t_test_one_sample(a, 0.9, side), stats.ttest_1samp(a, 0.9, alternative=side)),
        ):  # fmt: skip
            wanted = [theirs.statistic, theirs.pvalue, theirs.df]
            parts[f"{name}_{side}"] = near([found.statistic, found.p_value, found.df], wanted, tolerance=1e-9)
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


@oracle(f"{PATH}.confidence_interval", f"{PATH}.coefficient_table", f"{PATH}.bootstrap_interval")
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
        wanted = x.mean() + np.array([-1, 1]) * law.ppf(0.9) * x.std(ddof=1) / np.sqrt(11)
        parts[method] = near(ours.confidence_interval(x, 0.8, method), wanted, tolerance=1e-9)
    skewed = rng.exponential(size=30)
    for method in ("percentile", "BCa"):
        theirs = stats.bootstrap(
            (skewed,), np.mean, confidence_level=0.8, n_resamples=3000, method=method.lower(), rng=rng
        )
        found = ours.bootstrap_interval(skewed, np.mean, rng, level=0.8, n_resamples=3000, method=method.lower())
        wide = 0.3 * skewed.std() / np.sqrt(30)  # two sets of 3,000 resamples differ by a tenth of the mean's error
        parts[method] = near(found, theirs.confidence_interval, tolerance=float(wide))
    return every(**parts)


@oracle(*(f"{PATH}.{name}" for name in ("nested_f_test", "one_way_anova", "linearity_test")))
def tests_of_variance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    groups = [rng.normal(center, 1.2, size=n) for center, n in ((0.3, 5), (1.0, 8), (-0.4, 6))]
    theirs, found = stats.f_oneway(*groups), ours.one_way_anova(groups)
    y, membership = np.concatenate(groups), np.repeat(np.eye(3), [5, 8, 6], axis=0)
    nested = ours.nested_f_test(np.ones((19, 1)), membership, y)
    x = rng.uniform(-2, 3, size=7)
    curve = np.sin(2 * x) + 0.3 * rng.normal(size=7)
    straight = ours.linearity_test(x, curve, n_knots=5)
    f, degrees = _spline_test(x, curve, 5)
    return every(
        between=near([found.statistic, found.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-9),
        degrees=equal((found.df, nested.df, straight.df), ((2, 16), (2, 16), degrees)),
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


@oracle(*(f"{PATH}.{name}" for name in ("mle", "mle_numerical", "fit_conditional")))
def likelihoods(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    samples: dict[str, tuple[np.ndarray, Any, Any]] = {  # data, parameters, law with these parameters
        "bernoulli": (rng.binomial(1, 0.3, size=41), lambda x: [x.mean()], lambda t: stats.bernoulli(t[0]).logpmf),
        "poisson": (rng.poisson(2.4, size=40), lambda x: [x.mean()], lambda t: stats.poisson(t[0]).logpmf),
        "geometric": (rng.geometric(0.3, size=40), lambda x: [1 / x.mean()], lambda t: stats.geom(t[0]).logpmf),
        "exponential": (rng.exponential(2.0, size=40), lambda x: [1 / x.mean()],
                        lambda t: stats.expon(scale=1 / t[0]).logpdf),
        "normal": (rng.normal(2, 3, size=40), stats.norm.fit, lambda t: stats.norm(*t).logpdf),
        "laplace": (rng.laplace(2, 3, size=41), stats.laplace.fit, lambda t: stats.laplace(*t).logpdf),
        "categorical": (np.repeat([0, 1, 2], [7, 12, 21]), lambda x: np.bincount(x) / len(x),
                        lambda t: lambda x: np.log(np.asarray(t)[x])),
    }  # fmt: skip
    parts: dict[str, Verdict] = {}
    for name, (data, estimate, law) in samples.items():
        theta, found, searched = list(estimate(data)), ours.mle(name, data), ours.mle_numerical(name, data)
        height = float(law(theta)(data).sum())
        parts[name] = near([*found.parameters, found.log_likelihood], [*theta, height], tolerance=1e-8)
        parts[f"{name}_searched"] = near(
            [*searched.parameters, searched.log_likelihood], [*theta, height], tolerance=1e-3
        )
    X, y = rng.normal(size=(30, 2)), rng.poisson(2.0, size=30)
    best = optimize.minimize(lambda p: -stats.poisson(np.exp(X @ p[:2] + p[2])).logpmf(y).sum(), np.zeros(3))
    fitted = ours.fit_conditional("poisson", lambda rows, p: (rows @ p[:2] + p[2])[:, None], X, y, np.zeros(3))
    return every(
        **parts,
        conditional=near(fitted.parameters, best.x, tolerance=1e-4),
        height=near(fitted.log_likelihood, -best.fun, tolerance=1e-6),
    )


@oracle(*(f"{PATH}.{name}" for name in ("residuals", "jarque_bera", "normal_quantile_points")))
def looks_normal(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, size=60)
    theirs, found = stats.jarque_bera(x), ours.jarque_bera(x)
    where, values = ours.normal_quantile_points(x)
    levels = [(i - 0.5) / 60 for i in range(1, 61)]
    return every(
        statistic=near([found.statistic, found.p_value], [theirs.statistic, theirs.pvalue], tolerance=1e-9),
        degrees=equal(found.df, 2.0),
        quantiles=near(where, stats.norm.ppf(levels), tolerance=1e-9),
        values=near(values, np.sort(stats.zscore(x)), tolerance=1e-9),
        left=near(ours.residuals(lambda rows: np.asarray(rows)[:, 0], x[:, None], 3 * x), 2 * x, tolerance=1e-12),
    )


@oracle(*(f"{PATH}.{name}" for name in ("mahalanobis", "quadratic_distance", "spherical_distance", "whitening")))
def distances(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    S, x, y = root @ root.T + 0.4 * np.eye(3), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    inverse = np.linalg.inv(S)
    wanted = [np.sqrt((a - b) @ inverse @ (a - b)) for a, b in zip(x, y)]
    J = ours.whitening(S)
    return every(
        pairs=near(ours.mahalanobis(x, y, S), wanted, tolerance=1e-9),
        form=near(ours.quadratic_distance(x, y, inverse), wanted, tolerance=1e-9),
        sphere=near(ours.spherical_distance(x, y[0], 1.7), np.linalg.norm(x - y[0], axis=1) / 1.7, tolerance=1e-12),
        whitening=near(J.T @ J, inverse, tolerance=1e-8),
    )


@oracle(f"{PATH}.linear_posterior", f"{PATH}.LinearPosterior", f"{PATH}.elliptical_slice_samples")
def posteriors(seed: int) -> Verdict:
    """Closed form by the inverse of a matrix, and a chain that must have this law."""
    rng = np.random.default_rng(seed)
    X, y, at = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=(3, 2))
    S = np.linalg.inv(X.T @ X / 0.6 + np.eye(2) / 1.7)
    m = S @ X.T @ y / 0.6
    law = ours.linear_posterior(X, y, prior_variance=1.7, noise_variance=0.6)
    mean, deviation = law.predict(at)
    height = lambda beta: float(-((y - X @ beta) ** 2).sum() / 1.2)  # noqa: E731
    chain = ours.elliptical_slice_samples(height, [np.sqrt(1.7)] * 2, 800, rng, burn_in=50, thin=5)
    start = int(rng.integers(2**30))
    every_state, some = (
        ours.elliptical_slice_samples(height, [1.0, 2.0], n, np.random.default_rng(start), burn_in=k, thin=m)
        for n, k, m in ((30, 0, 1), (5, 7, 4))
    )
    depths = np.einsum("ij,jk,ik->i", chain - m, np.linalg.inv(S), chain - m)
    return every(
        mean=near(law.mean, m, tolerance=1e-9),
        covariance=near(law.covariance, S, tolerance=1e-9),
        told=near(mean, at @ m, tolerance=1e-9),
        error=near(deviation, np.sqrt([r @ S @ r + 0.6 for r in at]), tolerance=1e-9),
        # Neighbors in the chain are still a little alike, so that the p-value of 800 draws is taken of every fourth.
        thinned=near(some, every_state[10:27:4], tolerance=1e-12),
        chain=plausible(stats.kstest(depths[::4], stats.chi2(2).cdf).pvalue),
    )


@oracle(f"{PATH}.regression_slope", f"{PATH}.correlated_pairs", f"{PATH}.galton_heights")
def back_to_the_mean(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(3, 2, size=30), rng.normal(-1, 1, size=30)
    pairs = np.array(ours.correlated_pairs(4000, 0.6, rng))
    heights = np.array(ours.galton_heights(4000, rng, slope=0.5, mean=170.0, sd=6.0))
    depth = (pairs[0] ** 2 - 1.2 * pairs[0] * pairs[1] + pairs[1] ** 2) / (1 - 0.36)
    scaled = (heights - 170) / 6
    tall = (scaled[0] ** 2 - scaled[0] * scaled[1] + scaled[1] ** 2) / 0.75
    return every(
        slope=near(ours.regression_slope(x, y), stats.linregress(x, y).slope, tolerance=1e-12),
        far=near(ours.regression_slope(x, y + 1e13), stats.linregress(x, y + 1e13 - 1e13).slope, tolerance=1e-3),
        pairs=plausible(stats.kstest(depth, stats.chi2(2).cdf).pvalue),
        heights=plausible(stats.kstest(tall, stats.chi2(2).cdf).pvalue),
        fathers=plausible(stats.kstest(heights[0], stats.norm(170, 6).cdf).pvalue),
    )


@oracle(f"{PATH}.distinct_fraction", f"{PATH}.variance_shortcut")
def written_out(seed: int) -> Verdict:
    x = np.random.default_rng(seed).normal(2, 3, size=30)
    exact = float(1 - Fraction(6, 7) ** 11)
    return every(
        fraction=near([ours.distinct_fraction(7, 11), ours.distinct_fraction(1)], [exact, 1.0], tolerance=1e-12),
        same_size=near(ours.distinct_fraction(7), float(1 - Fraction(6, 7) ** 7), tolerance=1e-12),
        shortcut=near(ours.variance_shortcut(x), x.var(), tolerance=1e-12),
    )


@oracle(f"{PATH}.fit_glm")
def scored_models(seed: int) -> Verdict:
    """Coefficients by a general optimizer, covariance as the inverse of the curvature by differences."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    eta, parts = X @ [0.3, 0.8, -0.5], {}
    cases: dict[str, tuple[np.ndarray, Any]] = {
        "poisson": (rng.poisson(np.exp(eta)), lambda m: stats.poisson(np.exp(m)).logpmf),
        "bernoulli": (rng.binomial(1, special.expit(eta)), lambda m: stats.bernoulli(special.expit(m)).logpmf),
    }
    for family, (y, law) in cases.items():
        fit = ours.fit_glm(X, y, family)
        loss = lambda b, y=y, law=law: -law(X @ b)(y).sum()  # noqa: E731
        best = optimize.minimize(loss, np.zeros(3), tol=1e-10)
        mean = np.exp(X @ best.x) if family == "poisson" else special.expit(X @ best.x)
        weight = mean if family == "poisson" else mean * (1 - mean)
        parts[family] = near(fit.coefficients, best.x, tolerance=1e-3)
        parts[f"{family}_height"] = near(fit.log_likelihood, -best.fun, tolerance=1e-6)
        parts[f"{family}_spread"] = near(fit.covariance, np.linalg.inv(X.T * weight @ X), tolerance=1e-3)
    y = eta + 0.7 * rng.normal(size=40)
    normal, line = ours.fit_glm(X, y), np.linalg.lstsq(X, y, rcond=None)
    dispersion = line[1][0] / 37
    return every(
        **parts,
        line=near(normal.coefficients, line[0], tolerance=1e-8),
        dispersion=near(normal.dispersion, dispersion, tolerance=1e-8),
        spread=near(normal.covariance, dispersion * np.linalg.inv(X.T @ X), tolerance=1e-8),
        degrees=equal((normal.df, fit.df), (37, None)),
    )
