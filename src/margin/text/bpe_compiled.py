"""Byte pairs by compiled kernels: cutting, counting, learning and encoding.

The functions of :mod:`margin.text.pieces` and :mod:`margin.text.bpe_merging` say what is computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from margin.text.bpe_merging import Pair, merge_symbols
from margin.text.bpe_numbers import FIRST_SLOTS
from margin.text.pieces import character_classes

__all__ = ["CompiledEncoder", "count_pieces", "learn_merges_compiled"]

CHUNK = 2**20  # characters cut at once: bounds memory, of which cutting takes some 80 bytes for each


class Pieces(NamedTuple):
    """The number of every piece in order, and where the first piece with each number begins and ends."""

    data: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def _hash_table(most: int) -> np.ndarray:
    """Room for a table of ``most`` entries; kernels use as little of it as they need."""
    return np.empty(max(4 * most, FIRST_SLOTS), dtype=np.int32)


def _cut(data: bytes, offsets: np.ndarray, ascii_only: bool) -> Pieces:
    from margin.compiled.text import number_pieces

    array = np.frombuffer(data, dtype=np.uint8)
    numbers = np.empty(len(array), dtype=np.int32)
    starts, ends = np.empty(len(array), dtype=np.int64), np.empty(len(array), dtype=np.int64)
    codes = np.empty(len(array), dtype=np.uint64)
    classes, table = character_classes(ascii_only), _hash_table(len(array))
    n, m = number_pieces(array, offsets, classes, numbers, starts, ends, codes, table)
    return Pieces(array, numbers[:n], starts[:m], ends[:m])


def count_pieces(texts: Iterable[str]) -> dict[bytes, int]:
    """How often each piece occurs in ``texts``; no piece crosses from one text to the next."""
    counts: Counter[bytes] = Counter()
    for group in _groups(texts):
        joined = "".join(group)
        data = joined.encode()
        ascii_only = len(data) == len(joined)
        lengths = [len(text) for text in group] if ascii_only else [len(text.encode()) for text in group]
        pieces = _cut(data, np.cumsum([0, *lengths], dtype=np.int64), ascii_only)
        occurrences = np.bincount(pieces.numbers, minlength=len(pieces.starts)).tolist()
        spans = zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True)
        new = {data[start:end]: count for (start, end), count in zip(spans, occurrences, strict=True)}
        counts.update(new)
    return counts


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= CHUNK:
            yield group
            group, size = [], 0
    if group:
        yield group


def learn_merges_compiled(words: Mapping[bytes, int], n_merges: int, *, min_frequency: int = 1) -> list[Pair]:
    """:func:`margin.text.bpe_merging.learn_merges`, compiled."""
    from margin.compiled.text import PairCounts, learn_pairs

    lengths = np.array([len(word) for word in words], dtype=np.int64)
    symbols = np.frombuffer(b"".join(words), dtype=np.uint8).astype(np.int32)
    n = len(symbols)
    ends = np.cumsum(lengths)
    after, before = np.arange(1, n + 1), np.arange(-1, n - 1)
    after[ends[lengths > 0] - 1] = -1
    before[(ends - lengths)[lengths > 0]] = -1
    most = 3 * n  # pairs, and occurrences of pairs: every merge makes at most two more of them and one symbol less
    table, chains = _hash_table(most), np.full((most, 2), -1, dtype=np.int32)
    links, heap = np.empty((most, 2), dtype=np.int32), np.empty((most, 2), dtype=np.int64)
    pairs = PairCounts(table, np.empty(most, dtype=np.int64), np.zeros(most, dtype=np.int64), chains, links, heap)
    merges, weights = np.empty((n_merges, 2), dtype=np.int64), np.array(list(words.values()), dtype=np.int64)
    done = learn_pairs(symbols, before, after, np.repeat(weights, lengths), pairs, merges, max(min_frequency, 1))
    return [(left, right) for left, right in merges[:done].tolist()]


class CompiledEncoder:
    """Merges as tables for the kernels."""

    def __init__(self, byte_ids: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]):
        from margin.compiled.text import number_pairs

        self.ranks, self.byte_list = ranks, byte_ids
        self.byte_ids = np.array(byte_ids, dtype=np.int32)
        self.keys, self.made = np.full(len(ranks), -1, dtype=np.int64), np.empty(len(ranks), dtype=np.int32)
        for (left, right), (rank, new) in ranks.items():
            self.keys[rank], self.made[rank] = left << 32 | right, new
        self.table = np.empty(2 ** (2 * len(ranks) + 1).bit_length(), dtype=np.int32)
        number_pairs(self.table, len(self.table), self.keys, len(ranks))

    def encode(self, text: str | bytes) -> list[int]:
        """The tokens of a whole text."""
        if isinstance(text, bytes):
            return self._encode_bytes(text, text.isascii())
        ids: list[int] = []
        for part in _parts(text):
            data = part.encode()
            tokens = self._encode_bytes(data, len(data) == len(part))
            if ids:
                ids += tokens
            else:
                ids = tokens  # one part is not copied
        return ids

    def _encode_bytes(self, data: bytes, ascii_only: bool) -> list[int]:
        from margin.compiled.text import encode_words, spread

        pieces = _cut(data, np.array([0, len(data)], dtype=np.int64), ascii_only)
        total = int((pieces.ends - pieces.starts).sum())
        symbols = np.empty(total, dtype=np.int32)
        first, last = np.empty(len(pieces.starts), dtype=np.int64), np.empty(len(pieces.starts), dtype=np.int64)
        used = encode_words(
            *(pieces.data, pieces.starts, pieces.ends, self.byte_ids, self.table, self.keys, self.made),
            *(symbols, first, last),
        )
        for w in np.flatnonzero(last < 0).tolist():
            word = data[pieces.starts[w] : pieces.ends[w]]
            tokens = merge_symbols([self.byte_list[byte] for byte in word], self.ranks)
            symbols[used : used + len(tokens)] = tokens
            first[w], last[w] = used, used + len(tokens)
            used += len(tokens)
        out = np.empty(len(data), dtype=np.int32)  # there are no more tokens than bytes
        n = spread(pieces.numbers, symbols, first, last, out)
        return out[:n].tolist()


def _parts(text: str) -> Iterator[str]:
    """The text in parts that end before a line break after something visible, where a piece always ends."""
    start = 0
    while len(text) - start > CHUNK:
        at = text.find("\n", start + CHUNK)
        while at > 0 and text[at - 1].isspace():
            at = text.find("\n", at + 1)
        if at < 0:
            break
        yield text[start:at]
        start = at
    yield text[start:]
