"""Folds drawn again, looks at test rows, curves against lines, and measures of generated rows one by one."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats
from scipy.interpolate import CubicSpline
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.linear import LinearRegression
from margin.metrics import samples
from margin.mixture import GaussianMixture
from margin.selection import HeldOut, repeated_folds
from margin.selection.generators import capabilities, compare_generators, evaluate_generator
from margin.selection.linearity import linearity_check

PATH = "margin.selection"


@oracle(f"{PATH}.repeated_folds", f"{PATH}.HeldOut")
def folds_and_looks(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"], [12, 6, 3])
    plain, by_class = repeated_folds(y, 3, 4, seed=seed), repeated_folds(y, 3, 4, stratify=True, seed=seed)
    covered = [sorted(np.concatenate([test for _, test in plain[3 * r : 3 * r + 3]]).tolist()) for r in range(4)]
    counts = {tuple(np.unique(y[test], return_counts=True)[1].tolist()) for _, test in by_class}
    X, target = rng.normal(size=(20, 2)), rng.normal(size=20)
    model, test = LinearRegression().fit(X[:10], target[:10]), HeldOut(X[10:], target[10:], "mse")
    errors = [(target[10:] - model.predict(X[10:])) ** 2 for _ in range(2)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = [test.score(model), test.score(model)]
    return every(
        every_row_once=equal(covered, [list(range(21))] * 4),
        rest=equal([sorted([*train, *test]) for train, test in plain], [list(range(21))] * 12),
        drawn_anew=equal(len({tuple(test.tolist()) for _, test in plain}), 12),
        classes=equal(counts, {(4, 2, 1)}),
        scores=near(scores, [error.mean() for error in errors], tolerance=1e-12),
        looks=equal((test.uses, len(caught)), (2, 1)),
    )


@oracle(f"{PATH}.linearity.linearity_check")
def a_line_within_splines(seed: int) -> Verdict:
    """The F-test from two least squares; natural splines as interpolants of unit vectors at their knots."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 4, 40))
    y = 0.5 * x + 0.3 * np.sin(2 * x) + 0.3 * rng.normal(size=40)
    knots = np.quantile(x, np.linspace(0.05, 0.95, 5))
    splines = [CubicSpline(knots, row, bc_type="natural") for row in np.eye(5)]

    def natural(spline: CubicSpline) -> np.ndarray:
        ends = np.clip(x, knots[0], knots[-1])
        return spline(ends) + spline(ends, 1) * (x - ends)  # straight beyond the last knots

    basis = np.column_stack([natural(spline) for spline in splines])
    line = np.column_stack([np.ones(40), x])
    left = [np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2) for A in (line, basis)]
    F = (left[0] - left[1]) / 3 / (left[1] / 35)
    found = linearity_check(x, y)
    return every(
        p_value=near(found.p_value, stats.f.sf(F, 3, 35), tolerance=1e-8),
        line=near(found.linear_r2, np.corrcoef(x, y)[0, 1] ** 2, tolerance=1e-9),
        spline_fits_more=equal(found.linear_r2 <= found.spline_r2 <= 1.0, True),
    )


@oracle(*(f"{PATH}.generators.{name}" for name in ("capabilities", "compare_generators", "evaluate_generator")))
def measures_one_by_one(seed: int) -> Verdict:
    """Two mixtures, one with the right number of parts: measures of their rows, sorted by density."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2)) + 6.0 * rng.integers(0, 2, (120, 1))
    train, held = X[:80], X[80:]
    models = {"one": GaussianMixture(1, random_state=seed), "two": GaussianMixture(2, random_state=seed)}
    board = compare_generators(models, train, held, random_state=seed)
    densities = {name: float(np.mean(model.score_samples(held))) for name, model in models.items()}
    drawn = models["two"].sample(40, random_state=seed)
    drawn = drawn[0] if isinstance(drawn, tuple) else drawn
    found = evaluate_generator(held, drawn, train=train, log_density=models["two"].score_samples(held))
    gaps = np.linalg.norm(held[:, None] - drawn[None], axis=2)
    mean_gap = np.sum((held.mean(axis=0) - drawn.mean(axis=0)) ** 2)
    both = [np.linalg.norm(rows[:, None] - rows[None], axis=2) for rows in (held, drawn)]
    all_rows = np.concatenate([held, drawn])
    nearest = np.linalg.norm(all_rows[:, None] - all_rows[None], axis=2) + np.diag(np.full(80, np.inf))
    is_drawn = np.arange(80) >= 40
    same_kind = np.mean(is_drawn[nearest.argmin(axis=1)] == is_drawn)
    radius = np.sort(both[0], axis=1)[:, 5]
    return every(
        best_first=equal([row["model"] for row in board], sorted(densities, key=lambda name: -densities[name])),
        densities=near([row["log_density"] for row in board], sorted(densities.values(), reverse=True), tolerance=1e-9),
        density=near(found["log_density"], densities["two"], tolerance=1e-9),
        neighbors=near(found["neighbor_accuracy"], same_kind, tolerance=1e-9),
        precision=near(found["precision"], np.mean((gaps <= radius[:, None]).any(axis=0)), tolerance=1e-9),
        frechet=near(found["frechet_distance"], samples.frechet_distance(held, drawn), tolerance=1e-9),
        frechet_is_more_than_of_means=equal(found["frechet_distance"] >= mean_gap - 1e-9, True),
        capable=equal(tuple(capabilities(models["two"])), (True, "exact", capabilities(models["two"]).marginal)),
    )
