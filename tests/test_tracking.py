"""Records as the readers of TensorBoard, MLflow and Weights & Biases find them."""

import json
import struct
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

import margin
from margin.runs.tracking import TRACKERS

X, y = load_iris(return_X_y=True)


def test_tensorboard_reads_what_the_fit_recorded(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = margin.MLPClassifier((5,), max_iter=4, random_state=0)
    records = []
    with margin.watch(
        margin.track("tensorboard", tmp_path, name="iris", histograms=True), lambda _, record: records.append(record)
    ):
        model.fit(X, y)
    events = reader.EventAccumulator(str(tmp_path / "iris"))
    events.Reload()
    seen = events.Scalars("train_loss")
    assert [event.step for event in seen] == [record.iteration for record in records]
    np.testing.assert_allclose([event.value for event in seen], [record["train_loss"] for record in records], rtol=1e-6)
    both = [*model.weights_, *(f"gradients/{name}" for name in model.weights_)]
    assert sorted(events.Tags()["histograms"]) == sorted(both)
    assert "max_iter | 4" in str(events.Tensors("parameters/text_summary")[0])


def test_every_fit_is_a_run_of_its_own_and_ends_when_it_fails(tmp_path):
    pytest.importorskip("tensorboard")
    tracker = margin.track("tensorboard", tmp_path)
    with margin.watch(tracker):
        margin.KMeans(2, random_state=0).fit(X)
        margin.KMeans(3, random_state=0).fit(X)
        with pytest.raises(ValueError, match="n_clusters"):
            margin.KMeans(1000, random_state=0).fit(X)
    assert {path.name for path in tmp_path.iterdir()} >= {"KMeans", "KMeans-2"}
    assert tracker._runs == {}


def test_mlflow_reads_what_the_fit_recorded(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow, which the test writes to, is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # later versions ask for it; a database needs SQLAlchemy
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    records = []
    with margin.watch(margin.track("mlflow", "flowers"), lambda _, record: records.append(record)):
        margin.KMeans(3, random_state=0).fit(X)
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("flowers").experiment_id])
    history = client.get_metric_history(run.info.run_id, "inertia")
    assert [metric.value for metric in history] == [record["inertia"] for record in records]
    assert [metric.step for metric in history] == [record.iteration for record in records]
    assert run.data.params["n_clusters"] == "3"
    assert run.info.status == "FINISHED"
    network = margin.MLPClassifier((5,), max_iter=3, random_state=0)
    with margin.watch(margin.track("mlflow", "flowers", name="net", histograms=True)):
        network.fit(X, y)
    (run,) = client.search_runs([run.info.experiment_id], "attributes.run_name = 'net'")
    for name, array in network.weights_.items():
        assert run.data.metrics[f"{name}/largest"] == pytest.approx(np.abs(array).max())
        assert len(client.get_metric_history(run.info.run_id, f"gradients/{name}/deviation")) == 3


def written_records(data):
    """The records of a log in blocks of 32 kB, as LevelDB writes it, behind a header of 7 bytes."""
    block, header, record = 2**15, struct.Struct("<IHB"), b""
    at = header.size
    while at + header.size <= len(data):
        if block - at % block < header.size:
            at += block - at % block
            continue
        _, length, kind = header.unpack_from(data, at)
        record += data[at + header.size : at + header.size + length]
        at += header.size + length
        if kind in (1, 4):  # whole, or its last part
            yield record
            record = b""


def test_weights_and_biases_keeps_what_the_fit_recorded(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="Weights & Biases, which the test writes to, is not installed")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    records = []
    with margin.watch(margin.track("wandb", "flowers", name="iris"), lambda _, record: records.append(record)):
        margin.KMeans(3, random_state=0).fit(X)
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    seen, names = {}, []
    for content in written_records(file.read_bytes()):
        row = Record()
        row.ParseFromString(content)
        if row.WhichOneof("record_type") == "run":
            names.append((row.run.project, row.run.display_name))
        if row.WhichOneof("record_type") == "history":
            items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in row.history.item}
            seen[items["_step"]] = items["inertia"]
    assert ("flowers", "iris") in names
    assert seen == {record.iteration: record["inertia"] for record in records}


@pytest.mark.parametrize("tool", sorted(TRACKERS))
def test_a_tool_that_is_not_installed_is_named(tool, monkeypatch):
    monkeypatch.setitem(sys.modules, TRACKERS[tool].module, None)
    with pytest.raises(ImportError, match=f"track: {TRACKERS[tool].package} is not installed"):
        margin.track(tool)
