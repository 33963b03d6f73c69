"""Arrays with an entry for every row of a stream: in memory while they are small, else in a file that nobody sees."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from margin.core.full_disk import is_full_disk

__all__ = ["MOST_BYTES", "RowFile", "is_mapped", "row_array"]

MOST_BYTES = 2**26  # of an array that is kept in memory
ZEROS = bytes(2**20)


def row_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array to be filled: beyond ``MOST_BYTES`` it is mapped from a temporary file, which ends with the array.

    >>> row_array((2, 3), np.uint8).shape
    (2, 3)
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size <= MOST_BYTES:
        return np.empty(shape, dtype=dtype)
    with temporary_file(size) as file:
        _reserve(file, size)
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


class RowFile:
    """Rows that come piece by piece, and in the end are one array that may not be written to.

    >>> rows = RowFile()
    >>> rows.append(np.ones((2, 3))), rows.append(np.zeros((1, 3)))
    (None, None)
    >>> rows.array()[:, 0]
    array([1., 1., 0.])
    """

    def __init__(self) -> None:
        self._pieces: list[np.ndarray] = []
        self._size = self._n_rows = 0
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._n_rows

    def append(self, rows: np.ndarray) -> None:
        """Add rows, all of one shape."""
        first = self._pieces[0] if self._pieces else rows
        if rows.shape[1:] != first.shape[1:]:
            raise ValueError(f"shape; got {first.shape[1:]} and {rows.shape[1:]}")
        self._size += rows.nbytes
        self._n_rows += len(rows)
        self._pieces.append(rows)
        if self._size > MOST_BYTES:
            self._write()

    def array(self) -> np.ndarray:
        """All rows; a file behind them ends with the array."""
        if self._file is None:
            found = self._pieces[0] if len(self._pieces) == 1 else np.concatenate(self._pieces)
            found = found.view()
            found.flags.writeable = False
            return found
        first = self._pieces[0]
        with temporary_file(self._size, self._file) as file:
            file.flush()
            return np.memmap(file, dtype=self._dtype, mode="r", shape=(self._n_rows, *first.shape[1:]))

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="margin-")  # noqa: SIM115 (it is open until the array is made)
            self._dtype = np.result_type(*self._pieces)
        try:
            for rows in self._pieces:
                if not np.can_cast(rows.dtype, self._dtype):
                    raise ValueError(f"type of number; got {self._dtype} and {rows.dtype}")
                self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        except OSError as error:
            self._file.close()
            _refuse_full(error, self._size)
            raise
        self._pieces = [self._pieces[0][:0]]  # which says of what shape the rows are


def is_mapped(array: Any) -> bool:
    """Whether the values of an array lie in a file.

    >>> is_mapped(np.ones(3))
    False
    """
    while array is not None:
        if isinstance(array, np.memmap | mmap.mmap):
            return True
        array = getattr(array, "base", None)
    return False


@contextmanager
def temporary_file(size: int, file: IO[bytes] | None = None) -> Iterator[IO[bytes]]:
    """A file without a name, or ``file``, closed at the end: mapped pages outlive that. No room is one sentence."""
    try:
        with file or tempfile.TemporaryFile(prefix="margin-") as opened:
            yield opened
    except OSError as error:
        _refuse_full(error, size)
        raise


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the room on the disk at once: a mapped page for which none is left ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, len(ZEROS)):
        file.write(ZEROS[: size - start])
    file.flush()


def _refuse_full(error: OSError, size: int) -> None:
    if is_full_disk(error):
        raise OSError(
            error.errno,
            f"a temporary file of {size / 1e6:,.0f} MB or more for the rows does not fit on the disk of "
            f"{tempfile.gettempdir()!r}; the environment variable TMPDIR names another folder",
        ) from None
