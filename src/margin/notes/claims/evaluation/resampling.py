"""Claims about splits and cross-validation: who sees which rows, and what choosing by a score does to it."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import cross_val_score

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.data import quantile_bins, random_folds, stratified_split, three_way_split, time_split
from margin.linear import LinearRegression, Ridge
from margin.linear.penalized_least_squares import leave_one_out
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, average
from margin.selection import (
    HeldOut,
    best_of_many,
    corrected_paired_test,
    cross_validate,
    generalization_gap,
    nested_cross_validate,
    repeated_folds,
    train_test_split,
)


def _regression(seed: int, n: int = 60, p: int = 4, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - 2 * X[:, 1] + noise * rng.normal(size=n)


@claim("train-test-split")
def parts_are_disjoint_and_cover(seed: int) -> Verdict:
    size = atlas.row("train-test-split").values["test_size"]
    X, y = np.arange(40)[:, None], 10 * np.arange(40)
    parts = train_test_split(X, y, test_size=size, random_state=seed)
    again = train_test_split(X, y, test_size=size, random_state=seed)
    first, last = train_test_split(np.arange(40), test_size=size, shuffle=False)
    early, late = time_split(np.arange(40)[::-1], 0.25)
    return every(
        halves=equal([len(part) for part in parts], [20] * 4),
        cover=equal(sorted(np.concatenate(parts[:2])[:, 0].tolist()), list(range(40))),
        rows_stay_together=equal(parts[1][:, 0] * 10, parts[3]),
        same_seed=equal(np.concatenate(parts[2:]), np.concatenate(again[2:])),
        shuffled=above(float(np.mean(np.diff(parts[1][:, 0]) > 1)), 0.2),
        chronological=equal((first.max() < last.min(), late.tolist()), (True, list(range(9, -1, -1)))),
        sizes=equal((len(early), len(late)), (30, 10)),
    )


@claim("stratified-split")
def only_stratification_guarantees_balance(seed: int) -> Verdict:
    notes = atlas.row("stratified-split").values
    y = np.repeat([0, 1], notes["per_class"])
    _, test = stratified_split(y, 0.5, seed)
    rng = np.random.default_rng(seed)
    counts = np.array([rng.permutation(y)[: len(y) // 2].sum() for _ in range(800)])
    value = rng.exponential(size=200)
    _, _, low, high = train_test_split(
        value, value, stratify=quantile_bins(value, 10), test_size=0.5, random_state=seed
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_test_split(y, test_size=0.5, shuffle=False)
    deviation = float(counts.std())
    truth = every(
        balanced=equal(int(y[test].sum()), notes["per_class"] // 2),
        # The standard error of a standard deviation from 800 draws is its 40th part.
        random_split_varies=near(deviation, notes["deviation"], tolerance=0.05 + ERRORS * notes["deviation"] / 40),
        range_in_both_parts=equal((quantile_bins(low, 10).max(), quantile_bins(high, 10).max()), (9, 9)),
        quantiles_alike=below(abs(np.median(low) - np.median(high)), 0.2),
        sorted_classes_are_warned_about=equal(len(caught), 1),
    )
    return corrected(truth, printed=equal(int(np.sum(counts != notes["per_class"] // 2)), 0))


@claim("generalisation-gap")
def a_penalty_narrows_the_gap(seed: int) -> Verdict:
    X, y = _regression(seed, n=1060, p=45, noise=2.0)
    train, test = (X[:60], y[:60]), (X[60:], y[60:])
    models = [Ridge(alpha=alpha).fit(*train) for alpha in (0.0, 10.0, 100.0, 1000.0)]
    gaps = [generalization_gap(model, train, test) for model in models]
    by_hand = np.mean((models[1].predict(test[0]) - test[1]) ** 2) - np.mean(
        (models[1].predict(train[0]) - train[1]) ** 2
    )
    error = [float(np.mean((model.predict(test[0]) - test[1]) ** 2)) for model in models]
    return every(
        formula=near(gaps[1], by_hand, tolerance=1e-9),
        falls=below(float(np.diff(gaps).max()), 0.0),
        large_at_first=above(gaps[0], 4.0),
        helps_then_underfits=equal((error[1] < error[0], error[3] > min(error)), (True, True)),
    )


@claim("validation-test-separation")
def the_search_never_sees_the_test_rows(seed: int) -> Verdict:
    train, validation, test = three_way_split(100, 0.2, 0.2, seed)
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(40, 30)), rng.normal(size=40)  # nothing to learn: the best score is luck
    nested = nested_cross_validate(Ridge(), {"alpha": [0.01, 1.0, 1e4]}, X, noise, metric_name="mse", random_state=seed)
    held = HeldOut(X[:10], noise[:10], "mse")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for model in (Ridge(), LinearRegression()):
            held.score(model.fit(X[10:], noise[10:]))
    return every(
        parts=equal(sorted([*train, *validation, *test]), list(range(100))),
        sizes=equal((len(train), len(validation), len(test)), (60, 20, 20)),
        one_choice_per_fold=equal(len(nested.chosen), 5),
        uses_are_counted=equal((held.uses, len(caught)), (2, 1)),
        no_skill_in_noise=above(float(nested.outer.mean()), 0.5 * float(noise.var())),
    )


@claim("claim-benchmark-overfitting")
def the_best_of_many_is_optimistic(seed: int) -> Verdict:
    notes = atlas.row("claim-benchmark-overfitting").values
    reported, again = best_of_many(
        notes["true_error"], notes["models"], notes["samples"], repeats=400, random_state=seed
    )
    return every(
        reported=near(
            reported.mean(), notes["reported"], tolerance=0.0005 + ERRORS * float(reported.std()) / np.sqrt(400)
        ),
        new_rows=average(again, notes["true_error"]),
        well_below=below(reported.mean(), notes["true_error"] - 0.05),
    )


@claim("k-fold-cross-validation")
def each_row_is_held_out_once(seed: int) -> Verdict:
    X, y = _regression(seed)
    folds = list(random_folds(len(y), 5, seed))
    validated = cross_validate(LinearRegression(), X, y, folds, metric_name="mse")
    theirs = -cross_val_score(LinearRegression(), X, y, cv=folds, scoring="neg_mean_squared_error")
    single = cross_validate(LinearRegression(), X, y, len(y), metric_name="mse", random_state=seed)
    by_formula = leave_one_out(X, y[:, None], [0.0])[:, 0, 0]
    many = repeated_folds(y, 5, 10, seed=seed)
    stiff, free = (cross_validate(m, X, y, many, metric_name="mse").scores for m in (Ridge(1e3), Ridge(1e-3)))
    return every(
        each_once=equal(sorted(np.concatenate([test for _, test in folds]).tolist()), list(range(len(y)))),
        disjoint=equal([len(set(train) & set(test)) for train, test in folds], [0] * 5),
        peer=near(validated.scores, theirs, tolerance=1e-10),
        summary=near(
            [validated.mean, validated.standard_deviation], [theirs.mean(), theirs.std(ddof=1)], tolerance=1e-10
        ),
        leave_one_out=near(single.mean, float(np.mean(by_formula**2)), tolerance=1e-9),
        repeated=equal(len(many), 50),
        worse_model_is_found_out=below(corrected_paired_test(stiff, free, 48, 12).p_value, 0.01),
    )


class _Counted(LinearRegression):
    """Remembers every fitted instance."""

    made: list[LinearRegression] = []

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> LinearRegression:
        _Counted.made.append(self)
        return super().fit(X, y, sample_weight)


@claim("claim-cross-validation-evaluates-model-type")
def every_fold_learns_anew_and_is_discarded(seed: int) -> Verdict:
    X, y = _regression(seed)
    _Counted.made = []
    validated = cross_validate(_Counted, X, y, 4, metric_name="mse", random_state=seed)
    fits = list(_Counted.made)
    refitted = cross_validate(LinearRegression(), X, y, 4, metric_name="mse", refit=True)
    weights = np.array([model.coef_ for model in fits])
    return every(
        new_models=equal((len(fits), len(set(map(id, fits)))), (4, 4)),
        other_parameters=above(float(weights.std(axis=0).min()), 1e-4),
        same_hyperparameters=equal({str(model.get_params()) for model in fits}, {str(LinearRegression().get_params())}),
        none_returned=equal(validated.model is None, True),
        all_rows_if_asked=near(refitted.model.coef_, LinearRegression().fit(X, y).coef_, tolerance=1e-10),
        finite=within(validated.mean, 0.3, 4.0),
    )
