"""The command line as a user meets it: results on stdout, sentences on stderr, exit codes 0, 1 and 2."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import margin
from margin import catalog
from margin.cli.output import report_problems
from margin.core.watching import watch
from margin.notes import atlas

FAST = ["--set", "hidden_layer_sizes=8", "--set", "max_iter=3", "--quiet"]


@pytest.fixture
def mixed_table(tmp_path):
    """A table as users have them: numbers with gaps, labels, a target of labels."""
    rng = np.random.default_rng(0)
    n = 120
    size, town = rng.normal(size=n), rng.choice(["north", "south", "west"], size=n)
    sold = np.where(size + (town == "north") + 0.3 * rng.normal(size=n) > 0.4, "yes", "no")
    frame = pd.DataFrame({"size": np.where(rng.random(n) < 0.1, np.nan, size), "town": town, "sold": sold})
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


def test_every_command_has_help(run):
    for command in ("list", "show", "fit", "predict", "transform", "score", "sample", "run", "verify", "compare"):
        assert "--json" in run(command, "--help").stdout
    assert margin.__version__ in run("--version").stdout


def test_help_of_fit_lists_the_parameters_of_the_model(run):
    text = " ".join(run("fit", "ridge", "--help").stdout.split())
    assert "Parameters of ridge" in text
    assert "Strength of the L2 penalty" in text
    assert "at least 0" in text
    assert "Parameters of" not in run("fit", "--help").stdout


def test_list_json_is_stable(run):
    models = json.loads(run("list", "--json").stdout)
    assert [model["name"] for model in models] == [entry.name for entry in catalog.ENTRIES]
    assert all(set(model) == {"name", "path", "family", "task", "data", "rows"} for model in models)
    assert "kmeans" in run("list", "--task", "clustering").stdout


def test_show_a_model_a_row_and_a_term(run):
    text = run("show", "kmeans", "--check").stdout
    for part in ("n_clusters", "cluster_centers_", "margin/cluster/kmeans.py", "k-means", "holds", "003"):
        assert part in text
    facts = json.loads(run("show", "kmeans", "--check", "--json").stdout)
    assert {"equations", "parameters", "source", "rows"} <= set(facts)
    assert all(row["verdict"] in ("holds", "corrected") for row in facts["rows"])
    assert "statement" in run("show", "k-means").stdout
    assert "latent-diffusion" in run("show", "latent", "diffusion").stdout
    row = run("show", "cholesky-solve").stdout
    assert "as written: margin.foundations.linalg.cholesky_solve" in row
    assert "as run: margin.kernels.gaussian_process.triangular.solve_factored" in row
    assert "used by: gaussian-process-regressor" in row
    assert run("show", "cluster").stdout
    assert "verdict" not in run("show", "kmeans").stdout, "checks run on request"
    assert "Neither a model" in run("show", "no-such-thing", code=2).stderr


def test_verify_json_is_stable(run):
    ids = [id for id, expected in atlas.inventory().items() if expected.area == "unsupervised"]
    rows = json.loads(run("verify", "unsupervised", "--json").stdout)
    assert [row["id"] for row in rows] == ids
    fields = {"id", "area", "kind", "verdict", "measured", "expected", "seconds", "seed", "slips"}
    fields |= {"statement", "errata"}
    assert all(set(row) == fields for row in rows)
    assert {row["verdict"] for row in rows} <= {"holds", "corrected", "fails", "missing"}
    assert "neither an area" in run("verify", "no-such-area", code=2).stderr


def test_fit_predict_score(run, tmp_path):
    out = tmp_path / "runs" / "d"
    facts = json.loads(run("fit", "mlp-classifier", "iris", "--out", out, *FAST, "--json").stdout)
    assert facts["status"] == "finished"
    assert (out / "model.safetensors").exists()
    again = json.loads(run("fit", "mlp-classifier", "iris", "--out", out, *FAST, "--json").stdout)
    assert again["seconds"] == facts["seconds"], "a finished run is not trained again"
    assert "accuracy" in json.loads(run("score", out, "iris", "--json").stdout)
    rows = list(csv.reader(io.StringIO(run("predict", out, "iris").stdout)))
    assert (rows[0], len(rows)) == (["prediction"], 151)
    proba = list(csv.reader(io.StringIO(run("predict", out, "iris", "--proba").stdout)))
    assert sum(map(float, proba[1])) == pytest.approx(1, abs=1e-5)
    other = run("fit", "mlp-classifier", "iris", "--out", out, "--set", "max_iter=4", "--quiet", code=1)
    assert "holds another run" in other.stderr


def test_a_table_with_gaps_and_labels(run, mixed_table, tmp_path):
    out = tmp_path / "r"
    run("fit", "mlp-classifier", mixed_table, "--target", "sold", "--out", out, "--set", "max_iter=60", "-q")
    new = tmp_path / "new.csv"
    new.write_text("town,extra,size\nnorth,1,0.5\nelsewhere,2,\n")
    predictions = list(csv.reader(io.StringIO(run("predict", out, new).stdout)))
    assert [row[0] in ("yes", "no") for row in predictions[1:]] == [True, True]
    assert json.loads(run("score", out, mixed_table, "--json").stdout)["accuracy"] > 0.8
    new.write_text("town\nnorth\n")
    assert "lacks the column 'size'" in run("predict", out, new, code=2).stderr


def test_generative_models_sample(run, tmp_path):
    run("fit", "gaussian-mixture", "blobs:n_samples=200", "--set", "n_components=3", "--out", tmp_path / "g", "-q")
    rows = list(csv.reader(io.StringIO(run("sample", tmp_path / "g", "-n", "4").stdout)))
    assert len(rows) == 5
    assert run("sample", tmp_path / "g", "-n", "4").stdout == run("sample", tmp_path / "g", "-n", "4").stdout
    run("fit", "linear-regression", "diabetes", "--out", tmp_path / "l", "-q")
    assert "not generative" in run("sample", tmp_path / "l", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "no-such-model", "iris"], "no model 'no-such-model'"),
        (["fit", "kmean", "iris"], "did you mean kmeans"),
        (["fit", "kmeans", "no-such-data"], "neither a file nor a named data set"),
        (["fit", "kmeans", "iris", "--set", "n_clusters=0"], "n_clusters: '0' is not an integer at least 1"),
        (["fit", "kmeans", "iris", "--set", "clusters=3"], "no parameter 'clusters'"),
        (["fit", "kmeans", "iris", "--set", "n_clusters"], "name=value"),
        (["fit", "mlp-classifier", "diabetes"], "is a quantity"),
        (["fit", "linear-regression", "blobs:n_samples=x"], "n_samples"),
        (["predict", "nowhere", "iris"], "neither a run folder nor a model file"),
        (["compare", "iris", "--target", "nothing"], "no column 'nothing' to predict"),
        (["compare", "iris", "--metric", "rmse"], "not one for classification"),
        (["run", "no-such-experiment"], "no experiment"),
        (["run", "lloyd-iteration"], "did you mean lloyd-iterations?"),
    ],
)
def test_a_bad_request_is_one_sentence_and_exit_2(run, arguments, sentence):
    outcome = run(*arguments, code=2)
    assert sentence in " ".join(outcome.stderr.split())
    assert outcome.stdout == ""


def test_run_lists_and_draws(run, tmp_path):
    assert "lloyd-iterations" in run("run").stdout
    outcome = json.loads(run("run", "lloyd-iterations", "--fast", "--svg", "--out", tmp_path / "f", "--json").stdout)
    assert outcome["verdict"] == "holds"
    made = {path.suffix for path in (tmp_path / "f").iterdir()}
    assert made >= {".png", ".svg", ".json"}
    assert json.loads((tmp_path / "f" / "lloyd-iterations.json").read_text())["seed"] == 0


def test_compare_survives_and_reports_failures(run, mixed_table, tmp_path):
    out = tmp_path / "c"
    arguments = [
        "compare",
        mixed_table,
        "--no-report",
        "--no-curve",
        "--target",
        "sold",
        "-m",
        "mlp-classifier",
        "--folds",
        3,
        "-j",
        1,
        "--out",
        out,
    ]
    told = json.loads(run(*arguments, "--json").stdout)
    assert (told["winner"], told["folder"]) == ("mlp-classifier", str(out))
    standings = told["board"]
    assert {row["model"] for row in standings} == {"mlp-classifier", "baseline"}
    assert standings[0]["low"] <= standings[0]["mean"] <= standings[0]["high"]
    trials = (out / "trials.jsonl").read_text().splitlines()
    assert len(trials) == 6
    # As after a kill: the last line is cut, its trial runs again, the others do not.
    (out / "trials.jsonl").write_text("\n".join(trials[:-1]) + "\n" + trials[-1][:20])
    json.loads(run(*arguments, "--json").stdout)
    redone = (out / "trials.jsonl").read_text().splitlines()
    assert redone[:-1] == trials[:-1]
    assert len(redone) == 6
    said = run(*arguments, "--seed", 1, code=1).stderr
    assert "holds another comparison: seed was 0 and is 1 now. Add --new" in said
    assert (
        "holds another run: it is a comparison, not a fit"
        in run("fit", "mlp-classifier", mixed_table, "-t", "sold", "--out", out, "-q", code=1).stderr
    )


def test_predict_score_and_show_take_a_comparison_as_they_take_a_fit(run, mixed_table, tmp_path):
    out = tmp_path / "c"
    arguments = ["compare", mixed_table, "-t", "sold", "-m", "logistic-regression", "--folds", 2, "-j", 1, "--out", out]
    assert f"logistic-regression fitted on all rows: {out}" in " ".join(run(*arguments).stdout.split())
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["identity"]["kind"], manifest["status"]) == ("comparison", "finished")
    assert {path.name for path in out.iterdir()} >= {"board.json", "metrics.jsonl", "model.safetensors", "trials.jsonl"}
    assert len(run("predict", out, mixed_table).stdout.splitlines()) == 121
    assert json.loads(run("score", out, mixed_table, "--json").stdout)["accuracy"] > 0.8
    facts = json.loads(run("show", out, "--json").stdout)
    assert (facts["kind"], facts["model"], facts["status"]) == ("comparison", "logistic-regression", "finished")
    assert {row["model"] for row in facts["board"]} == {"baseline", "logistic-regression"}
    assert "baseline" in run("show", out).stdout
    first = (out / "model.safetensors").stat().st_mtime_ns
    run(*arguments)
    assert (out / "model.safetensors").stat().st_mtime_ns == first, "a finished comparison trains nothing again"
    # One more model may win: the folder then holds that one, whole.
    run(*arguments, "-m", "gaussian-nb", "--metric", "log_loss")
    winner = json.loads((out / "board.json").read_text())[0]["model"]
    assert json.loads(run("show", out, "--json").stdout)["model"] == winner


def test_a_comparison_that_ends_in_the_winners_fit_continues_with_the_same_bits(tmp_path):
    """Checkpoints, trials and the winner are kept as a fit keeps them."""

    class Killed(BaseException):
        pass

    def kill(estimator, record):
        trials = tmp_path / "killed" / "trials.jsonl"
        if trials.exists() and len(trials.read_text().splitlines()) == 4 and record.iteration == 3:
            raise Killed

    def compare(name):
        chosen = {"models": ["mlp-classifier"], "folds": 2, "n_jobs": 1, "curve": False}
        return margin.compare("iris", out=tmp_path / name, **chosen)

    with watch(kill), pytest.raises(Killed):
        compare("killed")
    manifest = json.loads((tmp_path / "killed" / "manifest.json").read_text())
    assert (manifest["status"], manifest["winner"]["finished"]) == ("running", False)
    assert compare("killed").run.status == "finished"
    compare("whole")
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_show_a_fit_and_a_model_file(run, tmp_path):
    run("fit", "kmeans", "iris", "--set", "n_clusters=3", "--out", tmp_path / "k", "-q")
    facts = json.loads(run("show", tmp_path / "k", "--json").stdout)
    assert (facts["kind"], facts["model"], facts["status"]) == ("fit", "kmeans", "finished")
    assert facts["parameters_set"]["n_clusters"] == "3"
    assert facts["records"] > 0
    assert "n_clusters 3" in run("show", tmp_path / "k" / "model.safetensors").stdout


def test_models_of_categories_and_counts_get_columns_they_can_take(run, mixed_table, tmp_path):
    names = ("categorical-nb", "id3", "multinomial-nb", "hard-margin-svc")
    picked = [argument for name in names for argument in ("-m", name)]
    arguments = [
        "compare",
        mixed_table,
        "--no-report",
        "-t",
        "sold",
        *picked,
        "--folds",
        3,
        "-j",
        1,
        "--out",
        tmp_path / "c",
    ]
    shown = run(*arguments).stdout
    assert [line for line in shown.splitlines() if "…" in line and len(line) > 110] == []
    assert "hard-margin-svc: ValueError: HardMarginSVC: classes" in shown
    standings = {row["model"]: row for row in json.loads(run(*arguments, "--json").stdout)["board"]}
    assert all(standings[name]["mean"] > standings["baseline"]["mean"] for name in names[:3])
    run("fit", "categorical-nb", mixed_table, "--target", "sold", "--out", tmp_path / "r", "-q")
    new = tmp_path / "new.csv"
    new.write_text("town,size\nelsewhere,99\nnorth,\n")  # a label and a number beyond those of the training rows
    assert len(run("predict", tmp_path / "r", new).stdout.splitlines()) == 3


def test_kernel_machines_are_compared_on_a_target_of_their_size(run, tmp_path):
    """Their tubes and penalties are about 1 by default; a target in thousands must not make them look useless."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 150)
    price = 200_000 + 50_000 * np.sin(x) + 1_000 * rng.normal(size=150)
    table = tmp_path / "prices.csv"
    pd.DataFrame({"x": x, "price": price}).to_csv(table, index=False)
    arguments = [
        "compare",
        table,
        "--no-report",
        "--no-curve",
        "--target",
        "price",
        "-m",
        "svr",
        "--folds",
        3,
        "-j",
        1,
        "--out",
        tmp_path / "c",
    ]
    standings = {row["model"]: row["mean"] for row in json.loads(run(*arguments, "--json").stdout)["board"]}
    assert standings["svr"] < 0.3 * standings["baseline"]
    predicted = margin.load(tmp_path / "c" / "model.safetensors").predict(pd.DataFrame({"x": x}))
    assert np.corrcoef(predicted, price)[0, 1] > 0.98


def test_a_closed_pipe_is_no_failure_to_talk_about(capsys):
    with pytest.raises(BrokenPipeError), report_problems():
        raise BrokenPipeError
    assert capsys.readouterr().err == ""


def test_ctrl_c_leaves_a_usable_run_and_the_same_command_continues(tmp_path):
    """A real process, a real interrupt."""
    arguments = [sys.executable, "-m", "margin", "fit", "mlp-classifier", "digits", "--out", str(tmp_path / "d")]
    arguments += ["--set", "max_iter=40", "--set", "hidden_layer_sizes=32", "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    metrics = tmp_path / "d" / "metrics.jsonl"
    while time.monotonic() < deadline and not (metrics.exists() and metrics.read_bytes().count(b"\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "interrupted"
    assert margin.load(tmp_path / "d" / "model.safetensors").predict(np.zeros((1, 64))).shape == (1,)
    done = subprocess.run(arguments, capture_output=True, check=True)
    assert json.loads(done.stdout)["status"] == "finished"
    straight = [*arguments]
    straight[straight.index(str(tmp_path / "d"))] = str(tmp_path / "e")
    subprocess.run(straight, capture_output=True, check=True)
    same = [(tmp_path / name / "model.safetensors").read_bytes() for name in "de"]
    assert same[0] == same[1], "an interrupted and continued run ends with the same bits"


def test_ctrl_c_in_a_comparison_prints_the_board_saves_the_best_and_says_how_to_continue(tmp_path):
    """A real process, a real interrupt; the same command then ends the job."""
    out = tmp_path / "c"
    arguments = [sys.executable, "-m", "margin", "compare", "iris", "-m", "gaussian-nb", "-m", "mlp-classifier"]
    arguments += [
        "--set",
        "mlp-classifier.max_iter=30",
        "--folds",
        "10",
        "-j",
        "1",
        "--no-ensembles",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    trials = out / "trials.jsonl"
    while time.monotonic() < deadline and not (trials.exists() and trials.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    shown, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "gaussian-nb" in shown
    assert "the best so far" in said
    assert "is saved in" in said
    assert "To continue:\n  margin compare iris" in said
    assert margin.load(out / "model.safetensors").predict(np.zeros((1, 4))).shape == (1,)
    before = trials.read_text().splitlines()
    assert len(before) < 30


def test_generative_models_are_compared(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=120), rng.integers(0, 3, size=120)]
    np.savetxt(tmp_path / "table.csv", rows, delimiter=",", header="size,town", comments="")
    options = ("--generative", "-m", "histogram-density", "-m", "gaussian-mixture")
    shown = run("compare", "table.csv", *options, "-q")
    assert "histogram-density" in shown.stdout
    assert "bound" in shown.stdout
    assert "sampled.csv" in shown.stdout
    plain = json.loads(run("compare", "table.csv", *options, "-q", "--json").stdout)
    assert {row["model"] for row in plain["board"]} == {"histogram-density", "gaussian-mixture", "training rows"}
    assert "exact or a lower bound" in plain["measures"]["log_density"]
    assert "folds does not act" in run("compare", "table.csv", *options, "--folds", "3", code=2).stderr
    assert "jobs does not act" in run("compare", "table.csv", *options, "--jobs", "2", code=2).stderr
