"""Rows that do not fit: arrays in temporary files, and what is said when the disk has no room."""

import errno
import io
import os

import numpy as np
import pytest

import margin
from margin.core import row_files
from margin.core.row_files import RowFile, is_mapped, row_array


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(row_files, "MOST_BYTES", 100)


def test_many_rows_lie_in_a_file(small):
    rows, pieces = RowFile(), [np.arange(12.0).reshape(4, 3), np.ones((9, 3)), np.full((1, 3), -2.0)]
    for piece in pieces:
        rows.append(piece)
    found = rows.array()
    assert is_mapped(found)
    assert is_mapped(found[2:, :1])
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, np.concatenate(pieces))
    assert is_mapped(row_array((101,), np.uint8))
    assert not is_mapped(row_array((100,), np.uint8))


def test_rows_of_other_shapes_and_types_are_refused(small):
    rows = RowFile()
    rows.append(np.ones((20, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=r"^shape; got \(2,\) and \(3,\)"):
        rows.append(np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"^type of number; got float32 and float64"):
        rows.append(np.ones((20, 2)))


@pytest.fixture
def full_disk(small, monkeypatch):
    """A disk on which nothing can be reserved or written, for files that are larger than memory may hold."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full(io.BytesIO):
        write = truncate = refuse

        def fileno(self):
            return -1

    monkeypatch.setattr(row_files.tempfile, "TemporaryFile", lambda **_: Full())
    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)


@pytest.mark.parametrize("model", [margin.RandomForestRegressor, margin.GradientBoostingRegressor, margin.MLPRegressor])
def test_a_full_disk_is_one_sentence_and_changes_nothing(model, full_disk):
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(1_500, 2))
    rows = margin.stream([pd.DataFrame(X, columns=list("ab")).assign(y=X[:, 0])], "y")
    fitted = model(random_state=0)
    with pytest.raises(
        OSError, match=r"a temporary file of .* MB or more for the rows does not fit .* TMPDIR"
    ) as caught:
        fitted.fit(rows)
    assert caught.value.errno == errno.ENOSPC
    assert not hasattr(fitted, "n_features_in_")
