"""Moments and distances of data against exact arithmetic and formulas written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations import statistics as ours

FAR = 1e8  # a mean so large that a deviation from the wrong center loses its digits

PATH = "margin.foundations.statistics"


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
    cases = {
        "whole": (ours.Moments.of(far), small),
        "merged": (ours.Moments.of(far[:half]).update(far[half:]), small),
        "pushed": (one_by_one, small[:23, :3]),
    }
    parts: dict[str, Verdict] = {}
    for name, (accumulated, numbers) in cases.items():
        n, total = len(numbers), numbers.sum(axis=0)
        parts[f"{name}_mean"] = near((accumulated.mean - 1e15) + accumulated.tail, total / n, tolerance=1e-9)
        squares = (numbers**2).sum(axis=0) - total**2 / n
        parts[f"{name}_variance"] = near(accumulated.variance(ddof=1), squares / (n - 1), tolerance=1e-9)
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


@oracle(*(f"{PATH}.{name}" for name in ("mahalanobis", "quadratic_distance", "spherical_distance", "whitening")))
def distances(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    S, x, y = root @ root.T + 0.4 * np.eye(3), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    inverse = np.linalg.inv(S)
    expected = [np.sqrt((a - b) @ inverse @ (a - b)) for a, b in zip(x, y)]
    J = ours.whitening(S)
    return every(
        pairs=near(ours.mahalanobis(x, y, S), expected, tolerance=1e-9),
        form=near(ours.quadratic_distance(x, y, inverse), expected, tolerance=1e-9),
        sphere=near(ours.spherical_distance(x, y[0], 1.7), np.linalg.norm(x - y[0], axis=1) / 1.7, tolerance=1e-12),
        whitening=near(J.T @ J, inverse, tolerance=1e-8),
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
