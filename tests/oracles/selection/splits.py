"""Splits, folds and tests of scores, each score computed again by scikit-learn or by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.claims.chance import ERRORS, average
from margin.selection import (
    best_of_many,
    corrected_paired_test,
    cross_validate,
    expected_risk,
    generalization_gap,
    nested_cross_validate,
    overfitting_starts,
    train_test_split,
)
from margin.selection.bias_variance import RegressionProblem

PATH = "margin.selection"


def _table(seed: int, n: int = 41) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 5])
    X = rng.normal(size=(n, 3)) + np.array([1.0, -2.0, 0.5])
    return X, X @ [1.5, -0.7, 0.2] + 3 + 0.3 * rng.normal(size=n)


@oracle(f"{PATH}.train_test_split")
def parts_of_a_table(seed: int) -> Verdict:
    """Parts keep rows together, have the right sizes, follow classes where asked, and the order where not shuffled."""
    X, y = _table(seed)
    labels = np.repeat([0, 1, 2], [22, 12, 7])
    parts: dict[str, Verdict] = {}
    ways: dict[str, dict[str, Any]] = {"plain": {}, "by_class": {"stratify": labels}, "in_order": {"shuffle": False}}
    for name, options in ways.items():
        A, B, a, b, rows, others = train_test_split(
            X, y, np.arange(41), test_size=0.3, random_state=seed, **options
        )  # fmt: skip
        parts[f"{name}_sizes"] = equal((len(rows), len(others)), (29, 12))
        parts[f"{name}_all"] = equal(sorted([*rows, *others]), list(range(41)))
        parts[f"{name}_rows"] = equal(np.vstack([A, B]), X[np.append(rows, others)])
        parts[f"{name}_targets"] = equal(np.append(a, b), y[np.append(rows, others)])
        if name == "by_class":
            parts["classes"] = equal([int((labels[others] == k).sum()) for k in range(3)], [6, 4, 2])
        if name == "in_order":
            parts["last"] = equal(list(others), list(range(29, 41)))
    return every(**parts)


@oracle(f"{PATH}.cross_validate", f"{PATH}.nested_cross_validate", f"{PATH}.generalization_gap")
def scores_of_folds(seed: int) -> Verdict:
    """Every score by scikit-learn's own model and metric on the same rows; the best penalty inside by hand."""
    X, y = _table(seed)
    order = np.random.default_rng(seed).permutation(41)
    pairs = [(np.delete(order, part), order[part]) for part in np.array_split(np.arange(41), 4)]
    validated = cross_validate(LinearRegression(), X, y, pairs, metric_name="mse", refit=True)
    fits = [LinearRegression().fit(X[train], y[train]) for train, _ in pairs]
    errors = [mean_squared_error(y[test], fit.predict(X[test])) for fit, (_, test) in zip(fits, pairs)]
    drawn = cross_validate(LinearRegression(), X, y, 5, metric_name="r2", random_state=seed)
    model = LinearRegression().fit(X[:25], y[:25])
    at = [mean_squared_error(y[rows], model.predict(X[rows])) for rows in (slice(0, 25), slice(25, 41))]
    grid = {"alpha": [1e6, 1e-3]}  # the first is the mean alone
    rising, falling = (
        nested_cross_validate(Ridge(), grid, X, y, metric_name=name, outer=3, inner=3) for name in ("r2", "mse")
    )
    return every(
        scores=near(validated.scores, errors, tolerance=1e-9),
        mean=near(validated.mean, np.mean(errors), tolerance=1e-9),
        spread=near(validated.standard_deviation, stats.tstd(errors), tolerance=1e-9),
        sizes=equal((validated.n_train, validated.n_test), (30, 11)),
        all_rows=near(validated.model.coef_, LinearRegression().fit(X, y).coef_, tolerance=1e-9),
        drawn_sizes=equal((drawn.n_train, drawn.n_test, len(drawn.scores)), (32, 9, 5)),
        gap=near(generalization_gap(model, (X[:25], y[:25]), (X[25:], y[25:])), at[1] - at[0], tolerance=1e-9),
        chosen=equal((*rising.chosen, *falling.chosen), ({"alpha": 1e-3},) * 6),
    )


@oracle(f"{PATH}.overfitting_starts", f"{PATH}.corrected_paired_test", f"{PATH}.best_of_many", f"{PATH}.expected_risk")
def judged_losses(seed: int) -> Verdict:
    """Curves drawn by hand; the corrected test by SciPy's t law; the best of many by the law of a minimum."""
    rng = np.random.default_rng(seed)
    train, rises = np.linspace(5.0, 1.0, 12), [4.0, 3.0, 2.0, 2.5, 2.4, 2.3, 2.9, 3.0, 3.1, 3.2, 3.3, 3.4]
    late, level = [9.0, 8, 7, 6, 5, 4, 3, 2, 1.0, 1.5, 1.6, 1.7], np.r_[train[:3], np.full(9, 4.5)]
    dips = [4.0, 3.0, 2.0, 2.5, 2.0, 2.3, 2.9, 3.0, 3.1, 3.2, 3.3, 3.4]
    a, b = rng.normal(0.8, 0.1, size=9), rng.normal(0.7, 0.1, size=9)
    test = corrected_paired_test(a, b, 70, 30)
    t = (a - b).mean() / np.sqrt(stats.tvar(a - b) * (1 / 9 + 30 / 70))
    best, fresh = best_of_many(0.3, 8, 25, repeats=3000, random_state=seed)
    law = stats.binom(25, 0.3).sf(np.arange(25)) ** 8  # of the least of eight: the chance that it is larger than k
    problem = RegressionProblem(lambda rng, n: rng.random((n, 1)), lambda X: 2 * X[:, 0], 0.4)
    model = LinearRegression
    risk, error = expected_risk(model, problem, n_rows=30, n_sets=60, n_test=60, random_state=seed)
    again = [expected_risk(model, problem, n_rows=30, n_sets=8, n_test=40, random_state=seed + k) for k in range(12)]
    return every(
        rises=equal([overfitting_starts(train, rises, k) for k in (3, 9, 10)], [2, 2, None]),
        too_late=equal([overfitting_starts(train, late, k) for k in (2, 3, 4)], [8, 8, None]),
        no_gain=equal(overfitting_starts(level, rises, 3), None),
        back_again=equal([overfitting_starts(train, dips, k) for k in (1, 2, 5)], [2, None, None]),
        statistic=near(test.statistic, t, tolerance=1e-10),
        df=equal(test.df, 8),
        p_value=near(test.p_value, 2 * stats.t(8).sf(abs(t)), tolerance=1e-10),
        best=average(best, float(law.sum() / 25)),
        fresh=average(fresh, 0.3),
        risk=near(risk, 0.16 * (1 + 2 / 30), tolerance=ERRORS * error + 0.003),
        error=near(np.log(np.std([r for r, _ in again]) / np.mean([e for _, e in again])), 0.0, tolerance=1.2),
    )
