"""Trained models on the command line: reducers, scores, changed runs, strict JSON, names that are nearly right."""

import csv
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from margin.cli.completion import data_names, metric_names, model_names, shown_names
from margin.cli.output import strict
from margin.service.changes import differences


@pytest.fixture
def prices(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60).round(3), "town": rng.choice(["n", "s"], 60)})
    frame["price"] = (3 * frame["size"] + (frame["town"] == "n") + 0.1 * rng.normal(size=60)).round(3)
    frame.to_csv(tmp_path / "prices.csv", index=False)
    return "prices.csv"


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def test_transform_with_a_reducer(run, tmp_path):
    run("fit", "pca", "iris", "--set", "n_components=2", "--out", "p", "-q")
    rows = rows_of(run("transform", "p", "iris").stdout)
    assert (rows[0], len(rows)) == (["pca0", "pca1"], 151)
    said = run("predict", "p", "iris", code=2).stderr
    assert "PCA in p predicts nothing: it has no predict; use margin transform." in " ".join(said.split())
    assert "transforms rows: there is nothing to score" in " ".join(run("score", "p", "iris", code=2).stderr.split())
    run("fit", "ridge", "diabetes", "--out", "r", "-q")
    said = " ".join(run("transform", "r", "diabetes", code=2).stderr.split())
    assert "Ridge in r transforms nothing: it has no transform; use margin predict." in said


def test_an_embedding(run):
    run("fit", "mds", "iris", "--set", "n_components=2", "--set", "max_iter=3", "--set", "n_init=1", "--out", "m", "-q")
    assert len(rows_of(run("transform", "m", "iris").stdout)) == 151
    assert "expecting 4 features" in run("transform", "m", "wine", code=1).stderr


def test_scores_need_a_target_and_say_where_they_flatter(run, prices):
    run("fit", "linear-regression", prices, "-t", "price", "--out", "r", "-q")
    outcome = run("score", "r", prices, "--json")
    assert json.loads(outcome.stdout)["r2"] > 0.9
    assert "the rows the model was trained on" in outcome.stderr
    frame = pd.read_csv(prices)
    frame.iloc[:20].to_csv("new.csv", index=False)
    assert run("score", "r", "new.csv").stderr == ""
    frame.drop(columns="price").to_csv("bare.csv", index=False)
    assert "has no column 'price', which is the target" in " ".join(
        run("score", "r", "bare.csv", code=2).stderr.split()
    )
    assert "needs a target" in run("score", "r/model.safetensors", "bare.csv", code=2).stderr
    known = json.loads(run("score", "r/model.safetensors", "new.csv", "-t", "price", "--json").stdout)
    assert known["r2"] > 0.9


def test_a_changed_run_is_named_in_words(run, prices):
    fit = ["fit", "ridge", prices, "-t", "price", "--out", "r", "-q"]
    run(*fit)
    said = " ".join(run(*fit, "--set", "alpha=2", code=1).stderr.split())
    assert "r holds another run: alpha was 1.0 and is 2.0 now. Add --new" in said
    assert "it trains ridge, not lasso" in " ".join(run("fit", "lasso", *fit[2:], code=1).stderr.split())
    frame = pd.read_csv(prices)
    frame.iloc[:59].to_csv(prices, index=False)
    assert "prices.csv has changed: it had 60 rows and has 59" in " ".join(run(*fit, code=1).stderr.split())
    frame.assign(size=frame["size"] + 1).to_csv(prices, index=False)
    assert "values in prices.csv have changed" in " ".join(run(*fit, code=1).stderr.split())
    frame.rename(columns={"size": "area"}).to_csv(prices, index=False)
    assert "(without 'size' and with 'area')" in " ".join(run(*fit, code=1).stderr.split())
    assert json.loads(run(*fit, "--new", "--json").stdout)["run"] == "r-2"
    assert json.loads(run(*fit, "--new", "--json").stdout)["run"] == "r-2", "the run beside it is taken up again"
    assert json.loads(run(*fit, "--force", "--json").stdout)["run"] == "r"
    assert json.loads(run("show", "r", "--json").stdout)["status"] == "finished"
    assert len(rows_of(run("predict", "r", prices).stdout)) == 61
    run(*fit)
    assert "give one of them" in run(*fit, "--new", "--force", code=2).stderr


def test_other_preprocessing_alone_is_a_difference():
    same = {"kind": "fit", "model": "ridge", "data_hash": "a", "target": "y"}
    manifest = {"identity": {**same, "fingerprint": "1"}, "params": {"alpha": "1"}}
    assert differences(manifest, {**same, "fingerprint": "1"}, {"params": {"alpha": "1"}}) == []
    said = differences(manifest, {**same, "fingerprint": "2"}, {"params": {"alpha": "1"}})
    assert said == ["its columns were prepared otherwise"]


def test_a_model_card_stands_beside_the_model(run, prices):
    run("fit", "ridge", prices, "-t", "price", "--set", "alpha=3", "--out", "r", "-q")
    card = Path("r/model_card.md").read_text(encoding="utf-8")
    for part in (
        "# ridge: prices.csv",
        "60 rows, 2 columns",
        "Target: price.",
        "alpha = 3.0",
        "margin predict r new.csv",
    ):
        assert part in card
    written = os.stat("r/model_card.md").st_mtime_ns
    run("fit", "ridge", prices, "-t", "price", "--set", "alpha=3", "--out", "r", "-q")
    assert os.stat("r/model_card.md").st_mtime_ns == written


def test_a_comparison_leaves_report_and_card_and_can_be_used(run, prices):
    arguments = [
        "compare",
        prices,
        "-t",
        "price",
        "-m",
        "ridge",
        "-m",
        "lasso",
        "--folds",
        2,
        "-j",
        1,
        "--out",
        "c",
        "-q",
    ]
    run(*arguments)
    page, card = (Path(f"c/{name}").read_text(encoding="utf-8") for name in ("report.html", "model_card.md"))
    assert "<!DOCTYPE html>" in page
    assert "Permutation importance" in page
    assert "in cross-validation" in card
    facts = json.loads(run("show", "c", "--json").stdout)
    assert facts["files"] == ["report.html", "model_card.md"]
    shown = run("show", "c").stdout
    assert "lasso" in shown
    assert "None" not in shown
    assert len(rows_of(run("predict", "c", prices).stdout)) == 61
    assert "trained on" in run("score", "c", prices).stderr


def test_a_comparison_of_changed_data_is_refused_in_words_kept_or_started_over(run, prices):
    short = ["--no-report", "--no-curve", "--no-ensembles", "--folds", 2, "-j", 1, "-q", "--json"]
    arguments = ["compare", prices, "-t", "price", "-m", "ridge", *short, "--out", "c"]
    run(*arguments)
    said = run(*arguments, "--held-out", 0.5, "--ignore", "size", code=1).stderr
    assert "held out was unset and is 0.5 now; columns to ignore was unset and is size now" in said
    frame = pd.read_csv(prices)
    frame.iloc[:-1].to_csv(prices, index=False)
    said = run(*arguments, code=1).stderr
    assert "prices.csv has changed: it had 60 rows and has 59. Add --new to keep it and compare beside it" in said
    trials = Path("c/trials.jsonl").read_text()
    run(*arguments, "--new")
    assert json.loads(Path("c-2/manifest.json").read_text())["rows"] == 59
    assert Path("c/trials.jsonl").read_text() == trials
    run(*arguments, "--force")
    assert json.loads(Path("c/manifest.json").read_text())["rows"] == 59
    assert len(Path("c/trials.jsonl").read_text().splitlines()) == 4
    assert "give one of them" in run(*arguments, "--new", "--force", code=2).stderr


def test_a_report_is_written_again_from_the_folder(run, prices):
    short = ["--no-report", "--no-curve", "--folds", 2, "-j", 1, "-q"]
    run("compare", prices, "-t", "price", "-m", "ridge", *short, "--out", "c")
    model = Path("c/model.safetensors").read_bytes()
    assert run("report", "c").stdout.split() == [str(Path("c/report.html"))]
    assert "Permutation importance" in Path("c/report.html").read_text(encoding="utf-8")
    run("report", "c", "--out", "elsewhere.html")
    assert Path("elsewhere.html").exists()
    assert Path("c/model.safetensors").read_bytes() == model
    assert "is not a run folder" in run("report", "nowhere", code=1).stderr
    run("fit", "ridge", prices, "-t", "price", "--out", "f", "-q")
    assert "f holds a fit, which has no report" in run("report", "f", code=2).stderr


def test_json_is_strict():
    value = {"a": math.nan, "b": [np.float64(math.inf), np.int64(3)], "c": np.array([1.5, math.nan]), 1: {"d": (True,)}}
    assert strict(value) == {"a": None, "b": [None, 3], "c": [1.5, None], "1": {"d": [True]}}
    json.dumps(strict(value), allow_nan=False)


def test_predictions_as_json_are_strict(run):
    run("fit", "ridge", "diabetes", "--out", "r", "-q")

    def refuse(constant):
        raise AssertionError(constant)

    predicted = json.loads(run("predict", "r", "diabetes", "--json").stdout, parse_constant=refuse)
    assert len(predicted["prediction"]) == 442


def test_nothing_is_cut_off_in_a_pipe():
    done = subprocess.run(
        [sys.executable, "-m", "margin", "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "40"},
    )
    lines = done.stdout.splitlines()
    assert "…" not in done.stdout
    assert any("margin.trees.HistGradientBoostingClassifier" in line and "classification" in line for line in lines)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("xgboost", "hist-gradient-boosting-classifier"),
        ("SVM", "svc"),
        ("random forest", "random-forest-classifier"),
        ("logistic_regresion", "logistic-regression"),
        ("gaussianmixture", "gaussian-mixture"),
    ],
)
def test_show_finds_the_nearest_method(run, asked, found):
    outcome = run("show", asked, "--json")
    assert json.loads(outcome.stdout)["name"] == found
    assert f"the nearest is {found}" in outcome.stderr


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("latent diffusion", "latent-diffusion"),
        ("LatentDiffusion", "latent-diffusion"),
        ("Score model", "score-model"),
        ("cyclegan", "cyclegan"),
        ("CycleGAN", "cyclegan"),
    ],
)
def test_a_model_is_shown_whichever_way_its_name_is_spelled(run, asked, name):
    outcome = run("show", asked, "--json")
    assert json.loads(outcome.stdout)["name"] == name
    assert "nearest" not in outcome.stderr


def test_completion_offers_what_exists():
    assert "ridge" in model_names("ri")
    assert model_names("zzz") == []
    assert {"roc_auc", "rmse"} <= set(metric_names("r"))
    assert data_names("ir") == ["iris"]
    assert {"kmeans", "k-means"} <= set(shown_names("k"))


def test_a_run_is_exported_and_what_cannot_be_is_a_sentence(run, prices):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    run("fit", "ridge", prices, "-t", "price", "--out", "r", "-q")
    assert run("export", "r").stdout.split() == [str(Path("r/model.onnx"))]
    session = onnxruntime.InferenceSession("r/model.onnx", providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["prediction"]
    run("export", "r/model.safetensors", "--out", "other.onnx")
    assert Path("other.onnx").read_bytes() == Path("r/model.onnx").read_bytes()
    run("fit", "k-neighbors-regressor", prices, "-t", "price", "--out", "k", "-q")
    assert "KNeighborsRegressor cannot be exported" in run("export", "k", code=1).stderr
    assert not Path("k/model.onnx").exists()


def test_the_winner_of_a_generative_comparison_is_shown_and_draws_rows(run):
    run("compare", "iris", "--generative", "-m", "histogram-density", "-q", "--out", "g")
    shown = run("show", "g").stdout
    assert "generative comparison" in shown
    assert "histogram-density" in shown
    assert "sampled.csv" in shown
    assert json.loads(run("show", "g", "--json").stdout)["board"][0]["metric"] == "log_density"
    assert "model: histogram-density" in shown
    drawn = run("sample", "g", "-n", "150").stdout
    assert drawn == Path("g/sampled.csv").read_text(), "the folder's model draws what the comparison drew"
    assert drawn.splitlines()[0] == "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)"
    assert run("sample", "g", "-n", "150", "--seed", "1").stdout != drawn
    assert "predicts nothing: it has no predict; use margin sample" in run("predict", "g", "iris", code=2).stderr
    assert "transforms nothing" in run("transform", "g", "iris", code=2).stderr
    assert "no metric for density" in run("score", "g", "iris", code=2).stderr
    assert "must be a fitted estimator" in run("export", "g", code=1).stderr
    assert "writes no text" in run("sample", "g", "--prompt", "x", code=2).stderr
    Path("g/columns.json").write_text('{"columns": [], "center": [], "scale": []}')
    assert "columns.json is damaged" in run("sample", "g", code=1).stderr
    assert "holds a generative comparison, which has no report" in run("report", "g", code=2).stderr


def test_a_blend_is_shown_by_the_names_of_its_members():
    from sklearn.ensemble import VotingRegressor
    from sklearn.linear_model import Lasso, Ridge

    from margin.service.models import _facts_of

    shown = _facts_of(VotingRegressor([("first", Ridge()), ("second", Lasso(alpha=2))]))["parameters_set"]
    assert shown == {"estimators": "first, second"}


def test_new_rows_need_no_target_and_scores_leave_out_rows_without_one(run, prices):
    run("fit", "ridge", prices, "-t", "price", "--out", "r")
    table = pd.read_csv(prices)
    expected = run("predict", "r", prices).stdout
    table.assign(price="").to_csv("empty.csv", index=False)
    assert run("predict", "r", "empty.csv").stdout == expected
    assert "no row of empty.csv has a value of the target 'price'" in run("score", "r", "empty.csv", code=2).stderr
    table.loc[:9, "price"] = np.nan
    table.to_csv("some.csv", index=False)
    table[10:].to_csv("rest.csv", index=False)
    scored = run("score", "r", "some.csv")
    assert scored.stdout == run("score", "r", "rest.csv").stdout
    assert "10 of 60 rows have no price and are left out." in scored.stderr
    table.rename(columns={"size": "Size"}).to_csv("renamed.csv", index=False)
    assert "lacks the column 'size'" in run("predict", "r", "renamed.csv", code=2).stderr
    assert "close matches are 'Size'" in run("predict", "r", "renamed.csv", code=2).stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("list --task classifcation", "no task 'classifcation'; there are classification, clustering"),
        ("list --family treees", "no family 'treees'; there are"),
        ("verify adamm", "did you mean adam"),
        ("fit xgboost iris", "try hist-gradient-boosting-classifier or hist-gradient-boosting-regressor"),
        ("compare iris -m svm", "There is no model 'svm'; try svc"),
        ("compare iris -m svc -x svc", "those asked for are excluded"),
        ("describe iriss", "did you mean iris?"),
        ("describe price.csv", "did you mean prices.csv?"),
        ("describe away/table.csv", "there is no folder 'away'"),
        ("compare prices.csv -t prize", "no column 'prize' to predict; close matches are 'price'"),
    ],
)
def test_a_name_that_does_not_exist_is_answered_with_those_that_do(run, prices, command, words):
    outcome = run(*command.split(), code=2)
    assert words in outcome.stderr
    assert not outcome.stdout


def test_what_the_system_refuses_is_a_sentence_and_folders_of_results_are_made(run, prices):
    refused = run("fit", "ridge", prices, "-t", "price", "--out", prices, code=1).stderr
    assert "prices.csv: " in refused
    assert "Errno" not in refused
    run("fit", "ridge", prices, "-t", "price", "--out", "r")
    run("predict", "r", prices, "--out", "new/folder/p.csv")
    assert Path("new/folder/p.csv").read_text() == run("predict", "r", prices).stdout
    assert not run("predict", "r", prices, "--json", "--out", "p.json").stdout
    assert json.loads(Path("p.json").read_text()) == json.loads(run("predict", "r", prices, "--json").stdout)


def test_a_warning_is_told_once(capsys):
    import warnings

    from margin.cli.output import report_problems

    with report_problems():
        for _ in range(3):
            warnings.warn("the same of every member", UserWarning, stacklevel=1)
    assert capsys.readouterr().err.count("the same of every member") == 1


def test_a_folder_of_tables_is_described_and_one_of_pictures_is_told_as_one(run, prices):
    Path("tables").mkdir()
    Path(prices).rename("tables/prices.csv")
    assert "60 rows, 3 columns" in run("describe", "tables").stdout
    Path("photos/cats").mkdir(parents=True)
    assert "photos is a folder of pictures" in run("describe", "photos", code=2).stderr


def test_too_small_a_budget_still_ends_with_a_model_and_a_report_that_say_so(run):
    outcome = run("compare", "iris", "-m", "gaussian-nb", "-m", "c45", "--budget", "0.001s", "-q", "--out", "r")
    said = " ".join(outcome.stdout.split())
    assert "No model was done with a fold within 1 s: gaussian-nb" in said
    assert "1 of 2 models was not tried" in said
    assert len(run("predict", "r", "iris").stdout.splitlines()) == 151
    assert "when it had learned from 120 rows" in Path("r/report.html").read_text()
