"""The numbers of all rounds: arrays at every round, none of them copied, and rules that look at the last ones only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from margin.trees import GradientBoostingRegressor, HistGradientBoostingRegressor
from margin.trees.boosting.early_stopping import NoneBetter, NoneWorse
from margin.trees.boosting.round_numbers import RoundNumbers


def test_arrays_are_those_of_the_list_and_stay_what_they_were():
    numbers, seen, rng = RoundNumbers(), [], np.random.default_rng(0)
    for count in (0, 1, 1, 14, 1, 20, 300):
        numbers += rng.normal(size=count).tolist()
        seen.append((numbers.times(2.0), 2.0 * np.array(numbers)))
    for array, expected in seen:
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (
            HistGradientBoostingRegressor(max_iter=40, early_stopping=True, n_iter_no_change=40, random_state=0),
            ["train_score_", "validation_score_"],
        ),
        (
            GradientBoostingRegressor(n_estimators=40, subsample=0.5, random_state=0),
            ["train_score_", "oob_improvement_", "oob_scores_"],
        ),
    ],
)
def test_a_round_copies_no_scores_of_earlier_rounds(model, names):
    X = np.random.default_rng(0).normal(size=(60, 2))
    memory = {name: set() for name in names}
    for _ in model.iterate(X, X[:, 0]):
        for name in names:
            memory[name].add(getattr(model, name).__array_interface__["data"][0])
    for name in names:
        assert len(getattr(model, name)) >= 40
        assert len(memory[name]) <= 3, name  # 16 rounds, then twice as many as there are


@given(
    losses=st.lists(st.integers(0, 4).map(float), min_size=1, max_size=12),
    patience=st.integers(1, 5),
    rule=st.sampled_from([NoneBetter, NoneWorse]),
)
def test_the_last_losses_decide_like_all(losses, patience, rule):
    stop = rule(patience, 0.5)
    assert stop.reached(losses[-stop.looks_at :]) == stop.reached(losses)
