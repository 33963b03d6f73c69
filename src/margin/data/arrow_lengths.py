"""How large the buffers of an Arrow file are when they are unpacked, as stands before each of them.

The footer lists blocks (offset, length of the message, length of the body); the message of a block lists its buffers
(offset in the body, length), and a packed one begins with its unpacked length, -1 where it is as it is. Footer and
messages are flatbuffers, of which four fields are read here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["unpacked_lengths"]

MAGIC = b"ARROW1"
DICTIONARY = 2  # kind of a message that has its batch one level deeper
FOOTER_BLOCKS = (2, 3)  # fields of the footer: dictionaries, batches
MESSAGE_KIND, MESSAGE_HEADER = 1, 2
DICTIONARY_BATCH = 1
BATCH_BUFFERS, BATCH_COMPRESSION = 2, 3
BLOCK, BUFFER = struct.Struct("<qi4xq"), struct.Struct("<qq")


@dataclass(frozen=True)
class _Flat:
    """A table of a flatbuffer that begins at ``place`` of ``data``."""

    data: memoryview
    place: int

    def at(self, field: int) -> int | None:
        """Where the value of a field stands; None where it is left out."""
        table = self.place - _number("<i", self.data, self.place)
        if 4 + 2 * field >= _number("<H", self.data, table):
            return None
        offset = _number("<H", self.data, table + 4 + 2 * field)
        return self.place + offset if offset else None

    def table(self, field: int) -> _Flat | None:
        at = self.at(field)
        return None if at is None else _Flat(self.data, at + _number("<I", self.data, at))

    def structs(self, field: int, form: struct.Struct) -> Iterator[tuple[int, ...]]:
        at = self.at(field)
        if at is not None:
            start = at + _number("<I", self.data, at)
            end = start + 4 + _number("<I", self.data, start) * form.size
            yield from form.iter_unpack(self.data[start + 4 : end])


def unpacked_lengths(file: Any) -> Iterator[int]:
    """Bytes of one buffer after the other in the Arrow ``file``, a buffer of bytes; a damaged one is a ValueError."""
    data = memoryview(file)
    if bytes(data[-len(MAGIC) :]) != MAGIC:
        return  # no Arrow file: its reader says so
    try:
        yield from _lengths(data)
    except struct.error as problem:
        raise ValueError(f"its description is damaged: {problem}") from None


def _lengths(data: memoryview) -> Iterator[int]:
    size = _number("<i", data, len(data) - len(MAGIC) - 4)
    footer = _root(data[max(len(data) - len(MAGIC) - 4 - size, 0) :])
    for field in FOOTER_BLOCKS:
        for offset, n_message, n_body in footer.structs(field, BLOCK):
            # A message begins with its length, since version 1.0 after four bytes of ones.
            begins = offset + (8 if bytes(data[offset : offset + 4]) == b"\xff" * 4 else 4)
            body = data[offset + n_message : offset + n_message + n_body]
            yield from _buffers(_root(data[begins : offset + n_message]), body)


def _buffers(message: _Flat, body: memoryview) -> Iterator[int]:
    kind, batch = message.at(MESSAGE_KIND), message.table(MESSAGE_HEADER)
    if batch is not None and kind is not None and message.data[kind] == DICTIONARY:
        batch = batch.table(DICTIONARY_BATCH)
    if batch is None:
        return
    packed = batch.at(BATCH_COMPRESSION) is not None
    for offset, length in batch.structs(BATCH_BUFFERS, BUFFER):
        unpacked = _number("<q", body, offset) if packed and length else -1
        yield length if unpacked < 0 else unpacked


def _root(data: memoryview) -> _Flat:
    return _Flat(data, _number("<I", data, 0))


def _number(form: str, data: memoryview, place: int) -> int:
    if place < 0:
        raise struct.error(f"a number at {place}")
    return int(struct.unpack_from(form, data, place)[0])
