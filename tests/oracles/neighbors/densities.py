"""Densities against scikit-learn's, SciPy's and counts, with weights, every kernel, and rows left out on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn import neighbors
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near, within
from margin.neighbors.density import HistogramDensity, KernelDensity
from margin.neighbors.density.histogram import CategoryHistogram
from margin.notes.claims.chance import ERRORS, plausible

KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


@oracle("margin.neighbors.density.KernelDensity")
def bumps_by_scikit_learn(seed: int) -> Verdict:
    """Every kernel; by all rows and by those in sight; the rules for widths; draws by their distance from one row."""
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(60, 3)) * [1.0, 2.0, 0.5] + [4.0, 0.0, -2.0], rng.uniform(0.2, 2.0, size=60)
    fresh = X[:25] + rng.normal(size=(25, 3)) * 0.3
    parts: dict[str, Verdict] = {}
    for kernel in KERNELS:
        for algorithm in ("brute", "kd_tree"):
            ours, theirs = (
                model(bandwidth=0.8, kernel=kernel, algorithm=name, rtol=1e-9).fit(X, sample_weight=weights)
                for model, name in ((KernelDensity, algorithm), (neighbors.KernelDensity, "kd_tree"))
            )
            expected = theirs.score_samples(fresh)
            log_density = ours.score_samples(fresh)
            seen = np.isfinite(expected)
            parts[f"{kernel}_{algorithm}"] = near(log_density[seen], expected[seen], tolerance=1e-6)
            parts[f"{kernel}_{algorithm}_zero"] = equal(np.isfinite(log_density), seen)
        parts[f"{kernel}_draws"] = _distances_of_draws(kernel, seed)
    for rule in ("scott", "silverman"):
        models = (KernelDensity(bandwidth=rule).fit(X), neighbors.KernelDensity(bandwidth=rule).fit(X))
        parts[rule] = near(models[0].bandwidth_, models[1].bandwidth_, tolerance=1e-12)
        parts[f"{rule}_score"] = near(models[0].score(fresh), models[1].score(fresh), tolerance=1e-8)
    parts |= _allowed_errors(X, weights, fresh)
    # A light row, and a heavy one so far away that it gives ten times as much.
    uneven = np.array([1e-30, 1.0, 1e-30, 1e-30])
    at = np.array([[0.0], [np.sqrt(2 * np.log(1e29))], [90.0], [-90.0]])
    model = KernelDensity(bandwidth=1.0, rtol=1e-3, atol=0.0, algorithm="kd_tree").fit(at, sample_weight=uneven)
    both = np.log((1e-30 + 1e-29) / uneven.sum()) - 0.5 * np.log(2 * np.pi)
    parts["uneven_weights"] = near(model.score_samples([[0.0]]), [both], tolerance=2e-3)
    lonely = KernelDensity(bandwidth=0.1).fit([[0.0], [50.0]], sample_weight=[1.0, 3.0])
    drawn = lonely.sample(2000, random_state=seed)[:, 0]
    return every(
        **parts,
        weighted_draws=near((drawn > 25).mean(), 0.75, tolerance=ERRORS * np.sqrt(0.1875 / 2000)),
        around=plausible(stats.kstest((drawn[drawn < 25]) / 0.1, "norm").pvalue),
    )


def _distances_of_draws(kernel: str, seed: int) -> Verdict:
    """Around one row in two dimensions: the radius has the kernel's height times the circle as its density."""
    model = KernelDensity(bandwidth=0.7, kernel=kernel).fit([[3.0, -1.0]])
    radius = np.linalg.norm(model.sample(400, random_state=seed) - [3.0, -1.0], axis=1)
    grid = np.linspace(0.0, 16.0 if kernel == "exponential" else 6.0, 4001)
    heights = np.exp(model.score_samples(np.column_stack([3.0 + grid, np.full(4001, -1.0)]))) * 2 * np.pi * grid
    law = np.append(0.0, np.cumsum((heights[1:] + heights[:-1]) / 2 * np.diff(grid)))
    if abs(law[-1] - 1) > 1e-2:
        return equal("a density that sums to another number", "one that sums to 1")
    return plausible(stats.kstest(radius, lambda r: np.interp(r, grid, law)).pvalue)


def _allowed_errors(X: np.ndarray, weights: np.ndarray, fresh: np.ndarray) -> dict[str, Verdict]:
    """Allowed errors are used but kept, in both units, at widths below and above 1, where rows are out of sight."""
    parts: dict[str, Verdict] = {}
    far = np.vstack([fresh, fresh[:3] + 1.5])
    for name, allowed in {"atol": {"atol": 1e-3}, "rtol": {"rtol": 1e-2}, "both": {"atol": 1e-4, "rtol": 1e-2}}.items():
        for unit in (1.0, 10.0):
            options: dict[str, Any] = dict(allowed) | ({"atol": allowed["atol"] / unit**3} if "atol" in allowed else {})
            ways: list[tuple[str, dict[str, Any]]] = [("brute", {}), ("kd_tree", options)]
            exact, quick = (
                KernelDensity(bandwidth=0.3 * unit, algorithm=way, leaf_size=5, **given).fit(unit * X, None, weights)
                for way, given in ways
            )
            p, q = (np.exp(model.score_samples(unit * far)) for model in (exact, quick))
            most = options.get("atol", 0.0) + options.get("rtol", 0.0) * p
            parts[f"{name}_{unit}"] = within(float(np.max(np.abs(p - q) / most)), 1e-4, 1.0)
    return parts


@oracle("margin.neighbors.density.HistogramDensity", "margin.neighbors.density.histogram.CategoryHistogram")
def counted_states(seed: int) -> Verdict:
    """Counts with a row added to each state; a missing entry says nothing; draws by SciPy's chi squared."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(3, size=50, p=[0.5, 0.3, 0.2]), rng.choice(2, size=50, p=[0.2, 0.8])]).astype(float)
    X[:3, 0], X[:2, 1] = [0.0, 1.0, 2.0], [0.0, 1.0]
    model = HistogramDensity(0.7).fit(X)
    p = [np.array([(X[:, 0] == k).sum() + 0.7 for k in range(3)]) / 52.1,
         np.array([(X[:, 1] == k).sum() + 0.7 for k in range(2)]) / 51.4]  # fmt: skip
    rows = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    expected = [np.log(p[0][int(a)]) + np.log(p[1][int(b)]) for a, b in rows]
    drawn = model.sample(900, random_state=seed)
    counts = np.array([[((drawn == [a, b]).all(axis=1)).sum() for b in range(2)] for a in range(3)])
    letters = [*"baabcaabba"]
    bars = CategoryHistogram.fit(letters)
    drawn_states = bars.sample(900, random_state=seed)
    return every(
        rows=near(model.score_samples(rows), expected, tolerance=1e-12),
        total=near(model.score(rows), np.mean(expected), tolerance=1e-12),
        first=near(model.probabilities_[0], p[0], tolerance=1e-12),
        second=near(model.probabilities_[1], p[1], tolerance=1e-12),
        draws=plausible(stats.chisquare(counts.ravel(), 900 * np.outer(*p).ravel()).pvalue),
        mode=equal(bars.mode, "a"),
        event=near(bars.prob(lambda letter: letter != "a"), 0.5, tolerance=1e-12),
        logs=near(bars.log_prob("cab"), np.log([0.1, 0.5, 0.4]), tolerance=1e-12),
        unseen=equal(float(bars.log_prob("z")[0]), -np.inf),
        told=plausible(stats.chisquare([drawn_states.count(x) for x in "bac"], [360, 450, 90]).pvalue),
        labels=equal(bars.labels(), ["4 (0.40)", "5 (0.50)", "1 (0.10)"]),
    )
