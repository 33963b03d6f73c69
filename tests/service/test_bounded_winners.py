"""No winner of a comparison explodes: near-dependent and heavy-tailed columns, rows that shift, trends."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import margin
from margin.service.comparison import compare
from margin.service.comparison.job import ComparisonJob
from margin.service.comparison.leaders import add_ensembles
from margin.service.comparison.showing import verdict

FAST = {"n_jobs": 1, "folds": 3, "curve": False}
MODELS = ["linear-regression", "polynomial-regression", "hist-gradient-boosting-regressor"]


def aircraft(n=400, seed=0):
    """Few causes in many columns as float32 holds them, with heavy tails."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_t(2.5, (n, 4))
    columns = (Z @ rng.normal(size=(4, 7))).astype(np.float32).astype(float)
    frame = pd.DataFrame(columns, columns=[f"c{i}" for i in range(7)])
    frame["y"] = np.tanh(Z[:, 0]) + 0.5 * np.tanh(Z[:, 1]) + 0.1 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison") / "run"
    return compare(aircraft(), target="y", models=MODELS, held_out=0.2, out=folder, **FAST)


@pytest.mark.parametrize("name", ["best_", "judged_"])
def test_rows_that_shift_are_predicted_near_the_targets(found, name):
    rows, rng = aircraft(200, seed=1).drop(columns="y"), np.random.default_rng(2)
    y = aircraft()["y"].to_numpy()
    moved = rows + 0.01 * rng.normal(size=rows.shape)  # leaves the dependence
    far = rows * 1e4
    for unseen in (rows, moved, far):
        predicted = getattr(found, name).predict(unseen)
        assert predicted.min() >= y.min() - y.std() - 1e-12
        assert predicted.max() <= y.max() + y.std() + 1e-12


def test_every_model_blend_and_stack_is_bounded_and_a_remark_says_by_what(found):
    y = aircraft()["y"].to_numpy()
    far = aircraft(50, seed=3).drop(columns="y") * 1e4
    for candidate in found.candidates:
        predicted = candidate.make().fit(found.X, found.y).predict(far)
        assert np.ptp(predicted) <= np.ptp(y) + 2 * y.std() + 1e-9, candidate.name
    low, high = y.min() - y.std(), y.max() + y.std()
    sentence = f"No model predicts outside {low:.4g} to {high:.4g}: the range of the target and its standard deviation"
    assert [remark for remark in found.remarks if remark.startswith(sentence)]


def test_the_saved_winner_predicts_the_same_from_its_folder(found):
    far = aircraft(50, seed=3).drop(columns="y") * 1e4
    again = margin.load(found.folder / "model.safetensors")
    np.testing.assert_array_equal(again.predict(far), found.best_.predict(far))


def test_classes_have_no_bounds():
    frame = aircraft(90).assign(y=lambda f: np.where(f["y"] > 0, "up", "down"))
    board = compare(frame, target="y", models=["gaussian-nb"], **FAST)
    assert not [remark for remark in board.remarks if "No model predicts outside" in remark]
    assert board.unsteady == {}


def changed(trials, model, **facts):
    return [replace(t, **facts) if t.model == model else t for t in trials]


def test_a_wild_model_does_not_win_and_joins_no_blend_and_that_is_said():
    found = compare(aircraft(150), target="y", models=MODELS, ensembles=False, **FAST)
    leader, second = found.eligible[:2]
    assert found.unsteady == {}
    found = replace(found, trials=changed(found.trials, leader, excess=1e5))
    assert found.winner == second
    assert leader not in found.eligible
    assert verdict(found)[0] == (
        f"{leader} is not the winner: in fold 1 it went 1e+05 times the range of the training targets beyond it."
    )
    job = ComparisonJob(found, found.candidates, {}, (), 0.0)
    job.trials = list(found.trials)
    add_ensembles(job)
    blend = next(candidate for candidate in job.candidates if candidate.name == "blend")
    assert leader not in blend.settings
    assert second in blend.settings


def test_a_wild_model_may_win_where_no_other_beats_the_constant():
    found = compare(aircraft(150), target="y", models=MODELS, ensembles=False, **FAST)
    leader, *others = found.eligible
    found = replace(found, trials=changed(found.trials, leader, excess=1e5))
    for model in others:
        found = replace(found, trials=changed(found.trials, model, scores={"rmse": 99.0}))
    assert found.winner == leader
    assert set(found.eligible) == {leader, *others}


def test_the_trials_of_a_model_that_leaves_the_range_say_so(found):
    rows = aircraft().drop(columns="y")
    rows.iloc[::50, :7] *= 1e4  # rows unlike all others, in every fold
    again = compare(rows.assign(y=aircraft()["y"]), target="y", models=MODELS[:2], ensembles=False, **FAST)
    excess = [trial.excess for trial in again.trials if trial.model == "polynomial-regression"]
    assert max(excess) > 10
    assert "polynomial-regression" in again.unsteady
    assert max(trial.excess for trial in found.trials if trial.model == MODELS[2]) < 1
    assert open_again(again) == excess


def open_again(comparison):
    settings = {candidate.name: candidate.settings for candidate in comparison.candidates}
    kept = comparison.kept.trials(settings, comparison.metric, comparison.plan, comparison.y)
    return [trial.excess for trial in kept if trial.model == "polynomial-regression"]


def test_a_column_that_moves_after_training_explodes_nothing():
    frame = aircraft(150).assign(flag=np.r_[np.zeros(120), np.full(30, 1e9)])
    frame["day"] = pd.date_range("2020-01-01", periods=150, freq="D")
    models = ["linear-regression", "mlp-regressor"]
    found = compare(frame, target="y", models=models, time="day", ensembles=False, **{**FAST, "folds": 4})
    last = [trial for trial in found.trials if trial.stage == "fold" and trial.fold == 3]
    assert {trial.model for trial in last} == {"baseline", *models}
    assert max(trial.excess for trial in last) < 3  # the network said a million and more
    assert max(trial.scores["rmse"] for trial in last) < 3


def test_a_trend_in_time_may_go_on():
    days = pd.date_range("2020-01-01", periods=240, freq="D")
    trend = np.arange(240.0) + np.random.default_rng(0).normal(size=240)
    frame = pd.DataFrame({"day": days, "step": np.arange(240.0), "y": trend})
    found = compare(frame, target="y", models=["linear-regression"], time="day", ensembles=False, **FAST)
    line = next(s for s in found.standings if s.model == "linear-regression")
    assert line.mean < 5  # it was cut off at the range and one standard deviation
    assert any("3.5 of its standard deviations" in remark for remark in found.remarks)
