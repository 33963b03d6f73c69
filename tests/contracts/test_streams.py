"""Laws of fits on streams: whoever takes one learns what it learns from the rows, with the same bits whoever reads the
parts in which order; whoever does not says so in one sentence."""

import pickle
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from problems import ids
from sklearn.base import clone
from streamed_problems import build_for_streams as build
from streamed_problems import streamed_table as rows

from margin import catalog
from margin.core import row_files
from margin.core.streaming import Stream
from margin.core.summaries import stream_sentence, takes_streams
from margin.data.streams import stream, table_stream
from margin.store import load, save

# Exact after one pass: what the rows give, to 1e-10.
EXACT = {
    *("linear-regression", "ridge", "lasso", "elastic-net", "pca"),
    *("gaussian-nb", "multinomial-nb", "bernoulli-nb", "categorical-nb"),
    *("linear-discriminant-analysis", "quadratic-discriminant-analysis"),
}
# The same file as from the rows in memory.
SAME_FILE = {
    *("gradient-boosting-classifier", "gradient-boosting-regressor"),
    *("hist-gradient-boosting-classifier", "hist-gradient-boosting-regressor"),
    *("random-forest-classifier", "random-forest-regressor", "extra-trees-classifier", "extra-trees-regressor"),
}
# Networks: the same file too, but they take no missing value.
SAME_NETWORK = {
    *("mlp-classifier", "mlp-regressor", "tabular-net-classifier", "tabular-net-regressor"),
    *("neural-classifier", "neural-regressor"),
}
TAKES_STREAMS = [entry for entry in catalog.ENTRIES if takes_streams(build(entry))]
OUTPUTS = ("predict", "predict_proba", "decision_function", "transform")


class AnyOrder:
    """Parts read last first, each by a function and a part that were sent to another process and came back."""

    def map(self, function, parts):
        cloudpickle = pytest.importorskip("cloudpickle")
        sent = [cloudpickle.dumps((function, part)) for part in parts]
        results = {}
        for i in reversed(range(len(parts))):
            its_function, its_part = pickle.loads(sent[i])
            results[i] = cloudpickle.dumps(its_function(its_part))
        return [pickle.loads(results[i]) for i in range(len(parts))]


def streamed(X, y):
    frame = X.assign(y=y)
    return stream([frame[:400], frame[400:410], frame[410:]], "y")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 256)


@pytest.mark.parametrize("entry", [e for e in catalog.ENTRIES if e not in TAKES_STREAMS], ids=ids)
def test_who_takes_no_stream_says_so_and_changes_nothing(entry):
    model = build(entry)
    before = dict(vars(model))
    with pytest.raises(TypeError, match=rf"^{type(model).__name__}: fit needs all rows at once and takes no stream"):
        model.fit(streamed(*rows(entry)))
    assert vars(model) == before


def test_every_model_says_in_a_sentence_whether_it_takes_a_stream():
    says = {entry.name: stream_sentence(catalog.class_of(entry.name)) for entry in catalog.ENTRIES}
    assert {name for name, said in says.items() if "takes a stream" in said} == {entry.name for entry in TAKES_STREAMS}
    assert set(says.values()) == {
        "fit takes a stream in the place of X and y (margin.stream).",
        "fit needs all rows at once and takes no stream.",
    }


@pytest.mark.parametrize("entry", TAKES_STREAMS, ids=ids)
def test_the_order_of_the_workers_does_not_show(entry, tmp_path):
    data = streamed(*rows(entry))
    assert isinstance(data, Stream)
    files = []
    for name, source in (("here", data), ("there", data.on(AnyOrder()))):
        save(build(entry).fit(source), tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


def unreadable_from(last, problem, X):
    if X["a"].iloc[-1] == last:
        raise problem
    return X


@pytest.mark.parametrize("kind", [ValueError, RuntimeError], ids=["file", "worker"])
@pytest.mark.parametrize("entry", TAKES_STREAMS, ids=ids)
def test_a_last_file_that_cannot_be_read_takes_nothing_from_a_fitted_model(entry, kind):
    X, y = rows(entry)
    model = build(entry).fit(streamed(X, y))
    before = dict(vars(model))
    # By its order of columns another table than the one that was learned, so that a name kept too early shows.
    problem = kind("7.parquet: is not there")
    bad = streamed(X[["d", "c", "b", "a"]], y).map(partial(unreadable_from, X["a"].iloc[-1], problem))
    with pytest.raises(kind, match=r"^7\.parquet: is not there"):
        model.fit(bad)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.parametrize("entry", [e for e in TAKES_STREAMS if e.name in EXACT], ids=ids)
def test_a_stream_gives_what_its_rows_give(entry, tmp_path):
    X, y = rows(entry)
    by_stream, by_rows = build(entry).fit(streamed(X, y)), build(entry).fit(X, y)
    save(by_stream, tmp_path / "model")
    for model in (by_stream, load(tmp_path / "model")):
        for name in OUTPUTS:
            if hasattr(by_rows, name):
                found, expected = getattr(model, name)(X), getattr(by_rows, name)(X)
                if expected.dtype.kind in "OU":
                    np.testing.assert_array_equal(found, expected)
                else:
                    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert list(by_stream.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("entry", [e for e in TAKES_STREAMS if e.name in SAME_FILE], ids=ids)
def test_trees_have_the_bits_of_those_grown_in_memory(entry, tmp_path):
    X, y = rows(entry)
    X[X > 9] = np.nan
    for name, model in (("stream", build(entry).fit(streamed(X, y))), ("rows", build(entry).fit(X, y))):
        save(model, tmp_path / name)
    assert (tmp_path / "stream").read_bytes() == (tmp_path / "rows").read_bytes()


@pytest.mark.parametrize("entry", [e for e in TAKES_STREAMS if e.name in SAME_NETWORK], ids=ids)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("most", [row_files.MOST_BYTES, 1_000], ids=["in memory", "in a file"])
def test_networks_have_the_bits_of_those_trained_in_memory(entry, most, tmp_path, monkeypatch):
    X, y = rows(entry)
    model = build(entry).set_params(max_iter=3, early_stopping=True)
    save(clone(model).fit(X, y), tmp_path / "rows")
    monkeypatch.setattr(row_files, "MOST_BYTES", most)
    save(clone(model).fit(streamed(X, y)), tmp_path / "stream")
    assert (tmp_path / "stream").read_bytes() == (tmp_path / "rows").read_bytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_on_a_mapped_table_copies_it_nowhere(tmp_path):
    entry = catalog.entry("mlp-classifier")
    X, y = rows(entry)
    np.save(tmp_path / "table.npy", X.to_numpy())
    for name, table in (("map", np.load(tmp_path / "table.npy", mmap_mode="r")), ("array", X.to_numpy())):
        save(build(entry).set_params(max_iter=2).fit(table, y), tmp_path / name)
    assert (tmp_path / "map").read_bytes() == (tmp_path / "array").read_bytes()


@pytest.mark.parametrize("entry", [e for e in TAKES_STREAMS if hasattr(catalog.class_of(e.name), "iterate")], ids=ids)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_on_a_stream_resumes_with_the_same_bits(entry, tmp_path):
    data = streamed(*rows(entry))
    model = build(entry)
    part = model.iterate(data)
    for _ in range(2):
        if next(part, None) is None:
            pytest.skip("fewer than two iterations")
    state = model.get_state()
    part.close()
    resumed = build(entry)
    for _ in resumed.iterate(data, state=state):
        pass
    whole = build(entry)
    for _ in whole.iterate(data):
        pass
    save(whole, tmp_path / "whole"), save(resumed, tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


@pytest.mark.parametrize("entry", [e for e in TAKES_STREAMS if e.name not in SAME_FILE], ids=ids)
def test_a_bad_value_names_the_part(entry):
    X, y = rows(entry)
    X.loc[405, "b"] = np.nan
    with pytest.raises(ValueError, match=r"^frame 1: .*NaN"):
        build(entry).fit(streamed(X, y))


def test_a_forest_of_few_rows_looks_at_every_threshold(tmp_path):
    forest = next(entry for entry in catalog.ENTRIES if entry.name == "random-forest-regressor")
    X, y = rows(forest)
    for name, data in (("stream", (streamed(X[:600], y[:600]),)), ("rows", (X[:600], y[:600]))):
        save(build(forest).fit(*data), tmp_path / name)
    assert (tmp_path / "stream").read_bytes() == (tmp_path / "rows").read_bytes()


@pytest.mark.parametrize("name", ["random-forest-regressor", "hist-gradient-boosting-regressor"])
def test_a_file_that_grows_during_a_fit_is_named(name, tmp_path):
    entry = catalog.entry(name)
    X, y = rows(entry)
    frame = X.assign(y=y)
    frame[:700].to_parquet(tmp_path / "0.parquet")
    frame[700:].to_parquet(tmp_path / "1.parquet")
    model, passes = build(entry), []

    class GrowsLater:
        """Before the third pass a row is added to the second file."""

        def map(self, function, parts):
            passes.append(function)
            if len(passes) == 3:
                frame[699:].to_parquet(tmp_path / "1.parquet")
            return map(function, parts)

    with pytest.raises(ValueError, match=r"1\.parquet: had 800 rows in the first pass and has 801 now"):
        model.fit(stream(tmp_path, "y").on(GrowsLater()))


def test_what_a_forest_needs_rows_for_is_said():
    forest = next(entry for entry in catalog.ENTRIES if entry.name == "random-forest-classifier")
    with pytest.raises(ValueError, match="oob_score=True, warm_start=True and max_bins=None need all rows at once"):
        build(forest).set_params(oob_score=True).fit(streamed(*rows(forest)))


def test_the_recipe_names_who_takes_a_stream():
    recipe = Path(__file__).parents[2] / "docs/recipes/larger_than_memory.md"
    table = recipe.read_text().split("## Who takes a stream")[1].split("```")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert named == {catalog.class_of(entry.name).__name__ for entry in TAKES_STREAMS}
