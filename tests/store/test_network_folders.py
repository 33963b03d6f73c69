"""Run folders on file systems that cannot do what a local one does: no sync of folders, lost answers, no renames."""

import errno
import os
import stat
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import margin
from margin.core.watching import watch
from margin.runs import Run
from margin.store import container

X, Y = load_iris(return_X_y=True)
REAL = {name: getattr(os, name) for name in ("fsync", "open", "replace")}


def model():
    return margin.MLPClassifier((4,), max_iter=4, random_state=0)


def train(folder, **more):
    return margin.fit(model(), X, Y, run=folder, checkpoint_seconds=0.0, **more)


def assert_is_whole(folder):
    """The run has ended with the bits of a fit in memory, and nothing of a write is left."""
    assert Run.existing(folder).status == "finished"
    expected = model().fit(X, Y)
    assert (margin.load(Path(folder) / "model.safetensors").predict_proba(X) == expected.predict_proba(X)).all()
    assert container.temporary_files(Path(folder)) == []
    assert container.temporary_files(Path(folder) / "checkpoints") == []


def refuse(number, path=None):
    raise OSError(number, os.strerror(number), path)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_that_cannot_sync_folders_is_trained_in(number, tmp_path, monkeypatch):
    def fsync(descriptor):
        return refuse(number) if stat.S_ISDIR(os.fstat(descriptor).st_mode) else REAL["fsync"](descriptor)

    monkeypatch.setattr(container.os, "fsync", fsync)
    train(tmp_path)
    assert_is_whole(tmp_path)


def test_a_folder_that_cannot_be_opened_is_trained_in(tmp_path, monkeypatch):
    def open_(path, *more, **others):
        return refuse(errno.EACCES, path) if os.path.isdir(path) else REAL["open"](path, *more, **others)

    monkeypatch.setattr(container.os, "open", open_)
    train(tmp_path)
    assert_is_whole(tmp_path)


def test_a_disk_that_fails_is_said(tmp_path, monkeypatch):
    def fsync(descriptor):
        return refuse(errno.EIO) if stat.S_ISDIR(os.fstat(descriptor).st_mode) else REAL["fsync"](descriptor)

    monkeypatch.setattr(container.os, "fsync", fsync)
    with pytest.raises(OSError, match="Input/output error"):
        train(tmp_path)


def test_a_rename_whose_answer_was_lost_is_done(tmp_path, monkeypatch):
    """The request is sent again, and the answer to that is that there is no such file any more."""

    def replace(before, after):
        REAL["replace"](before, after)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), before, None, after)

    monkeypatch.setattr(container.os, "replace", replace)
    train(tmp_path)
    assert_is_whole(tmp_path)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EBUSY, errno.EXDEV, errno.ENOENT])
def test_a_rename_that_is_refused_names_the_file_and_the_fit_goes_on_later(number, tmp_path, monkeypatch):
    asked = []

    def replace(before, after):
        asked.append(after)
        if "checkpoints" in os.fspath(after) and len(asked) > 4:
            raise OSError(number, os.strerror(number), before, None, after)
        REAL["replace"](before, after)

    monkeypatch.setattr(container.os, "replace", replace)
    with pytest.raises(OSError, match=r"checkpoints.\d+\.safetensors'$"):
        train(tmp_path)
    monkeypatch.undo()
    begun = []
    with watch(lambda _, record: begun.append(record.iteration)):
        train(tmp_path)
    assert begun[0] > 1, "it goes on from the checkpoint before"
    assert_is_whole(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EBUSY, errno.ESTALE])
def test_an_old_checkpoint_that_cannot_be_removed_ends_no_fit(number, tmp_path, monkeypatch):
    real = Path.unlink

    def unlink(path, missing_ok=False):
        return refuse(number, path) if path.suffix == ".safetensors" else real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    train(tmp_path)
    monkeypatch.undo()
    assert_is_whole(tmp_path)
    assert len(list((tmp_path / "checkpoints").iterdir())) > 2
