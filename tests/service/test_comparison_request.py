"""The options of a comparison: declared once, read by the call, the command line, its reference and forms."""

import inspect
import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from margin.core.parameters import parameters_of
from margin.service.comparison import (
    BackgroundComparison,
    ComparisonRequest,
    board_snapshot,
    compare,
    comparison_options,
)
from margin.service.comparison_request import HowToRun, flag_of
from margin.service.requests import BadRequest

TWO = ("gaussian-nb", "linear-discriminant-analysis")


def houses(n=120):
    rng = np.random.default_rng(0)
    size = rng.normal(size=n)
    return pd.DataFrame({"size": size, "noise": rng.normal(size=n), "sold": np.where(size > 0, "yes", "no")})


def test_every_option_is_an_argument_a_flag_and_a_field_of_a_form():
    import typer

    from margin.cli.app import app

    names = [*parameters_of(ComparisonRequest), *parameters_of(HowToRun)]
    assert set(names) <= set(inspect.signature(compare).parameters)
    assert [option["name"] for option in comparison_options()] == names
    json.dumps(comparison_options(), allow_nan=False)
    root = typer.main.get_command(app)
    flags = {p.name: p for p in root.get_command(None, "compare").params}
    for option in comparison_options():
        assert flag_of(option["name"]) in flags[option["name"]].opts, option
        assert option["sentence"].rstrip(".") in flags[option["name"]].help
        assert f"{option['name']} : " in compare.__doc__


def test_a_request_of_texts_is_the_request_of_values():
    texts = {"target": "y", "kinds": ["zip=category"], "models": ["svc"], "budget": "90", "folds": 3, "task": None}
    plain = ComparisonRequest(target="y", kinds={"zip": "category"}, models=("svc",), budget=90.0, folds=3)
    assert ComparisonRequest.of_texts(texts).as_dict() == plain.as_dict()
    with pytest.raises(BadRequest, match="--kinds is written column=kind; got 'zip'"):
        ComparisonRequest.of_texts({"kinds": ["zip"]})
    with pytest.raises(BadRequest, match="there is no option 'fold'"):
        ComparisonRequest.of_texts({"fold": 3})
    with pytest.raises(TypeError, match="unexpected keyword argument 'fold'"):
        compare(houses(), target="sold", fold=3)
    with pytest.raises(AttributeError, match="set once"):
        plain.folds = 4
    assert ComparisonRequest(budget=None).command("t.csv") == "margin compare t.csv --budget none"


def test_a_result_does_not_change_and_is_plain_for_json():
    seen = []
    found = compare(
        houses(), target="sold", models=TWO, held_out=0.25, folds=3, n_jobs=1, curve=False, watch=seen.append
    )
    with pytest.raises(FrozenInstanceError):
        found.trials = ()
    assert [len(s.trials) for s in seen] == sorted(len(s.trials) for s in seen)
    assert seen[0].trials == ()
    assert seen[0].standings is seen[0].standings
    plain = json.loads(json.dumps(board_snapshot(found), allow_nan=False))
    assert (plain["winner"], plain["status"]) == (found.winner, "finished")
    assert plain["held_out"]["score"] == found.held_out_score
    assert [row["model"] for row in plain["board"]] == [s.model for s in found.standings]
    assert plain["folder"] == str(found.folder)
    assert plain["remarks"] == list(found.remarks)


def test_a_comparison_in_the_background_is_watched_stopped_and_continued(tmp_path):
    request = ComparisonRequest(target="sold", models=TWO, folds=3, curve=False)
    running = BackgroundComparison(houses(), request, tmp_path / "c", n_jobs=1)
    assert running.snapshot() == {"status": "new", "error": ""}
    running.stop()  # before its first trial, so that none is run
    running.start()
    assert running.wait(60)
    assert running.snapshot()["status"] == "interrupted"
    again = BackgroundComparison(houses(), request, tmp_path / "c", n_jobs=1)
    again.start()
    assert again.wait(60)
    assert again.snapshot()["status"] == "finished"
    assert again.snapshot()["winner"] == compare(houses(), target="sold", models=TWO, folds=3, curve=False).winner
    wrong = BackgroundComparison(houses(), ComparisonRequest(target="nothing"), tmp_path / "d")
    wrong.start()
    assert wrong.wait(60)
    assert "no column 'nothing'" in wrong.snapshot()["error"]
