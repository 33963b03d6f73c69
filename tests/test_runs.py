"""Runs survive kill -9 at any moment: the resumed result and its metrics file have the same bits."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

import margin
from margin.core.watching import Watcher, watch
from margin.runs import Run, RunError, data_hash, fingerprint

# Each record takes a moment, so that a kill can fall between, inside and while a checkpoint is written.
TRAIN = """
import sys, time
from sklearn.datasets import load_digits, make_blobs
import margin
from margin.core.watching import watch
kind, folder, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
if kind == "classical":
    X, y = make_blobs(3000, 6, centers=12, cluster_std=6.0, random_state=0)[0], None
    model = margin.KMeans(n_clusters=12, n_init=2, max_iter=25, tol=0.0, random_state=3)
else:
    X, y = load_digits(return_X_y=True)
    model = margin.MLPClassifier(hidden_layer_sizes=(16,), dropout=0.2, batch_size=2, max_iter=1, random_state=3)
with watch(lambda estimator, record: time.sleep(pause)):
    margin.fit(model, X, y, run=folder, checkpoint_seconds=0.0)
"""


def start(kind, folder, pause):
    return subprocess.Popen([sys.executable, "-c", TRAIN, kind, str(folder), str(pause)])


def records(folder):
    path = Path(folder) / "metrics.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def kill_after(process, folder, more, delay):
    """SIGKILL once ``more`` further records are there and ``delay`` seconds have passed; False if it ended before."""
    base, deadline = records(folder), time.monotonic() + 120
    while records(folder) < base + more and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    if process.poll() is not None:
        return False
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return True


@pytest.mark.parametrize("kind", ["classical", "deep"])
def test_killed_and_resumed_equals_uninterrupted(kind, tmp_path):
    assert start(kind, tmp_path / "whole", 0.0).wait() == 0
    chance = random.Random(kind)
    kills = 0
    for _ in range(4):
        process = start(kind, tmp_path / "killed", 0.02)
        kills += kill_after(process, tmp_path / "killed", chance.randint(1, 3), chance.uniform(0.0, 0.04))
    assert kills == 4, "the fit must be long enough to be killed several times (inside one epoch)"
    assert json.loads((tmp_path / "killed" / "manifest.json").read_text())["status"] == "running"
    assert start(kind, tmp_path / "killed", 0.0).wait() == 0
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    leftovers = [path.name for path in (tmp_path / "killed").rglob(".*.tmp")]
    assert not leftovers, "temporary files of a killed write are swept"


def kmeans():
    return margin.KMeans(n_clusters=4, n_init=1, max_iter=20, tol=0.0, random_state=0)


def blobs():
    return make_blobs(400, 3, centers=8, cluster_std=3.0, random_state=1)[0]


def test_stop_leaves_a_usable_model_and_the_same_call_continues(tmp_path):
    X, stop = blobs(), threading.Event()
    run = Run.open(tmp_path, {"model": "kmeans"})
    with watch(lambda estimator, record: stop.set() if record.iteration == 2 else None):
        run.fit(kmeans(), X, stop=stop)
    assert run.status == "interrupted"
    run.model().predict(X)
    whole = kmeans().fit(X)
    again = Run.open(tmp_path, {"model": "kmeans"})
    again.fit(kmeans(), X)
    assert again.status == "finished"
    np.testing.assert_array_equal(again.model().cluster_centers_, whole.cluster_centers_)
    assert [line["iteration"] for line in again.metrics()] == list(range(1, len(again.metrics()) + 1))


def test_a_pipeline_iterates_its_last_step(tmp_path):
    X = blobs()
    pipeline = make_pipeline(MinMaxScaler(), kmeans())
    run = Run.open(tmp_path, {"model": "pipeline"})
    run.fit(pipeline, X)
    expected = clone(pipeline).fit(X).predict(X)
    np.testing.assert_array_equal(run.model().predict(X), expected)
    assert run.metrics()


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    X, stop = blobs(), threading.Event()
    run = Run.open(tmp_path, {})
    with watch(lambda estimator, record: stop.set() if record.iteration == 3 else None):
        run.fit(kmeans(), X, stop=stop, checkpoint_seconds=0.0)
    newest = sorted((tmp_path / "checkpoints").iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:100])
    run.fit(kmeans(), X)
    np.testing.assert_array_equal(run.model().cluster_centers_, kmeans().fit(X).cluster_centers_)
    assert len(list((tmp_path / "checkpoints").iterdir())) <= 2


def test_another_identity_is_refused_and_named(tmp_path):
    Run.open(tmp_path, {"model": "a", "data": 1})
    with pytest.raises(RunError, match="holds another run: its data is 1, this one's is 2"):
        Run.open(tmp_path, {"model": "a", "data": 2})


def test_fit_returns_a_fitted_copy_and_reads_it_back(tmp_path):
    X, model = blobs(), kmeans()
    fitted = margin.fit(model, X, run=tmp_path)
    assert not hasattr(model, "cluster_centers_")
    np.testing.assert_array_equal(fitted.cluster_centers_, kmeans().fit(X).cluster_centers_)
    with watch(lambda estimator, record: pytest.fail("a finished run is trained again")):
        again = margin.fit(model, X, run=tmp_path)
    np.testing.assert_array_equal(again.cluster_centers_, fitted.cluster_centers_)


def test_fit_stops_when_asked_and_the_same_call_continues(tmp_path):
    X, stop = blobs(), threading.Event()
    pipeline = make_pipeline(MinMaxScaler(), kmeans())
    with watch(lambda estimator, record: stop.set() if record.iteration == 2 else None):
        first = margin.fit(pipeline, X, run=tmp_path, stop=stop)
    assert margin.Run.existing(tmp_path).status == "interrupted"
    assert first.predict(X).shape == (400,)
    seen = []
    with watch(lambda estimator, record: seen.append(record.iteration)):
        whole = margin.fit(pipeline, X, run=tmp_path)
    assert seen[0] == 3
    np.testing.assert_array_equal(whole.predict(X), clone(pipeline).fit(X).predict(X))


def test_fit_refuses_another_class_other_parameters_and_other_data(tmp_path):
    X, folder = blobs(), tmp_path / "a"
    margin.fit(kmeans(), X, run=folder)
    with pytest.raises(RunError, match=r"its tol is 0.0, this one's is 0.5"):
        margin.fit(kmeans().set_params(tol=0.5), X, run=folder)
    with pytest.raises(RunError, match="its model is 'kmeans', this one's is 'gaussian-mixture'"):
        margin.fit(margin.GaussianMixture(), X, run=folder)
    with pytest.raises(RunError, match="its data_hash is"):
        margin.fit(kmeans(), X + 1, run=folder)
    with pytest.raises(RunError, match="its data_hash is"):
        margin.fit(kmeans(), X, sample_weight=np.ones(len(X)), run=folder)
    pipeline = make_pipeline(MinMaxScaler(), kmeans())
    margin.fit(pipeline, X, run=tmp_path / "b")
    with pytest.raises(RunError, match=r"its kmeans__tol is 0.0, this one's is 0.5"):
        margin.fit(clone(pipeline).set_params(kmeans__tol=0.5), X, run=tmp_path / "b")


def test_fit_takes_weights_and_models_that_do_not_iterate(tmp_path):
    X, y = load_iris(return_X_y=True)
    weights = np.arange(len(y)) % 3 + 0.5
    for name, model in {"iterates": margin.LogisticRegression(), "at once": margin.GaussianNB()}.items():
        for steps in ([], [MinMaxScaler()]):
            fitted = margin.fit(
                make_pipeline(*steps, model), X, y, sample_weight=weights, run=tmp_path / f"{name}{len(steps)}"
            )
            seen = X if not steps else MinMaxScaler().fit_transform(X)
            expected = clone(model).fit(seen, y, sample_weight=weights).predict_proba(seen)
            np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_resources_are_the_callers(tmp_path):
    X, y = load_iris(return_X_y=True)
    bagged = margin.BaggingClassifier(margin.GaussianNB(), n_estimators=2, random_state=0)
    margin.fit(clone(bagged).set_params(n_jobs=2), X, y, run=tmp_path)
    assert Run.existing(tmp_path).model().n_jobs is None
    assert margin.fit(clone(bagged).set_params(n_jobs=1), X, y, run=tmp_path).n_jobs == 1


def test_a_pipeline_with_a_cache_is_fitted_whole(tmp_path):
    X = blobs()
    pipeline = Pipeline([("scale", MinMaxScaler()), ("model", kmeans())], memory=str(tmp_path / "cache"))
    fitted = margin.fit(pipeline, X, run=tmp_path / "run")
    np.testing.assert_array_equal(fitted.predict(X), clone(pipeline).fit(X).predict(X))


def test_progress_bars_and_callbacks_see_the_fit(tmp_path, capsys):
    margin.fit(kmeans(), blobs(), run=tmp_path, progress=True)
    assert "KMeans" in capsys.readouterr().err
    seen = []

    class Ends(Watcher):
        def end(self, estimator):
            seen.append(estimator)

    stop = threading.Event()
    stop.set()
    with watch(Ends()):
        model = margin.fit(kmeans(), blobs(), run=tmp_path / "b", stop=stop)
    assert seen == [model], "watchers see the end of a fit that was stopped"


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None], "c": pd.Categorical(["u", "v"])})
HASHED = {
    "value": FRAME.assign(a=[1.0, 3.0]),
    "missing": FRAME.assign(b=["x", "None"]),
    "name": FRAME.rename(columns={"a": "A"}),
    "order": FRAME[["b", "a", "c"]],
    "type": FRAME.astype({"a": "float32"}),
    "category": FRAME.assign(c=pd.Categorical(["v", "v"])),
    "row": FRAME.iloc[:1],
}


@pytest.mark.parametrize("change", HASHED)
def test_every_change_of_a_frame_changes_its_hash(change):
    assert data_hash(HASHED[change]) != data_hash(FRAME)


def test_data_hash_is_of_content():
    assert data_hash(FRAME) == data_hash(FRAME.copy().set_index(pd.Index(["p", "q"])))
    X = sparse.random(30, 8, density=0.2, random_state=0, format="csr")
    same = [X.tocsc(), X.tocoo(), sparse.csr_array(X), X.copy()]
    same[3].indices = same[3].indices.astype(np.int64)
    assert {data_hash(matrix) for matrix in same} == {data_hash(X)}
    other = X.copy()
    other.data[3] += 1e-12
    assert data_hash(other) != data_hash(X)
    assert data_hash(X) != data_hash(X.toarray())
    assert data_hash([[1, 2]]) == data_hash(np.array([[1, 2]]))
    assert data_hash(np.asfortranarray(X.toarray())) == data_hash(X.toarray())
    assert data_hash([[1.0]], [2.0]) != data_hash([[1.0]], None, [2.0])


def test_a_folder_in_use_is_refused(tmp_path):
    run, X = Run.open(tmp_path, {}), blobs()

    def second(estimator, record):
        with pytest.raises(RunError, match="being trained by another process"):
            Run.existing(tmp_path).fit(kmeans(), X)
        return True

    with watch(second):
        run.fit(kmeans(), X)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"identity": {}}',
        '{"identity": {}, "status": 1}',
        '{"identity": {}, "status": "new", "seconds": "x"}',
    ],
)
def test_a_damaged_manifest_is_named(content, tmp_path):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=r"manifest.json is damaged"):
        Run.existing(tmp_path)


def test_no_run_and_no_model_are_named(tmp_path):
    with pytest.raises(RunError, match="not a run folder"):
        Run.existing(tmp_path)
    with pytest.raises(RunError, match="has no model yet"):
        Run.open(tmp_path, {}).model()


def test_fingerprint_sees_every_parameter():
    assert fingerprint(kmeans()) == fingerprint(kmeans())
    assert fingerprint(kmeans()) != fingerprint(kmeans().set_params(tol=1e-3))
    init = np.zeros((4, 3))
    first = fingerprint(kmeans().set_params(init=init))
    assert first != fingerprint(kmeans().set_params(init=init + 1))


def test_a_fit_refused_before_its_first_record_leaves_nothing(tmp_path):
    model, X = margin.KMeans(n_clusters=2, n_init=1, random_state=0), np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match="NaN"):
        margin.fit(model, np.full((8, 1), np.nan), run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()
    with pytest.raises(ValueError, match="NaN"):
        margin.fit(model, np.full((8, 1), np.nan), run=tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]
    assert len(margin.fit(model, X, run=tmp_path / "run").cluster_centers_) == 2


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("later", "KMeans: state must be what get_state.. returned; got 'later'"),
        ({}, "such a model returned; it has no"),
    ],
)
def test_what_is_no_state_is_refused_in_a_sentence(state, sentence):
    model = margin.KMeans(n_clusters=2, n_init=1, random_state=0)
    with pytest.raises((ValueError, TypeError), match=sentence):
        next(model.iterate(np.arange(8.0)[:, None], state=state))
    assert not hasattr(model, "n_features_in_")
