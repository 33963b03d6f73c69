"""What a comparison says on tables it was not made for: every sentence is true, said once, and can be copied."""

import shlex
from time import monotonic

import numpy as np
import pandas as pd
import pytest

from margin.data import profile
from margin.selection import Budget
from margin.service.comparison import compare, last_fits
from margin.service.comparison.caveats import nothing_learned
from margin.service.comparison.showing import board_text, score_text

FAST = {"n_jobs": 1, "folds": 3, "curve": False, "ensembles": False, "held_out": 0}


def numbers(n, columns, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, len(columns))), columns=list(columns))


@pytest.mark.parametrize("unit", [1e-7, 1e11])
def test_scores_of_a_target_in_small_or_large_units_can_be_told_apart(unit):
    frame = numbers(60, "ab")
    frame["y"] = unit * (frame["a"] + 0.1 * frame["b"])
    found = compare(frame, target="y", models=["ridge", "k-neighbors-regressor"], **FAST)
    shown = [score_text(s.mean) for s in found.standings]
    assert len(set(shown)) == len(shown), "three different errors are three different texts"
    assert all(float(text) == pytest.approx(s.mean, rel=1e-3) for text, s in zip(shown, found.standings, strict=True))
    assert shown[0] in board_text(found)


def test_no_models_and_none_mean_the_same_from_python():
    frame = numbers(40, "ab").assign(y=np.arange(40) % 2)
    asked = {"target": "y", "models": ["gaussian-nb"], **FAST}
    left_out = compare(frame, exclude=None, ignore=None, **asked)
    assert [s.model for s in left_out.standings] == [s.model for s in compare(frame, **asked).standings]


def test_groups_that_were_found_are_spoken_of_once_and_the_command_can_be_copied():
    frame = numbers(120, "ab").assign(**{"patient id": np.repeat(np.arange(30), 4)})
    frame["y"] = np.repeat(numbers(30, "z", 1)["z"].to_numpy(), 4)
    found = compare(frame, target="y", models=["ridge"], **FAST)
    assert found.plan.kind == "groups"
    about = [remark for remark in found.remarks if "patient id" in remark]
    assert len(about) == 1
    assert "30 values in 120 rows" in about[0]
    command = about[0].partition("; ")[2].removesuffix(" divides them.")
    assert shlex.split(command) == ["--ignore", "patient id"]


def test_a_class_that_some_folds_lack_is_named_and_the_folds_claim_no_more_than_they_hold():
    frame = numbers(90, "ab").assign(y=["broken"] * 2 + ["worn"] * 28 + ["fine"] * 60)
    found = compare(frame, target="y", models=["gaussian-nb"], **FAST)
    lacking = [fold for fold, (_, test) in enumerate(found.plan.folds) if "broken" not in found.y[test]]
    assert lacking
    assert "equal class frequencies" not in found.plan.sentence
    assert "Class 'broken' has 2 rows" in " ".join(found.remarks)
    assert "must be shuffled" not in " ".join(found.remarks), "the folds are drawn at random"
    even = compare(frame[2:], target="y", models=["gaussian-nb"], **FAST)
    assert even.plan.sentence == "88 rows in 3 folds with equal class frequencies"
    assert not any("fold without" in remark for remark in even.remarks)


def test_a_skew_of_few_rows_is_told_by_the_largest_value():
    y = np.concatenate([np.linspace(2, 9, 49), [24.0]])
    found = compare(numbers(50, "ab").assign(y=y), target="y", models=["ridge"], **FAST)
    said = next(remark for remark in found.remarks if "skewed" in remark)
    assert f"its largest value is {24 / np.median(y):.1f} times its median" in said


def test_columns_that_give_the_target_away_alike_are_named_together():
    y = np.linspace(1.0, 9.0, 80)
    close = {name: y + 1e-3 * numbers(80, "e", seed)["e"] for seed, name in enumerate(["p", "q", "r"])}
    table = numbers(80, "ab").assign(**close, y=y)
    said = [remark for remark in profile(table, "y").remarks if "away" in remark]
    assert len(said) == 1
    assert said[0].startswith("'p', 'q', 'r' may give 'y' away, each alone: ")


def test_one_column_of_a_formula_is_it_and_two_are_them():
    bias = numbers(200, "bu")
    said = next(r for r in profile(bias.assign(y=bias["b"].abs()), "y").remarks if "away" in r)
    assert said.endswith("If it is not known before, leave it out.")
    said = next(r for r in profile(bias.assign(y=bias["b"] + bias["u"]), "y").remarks if "away" in r)
    assert said.endswith("If they are not known before, leave them out.")


def test_that_nothing_was_learned_says_of_how_many_rows():
    frame = numbers(24, "abc")
    frame["y"] = frame["a"] + numbers(24, "z", 5)["z"] * np.repeat([0.2, 6.0], 12)
    found = compare(frame, target="y", models=["ridge"], **FAST)
    assert found.winner == "ridge"
    assert nothing_learned(found).endswith("nothing was found to learn in 24 rows.")


def test_a_warning_quotes_columns_for_the_shell():
    frame = numbers(400, "ab").assign(**{"after the fact": np.random.default_rng(3).normal(size=400)})
    frame["y"] = np.where(frame["after the fact"] > 0, "yes", "no")
    found = compare(frame, target="y", models=["decision-tree-classifier"], **{**FAST, "held_out": 0.25})
    command = found.too_good.rpartition("(")[2].removesuffix(").")
    assert shlex.split(command) == ["--ignore", "after the fact"]


def test_held_out_rows_judge_a_quick_winner_however_busy_the_machine_is(monkeypatch):
    frame = numbers(80, "ab").assign(y=lambda t: t["a"] + t["b"])
    found = compare(frame, target="y", models=["ridge"], **{**FAST, "held_out": 0.25})
    over = Budget(60.0, started=monotonic() - 1000)
    until = last_fits._time_to_judge(found, found.winner, over)
    assert set(until) == {"limit"}, "milliseconds of work may wait for the processor"
    monkeypatch.setattr(last_fits, "NO_MATTER", 0.0)
    assert set(last_fits._time_to_judge(found, found.winner, over)) == {"deadline"}
