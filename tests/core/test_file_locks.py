"""Locks between processes: held, taken by another, and file systems that have none."""

import errno
import os

import numpy as np
import pytest

from margin.core.file_locks import take_lock
from margin.linear import Ridge
from margin.runs import Run, RunError
from margin.service.run_listing import run_status

fcntl = pytest.importorskip("fcntl")


def refusing(number):
    def flock(descriptor, how):
        raise OSError(number, os.strerror(number))

    return flock


def run_in(folder):
    return Run.open(folder, identity={"kind": "fit"})


def test_one_process_has_the_lock_and_another_is_told(tmp_path):
    (tmp_path / "lock").touch()
    with open(tmp_path / "lock") as first, open(tmp_path / "lock") as second:
        assert take_lock(first.fileno()) is True
        assert take_lock(second.fileno(), shared=True) is False


@pytest.mark.parametrize("problem", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
def test_a_folder_that_refuses_locks_is_trained_in_and_that_is_told(tmp_path, monkeypatch, problem):
    run = run_in(tmp_path / "run")
    monkeypatch.setattr(fcntl, "flock", refusing(problem))
    with pytest.warns(UserWarning, match="its file system has no locks: two processes could train it"), run.lock():
        run.fit(Ridge(), np.arange(8.0).reshape(4, 2), np.arange(4.0))
    assert run.status == "finished"
    run.update(status="running")
    assert run_status(run) == "running", "nobody can tell whether it was killed"


def test_a_lock_that_another_process_has_is_still_refused(tmp_path, monkeypatch):
    run = run_in(tmp_path / "run")
    monkeypatch.setattr(fcntl, "flock", refusing(errno.EWOULDBLOCK))
    with pytest.raises(RunError, match="is being trained by another process"), run.lock():
        pass
