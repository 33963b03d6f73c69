"""Records as the readers of TensorBoard and MLflow find them."""

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
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    records = []
    with margin.watch(margin.track("mlflow", "flowers"), lambda _, record: records.append(record)):
        margin.KMeans(3, random_state=0).fit(X)
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("flowers").experiment_id])
    history = client.get_metric_history(run.info.run_id, "inertia")
    assert [metric.value for metric in history] == [record["inertia"] for record in records]
    assert run.data.params["n_clusters"] == "3"
    assert run.info.status == "FINISHED"


@pytest.mark.parametrize("tool", sorted(TRACKERS))
def test_a_tool_that_is_not_installed_is_named(tool, monkeypatch):
    monkeypatch.setitem(sys.modules, TRACKERS[tool].module, None)
    with pytest.raises(ImportError, match=f"track: {TRACKERS[tool].package} is not installed"):
        margin.track(tool)
