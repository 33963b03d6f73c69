"""How much a packed file may become in memory: three kilobytes can hold gigabytes, and a table hardly ever does.

Without a word from the user a file may become ``MOST_TIMES`` as large as it is, in any case ``SMALL``, and never more
than ``LARGEST``. :func:`allow_unpacking` (``margin --max-unpacked``) sets another limit, whatever the ratio.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, BinaryIO

__all__ = ["BROKEN", "Allowance", "allow_unpacking", "check_picture", "gunzip", "unpack"]

MEGABYTE = 10**6
SMALL = 256 * MEGABYTE  # any machine has so much
LARGEST = 4_000 * MEGABYTE
MOST_TIMES = 250  # tables of text become about 10 times, very sparse ones 100 times as large
CHUNK = 2**20
XZ_MEMORY = 512 * MEGABYTE  # what the strongest setting of xz needs is 65; its header may ask for 4,000

#: What the unpackers raise for a file that is damaged or cut short.
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)

_allowed: ContextVar[int | None] = ContextVar("margin_unpacking", default=None)


@contextmanager
def allow_unpacking(n_bytes: int | None) -> Iterator[None]:
    """Let files become ``n_bytes`` large inside the context, however small they are; None: the usual limits.

    >>> with allow_unpacking(10):
    ...     gunzip(gzip.compress(b"eleven byte"))
    Traceback (most recent call last):
    ValueError: it unpacks to more than 0 MB (31 bytes do); if that is right, max_unpacked must be larger
    """
    token = _allowed.set(n_bytes)
    try:
        yield
    finally:
        _allowed.reset(token)


class Allowance:
    """What a file of ``packed`` bytes may still become; spending more is an error.

    Without a word from the user that is at most ``largest`` bytes; None: the ratio alone decides.
    """

    def __init__(self, packed: int, largest: int | None = LARGEST):
        allowed, by_ratio = _allowed.get(), max(SMALL, MOST_TIMES * packed)
        self.packed = packed
        self.limit = allowed if allowed is not None else by_ratio if largest is None else min(largest, by_ratio)
        self.left = self.limit

    def spend(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if self.left < 0:
            raise ValueError(
                f"it unpacks to more than {self.limit // MEGABYTE} MB ({self.packed} bytes do); if that is right, "
                "max_unpacked must be larger"
            )

    def read(self, file: Any) -> bytes:
        """All of ``file``, spent piece by piece."""
        parts = []
        while part := file.read(min(CHUNK, self.left + 1)):
            self.spend(len(part))
            parts.append(part)
        return b"".join(parts)

    def watch(self, file: Any) -> BinaryIO:
        """``file``, which spends what is read from it."""
        return _Watched(file, self)  # type: ignore[return-value]


class _Watched:
    def __init__(self, file: Any, allowance: Allowance):
        self._file, self._budget = file, allowance

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self._budget.read(self._file)
        part = self._file.read(size)
        self._budget.spend(len(part))
        return part


def unpack(data: bytes, kind: str, allowance: Allowance) -> bytes:
    """What is packed in ``data`` as "gzip", "bzip2" or "xz"."""
    if kind == "gzip":
        return allowance.read(gzip.GzipFile(fileobj=io.BytesIO(data)))
    make: Callable[[], Any] = bz2.BZ2Decompressor if kind == "bzip2" else _xz
    return _streams(data, make, allowance)


def gunzip(data: bytes) -> bytes:
    return unpack(data, "gzip", Allowance(len(data)))


def check_picture(width: int, height: int, channels: int, packed: int) -> None:
    """Raise a sentence for a picture that would take more memory than its file may become."""
    Allowance(packed).spend(width * height * channels)


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=XZ_MEMORY)


def _streams(data: bytes, make: Callable[[], Any], allowance: Allowance) -> bytes:
    """Streams one after another; what follows the last and is none is left out, as the standard library does."""
    parts: list[bytes] = []
    while data:
        stream = make()
        try:
            part = stream.decompress(data, CHUNK)
        except BROKEN:
            if parts:
                break
            raise
        while True:
            allowance.spend(len(part))
            parts.append(part)
            if stream.eof or (not part and stream.needs_input):
                break
            part = stream.decompress(b"", CHUNK)
        if not stream.eof:
            raise EOFError("the file ended before the end of what is packed in it")
        data = stream.unused_data
    return b"".join(parts)
