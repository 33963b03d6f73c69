"""``margin fit`` and ``predict`` on folders and patterns of files, which are read block by block and never whole."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import margin
from margin.data import preprocessor
from margin.data.streams import table_stream
from margin.service import streams

FILES = 8


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 32)


@pytest.fixture(scope="module")
def table():
    """Numbers with gaps, labels, flags and dates, and targets of both tasks."""
    rng = np.random.default_rng(4)
    n = 60 * FILES
    size, town = rng.normal(50, 9, n), rng.choice(["north", "south", "west"], n)
    price = 3 * size + 20 * (town == "north") + rng.normal(size=n)
    frame = pd.DataFrame({"size": np.where(rng.random(n) < 0.1, np.nan, size), "town": town, "price": price})
    frame["new"] = rng.random(n) < 0.5
    frame["built"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame["sold"] = np.where(price + rng.normal(0, 8, n) > 155, "yes", "no")
    return frame


def write(frame, suffix, folder="rows"):
    Path(folder).mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(frame)), FILES)):
        rows, path = frame.iloc[part], f"{folder}/{i}{suffix}"
        rows.to_parquet(path) if suffix == ".parquet" else rows.to_csv(path, index=False)


@pytest.mark.parametrize("data, suffix", [("rows/*.parquet", ".parquet"), ("rows", ".csv"), ("rows", ".parquet")])
def test_a_fit_and_its_predictions_are_those_of_one_table(run, table, data, suffix):
    write(table, suffix)
    table.to_csv("all.csv", index=False)
    options = ("-t", "price", "--ignore", "sold", "--json", "-q")
    streamed = json.loads(run("fit", "ridge", data, *options, "-o", "a").stdout)
    run("fit", "ridge", "all.csv", *options, "-o", "b")
    assert streamed["status"] == "finished"
    assert margin.Run.existing("a").manifest["rows"] == len(table)
    run("predict", "a", data, "-o", "a.csv")
    one, other = pd.read_csv("a.csv"), pd.read_csv(io.StringIO(run("predict", "b", "all.csv").stdout))
    np.testing.assert_allclose(one["prediction"], other["prediction"], rtol=1e-8)
    kept = pd.read_csv(io.StringIO(run("predict", "a", data, "--keep", "town,size").stdout))
    pd.testing.assert_series_equal(kept["town"], table["town"])
    np.testing.assert_allclose(kept["size"], table["size"])


def test_a_fit_that_iterates_goes_on_and_gives_classes(run, table):
    write(table.drop(columns="price"), ".csv")
    fit = ("fit", "hist-gradient-boosting-classifier", "rows", "-t", "sold", "-s", "max_iter=4", "-q", "-o", "a")
    told = run(*fit)
    assert "finished" in told.stdout
    proba = pd.read_csv(io.StringIO(run("predict", "a", "rows/*.csv", "--proba").stdout))
    assert list(proba) == ["no", "yes"]
    assert len(proba) == len(table)
    again = json.loads(run(*fit, "--json").stdout)
    assert again["records"] == 4
    Path("rows/3.csv").write_text(Path("rows/3.csv").read_text().replace("yes", "no"))
    refused = run(*fit, code=1)
    assert "a holds another run" in refused.stderr


def test_columns_are_judged_by_rows_from_all_files_and_that_is_said(run, table, monkeypatch):
    monkeypatch.setattr(streams, "SAMPLED", 100)
    write(table, ".parquet")
    facts = json.loads(run("fit", "lasso", "rows/*.parquet", "-t", "price", "-o", "a", "--json", "-q").stdout)
    assert f"Columns are judged by 100 of the {len(table)} rows, drawn from all of them." in facts["remarks"]


def test_a_missing_value_that_the_sample_lacks_is_imputed(run, table, monkeypatch):
    monkeypatch.setattr(streams, "SAMPLED", 20)
    numbers = table[["size", "price"]].fillna(50.0)
    numbers.loc[477, "size"] = np.nan
    write(numbers, ".parquet")
    run("fit", "ridge", "rows/*.parquet", "-t", "price", "-o", "a", "-q")
    assert len(run("predict", "a", "rows/*.parquet").stdout.splitlines()) == len(table) + 1


def test_models_without_a_target_take_many_files(run, table):
    write(table[["size", "price"]].fillna(0.0), ".parquet")
    run("fit", "kmeans", "rows/*.parquet", "-s", "n_clusters=3", "-q", "-o", "a")
    assert len(run("predict", "a", "rows/*.parquet").stdout.splitlines()) == len(table) + 1


def test_a_model_that_takes_no_stream_names_itself_and_those_that_do(run, table):
    write(table, ".csv")
    said = " ".join(run("fit", "svc", "rows", "-t", "sold", code=2).stderr.split())
    assert "svc needs all rows at once and takes no stream, as rows is; of classification " in said
    for name in ("logistic-regression", "random-forest-classifier", "sample(n)"):
        assert name in said
    assert not Path("runs").exists()
    said = " ".join(run("fit", "t-sne", "rows", code=2).stderr.split())
    assert "t-sne needs all rows at once and takes no stream" in said


def test_a_folder_of_parquet_stays_one_table_for_other_models(run, table):
    write(table, ".parquet")
    run("fit", "k-neighbors-classifier", "rows", "-t", "sold", "-o", "a", "-q")


def test_scores_of_many_files_are_those_of_one_table(run, table):
    write(table, ".csv")
    table.to_csv("all.csv", index=False)
    for model, target, other in (("ridge", "price", "sold"), ("logistic-regression", "sold", "price")):
        run("fit", model, "rows", "-t", target, "--ignore", other, "-o", model, "-q")
        streamed = run("score", model, "rows/*.csv", "--json")
        whole = json.loads(run("score", model, "all.csv", "--json").stdout)
        assert json.loads(streamed.stdout) == pytest.approx(whole, rel=1e-9)
    assert "rows the model was trained on" in run("score", "ridge", "rows").stderr
    refused = run("score", "ridge", "rows", "-t", "none", code=2).stderr
    assert "there is no column 'none'" in " ".join(refused.split())
    Path("rows/3.csv").write_text(Path("rows/3.csv").read_text().replace("yes", "perhaps"))
    refused = " ".join(run("score", "logistic-regression", "rows", code=2).stderr.split())
    assert "class 'perhaps' of rows is unknown to the model, whose classes are no, yes" in refused


def test_a_profile_of_many_files_counts_all_rows(run, table, monkeypatch):
    columns = table[["size", "town", "price"]]
    write(columns, ".csv")
    columns.to_csv("all.csv", index=False)
    whole = json.loads(run("describe", "all.csv", "-t", "price", "--json").stdout)
    assert json.loads(run("describe", "rows", "-t", "price", "--json").stdout) == whole
    monkeypatch.setattr(streams, "SAMPLED", 100)
    found = json.loads(run("describe", "rows/*.csv", "-t", "price", "--json").stdout)
    assert found["rows"] == len(table)
    assert found["remarks"][0].startswith(f"Judged by 100 of the {len(table)} rows, drawn from all files")
    for some, all_of_it in zip(found["columns"], whole["columns"]):
        assert (some["name"], some["kind"], some["missing"]) == tuple(all_of_it[k] for k in ("name", "kind", "missing"))
    assert f"{len(table)} rows, 3 columns" in run("describe", "rows", "-t", "price").stdout
    refused = " ".join(run("describe", "rows", "-t", "prize", code=2).stderr.split())
    assert "there is no target 'prize'" in refused


@pytest.mark.parametrize("command", [["compare", "rows/*.csv", "--generative"], ["transform", "a", "rows"]])
def test_commands_on_one_table_refuse_many_files(run, table, command):
    write(table, ".csv")
    run("fit", "pca", "iris", "-o", "a", "-q")
    said = " ".join(run(*command, code=2).stderr.split())
    assert "names many files, and this command reads one table whole; in Python margin.stream(" in said


def test_a_folder_larger_than_memory_is_refused_before_it_is_read(run, table, monkeypatch):
    write(table, ".parquet")
    monkeypatch.setattr(streams, "memory_bytes", lambda: 10_000)
    run("fit", "pca", "iris", "-o", "a", "-q")
    said = " ".join(run("transform", "a", "rows", code=2).stderr.split())
    assert "more than this machine has" in said
    assert ".sample(100_000).X" in said


def broken(kind, suffix):
    """File 6 (the seventh) as it must not be."""
    path = Path(f"rows/6{suffix}")
    frame = pd.read_parquet(path) if suffix == ".parquet" else pd.read_csv(path)
    if kind == "schema":
        frame = frame.rename(columns={"size": "area"})
    elif kind == "kind":
        frame["size"] = ["wide"] * len(frame)
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    if kind == "truncated":
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    return str(path)


@pytest.mark.parametrize(
    "kind, suffix",
    [("schema", ".parquet"), ("schema", ".csv"), ("kind", ".parquet"), ("kind", ".csv"), ("truncated", ".parquet"),
     ("truncated", ".csv")],
)  # fmt: skip
def test_a_bad_file_is_named_in_one_sentence_and_nothing_is_lost(run, table, kind, suffix):
    columns = table[["size", "town", "price"]]
    write(columns, suffix)
    pattern = f"rows/*{suffix}"
    run("fit", "ridge", pattern, "-t", "price", "-o", "a", "-q")
    run("predict", "a", pattern, "-o", "out.csv")
    before = {path: path.read_bytes() for path in (*Path("a").rglob("*.*"), Path("out.csv")) if path.is_file()}
    path = broken(kind, suffix)
    for command in (("fit", "ridge", pattern, "-t", "price", "-o", "a"), ("predict", "a", pattern, "-o", "out.csv")):
        said = run(*command, code=1).stderr.strip()
        assert "\n" not in said
        assert path in said
    assert before == {path: path.read_bytes() for path in before}
    assert [path.name for path in Path().iterdir() if path.name.startswith(".out")] == []
    run("fit", "ridge", pattern, "-t", "price", "-o", "new", code=1)
    assert not Path("new").exists()


def test_margin_fit_takes_a_stream_and_goes_on(table, tmp_path):
    """The run folder of a stream: a fit that is stopped goes on to the same bits, behind its preparation too."""
    columns = table.drop(columns="price")
    frames = [columns[:100], columns[100:333], columns[333:]]
    rows = margin.stream(frames, "sold")

    def model():
        trees = margin.HistGradientBoostingClassifier(max_iter=6, random_state=0)
        return Pipeline([("prepare", preprocessor(columns.drop(columns="sold"))), ("model", trees)])

    whole = margin.fit(model(), rows, run=tmp_path / "whole")
    seen = []

    class AtTheThird:
        """Asked at every record; says stop at the third."""

        def is_set(self):
            seen.append(1)
            return len(seen) == 3

    margin.fit(model(), rows, run=tmp_path / "part", stop=AtTheThird())
    assert margin.Run.existing(tmp_path / "part").status == "interrupted"
    resumed = margin.fit(model(), rows, run=tmp_path / "part")
    assert (tmp_path / "part/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()
    X = columns.drop(columns="sold")
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(margin.runs.RunError, match="holds another run"):
        margin.fit(model(), margin.stream(frames[:2], "sold"), run=tmp_path / "part")


def test_margin_fit_refuses_a_model_that_takes_no_stream(table, tmp_path):
    rows = margin.stream([table[["size", "price"]].fillna(0.0)], "price")
    with pytest.raises(TypeError, match=r"^KernelRidge: fit needs all rows at once and takes no stream"):
        margin.fit(margin.KernelRidge(), rows, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(TypeError, match=r"^Ridge: fit of a stream takes its targets and nothing else from there"):
        margin.fit(margin.Ridge(), rows, np.zeros(3), run=tmp_path / "other")
