"""``margin compare`` on many files: a sample is compared, and a winner that can learns from all rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import margin
from margin.data.streams import table_stream
from margin.report.reproduce import reproduce_content
from margin.report.winner import judged_content, unseen_rows
from margin.service import streams
from margin.service.comparison import ComparisonRequest, Oversight, all_rows, drawn, open_comparison, run_comparison
from margin.service.comparison.running import prepare
from margin.service.comparison_request import HowToRun

FILES, ROWS, DRAWN = 3, 330, 120
PATTERN = "rows/*.parquet"
FEW = {"folds": 2, "n_jobs": 1, "curve": False, "held_out": 0.2, "ensembles": False}


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 32)
    monkeypatch.setattr(drawn, "MOST_ROWS", DRAWN)
    monkeypatch.setattr(drawn, "LEAST_ROWS", 50)


@pytest.fixture(scope="module")
def table():
    """Numbers with gaps, labels, flags and dates, and targets of both tasks."""
    rng = np.random.default_rng(7)
    size, town = rng.normal(50, 9, ROWS), rng.choice(["north", "south", "west"], ROWS)
    price = 3 * size + 20 * (town == "north") + rng.normal(size=ROWS)
    frame = pd.DataFrame({"size": np.where(rng.random(ROWS) < 0.1, np.nan, size), "town": town, "price": price})
    frame["new"] = rng.random(ROWS) < 0.5
    frame["built"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")
    frame["sold"] = np.where(price + rng.normal(0, 20, ROWS) > 155, "yes", "no")
    return frame


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(table)


def write(frame, suffix=".parquet"):
    Path("rows").mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(len(frame)), FILES)):
        rows, path = frame.iloc[part], f"rows/{i}{suffix}"
        rows.to_parquet(path) if suffix == ".parquet" else rows.to_csv(path, index=False)


def numbers_of(comparison):
    return [(s.model, s.mean, s.low, s.high, s.others) for s in comparison.standings]


@pytest.mark.parametrize("target, model", [("price", "ridge"), ("sold", "gaussian-nb")])
def test_the_board_of_a_sample_is_that_of_one_table(files, table, target, model):
    rows = margin.stream(PATTERN, target)
    sample = rows.sample(DRAWN)
    options = {**FEW, "models": [model], "ignore": ["sold" if target == "price" else "price"]}
    one = margin.compare(sample.X.assign(**{target: sample.y}), target=target, **options)
    many = margin.compare(PATTERN, target=target, **options) if target == "price" else margin.compare(rows, **options)
    assert numbers_of(many) == numbers_of(one)
    assert many.held_out_score == one.held_out_score
    assert f"Compared on {DRAWN} of {ROWS} rows, drawn from all files." in many.remarks
    assert len(many.y) == DRAWN
    assert many.run.manifest["identity"]["data_hash"] == rows.hash()
    assert many.call.startswith("margin.compare('rows/*.parquet', " if target == "price" else "margin.compare(rows, ")
    predicted = many.best_.predict(table[list(many.features)])
    assert set(predicted.tolist()) == {"no", "yes"} if target == "sold" else predicted.dtype == np.float64


def test_a_winner_that_takes_streams_learns_from_all_rows(run, table):
    write(table)
    command = ("compare", PATTERN, "-t", "price", "--ignore", "sold", "-m", "ridge", "-j", "1", "--folds", "2", "-q",
               "--no-report")  # fmt: skip
    told = run(*command).stdout
    said = f"ridge is fitted on all {ROWS} rows; every score is of fits on the {DRAWN} rows drawn."
    assert said in told
    assert f"regression, {DRAWN} of {ROWS} rows, drawn from all files; {DRAWN} rows in 2 random folds" in told
    assert f"ridge fitted on all {ROWS} rows: runs/compare-rows" in told
    assert said in Path("runs/compare-rows/model_card.md").read_text().replace("\\", "")
    kept = open_comparison("runs/compare-rows")
    assert said in str(judged_content(kept, unseen_rows(kept)))
    assert f"which is trained on all {ROWS} rows" in str(reproduce_content(kept))
    rows = margin.stream(PATTERN, "price").select(kept.features)
    best, X = kept.best_, table[list(kept.features)]
    np.testing.assert_array_equal(margin.fit(clone(best), rows, run="fit").predict(X), best.predict(X))
    np.testing.assert_allclose(best.predict(X), clone(best).fit(X, table["price"]).predict(X), rtol=1e-8)
    assert (best.lowest_, best.highest_) == (table["price"].min(), table["price"].max())
    assert best.deviation_ == pytest.approx(np.std(table["price"]), rel=1e-12)


def test_the_held_out_score_is_of_the_winner_fitted_on_the_sample(files):
    found = margin.compare(PATTERN, target="price", models=["ridge"], ignore=["sold"], **FEW)
    assert (
        f"ridge is fitted on all {ROWS} rows; every score, the held-out one too, is of fits on the {DRAWN} rows drawn."
        in str(found)
    )
    X, y, plan = found.X, found.y, found.plan
    assert len(X) == DRAWN
    developed = clone(found.best_).fit(X.iloc[plan.development], y[plan.development])
    error = developed.predict(X.iloc[plan.held_out]) - y[plan.held_out]
    assert found.held_out_score == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)


class AfterRecords:
    """Asked at every record of the last fits; says stop at one of them."""

    def __init__(self, n):
        self.left = n

    def is_set(self):
        self.left -= 1
        return self.left == 0


def test_a_last_fit_that_is_stopped_goes_on_to_the_same_bits(files, table, tmp_path):
    request = ComparisonRequest(
        target="sold", models=("hist-gradient-boosting-classifier",), ignore=("price",), folds=2, curve=False,
        held_out=0, settings=("hist-gradient-boosting-classifier.max_iter=4",),
    )  # fmt: skip

    def compare(out, halt=None):
        how, oversight = HowToRun(n_jobs=1), Oversight(halt=halt)
        return run_comparison(PATTERN, None, request, out=tmp_path / out, how=how, oversight=oversight)

    part = compare("part", AfterRecords(6))  # four of the rows drawn, two of all
    assert part.status == "interrupted"
    assert f"is fitted on the {DRAWN} rows drawn and not on all {ROWS}: that was stopped" in str(part)
    X = part.X
    np.testing.assert_array_equal(part.best_.predict_proba(X), clone(part.best_).fit(X, part.y).predict_proba(X))
    trials = (tmp_path / "part/trials.jsonl").read_text()
    again = compare("part")
    assert again.status == "finished"
    assert (tmp_path / "part/trials.jsonl").read_text() == trials
    whole = margin.fit(clone(again.best_), margin.stream(PATTERN, "sold").select(again.features), run="whole")
    np.testing.assert_array_equal(again.best_.predict_proba(X), whole.predict_proba(X))
    assert len(margin.Run.existing(tmp_path / "part/all_rows").metrics()) == 4
    before = again.run.model_path.stat().st_mtime_ns
    assert compare("part").run.model_path.stat().st_mtime_ns == before
    changed = table.copy()
    changed.loc[ROWS - 1, "size"] += 1.0
    write(changed)
    with pytest.raises(margin.runs.RunError, match="holds another comparison: values in"):
        compare("part")


def test_of_a_folder_larger_than_memory_a_winner_that_takes_no_stream_sees_the_sample(run, table, monkeypatch):
    monkeypatch.setattr(streams, "memory_bytes", lambda: 10_000)
    write(table)
    command = ("compare", "rows", "-t", "price", "--ignore", "sold", "-m", "k-neighbors-regressor", "-j", "1",
               "--folds", "2", "-q", "--no-report")  # fmt: skip
    told = run(*command).stdout
    reason = "k-neighbors-regressor needs all rows at once and takes no stream."
    assert f"k-neighbors-regressor is fitted on the {DRAWN} rows drawn and not on all {ROWS}: {reason}" in told
    assert f"k-neighbors-regressor fitted on the {DRAWN} rows drawn: runs/compare-rows" in told
    facts = json.loads(run(*command, "--json").stdout)
    assert (facts["rows"], facts["rows_in_all"]) == (DRAWN, ROWS)


def test_a_fit_on_all_rows_that_fails_leaves_the_one_on_the_sample(files, monkeypatch):
    fit = margin.runs.Run.fit

    def fail_on_streams(self, model, X, *rest, **options):
        if isinstance(X, table_stream.TableStream):
            raise ValueError("rows/1.parquet: it is gone.")
        return fit(self, model, X, *rest, **options)

    options = {"target": "price", "models": ["ridge"], "ignore": ["sold"], **FEW}
    with monkeypatch.context() as patch:
        patch.setattr(margin.runs.Run, "fit", fail_on_streams)
        found = margin.compare(PATTERN, out="out", **options)
    assert found.status == "finished"
    assert "and not on all 330: the fit on all rows failed: ValueError: rows/1.parquet: it is gone." in str(found)
    np.testing.assert_allclose(found.best_.predict(found.X), clone(found.best_).fit(found.X, found.y).predict(found.X))
    request = ComparisonRequest(**{name: options[name] for name in options if name != "n_jobs"}, budget="60s")
    job = prepare(PATTERN, None, request, Path("out"))
    monkeypatch.setattr(all_rows, "finishing_seconds", lambda *_: 1e5)
    all_rows.fit_on_all_rows(job, stopped=False)
    assert "and not on all 330: that would take about" in str(job.result())
    assert "of the budget are left; --budget gives more time." in str(job.result())
    assert f"ridge is fitted on all {ROWS} rows" in str(margin.compare(PATTERN, out="out", **options))


def test_few_rows_are_compared_whole(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(table, ".csv")
    monkeypatch.setattr(drawn, "MOST_ROWS", 1000)
    found = margin.compare("rows", target="price", models=["ridge"], ignore=["sold"], **FEW)
    assert len(found.y) == ROWS
    assert "drawn" not in str(found)
    assert found.fitted_on == "all rows"


@pytest.mark.parametrize(
    "options, said",
    [
        ({}, r"^compare: rows/\*\.parquet needs a target; name its column with --target\.$"),
        ({"target": "prize"}, r"^stream: there is no column 'prize' \(target\); .*$"),
        ({"target": "price", "y": [1.0]}, r"^compare: rows/\*\.parquet is read block by block with its targets, so y "),
        ({"target": "price", "missing_target": "class"}, r"where no row may lack the target; got 'class'\.$"),
        ({"target": "price", "group": np.arange(3)}, r"^compare: group of rows/\*\.parquet, .*the name of a column\.$"),
    ],
)
def test_what_does_not_act_on_many_files_is_one_sentence(files, options, said):
    with pytest.raises(ValueError, match=said):
        margin.compare(PATTERN, **options)


def test_streams_that_are_no_table(files):
    rows = margin.stream(PATTERN, "price")
    with pytest.raises(ValueError, match=r"^compare: data must be what margin.stream gives; got a MappedStream\.$"):
        margin.compare(rows.map(np.asarray))
    with pytest.raises(ValueError, match=r"^compare: kinds of a stream are given to margin.stream"):
        margin.compare(rows, kinds={"size": "category"})
    with pytest.raises(KeyError, match=r"compare: there is no column 'prize' to predict; "):
        margin.compare(rows, target="prize")


@pytest.mark.parametrize("damage", ["schema", "target", "truncated"])
def test_a_bad_file_is_named_in_one_sentence(run, table, damage):
    columns = table[["size", "town", "price"]]
    write(columns)
    path = Path("rows/2.parquet")
    frame = pd.read_parquet(path)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "schema":
        frame.rename(columns={"size": "area"}).to_parquet(path)
    else:
        frame.assign(price=[np.nan, *frame["price"][1:]]).to_parquet(path)
    said = run("compare", PATTERN, "-t", "price", "-m", "ridge", "-q", code=1).stderr.strip()
    assert "\n" not in said
    assert str(path) in said
    assert not Path("runs").exists()
