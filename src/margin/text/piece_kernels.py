"""Text cut into pieces as by :func:`margin.text.pieces.split_pieces`, on UTF-8 bytes, compiled by Numba.

Equal pieces get one number, so that each is merged once however often it occurs.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["LETTER", "NUMBER", "OTHER", "WHITE", "number_pieces"]

OTHER, WHITE, LETTER, NUMBER = 0, 1, 2, 3

OPTIONS = {"nogil": True}


@njit(cache=True, **OPTIONS)
def character(data, i, end, classes):
    """Class and length in bytes of the character at ``i``; a byte that begins no valid one is a character OTHER."""
    first = np.int64(data[i])
    if first < 128:
        return np.int64(classes[first]), np.int64(1)
    if 0xC2 <= first < 0xE0:
        length, code = 2, first & 0x1F
    elif 0xE0 <= first < 0xF0:
        length, code = 3, first & 0x0F
    elif 0xF0 <= first < 0xF5:
        length, code = 4, first & 0x07
    else:
        return np.int64(0), np.int64(1)
    if i + length > end:
        return np.int64(0), np.int64(1)
    for k in range(1, length):
        byte = np.int64(data[i + k])
        if byte & 0xC0 != 0x80:
            return np.int64(0), np.int64(1)
        code = (code << 6) | (byte & 0x3F)
    overlong = (length == 3 and code < 0x800) or (length == 4 and code < 0x10000)
    if overlong or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return np.int64(0), np.int64(1)
    return np.int64(classes[code]), np.int64(length)


@njit(cache=True, **OPTIONS)
def contraction(data, i, end):
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


@njit(cache=True, **OPTIONS)
def piece_end(data, i, end, classes):
    """Where the piece that begins at ``i`` ends."""
    if data[i] == 39:
        length = contraction(data, i, end)
        if length:
            return i + length
    start = i
    if data[i] == 32 and i + 1 < end and not (data[i + 1] < 128 and classes[data[i + 1]] == 1):
        start = i + 1  # a space goes to the run that follows it
    if data[start] < 128:
        kind, length = np.int64(classes[data[start]]), np.int64(1)
    else:
        kind, length = character(data, start, end, classes)
        if kind == 1 and start > i:  # white after all, but not ASCII
            start, length = i, np.int64(1)
    here = start + length
    last = start  # where the last character of the run begins
    while here < end:
        if data[here] < 128:
            if classes[data[here]] != kind:
                break
            last = here
            here += 1
        else:
            other, width = character(data, here, end, classes)
            if other != kind:
                break
            last = here
            here += width
    if kind == 1 and here < end and last > start:
        return last  # the last of several white characters is left to what follows
    return here


@njit(cache=True, **OPTIONS)
def grown(table, codes, n):
    """A table twice as large with the pieces 0 to n - 1 by their hashes."""
    larger = np.full(2 * len(table), -1, dtype=np.int32)
    mask = np.int64(len(larger) - 1)
    for number in range(n):
        slot = np.int64(codes[number] >> np.uint64(32)) & mask
        while larger[slot] >= 0:
            slot = (slot + 1) & mask
        larger[slot] = number
    return larger


@njit(cache=True, **OPTIONS)
def number_pieces(data, offsets, classes, numbers, starts, ends, codes):
    """Cut the texts ``data[offsets[t]:offsets[t + 1]]``.

    Writes the number of each piece into ``numbers``, and where the first piece with each number begins and ends, and
    its hash. Returns the counts of pieces and of different ones.
    """
    table = np.full(
        1 << 14, -1, dtype=np.int32
    )  # grows with the pieces, so that it stays in the cache as long as it can
    mask = np.int64(len(table) - 1)
    n_pieces = n_unique = 0
    for t in range(len(offsets) - 1):
        i, end = offsets[t], offsets[t + 1]
        while i < end:
            stop = piece_end(data, i, end, classes)
            code = np.uint64(14695981039346656037)  # FNV-1a
            for k in range(i, stop):
                code = (code ^ np.uint64(data[k])) * np.uint64(1099511628211)
            code *= np.uint64(0x9E3779B97F4A7C15)
            slot = np.int64(code >> np.uint64(32)) & mask
            while True:
                found = table[slot]
                if found < 0:
                    table[slot] = found = n_unique
                    starts[found], ends[found], codes[found] = i, stop, code
                    n_unique += 1
                    if 2 * n_unique > len(table):
                        table = grown(table, codes, n_unique)
                        mask = np.int64(len(table) - 1)
                    break
                first = starts[found]
                if codes[found] == code and ends[found] - first == stop - i:
                    k = 0
                    while k < stop - i and data[first + k] == data[i + k]:
                        k += 1
                    if k == stop - i:
                        break
                slot = (slot + 1) & mask
            numbers[n_pieces] = found
            n_pieces += 1
            i = stop
    return n_pieces, n_unique
