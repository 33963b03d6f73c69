"""A disk that is full for a moment: write again a little later; if it stays full, that is the disk's fault alone.

Whoever catches every exception of a model must let this one through: it says nothing about the model.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

__all__ = ["append_line", "is_full_disk", "naming", "until_written"]

T = TypeVar("T")

FULL = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT") if hasattr(errno, name)}
#: Seconds between one attempt and the next.
WAITS = (0.2, 1.0, 3.0)


def is_full_disk(error: BaseException) -> bool:
    """Whether it is the disk, or a quota on it, that had no room."""
    return isinstance(error, OSError) and error.errno in FULL


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """A write that a full disk refuses says of which file: the system does so only where a file is opened."""
    try:
        yield
    except OSError as error:
        if is_full_disk(error) and error.filename is None:
            raise OSError(error.errno, error.strerror or "No space left on device", os.fspath(path)) from None
        raise


def until_written(
    write: Callable[[], T], waits: Sequence[float] = WAITS, wait: Callable[[float], None] = time.sleep
) -> T:
    """What ``write`` returns; on a full disk it is called again after each of ``waits``, then the error stays."""
    for seconds in waits:
        try:
            return write()
        except OSError as error:
            if not is_full_disk(error):
                raise
        wait(seconds)
    return write()


def append_line(path: Path, line: str) -> None:
    """Add a line to a file; one that did not fit is taken away again, so that the next begins on its own."""
    until_written(lambda: _append(path, line))


def _append(path: Path, line: str) -> None:
    length = path.stat().st_size if path.exists() else 0
    try:
        with naming(path), open(path, "a") as file:
            file.write(line + "\n")
    except OSError:
        if path.exists() and path.stat().st_size > length:
            os.truncate(path, length)
        raise
