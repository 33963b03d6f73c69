"""Text cut into pieces as by :func:`margin.text.pieces.split_pieces`, on UTF-8 bytes.

Equal pieces get one number, so that each is merged once however often it occurs.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstBytes, ConstIntegers, Integers, Integers32, inner, kernel
from margin.text.bpe_numbers import FIRST_SLOTS, OTHER, WHITE

__all__ = ["number_pieces"]

FIRST_HASH, HASH_FACTOR = 14695981039346656037, 1099511628211  # of FNV-1a
SPREAD = 0x9E3779B97F4A7C15  # brings what differs into the upper half
ALL_BITS = 0xFFFFFFFFFFFFFFFF
INVALID = 4 + OTHER  # a byte that is a character of its own
Hashes = cython.ulonglong[::1]


@inner
def _character(
    data: ConstBytes, i: cython.Py_ssize_t, end: cython.Py_ssize_t, classes: ConstBytes
) -> cython.Py_ssize_t:
    """Four times the length in bytes of the character at ``i``, plus its class; a byte that begins no valid one is a
    character OTHER."""
    first = cython.cast(cython.Py_ssize_t, data[i])
    length: cython.Py_ssize_t
    code: cython.Py_ssize_t
    if first < 128:
        return 4 + cython.cast(cython.Py_ssize_t, classes[first])
    if 0xC2 <= first < 0xE0:
        length = 2
        code = first & 0x1F
    elif 0xE0 <= first < 0xF0:
        length = 3
        code = first & 0x0F
    elif 0xF0 <= first < 0xF5:
        length = 4
        code = first & 0x07
    else:
        return INVALID
    if i + length > end:
        return INVALID
    for k in range(1, length):
        byte = cython.cast(cython.Py_ssize_t, data[i + k])
        if (byte & 0xC0) != 0x80:
            return INVALID
        code = (code << 6) | (byte & 0x3F)
    overlong: cython.bint = (length == 3 and code < 0x800) or (length == 4 and code < 0x10000)
    if overlong or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return INVALID
    return 4 * length + cython.cast(cython.Py_ssize_t, classes[code])


@inner
def _contraction(data: ConstBytes, i: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Bytes of the contraction at the apostrophe ``i``: 's, 't, 'm, 'd, 're, 've or 'll; 0 where there is none."""
    if i + 1 < end:
        a = data[i + 1]
        if a == 115 or a == 116 or a == 109 or a == 100:
            return 2
        if i + 2 < end:
            b = data[i + 2]
            if (a == 114 and b == 101) or (a == 118 and b == 101) or (a == 108 and b == 108):
                return 3
    return 0


@inner
def _piece_end(
    data: ConstBytes, i: cython.Py_ssize_t, end: cython.Py_ssize_t, classes: ConstBytes
) -> cython.Py_ssize_t:
    """Where the piece that begins at ``i`` ends."""
    start: cython.Py_ssize_t = i
    here: cython.Py_ssize_t
    last: cython.Py_ssize_t
    found: cython.Py_ssize_t
    kind: cython.Py_ssize_t
    if data[i] == 39:
        length = _contraction(data, i, end)
        if length > 0:
            return i + length
    if data[i] == 32 and i + 1 < end and not (data[i + 1] < 128 and classes[data[i + 1]] == WHITE):
        start = i + 1  # a space goes to the run that follows it
    found = _character(data, start, end, classes)
    kind = found & 3
    here = start + (found >> 2)
    if kind == WHITE and start > i:  # white after all, but not ASCII
        here = start
        start = i
    last = start  # where the last character of the run begins
    while here < end:
        if data[here] < 128:
            if classes[data[here]] != kind:
                break
            last = here
            here += 1
        else:
            found = _character(data, here, end, classes)
            if (found & 3) != kind:
                break
            last = here
            here += found >> 2
    if kind == WHITE and here < end and last > start:
        return last  # the last of several white characters is left to what follows
    return here


@inner
def _fill(table: Integers32, size: cython.Py_ssize_t, codes: Hashes, n: cython.Py_ssize_t) -> cython.void:
    """The pieces 0 to n - 1 by their hashes in the first ``size`` slots, a power of two."""
    slot: cython.Py_ssize_t
    for k in range(size):
        table[k] = -1
    for number in range(n):
        slot = cython.cast(cython.Py_ssize_t, codes[number] >> 32) & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = number


@inner
def _hash(data: ConstBytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
    code: cython.ulonglong = FIRST_HASH
    for k in range(start, end):
        code = ((code ^ cython.cast(cython.ulonglong, data[k])) * HASH_FACTOR) & ALL_BITS
    return (code * SPREAD) & ALL_BITS


@inner
def _is_equal(
    data: ConstBytes, first: cython.Py_ssize_t, second: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.bint:
    k: cython.Py_ssize_t = 0
    while k < length and data[first + k] == data[second + k]:
        k += 1
    return k == length


@kernel
def number_pieces(
    data: ConstBytes,
    offsets: ConstIntegers,
    classes: ConstBytes,
    numbers: Integers32,
    starts: Integers,
    ends: Integers,
    codes: Hashes,
    table: Integers32,
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Cut the texts ``data[offsets[t]:offsets[t + 1]]``.

    Writes the number of each piece into ``numbers``, and where the first piece with each number begins and ends, and
    its hash. Returns the counts of pieces and of different ones. ``table`` is scratch for a hash table: four times as
    long as ``data`` and at least FIRST_SLOTS. It is used as far as the pieces need, to stay in the cache.
    """
    size: cython.Py_ssize_t = FIRST_SLOTS
    n_pieces: cython.Py_ssize_t = 0
    n_unique: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    found: cython.Py_ssize_t
    _fill(table, size, codes, 0)
    for t in range(offsets.shape[0] - 1):
        i = offsets[t]
        end = offsets[t + 1]
        while i < end:
            stop = _piece_end(data, i, end, classes)
            code = _hash(data, i, stop)
            slot = cython.cast(cython.Py_ssize_t, code >> 32) & (size - 1)
            while True:
                found = table[slot]
                if found < 0:
                    found = n_unique
                    table[slot] = found
                    starts[found] = i
                    ends[found] = stop
                    codes[found] = code
                    n_unique += 1
                    if 2 * n_unique > size:
                        size = 2 * size
                        _fill(table, size, codes, n_unique)
                    break
                length = ends[found] - starts[found]
                if codes[found] == code and length == stop - i and _is_equal(data, starts[found], i, length):
                    break
                slot = (slot + 1) & (size - 1)
            numbers[n_pieces] = found
            n_pieces += 1
            i = stop
    return n_pieces, n_unique
