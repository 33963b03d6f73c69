"""Fits on streams whose parts are read by processes: the file of this process for 1, 2 and 4 of them, and after one is
killed on the way."""

import os
import signal
import sys
import warnings
from functools import partial
from pathlib import Path

import pytest

from margin import catalog
from margin.core.summaries import takes_streams
from margin.data.streams import stream, table_stream
from margin.selection.dask_cluster import DaskParts, cluster_client, on_cluster
from margin.store import save
from margin.trees.boosting.row_group import RowGroup

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from problems import build, ids
from streamed_problems import build_for_streams, streamed_table

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(
    "MARGIN_CLUSTER_TESTS" not in os.environ, reason="takes minutes; `make cluster-test` runs it"
)
TAKES_STREAMS = [entry for entry in catalog.ENTRIES if takes_streams(build(entry))]


@pytest.fixture(scope="module", params=[1, 2, 4])
def client(request):
    with cluster_client(f"local:{request.param}") as client:
        yield client


def in_files(entry, folder):
    """The rows of the entry's problem in four files, which every process reads."""
    X, y = streamed_table(entry)
    frame = X.assign(y=y)
    for i, start in enumerate(range(0, len(frame), 400)):
        frame[start : start + 400].to_parquet(folder / f"{i}.parquet", row_group_size=150)
    return stream(folder, "y")


def file_of(model, data, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(model.fit(data), path)
    return path.read_bytes()


@pytest.mark.parametrize("entry", TAKES_STREAMS, ids=ids)
def test_any_number_of_workers_gives_the_file_of_one_process(entry, client, tmp_path, monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 2**16)  # as the workers have it
    (tmp_path / "rows").mkdir()
    data = in_files(entry, tmp_path / "rows")
    here = file_of(build_for_streams(entry), data, tmp_path / "here")
    assert file_of(build_for_streams(entry), on_cluster(data, client), tmp_path / "there") == here


def die_once(mark, parent, X):
    """Ends the first process but ``parent`` that reads these rows."""
    if os.getpid() != parent and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return X


@pytest.mark.parametrize(
    "name", ["ridge", "kmeans", "hist-gradient-boosting-classifier", "random-forest-classifier", "mlp-classifier"]
)
def test_a_worker_that_dies_costs_nothing_but_time(name, tmp_path):
    entry = catalog.entry(name)
    (tmp_path / "rows").mkdir()
    data, mark = in_files(entry, tmp_path / "rows"), tmp_path / "killed"
    here = file_of(build_for_streams(entry), data, tmp_path / "here")
    with cluster_client("local:2") as client:
        there = on_cluster(data, client).map(partial(die_once, mark, os.getpid()))
        assert file_of(build_for_streams(entry), there, tmp_path / "there") == here
    assert mark.exists()


class DiesOnce(RowGroup):
    """Ends the first process in which it has divided nodes twice."""

    asked = 0

    def divide(self, divisions):
        self.asked += 1
        mark = Path(os.environ["MARGIN_MARK"])
        if self.asked == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().divide(divisions)


class DyingGroups(DaskParts):
    def keep(self, make, items):
        return super().keep(DiesOnce, items)


def test_a_worker_that_dies_with_its_rows_while_trees_grow_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGIN_MARK", str(tmp_path / "killed"))
    entry = catalog.entry("hist-gradient-boosting-classifier")
    (tmp_path / "rows").mkdir()
    data = in_files(entry, tmp_path / "rows")
    here = file_of(build_for_streams(entry), data, tmp_path / "here")
    with cluster_client("local:2") as client:
        there = data.on(DyingGroups(client))
        assert file_of(build_for_streams(entry), there, tmp_path / "there") == here
    assert (tmp_path / "killed").exists()
