"""Claims about which learners have much bias or much variance, and what that looks like."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.linear import PolynomialRegression, Ridge
from margin.metrics import mse
from margin.notes import atlas
from margin.notes.claims import claim
from margin.selection import (
    BiasVariance,
    RegressionProblem,
    bias_variance,
    diagnose,
    generalization_gap,
    overfitting_starts,
)
from margin.selection.known_truth import on_interval
from margin.trees import DecisionTreeRegressor, GradientBoostingRegressor, RandomForestRegressor

NOISE = 0.3
SINE = RegressionProblem(on_interval(0, 1), lambda X: np.sin(2 * np.pi * X[:, 0]), noise=NOISE)


def _parts(model: object, seed: int) -> BiasVariance:
    return bias_variance(model, SINE, n_rows=60, n_sets=40, n_test=200, random_state=seed)


def _diagnose(degree: int, n: int, seed: int) -> tuple[float, float, str]:
    """Training and test error of a polynomial on ``n`` points of the sine, and the word for them."""
    rng = np.random.default_rng([seed, n])
    x = (np.arange(n) + rng.uniform(0.1, 0.9, n))[:, None] / n
    X_test, y_test = SINE.sample(rng, 2000)
    y = SINE.targets(rng, x)
    model = PolynomialRegression(degree).fit(2 * x - 1, y)
    train, test = mse(y, model.predict(2 * x - 1)), mse(y_test, model.predict(2 * X_test - 1))
    return train, test, diagnose(train, test, baseline=float(np.var(y_test)))


@claim("underfitting")
def too_simple_a_family_is_wrong_whatever_the_data(seed: int) -> Verdict:
    curve = RegressionProblem(on_interval(-4, 4), lambda X: np.sin(X[:, 0] + 0.4), noise=0.1)
    X, y = curve.sample(np.random.default_rng(seed), 400)
    line = PolynomialRegression(1).fit(X[:200], y[:200])
    errors = [mse(y[rows], line.predict(X[rows])) for rows in (slice(0, 200), slice(200, 400))]
    stump, full = _parts(DecisionTreeRegressor(max_depth=1), seed), _parts(DecisionTreeRegressor(), seed)
    truth = every(
        line_on_a_sine=equal(diagnose(errors[0], errors[1], float(np.var(y))), "underfitting"),
        both_errors_alike=below(errors[1] / errors[0], 1.5),
        stump_has_bias=above(stump.bias, stump.variance),
        more_than_a_full_tree=above(stump.bias, 10 * full.bias),
        full_tree_has_variance=above(full.variance, 5 * full.bias),
    )
    return corrected(truth, printed=above(full.bias, full.variance))


@claim("overfitting")
def too_flexible_a_family_follows_the_noise(seed: int) -> Verdict:
    notes = atlas.row("overfitting").values
    # A line may fit ten lucky points well: what is told is how often each is flagged among forty samples.
    found = {degree: [_diagnose(degree, 10, seed + 1000 * k) for k in range(40)] for degree in (1, 9)}
    flagged = {degree: sum(word == "overfitting" for *_, word in found[degree]) / 40 for degree in found}
    elsewhere = float(np.median([test for _, test, _ in found[9]]))
    rng = np.random.default_rng([seed, 1])
    X, X_test = rng.uniform(-1, 1, size=(20, 1)), rng.uniform(-1, 1, size=(2000, 1))
    powers = np.arange(1, 13)
    y, y_test = (np.sin(3 * rows[:, 0]) + NOISE * rng.normal(size=len(rows)) for rows in (X, X_test))
    gaps = [
        generalization_gap(model.fit(X**powers, y), (X**powers, y), (X_test**powers, y_test))
        for model in (Ridge(alpha=1e-8), Ridge(alpha=0.1))
    ]
    samples, (rows, targets) = [SINE.sample(rng, 60) for _ in range(10)], SINE.sample(rng, 1000)
    gaps += [
        float(np.mean([generalization_gap(tree.fit(*sample), sample, (rows, targets)) for sample in samples]))
        for tree in (DecisionTreeRegressor(), DecisionTreeRegressor(max_depth=2))
    ]
    epochs = np.arange(40)
    full, forest = _parts(DecisionTreeRegressor(), seed), _parts(RandomForestRegressor(15), seed)
    truth = every(
        ninth_degree=above(flagged[9], 0.95),
        fits_all_ten_points=below(max(train for train, *_ in found[9]), 1e-6),
        large_elsewhere=above(elsewhere, 3 * NOISE**2),
        line_is_not_flagged=below(flagged[1], 0.4),
        penalty_narrows_the_gap=below(gaps[1], gaps[0]),
        pruning_narrows_the_gap=below(gaps[3], gaps[2]),
        seen_in_a_history=equal(overfitting_starts(1 / (1 + epochs), (epochs - 12) ** 2), 12),
        variances=near([forest.variance, full.variance], notes["variances"], tolerance=0.015),
        full_tree_repeats_the_noise=near(full.variance / NOISE**2, 1.0, tolerance=0.25),
    )
    # Named as the example, the forest would follow the noise of its rows as the full tree does.
    return corrected(truth, printed=near(forest.variance / NOISE**2, 1.0, tolerance=0.25))


@claim("bias-of-a-learner")
def a_stump_learns_the_same_wrong_thing(seed: int) -> Verdict:
    stump, full = _parts(DecisionTreeRegressor(max_depth=1), seed), _parts(DecisionTreeRegressor(), seed)
    truth = every(
        stump=above(stump.bias, 10 * full.bias),
        sums=near([stump.total / stump.risk, full.total / full.risk], [1.0, 1.0], tolerance=0.1),
        full_tree_is_almost_unbiased=below(full.bias, 0.02),
        stumps_repeat_their_mistakes=above(_repeated_mistakes(DecisionTreeRegressor(max_depth=1), seed), 0.4),
    )
    # By the definition, a learner of high bias makes the same mistakes again on other rows.
    return corrected(truth, printed=above(_repeated_mistakes(DecisionTreeRegressor(), seed), 0.4))


def _repeated_mistakes(model: DecisionTreeRegressor, seed: int) -> float:
    """Correlation of the errors of two fits on rows of their own, averaged over ten such pairs."""
    rng, grid = np.random.default_rng([seed, 3]), np.linspace(0.02, 0.98, 200)[:, None]
    errors = [model.fit(*SINE.sample(rng, 60)).predict(grid) - SINE.mean(grid) for _ in range(20)]
    return float(np.mean([np.corrcoef(errors[k], errors[k + 1])[0, 1] for k in range(0, 20, 2)]))


@claim("variance-of-a-learner")
def a_full_tree_varies_more_than_a_forest(seed: int) -> Verdict:
    full, forest = _parts(DecisionTreeRegressor(), seed), _parts(RandomForestRegressor(15), seed)
    truth = every(
        full_tree_follows_the_noise=near(full.variance / NOISE**2, 1.0, tolerance=0.25),
        forest_averages=below(forest.variance, 0.75 * full.variance),
        at_little_bias=below(forest.bias, 0.03),
    )
    # Named as the example, the forest would follow the noise of its rows as the full tree does.
    return corrected(truth, printed=near(forest.variance / NOISE**2, 1.0, tolerance=0.25))


@claim("claim-boosting-reduces-bias-forest-reduces-variance")
def boosting_for_bias_and_forest_for_variance(seed: int) -> Verdict:
    stump = GradientBoostingRegressor(max_leaf_nodes=2, min_samples_leaf=3, learning_rate=0.3)
    once, often = (_parts(stump.set_params(n_estimators=rounds), seed) for rounds in (1, 60))
    full, forest = _parts(DecisionTreeRegressor(), seed), _parts(RandomForestRegressor(15), seed)
    truth = every(
        boosting_lowers_bias=below(often.bias, 0.1 * once.bias),
        and_adds_some_variance=above(often.variance, once.variance),
        forest_lowers_variance=below(forest.variance, 0.75 * full.variance),
        three_parts=near(full.total / full.risk, 1.0, tolerance=0.06),
    )
    return corrected(truth, printed=near((full.bias + full.variance) / full.risk, 1.0, tolerance=0.06))
