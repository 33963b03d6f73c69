"""Information gain, ID3 and C4.5."""

from __future__ import annotations

import numpy as np
from scipy import stats

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.notes.claims import claim
from margin.trees import (
    C45,
    ID3,
    best_threshold,
    class_entropy,
    gain_ratio,
    information_gain,
    play_tennis,
    split_information,
)
from margin.trees.multiway.c45_growing import PartialRows, Split, divide
from margin.trees.multiway.gains import gain_of_counts

OUTLOOK = np.array([[4.0, 0.0], [3.0, 2.0], [2.0, 3.0]])  # days played and not, when overcast, rainy and sunny


@claim("information-gain")
def gain_is_the_entropy_of_the_class_that_a_feature_removes(seed: int) -> Verdict:
    days, played = play_tennis()
    gains = {name: information_gain(played, days[name]) for name in days.names}
    rng = np.random.default_rng(seed)
    random_gains = [information_gain(rng.integers(3, size=30), rng.integers(5, size=30)) for _ in range(50)]
    return every(
        outlook=near(gains["outlook"], 0.247, tolerance=5e-4),
        as_run=near(gain_of_counts(OUTLOOK)[0], gains["outlook"], tolerance=1e-12),
        largest=equal(max(gains, key=gains.__getitem__), "outlook"),
        perfect_split=near(information_gain(played, played), class_entropy(played), tolerance=1e-12),
        least=above(min(random_gains), -1e-12),
    )


@claim("id3")
def id3_grows_the_textbook_tree() -> Verdict:
    days, played = play_tennis()
    model = ID3().fit(days, played)
    feature, parent = model.tree_["feature"], model.tree_["parent"]
    features_on_path = {0: [int(feature[0])]}
    for node in range(1, len(feature)):
        features_on_path[node] = features_on_path[int(parent[node])] + [int(feature[node])] * bool(feature[node] >= 0)
    truth = every(
        root=equal(days.names[feature[0]], "outlook"),
        second=equal(sorted(days.names[j] for j in feature[1:4] if j >= 0), ["humidity", "wind"]),
        leaves=equal(model.get_n_leaves(), 5),
        right=equal(int((model.predict(days) == played).sum()), 14),
        never_twice=equal(all(len(set(path)) == len(path) for path in features_on_path.values()), True),
    )
    own_entropy = {name: split_information(days[name]) for name in days.names}
    return corrected(truth, printed=equal(min(own_entropy, key=own_entropy.__getitem__), "outlook"))


@claim("gain-ratio")
def the_ratio_sees_through_an_identifier() -> Verdict:
    days, played = play_tennis()
    day = np.arange(14)
    return every(
        gain_of_day=near(information_gain(played, day), class_entropy(played), tolerance=1e-12),
        gain_prefers_it=above(
            information_gain(played, day), max(information_gain(played, days[n]) for n in days.names)
        ),
        split_of_day=near(split_information(day), np.log2(14), tolerance=1e-12),
        as_run=near(gain_of_counts(OUTLOOK)[1], gain_ratio(played, days["outlook"]), tolerance=1e-12),
        ratio_of_outlook=near(gain_ratio(played, days["outlook"]), 0.1564, tolerance=5e-5),
        ratio_over_gain=below(
            gain_ratio(played, day) / information_gain(played, day),
            min(gain_ratio(played, days[n]) / information_gain(played, days[n]) for n in days.names),
        ),
    )


@claim("c45")
def c45_takes_a_table_as_it_is(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    size, color, noise = rng.uniform(0, 10, 300), rng.choice(["red", "green", "blue"], 300), rng.normal(size=300)
    y = np.where(color == "red", size > 3, size > 7)
    X = np.empty((300, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = size, color, noise
    X[rng.random(300) < 0.05, 0] = None
    X[rng.random(300) < 0.05, 1] = "?"
    model = C45(costs={2: 2.0}).fit(X[:200], y[:200])
    complete = np.array([all(cell not in (None, "?") for cell in row) for row in X[200:]])
    right = model.predict(X[200:]) == y[200:]
    return every(
        complete=above(float(right[complete].mean()), 0.95),
        with_missing=above(float(right.mean()), 0.9),
        noise_not_asked=equal(bool((model.tree_["feature"] == 2).any()), False),
        shares=near(model.predict_proba(np.array([[None] * 3], dtype=object)).sum(), 1.0, tolerance=1e-12),
        rules=equal(len(model.rules()), model.get_n_leaves()),
    )


@claim("c45-base-cases")
def three_cases_end_a_path() -> Verdict:
    pure = C45().fit([["a"], ["b"], ["a"]], ["yes"] * 3)
    untold = C45(min_samples_leaf=1).fit([["a"], ["a"], ["b"], ["b"], ["a"], ["b"]], [0, 1, 0, 1, 1, 1])
    useless = C45(min_samples_leaf=1).fit([["a"], ["a"], ["b"], ["b"]], [0, 1, 0, 1])
    days, played = play_tennis()
    grown = C45(confidence=None, min_samples_leaf=1).fit(days, played)
    snow = days.to_pandas().iloc[:1].assign(outlook="snow")
    return every(
        one_class=equal((pure.get_n_leaves(), pure.predict([["b"]])[0]), (1, "yes")),
        no_gain=equal(useless.get_n_leaves(), 1),
        majority=equal((untold.get_n_leaves(), int(untold.predict([["a"]])[0])), (1, 1)),
        unseen=near(grown.predict_proba(snow)[0], [5 / 14, 9 / 14], tolerance=1e-12),
    )


@claim("c45-continuous-threshold")
def the_threshold_has_the_largest_ratio_of_all_cuts(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=60).round(1), rng.integers(3, size=60)
    values = np.unique(x)
    brute = {cut: gain_ratio(y, x <= cut) for cut in (values[:-1] + values[1:]) / 2}
    threshold = best_threshold(x, y)
    by_gain = best_threshold(x, y, criterion="gain")
    return every(
        ratio=near(threshold.ratio, max(brute.values()), tolerance=1e-12),
        cut=near(gain_ratio(y, x <= threshold.value), max(brute.values()), tolerance=1e-12),
        gain=near(by_gain.gain, max(information_gain(y, x <= cut) for cut in brute), tolerance=1e-12),
    )


@claim("c45-missing-values")
def missing_entries_are_left_out_of_gains_and_cost_little(seed: int) -> Verdict:
    days, played = play_tennis()
    outlook = days["outlook"].astype(object)
    outlook[[0, 5, 11]] = [None, "?", float("nan")]
    known = np.setdiff1d(np.arange(14), [0, 5, 11])
    on_known = information_gain(played[known], days["outlook"][known])
    tumors = load("breast-cancer")
    X, y = np.asarray(tumors.X), np.asarray(tumors.y)
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(y)), [380])
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    complete = C45().fit(X[train], y[train]).score(X[test], y[test])
    with_holes = C45().fit(holed[train], y[train]).score(holed[test], y[test])
    return every(
        gain=near(information_gain(played, outlook), 11 / 14 * on_known, tolerance=1e-12),
        **_parts_of_a_division(rng),
        gain_of_a_table=_gain_with_missing_rows(rng),
        prediction=_prediction_without_outlook(),
        complete=above(complete, 0.85),
        lost=below(complete - with_holes, 0.1),
    )


def _parts_of_a_division(rng: np.random.Generator) -> dict[str, Verdict]:
    """Ten rows, three without a value, divided at 0: those three are in both parts, by the weight of the known."""
    x = np.append(np.array([-3.0, 2.0, -1.0, 4.0, 5.0, -2.0, 1.0]), [np.nan] * 3)
    numbers, weights = rng.permutation(10), rng.uniform(0.5, 2.0, 10)
    X = np.full((10, 2), np.nan)
    X[numbers, 1] = x
    branches, parts = divide(X, PartialRows(numbers, weights), Split(1, 0.0, 0.0, 0.0))
    sides = [x[:7] <= 0, x[:7] > 0]
    fractions = [weights[:7][side].sum() / weights[:7].sum() for side in sides]
    return {
        "branches": equal(branches.tolist(), [0, 1]),
        "rows": equal([sorted(p.number) for p in parts], [sorted([*numbers[:7][s], *numbers[7:]]) for s in sides]),
        "weights": near(
            [np.bincount(p.number, p.weight, minlength=10)[numbers[7:]] for p in parts],
            np.outer(fractions, weights[7:]),
            tolerance=1e-12,
        ),
        "nothing_lost": near(sum(p.weight.sum() for p in parts), weights.sum(), tolerance=1e-12),
    }


def _gain_with_missing_rows(rng: np.random.Generator) -> Verdict:
    counts, missing = rng.uniform(1, 5, size=(3, 2)), 2.5
    known = counts.sum()
    inside = sum(value.sum() / known * stats.entropy(value, base=2) for value in counts)
    gain = known / (known + missing) * (stats.entropy(counts.sum(axis=0), base=2) - inside)
    split = stats.entropy([*counts.sum(axis=1), missing], base=2)  # the missing rows are one more value
    return near(gain_of_counts(counts, missing), [gain, gain / split], tolerance=1e-12)


def _prediction_without_outlook() -> Verdict:
    """A day without its outlook is told by all branches, each counting as much as it had days in training."""
    days, played = play_tennis()
    model = C45(confidence=None, min_samples_leaf=1).fit(days, played)
    day = days.to_pandas().iloc[[3]]
    known = [(day.assign(outlook=value), np.mean(days["outlook"] == value)) for value in set(days["outlook"])]
    mixed = sum(fraction * model.predict_proba(row)[0] for row, fraction in known)
    return near(model.predict_proba(day.assign(outlook=None))[0], mixed, tolerance=1e-12)


@claim("c45-attribute-costs")
def of_two_equal_attributes_the_cheap_one_is_asked() -> Verdict:
    x = np.arange(20.0)
    X, y = np.column_stack([x, x]), x > 8
    chosen = [int(C45(costs=costs).fit(X, y).tree_["feature"][0]) for costs in (None, {0: 5.0}, {1: 5.0})]
    return equal(chosen, [0, 1, 0])
