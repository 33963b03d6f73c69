"""A disk that is full for a moment costs nothing but a wait; one that stays full ends with its own error."""

import errno

import pytest

from margin.core import full_disk
from margin.core.full_disk import append_line, is_full_disk, until_written


def no_room():
    return OSError(errno.ENOSPC, "No space left on device")


def test_it_is_tried_again_until_there_is_room():
    problems, waited = [no_room(), no_room()], []

    def write():
        if problems:
            raise problems.pop()
        return "written"

    assert until_written(write, waits=(1.0, 2.0, 4.0), wait=waited.append) == "written"
    assert waited == [1.0, 2.0]


def test_a_disk_that_stays_full_and_any_other_problem_are_errors():
    waited = []

    def write():
        raise no_room()

    with pytest.raises(OSError, match="No space"):
        until_written(write, waits=(1.0, 2.0), wait=waited.append)
    assert waited == [1.0, 2.0]

    def refuse():
        raise PermissionError(errno.EACCES, "Permission denied")

    with pytest.raises(PermissionError):
        until_written(refuse, waits=(1.0,), wait=pytest.fail)
    assert not is_full_disk(ValueError("No space left on device"))


def test_a_line_that_did_not_fit_leaves_no_half_behind(tmp_path, monkeypatch):
    path, real, full = tmp_path / "journal.jsonl", open, [True]

    class Filling:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, text):
            if full:
                full.pop()
                self.file.write(text[: len(text) // 2])
                raise no_room()
            self.file.write(text)

    append_line(path, '{"first": 1}')
    monkeypatch.setattr(full_disk, "open", lambda *args: Filling(real(*args)), raising=False)
    monkeypatch.setattr(full_disk, "until_written", lambda write: until_written(write, wait=lambda _: None))
    append_line(path, '{"second": 2}')
    assert path.read_text() == '{"first": 1}\n{"second": 2}\n'


def test_a_full_disk_is_named_with_the_file_and_other_problems_stay_as_they_are(tmp_path):
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*model\.bin'") as told,
        full_disk.naming(tmp_path / "model.bin"),
    ):
        raise no_room()
    assert is_full_disk(told.value)
    with pytest.raises(OSError, match="'other'"), full_disk.naming(tmp_path / "model.bin"):
        raise OSError(errno.ENOSPC, "No space left on device", "other")
    with pytest.raises(PermissionError), full_disk.naming("model.bin"):
        raise PermissionError(errno.EACCES, "Permission denied")
