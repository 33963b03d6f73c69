"""A damaged or lying checkpoint never crashes and never changes a model: an older one is used, or a sentence said."""

import json
import random
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.datasets import load_iris, make_blobs

import margin
from margin.core.watching import watch
from margin.runs import Run, RunError
from margin.store.models import load_state, save_state

X, Y = load_iris(return_X_y=True)
ROUNDS = 6


def boosting(**settings):
    return margin.GradientBoostingClassifier(**({"n_estimators": ROUNDS, "max_depth": 3, "random_state": 0} | settings))


def interrupted(folder, model, at=3, data=(X, Y)):
    """A fit that was stopped after ``at`` records, with its newest two checkpoints."""
    stop = threading.Event()
    with watch(lambda estimator, record: stop.set() if record.iteration == at else None):
        margin.fit(model, *data, run=folder, stop=stop, checkpoint_seconds=0.0)
    return sorted((Path(folder) / "checkpoints").iterdir())


def content(folder):
    return {path: path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def test_every_flipped_bit_is_noticed_and_the_older_checkpoint_gives_the_same_bits(tmp_path):
    whole = boosting().fit(X, Y)
    _, newest = interrupted(tmp_path, boosting())
    before, chance = content(tmp_path), random.Random(0)
    for _ in range(40):
        for path, written in before.items():
            path.write_bytes(written)
        damaged = bytearray(before[newest])
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        newest.write_bytes(damaged)
        with pytest.warns(UserWarning, match="checkpoint was passed over for the one before it .*0000000003"):
            fitted = margin.fit(boosting(), X, Y, run=tmp_path)
        assert (fitted.decision_function(X) == whole.decision_function(X)).all()
        assert len(Run.existing(tmp_path).metrics()) == ROUNDS


def test_without_a_whole_checkpoint_one_sentence_is_said_and_nothing_is_changed(tmp_path):
    for path in interrupted(tmp_path, boosting()):
        path.write_bytes(path.read_bytes()[:-1])
    before = {path: text for path, text in content(tmp_path).items() if path.name not in ("manifest.json", ".lock")}
    with pytest.raises(RunError, match=r"No checkpoint can be continued \(.*checksum.*; delete .*checkpoints to begin"):
        margin.fit(boosting(), X, Y, run=tmp_path)
    assert all(path.read_bytes() == text for path, text in before.items())


def test_a_checkpoint_of_a_later_version_is_not_taken_for_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("margin.store.container.FORMAT_VERSION", 2)
    interrupted(tmp_path, boosting())
    monkeypatch.undo()
    with pytest.raises(ValueError, match="update Margin"):
        margin.fit(boosting(), X, Y, run=tmp_path)
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def as_earlier_versions_wrote(path):
    """The same file without checksums of itself and of the metrics."""
    data = path.read_bytes()
    manifest = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["margin"])
    del manifest["sha256"], manifest["facts"]["metrics_sha256"]
    path.write_bytes(save_arrays(load_arrays(data), metadata={"margin": json.dumps(manifest)}))


def test_run_folders_of_earlier_versions_continue(tmp_path):
    for path in interrupted(tmp_path, boosting()):
        as_earlier_versions_wrote(path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["metrics_sha256"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    seen = []
    with watch(lambda estimator, record: seen.append(record.iteration)), warnings.catch_warnings(action="error"):
        fitted = margin.fit(boosting(), X, Y, run=tmp_path)
    assert seen == [4, 5, 6]
    assert (fitted.decision_function(X) == boosting().fit(X, Y).decision_function(X)).all()


BLOBS = make_blobs(200, 3, centers=5, cluster_std=3.0, random_state=1)
TEXTS = ["old red car", "new red house", "big old house", "new big car", "red big car"] * 6


def put(*keys, value):
    """A change of a state: the entry at ``keys`` becomes ``value``."""

    def change(state):
        for key in keys[:-1]:
            state = state[key]
        state[keys[-1]] = value

    return change


SVC = {"kernel": "rbf", "C": 100.0, "gamma": 5.0}
LYING = {
    "a child that is its own parent": (boosting(), (X, Y), put("trees", "left", 0, value=0), "children of a node"),
    "a column that is not there": (boosting(), (X, Y), put("trees", "feature", 0, value=9), "n_features"),
    "edges that descend": (boosting(), (X, Y), put("bins", "edges", 0, value=1e9), "must ascend"),
    "more bins than codes": (boosting(), (X, Y), put("bins", "offsets", 1, value=4000), "offsets"),
    "a forest's child outside": (
        margin.RandomForestClassifier(n_estimators=6, random_state=0),
        (X, Y),
        put("trees", 0, "left", 0, value=10**6),
        "children of a node",
    ),
    "a label without a center": (
        margin.KMeans(5, n_init=1, tol=0.0, random_state=0),
        (BLOBS[0], None),
        put("partition", "labels", 3, value=77),
        "labels must be integers from 0 to 4",
    ),
    "a topic that is not there": (
        margin.LatentDirichletAllocation(2, learning_method="gibbs", max_iter=8, random_state=0),
        (np.random.default_rng(0).integers(0, 5, (30, 7)), None),
        put("assigned", 2, value=9),
        "assigned must be integers from 0 to 1",
    ),
    "words that are not there": (
        margin.Word2Vec(4, min_count=1, max_iter=8, random_state=0),
        (TEXTS, None),
        put("outputs", value=np.zeros((1, 4), np.float32)),
        "its outputs is",
    ),
    "more threads than any machine has": (
        margin.MLPClassifier((4,), max_iter=6, random_state=0),
        (X, Y),
        put("threads", value=2**31 - 1),
        "threads of the state must be a number from 1 to 1024; got 2147483647",
    ),
    "inducing points of nowhere": (
        margin.SparseGaussianProcessRegressor(n_inducing=5, random_state=0),
        (X, Y.astype(float)),
        put("points", value=np.full((5, 4), 1e200)),
        "points of the state must lie among the rows of X",
    ),
    "inducing points of other columns": (
        margin.SparseGaussianProcessRegressor(n_inducing=5, random_state=0),
        (X, Y.astype(float)),
        put("points", value=np.zeros((5, 3))),
        r"points of the state must have shape \(m, 4\); got \(5, 3\)",
    ),
    "a column of another table": (
        margin.LogisticRegression(solver="saga", max_iter=20, tol=1e-12),
        (X, Y),
        put("solver", "memory", value=np.zeros((3, 3))),
        "its memory is",
    ),
}


@pytest.mark.parametrize("name", LYING)
def test_a_well_formed_checkpoint_that_lies_is_refused(name, tmp_path):
    model, data, change, match = LYING[name]
    paths = interrupted(tmp_path, model, 3, data)
    for path in paths:
        state, facts = load_state(path)
        change(state)
        save_state(state, path, **facts)
    with pytest.raises(RunError, match=match) as caught:
        margin.fit(model, *data, run=tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b.replace(b'"loss"', b'"lass"', 1), lambda b: b""])
def test_metrics_that_are_not_those_of_the_fit_are_named(damage, tmp_path):
    interrupted(tmp_path, boosting())
    path = tmp_path / "metrics.jsonl"
    written = path.read_bytes()
    path.write_bytes(damage(written))
    with pytest.raises(RunError, match=r"metrics.jsonl is damaged"):
        Run.existing(tmp_path).metrics()
    if damage(written).startswith(written[: written.index(b"\n", written.index(b"\n") + 1) + 1]):  # two whole lines
        with pytest.warns(UserWarning, match="passed over for the one before it .*metrics.jsonl is not what it was"):
            margin.fit(boosting(), X, Y, run=tmp_path)
        assert path.read_bytes().startswith(written)
        assert b"\0" not in path.read_bytes()
    else:
        with pytest.raises(RunError, match=r"No checkpoint can be continued .*metrics.jsonl is not what it was"):
            margin.fit(boosting(), X, Y, run=tmp_path)
        assert path.read_bytes() == damage(written), "nothing is filled with zeros"


def test_metrics_without_a_checksum_that_are_no_records_are_named(tmp_path):
    run = Run.open(tmp_path, {})
    for text in (
        '{"iteration": 1}\n[1]\n',
        '{"iteration"\n',
        "\udce4\n".encode("utf-8", "surrogateescape").decode("latin1"),
    ):
        (tmp_path / "metrics.jsonl").write_text(text)
        with pytest.raises(RunError, match=r"metrics.jsonl is damaged: a line of it is not a record"):
            run.metrics()


def test_a_run_in_a_folder_of_other_programs_leaves_their_files_alone(tmp_path):
    """As ``--out .`` does, in a folder with editors' and browsers' temporary files, two levels deep."""
    others = [".document.tmp", "sub/.~lock.tmp", ".margin-notes.tmp", "checkpoints/.x-0123456789abcdef.tmp"]
    others += ["checkpoints/best.safetensors", ".model.safetensors-0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("theirs")
    ours = [".margin-model.safetensors-0123456789abcdef.tmp", "outputs/svc/.margin-0.npz-0123456789abcdef.tmp"]
    for name in ours:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("cut short")
    margin.fit(boosting(), X, Y, run=tmp_path, checkpoint_seconds=0.0)
    Run.existing(tmp_path).forget_fit()
    assert [name for name in others if (tmp_path / name).read_text() != "theirs"] == []
    assert [name for name in ours if (tmp_path / name).exists()] == [], "what a killed write of ours left is swept"


@pytest.mark.parametrize("name", ["metrics.jsonl", "model.safetensors", "checkpoints/0000000001.safetensors"])
def test_a_new_run_does_not_overwrite_what_belongs_to_no_run(name, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("theirs")
    with pytest.raises(RunError, match=f"holds {Path(name).name}, which belongs to no run; choose another folder"):
        margin.fit(boosting(), X, Y, run=tmp_path)
    assert (tmp_path / name).read_text() == "theirs"


def test_the_lock_follows_no_link_and_empties_no_file(tmp_path):
    theirs = tmp_path / "thesis.txt"
    theirs.write_text("years of work")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(theirs)
    with pytest.raises(RunError, match=r"\.lock cannot be opened as the lock of the run"):
        margin.fit(boosting(), X, Y, run=tmp_path / "run")
    (tmp_path / "run" / ".lock").unlink()
    (tmp_path / "run" / ".lock").write_text("of another program")
    margin.fit(boosting(), X, Y, run=tmp_path / "run")
    assert theirs.read_text() == "years of work"
    assert (tmp_path / "run" / ".lock").read_text() == "of another program"


def test_two_processes_that_begin_one_run(tmp_path, monkeypatch):
    """The second begins while the first writes its manifest: it hears who trains here, and the first goes on."""
    from margin.runs import folder

    write, heard = folder.write_atomically, []

    def interleaved(path, content):
        if not heard:
            heard.append("")
            with pytest.raises(RunError, match="is being trained by another process") as caught:
                margin.fit(boosting(), X, Y, run=tmp_path)
            heard[0] = str(caught.value)
        return write(path, content)

    monkeypatch.setattr(folder, "write_atomically", interleaved)
    margin.fit(boosting(), X, Y, run=tmp_path)
    assert heard[0].startswith(str(tmp_path))
    assert Run.existing(tmp_path).status == "finished"


def test_a_parameter_called_steps_does_not_make_a_pipeline(tmp_path):
    model = margin.NeuralODE((4,), steps=2, max_iter=3, random_state=0)
    series = np.cumsum(np.random.default_rng(0).normal(size=(3, 12, 2)), axis=1)
    fitted = margin.fit(model, series, run=tmp_path)
    assert len(Run.existing(tmp_path).metrics()) == 3
    model.fit(series)
    assert all((fitted.weights_[name] == weights).all() for name, weights in model.weights_.items())


@pytest.mark.parametrize("name", ["manifest.json", "metrics.jsonl", "model.safetensors"])
def test_links_and_folders_in_place_of_files(name, tmp_path):
    run, theirs = tmp_path / "run", tmp_path / "theirs"
    interrupted(run, boosting())
    theirs.write_bytes((run / name).read_bytes())
    before = theirs.read_bytes()
    (run / name).unlink()
    (run / name).symlink_to(theirs)
    with pytest.raises(RunError, match=rf"{name} is a link or a folder"):
        margin.fit(boosting(), X, Y, run=run)
    assert theirs.read_bytes() == before
    (run / name).unlink()
    (run / name).mkdir()
    with pytest.raises(RunError, match=rf"{name} (is a link or a folder|cannot be read)"):
        margin.fit(boosting(), X, Y, run=run)
