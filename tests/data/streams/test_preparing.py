"""A preparation fitted to a stream is the one fitted to its rows, whatever the columns and however the rows are cut."""

import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline

from margin.data import preprocessor
from margin.data.streams import fit_preparation, medians, stream, table_stream
from margin.store import load, save

STEPS = [
    {"numbers": "standard"},
    {"numbers": "unit"},
    {"numbers": "bins", "encode": "ordinal"},
    {"numbers": "plain", "max_categories": 4, "max_terms": 5},
    {"sparse": True, "max_terms": 40},
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 64)
    monkeypatch.setattr(medians, "COLLECTED", 50)  # so that intervals are narrowed more than once


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    n = 701
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), "count": rng.poisson(2, n).astype(float), "wide": 1e9})
    frame["wide"] += rng.normal(size=n)
    frame["small"] = rng.normal(size=n) * 1e-3
    frame["late"] = np.where(np.arange(n) < 400, np.nan, rng.exponential(1e4, n))
    frame["town"] = rng.choice(["Ulm", "Bonn", "Kiel", "Trier", "Köln", "Jena"], n, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    frame["paid"] = pd.array(rng.random(n) < 0.3, dtype="boolean")
    frame["day"] = pd.Timestamp("2023-01-31") + pd.to_timedelta(rng.integers(0, 400, n), "D")
    words = np.array(["red", "blue", "car", "bike", "fast", "slow", "old", "new", "big", "little"])
    frame["note"] = [" ".join(rng.choice(words, 6)) + f" {i}" for i in range(n)]
    for name in ("age", "count", "town", "paid", "day", "note"):
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame


def cuts(frame):
    return [frame[:10], frame[10:500], frame[500:]]


@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_a_preparation_on_a_stream_is_that_of_its_rows(table, steps, tmp_path):
    unfitted = preprocessor(table, **steps)
    by_rows, rows = clone(unfitted).fit(table), stream(cuts(table))
    by_stream = fit_preparation(unfitted, rows)
    save(by_stream, tmp_path / "model")
    expected = dense(by_rows.transform(table))
    streamed = np.concatenate([dense(block.X) for block in rows.map(by_stream.transform)])
    exact = steps.get("numbers", "standard") != "standard"
    for found in (dense(by_stream.transform(table)), dense(load(tmp_path / "model").transform(table)), streamed):
        np.testing.assert_allclose(found, expected, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-9)
    # what the columns are called, and where those of each kind are
    assert list(by_stream.get_feature_names_out()) == list(by_rows.get_feature_names_out())
    assert by_stream[-1].output_indices_ == by_rows[-1].output_indices_
    imputer = by_stream[-1].named_transformers_["number"]
    imputer = imputer if isinstance(imputer, SimpleImputer) else imputer[0]
    other = by_rows[-1].named_transformers_["number"]
    np.testing.assert_array_equal(
        imputer.statistics_, (other if isinstance(other, SimpleImputer) else other[0]).statistics_
    )


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def test_the_cut_of_the_rows_does_not_show(table, tmp_path):
    unfitted = preprocessor(table, numbers="unit")
    for name, frames in (("one", cuts(table)), ("other", [table[:333], table[333:]])):
        save(fit_preparation(unfitted, stream(frames)), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=4_000),
        np.random.default_rng(1).uniform(0, 100, size=4_001),
        np.repeat([3.0, 7.0], 500),
        np.repeat([3.0, 7.0, np.nan], [400, 401, 7]),
        -np.exp(np.random.default_rng(2).normal(scale=50, size=1_001)),
        np.array([-0.0, 0.0, 5e-324, -5e-324]),
        np.full(600, 2.5),
        np.array([1e50]),
        100.0 + np.arange(999) * 1e-13,
    ],
    ids=["normal", "uniform", "two middles", "ties", "scales", "subnormal", "constant", "one", "close"],
)
def test_medians_are_exact(values):
    search = medians.MedianSearch(1)
    passes = 0
    while search.medians is None:
        counts = [search.count(part[:, None]) for part in np.array_split(values, 7) if len(part)]
        total = counts[0]
        for one in counts[1:]:
            total = search.merge(total, one)
        assert sum(len(one.keys) for column in total for one in column) <= 2 * 2**16
        search.advance(total)
        passes += 1
    assert search.medians[0] == np.nanmedian(values)
    assert passes <= 4


def test_a_column_without_a_value_stays(table):
    empty = table[["age"]].assign(none=np.nan)
    unfitted = preprocessor(table.rename(columns={"count": "none"})[["age", "none"]])
    found = fit_preparation(unfitted, stream(cuts(empty), kinds={"none": "number"}))
    np.testing.assert_allclose(found.transform(empty), clone(unfitted).fit(empty).transform(empty), atol=1e-9)


def test_what_is_kept_does_not_grow_with_the_rows(table):
    """Of ten times the rows as much is kept: never more than two blocks and two summaries at a time."""
    sizes = {}
    for times in (2, 20):
        held = Held(table, times)
        fit_preparation(preprocessor(table, max_terms=8), stream(held.frames))
        sizes[times] = held.most
    assert sizes[20] == sizes[2] <= 3


class Held:
    """Frames made when they are asked for, and how many of them live at a time."""

    def __init__(self, table, times):
        self.table, self.times, self.alive, self.most = table, times, 0, 0

    def frames(self):
        for _ in range(self.times):
            frame = self.table.copy()
            self.alive += 1
            self.most = max(self.most, self.alive)
            weakref.finalize(frame, self._gone)
            yield frame

    def _gone(self):
        self.alive -= 1


def test_summaries_are_merged_as_they_come(table):
    """Of a stream of many parts as many summaries live at a time as of one of few parts."""

    class Sum:
        alive, most = 0, 0

        def __init__(self, rows):
            self.rows = rows
            Sum.alive += 1
            Sum.most = max(Sum.most, Sum.alive)
            weakref.finalize(self, self.gone)

        @classmethod
        def gone(cls):
            cls.alive -= 1

    most = []
    for parts in (5, 50):
        Sum.most = Sum.alive
        total = stream([table[:70]] * parts).reduce(lambda block: Sum(len(block.X)), lambda a, b: Sum(a.rows + b.rows))
        assert total.rows == 70 * parts
        most.append(Sum.most)
        del total
    assert most[0] == most[1]


def test_steps_go_to_other_processes(table):
    class Sent:
        def map(self, function, parts):
            for part in parts:
                yield pickle.loads(pickle.dumps(function))(part)

    unfitted, rows = preprocessor(table, numbers="unit"), stream(cuts(table))
    here, there = fit_preparation(unfitted, rows), fit_preparation(unfitted, rows.on(Sent()))
    np.testing.assert_array_equal(here.transform(table), there.transform(table))


@pytest.mark.parametrize("step", [KNNImputer(), SimpleImputer(strategy="mean")])
def test_a_step_that_needs_the_rows_is_named(table, step):
    with pytest.raises(TypeError, match=rf"^{type(step).__name__}.* needs all rows at once and takes no stream"):
        fit_preparation(make_pipeline(step), stream(cuts(table[["age", "small"]])))
