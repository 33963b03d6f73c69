"""Streams on a Dask cluster of threads in this process; processes and killed ones are in tests of their own."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import margin
from margin.core.streaming import InOrder
from margin.data.streams import stream, table_stream
from margin.selection import dask_cluster
from margin.selection.dask_cluster import cluster_client, on_cluster
from margin.store import save

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 300)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2_000, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=(X[:, 0] + rng.logistic(size=2_000) > 0).astype(int))
    return stream([frame[i : i + 450] for i in range(0, 2_000, 450)], "y")


@pytest.mark.parametrize(
    "model",
    [
        margin.Ridge(),
        margin.LogisticRegression(),
        margin.KMeans(3, random_state=0, max_iter=4),
        margin.LinearDiscriminantAnalysis(),
        margin.RandomForestClassifier(5, random_state=0),
        margin.ExtraTreesClassifier(3, random_state=0, ccp_alpha=0.01),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_cluster_gives_the_bits_of_this_process(model, client, data, tmp_path):
    for name, source in (("here", data), ("there", on_cluster(data, client))):
        save(clone(model).fit(source), tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_an_error_on_a_worker_is_the_sentence_of_this_process(client, data):
    bad = stream([pd.DataFrame({"a": [1.0, np.nan], "y": [1.0, 2.0]})], "y")
    with pytest.raises(ValueError, match=r"^frame 0: .*NaN"):
        margin.Ridge().fit(on_cluster(bad, client))
    assert data.n_rows == on_cluster(data, client).n_rows


def test_a_stream_that_is_sent_away_is_read_there(client, data):
    import pickle

    assert isinstance(pickle.loads(pickle.dumps(on_cluster(data, client).runner)), InOrder)


@pytest.mark.parametrize("wrong", ["local", "local:0", "local:x", "scheduler", 8786])
def test_what_is_no_cluster_is_refused(wrong):
    sentence = "cluster must be an address such as tcp://host:8786, or local:4"
    with pytest.raises(ValueError, match=sentence), cluster_client(wrong):
        pass


def test_a_client_is_used_and_left_open(client):
    with cluster_client(client) as same:
        assert same is client
    assert client.status == "running"
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client; got str"):
        on_cluster(None, "local:2")


def test_a_scheduler_without_workers_is_one_sentence(monkeypatch):
    monkeypatch.setattr(dask_cluster, "PATIENCE", "100ms")
    local = distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1",
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )  # fmt: skip
    with local as cluster, pytest.raises(ValueError, match=r"^cluster: no worker of the scheduler at tcp://"):
        cluster_client(cluster.scheduler_address).__enter__()


def test_a_part_whose_workers_all_end_is_named(data):
    """The future of such a part raises; here one that stands for it."""

    class Ended:
        def result(self):
            raise distributed.KilledWorker("part", None, 4)

        def release(self):
            pass

    class Client:
        def submit(self, *_, **__):
            return Ended()

        def nthreads(self):
            return {"here": 1}

    with pytest.raises(RuntimeError, match=r"^frame 0: every worker of the cluster that had it ended"):
        margin.Ridge().fit(data.on(dask_cluster.DaskParts(Client())))


class Tree(NamedTuple):
    """A piece of work that a test sends."""

    number: int

    @property
    def name(self):
        return f"tree {self.number}"


def add(shared, item):
    return shared + item.number


def test_shared_data_that_are_lost_are_sent_again(client):
    parts, sent = dask_cluster.DaskParts(client), []
    scatter = client.scatter

    class Losing:
        """The first two times the data are gone before they are used."""

        def __getattr__(self, name):
            return getattr(client, name)

        def scatter(self, *data, **how):
            sent.extend(scatter(*data, **how))
            if len(sent) < 3:
                sent[-1].cancel(force=True)
            return sent[-1:]

    parts.client = Losing()
    assert list(parts.map_shared(add, 10, [Tree(i) for i in range(6)])) == [10, 11, 12, 13, 14, 15]
    assert len(sent) == 3


def test_trees_of_a_forest_grow_on_the_cluster(client, data, monkeypatch):
    """One by one, and the fit goes on where it was stopped."""
    grown = []
    share = dask_cluster.DaskParts.map_shared

    def counted(self, function, shared, items):
        for tree in share(self, function, shared, items):
            grown.append(tree)
            yield tree

    monkeypatch.setattr(dask_cluster.DaskParts, "map_shared", counted)
    rows, forest = on_cluster(data, client), margin.RandomForestClassifier(6, random_state=0)
    records = forest.iterate(rows)
    next(records), next(records)
    state = forest.get_state()
    records.close()
    assert len(grown) == 2
    assert all(len(tree.rows) == 0 for tree in grown)  # nothing as long as the table comes back
    resumed = clone(forest)
    for _ in resumed.iterate(rows, state=state):
        pass
    assert len(grown) == 6
    whole = clone(forest).fit(data)
    assert all(np.array_equal(a["value"], b["value"]) for a, b in zip(resumed.trees_, whole.trees_, strict=True))
