"""The study of fresh rows: ratios of errors, tables divided without overlap, what is kept, the load beside it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.data.elevators import elevators_like
from benchmarks.data.public_tables import PUBLIC, STATSMODELS, divided
from benchmarks.studies import fresh_rows
from benchmarks.studies.fresh_rows import (
    OURS,
    Kept,
    Outcome,
    least_ratios,
    load_beside,
    other_winners,
    ratios,
    run_here,
    summary,
)


def outcome(table, who, error, outside=0.0):
    return Outcome(table, 0, who, "rmse", error, outside, 1.0)


def test_ratios_are_to_the_better_booster_and_a_failure_of_ours_is_infinite():
    rows = [
        outcome("a", OURS, 3.0, outside=0.2),
        outcome("a", "HistGradientBoosting", 2.0),
        outcome("a", "LightGBM", 4.0),
        outcome("b", OURS, math.nan),
        outcome("b", "HistGradientBoosting", 2.0),
        outcome("c", OURS, 1.0),
        outcome("c", "HistGradientBoosting", math.nan),
    ]
    assert ratios(rows) == {("a", 0): 1.5, ("b", 0): math.inf}
    assert "worst inf (b, seed 0)" in summary(rows)
    assert "0.2 ranges of the training targets outside (a)" in summary(rows)
    assert summary([]) == "nothing was compared"


def test_there_are_twenty_tables_and_the_rows_set_aside_are_others():
    assert len(set(PUBLIC)) >= 20
    for name in STATSMODELS:
        data = divided(name, seed=1)
        assert len(data.X) == len(data.y) > len(data.test_X) == len(data.test_y)
        assert not set(data.X.index) & set(data.test_X.index)


def test_the_generated_table_is_dependent_up_to_float32():
    frame = elevators_like(3000)
    X = frame.drop(columns="goal")
    assert X.shape == (3000, 18)
    assert frame["goal"].between(0.012, 0.078).all()
    Z = (X - X.mean()) / X.std()
    s = np.linalg.svd(Z.fillna(0.0).to_numpy(), compute_uv=False)
    assert (s < 1e-6 * s[0]).sum() >= 5  # what a minimum-norm solution must not follow
    assert np.linalg.matrix_rank(Z.fillna(0.0).to_numpy()) > 12


def test_a_booster_is_judged_on_the_rows_set_aside():
    found = run_here("food", 0, 1.0, "HistGradientBoosting")
    data = divided("food", 0)
    assert 0 < found.error < data.test_y.std()
    assert found.outside < 0.1


def test_what_is_done_is_kept_by_its_circumstances_and_boosters_in_any(tmp_path):
    path, here = tmp_path / "kept.jsonl", {"budget": 60.0, "beside_load": False}
    done, booster = outcome("a", OURS, 3.0), outcome("a", "LightGBM", 2.0)
    for one in (done, booster):
        Kept(path, here).add(one)
    assert Kept(path, here).outcomes == {("a", 0, OURS): done, ("a", 0, "LightGBM"): booster}
    assert Kept(path, {**here, "beside_load": True}).outcomes == {("a", 0, "LightGBM"): booster}


def test_a_ratio_above_the_goal_by_chance_has_a_low_end_below_it():
    rng = np.random.default_rng(0)
    noisy = tuple(rng.uniform(0.5, 2.5, 200).tolist())
    rows = [
        replace(outcome("chance", OURS, 1.5), draws=noisy),
        replace(outcome("chance", "LightGBM", 1.0), draws=(1.0,) * 200),
        replace(outcome("worse", OURS, 1.5), draws=(1.5,) * 200),
        replace(outcome("worse", "LightGBM", 1.0), draws=(1.0,) * 200),
    ]
    low = least_ratios(rows)
    assert low["chance", 0] < 0.6
    assert low["worse", 0] == 1.5
    assert "above 1.2 beyond chance: worse, seed 0" in summary(rows)


def test_another_winner_beside_load_is_found():
    quiet = [replace(outcome("a", OURS, 1.0), note="ridge"), replace(outcome("b", OURS, 1.0), note="svr")]
    loaded = [replace(outcome("a", OURS, 1.0), note="svr", sentence="Time ended"), quiet[1]]
    assert {key: ours.sentence for key, ours in other_winners(loaded, quiet).items()} == {("a", 0): "Time ended"}


@pytest.mark.parametrize("wanted", [False, True])
def test_the_load_ends_with_the_study(wanted, monkeypatch):
    started = []
    plain = fresh_rows.subprocess.Popen
    monkeypatch.setattr(fresh_rows.subprocess, "Popen", lambda *a, **k: started.append(plain(*a, **k)) or started[-1])
    with pytest.raises(KeyError), load_beside(wanted):
        assert len(started) == wanted
        raise KeyError
    assert all(process.poll() is not None for process in started)
