"""Byte-pair merges: what :mod:`margin.text.bpe_merging` does, on arrays.

Words lie one after another in ``symbols`` and are lists linked by ``before`` and ``after`` (-1 at their ends). Pairs
are numbered as they are met; a hash table with open addressing finds their numbers. Each pair has its count and a chain
of the positions where it was seen, and a heap of (count, pair) is corrected when it is read.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstBytes,
    ConstIntegers,
    ConstIntegers32,
    IntegerMatrix,
    IntegerMatrix32,
    Integers,
    Integers32,
    inner,
    kernel,
)
from margin.text.bpe_numbers import FIRST_SLOTS

__all__ = ["PairCounts", "encode_words", "learn_pairs", "number_pairs", "spread"]

LONG = 64
PAIR_FACTOR = 0x9E3779B97F4A7C15
PAIR_BITS = 0xFFFFFFFFFFFFFFFF
LOWER_HALF = 0xFFFFFFFF
NO_RANK = 0x7FFFFFFF


@inner
def _key(left: cython.longlong, right: cython.longlong) -> cython.longlong:
    return (cython.cast(cython.longlong, left) << 32) | cython.cast(cython.longlong, right)


@inner
def _find(
    table: ConstIntegers32, mask: cython.Py_ssize_t, keys: ConstIntegers, key: cython.longlong
) -> cython.Py_ssize_t:
    """The slot of a pair among the first ``mask`` + 1, which holds its number, or -1 where it is not there yet."""
    code: cython.ulonglong = (cython.cast(cython.ulonglong, key) * PAIR_FACTOR) & PAIR_BITS
    slot: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, code >> 32) & mask
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def number_pairs(table: Integers32, size: cython.Py_ssize_t, keys: ConstIntegers, n: cython.Py_ssize_t) -> cython.void:
    """Put the pairs 0 to n - 1 into the first ``size`` slots of ``table``, a power of two."""
    for slot in range(size):
        table[slot] = -1
    for number in range(n):
        table[_find(table, size - 1, keys, keys[number])] = number


@cython.cclass
class PairCounts:
    """Pairs of neighbors: where they stand and how often. All arrays have room for every pair that may come up."""

    table: Integers32  # a hash table, of which ``size`` slots are in use; four times as long as the others
    size: cython.Py_ssize_t
    n: cython.Py_ssize_t
    keys: Integers
    counts: Integers  # zeros at first
    chains: IntegerMatrix32  # the first and the last link; -1 at first
    links: IntegerMatrix32  # a position and the next link
    n_links: cython.Py_ssize_t
    heap: IntegerMatrix  # count and pair
    n_waiting: cython.Py_ssize_t

    def __init__(
        self,
        table: Integers32,
        keys: Integers,
        counts: Integers,
        chains: IntegerMatrix32,
        links: IntegerMatrix32,
        heap: IntegerMatrix,
    ):
        self.table = table
        self.keys = keys
        self.counts = counts
        self.chains = chains
        self.links = links
        self.heap = heap
        self.size = FIRST_SLOTS
        self.n = 0
        self.n_links = 0
        self.n_waiting = 0


@inner
def _find_or_add(pairs: PairCounts, key: cython.longlong) -> cython.Py_ssize_t:
    """The number of a pair."""
    slot = _find(pairs.table, pairs.size - 1, pairs.keys, key)
    number: cython.Py_ssize_t = pairs.table[slot]
    if number < 0:
        number = pairs.n
        pairs.keys[number] = key
        pairs.table[slot] = number
        pairs.n += 1
        if 2 * pairs.n > pairs.size:
            pairs.size *= 2
            number_pairs(pairs.table, pairs.size, pairs.keys, pairs.n)
    return number


@inner
def _precedes(
    count: cython.longlong, key: cython.longlong, other_count: cython.longlong, other_key: cython.longlong
) -> cython.bint:
    """The commoner pair comes first, of equally common ones that with the smaller symbols."""
    return count > other_count or (count == other_count and key < other_key)


@inner
def _push(pairs: PairCounts, pair: cython.Py_ssize_t) -> cython.void:
    i: cython.Py_ssize_t = pairs.n_waiting
    count = pairs.counts[pair]
    key = pairs.keys[pair]
    while i > 0:
        parent = (i - 1) >> 1
        if not _precedes(count, key, pairs.heap[parent, 0], pairs.keys[pairs.heap[parent, 1]]):
            break
        pairs.heap[i, 0] = pairs.heap[parent, 0]
        pairs.heap[i, 1] = pairs.heap[parent, 1]
        i = parent
    pairs.heap[i, 0] = count
    pairs.heap[i, 1] = pair
    pairs.n_waiting += 1


@inner
def _pop(pairs: PairCounts) -> cython.void:
    """Take the first out; the others are in order again."""
    i: cython.Py_ssize_t = 0
    child: cython.Py_ssize_t
    pairs.n_waiting -= 1
    size = pairs.n_waiting
    count = pairs.heap[size, 0]
    pair = pairs.heap[size, 1]
    key = pairs.keys[pair]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _precedes(
            pairs.heap[child + 1, 0],
            pairs.keys[pairs.heap[child + 1, 1]],
            pairs.heap[child, 0],
            pairs.keys[pairs.heap[child, 1]],
        ):
            child += 1
        if not _precedes(pairs.heap[child, 0], pairs.keys[pairs.heap[child, 1]], count, key):
            break
        pairs.heap[i, 0] = pairs.heap[child, 0]
        pairs.heap[i, 1] = pairs.heap[child, 1]
        i = child
    pairs.heap[i, 0] = count
    pairs.heap[i, 1] = pair


@inner
def _note(pairs: PairCounts, key: cython.longlong, position: cython.Py_ssize_t, weight: cython.longlong) -> cython.void:
    """One more occurrence of a pair."""
    pair = _find_or_add(pairs, key)
    link = pairs.n_links
    pairs.counts[pair] += weight
    pairs.links[link, 0] = position
    pairs.links[link, 1] = -1
    if pairs.chains[pair, 0] < 0:
        pairs.chains[pair, 0] = link
    else:
        pairs.links[pairs.chains[pair, 1], 1] = link
    pairs.chains[pair, 1] = link
    pairs.n_links += 1


@inner
def _merge(
    symbols: Integers32,
    before: Integers,
    after: Integers,
    weights: ConstIntegers,
    pairs: PairCounts,
    pair: cython.Py_ssize_t,
    new: cython.int,
) -> cython.void:
    """Make every occurrence of ``pair`` the symbol ``new``, from left to right."""
    left = pairs.keys[pair] >> 32
    right = pairs.keys[pair] & LOWER_HALF
    link: cython.Py_ssize_t = pairs.chains[pair, 0]
    i: cython.Py_ssize_t
    while link >= 0:
        i = pairs.links[link, 0]
        link = pairs.links[link, 1]
        j = after[i]
        if j < 0 or symbols[i] != left or symbols[j] != right:
            continue  # one of the two was merged with another neighbor
        weight = weights[i]
        previous = before[i]
        following = after[j]
        mask = pairs.size - 1
        pairs.counts[pair] -= weight
        if previous >= 0:
            lost = pairs.table[_find(pairs.table, mask, pairs.keys, _key(symbols[previous], left))]
            pairs.counts[lost] -= weight
        if following >= 0:
            lost = pairs.table[_find(pairs.table, mask, pairs.keys, _key(right, symbols[following]))]
            pairs.counts[lost] -= weight
            before[following] = i
        symbols[i] = new
        symbols[j] = -1
        after[i] = following
        if previous >= 0:
            _note(pairs, _key(symbols[previous], new), previous, weight)
        if following >= 0:
            _note(pairs, _key(new, symbols[following]), i, weight)


@kernel
def learn_pairs(
    symbols: Integers32,
    before: Integers,
    after: Integers,
    weights: ConstIntegers,
    pairs: PairCounts,
    merges: IntegerMatrix,
    min_frequency: cython.longlong,
) -> cython.Py_ssize_t:
    """Merge the commonest pair ``len(merges)`` times, or until none occurs ``min_frequency`` times; how many there are.

    ``weights`` says for each position how often its word occurs. All occurrences of a pair come up in one merge, that
    of its later symbol, from left to right; so pairs numbered in a merge are those whose counts are final and can be
    put on the heap after it.
    """
    done: cython.Py_ssize_t = 0
    number_pairs(pairs.table, pairs.size, pairs.keys, 0)
    for i in range(symbols.shape[0]):
        if after[i] >= 0:
            _note(pairs, _key(symbols[i], symbols[after[i]]), i, weights[i])
    for pair in range(pairs.n):
        _push(pairs, pair)
    while pairs.n_waiting > 0 and done < merges.shape[0]:
        count = pairs.heap[0, 0]
        first = pairs.heap[0, 1]
        _pop(pairs)
        if count != pairs.counts[first]:  # counted before later merges took some of its occurrences
            if pairs.counts[first] > 0:
                _push(pairs, first)
            continue
        if count < min_frequency:
            break
        known = pairs.n
        merges[done, 0] = pairs.keys[first] >> 32
        merges[done, 1] = pairs.keys[first] & LOWER_HALF
        _merge(symbols, before, after, weights, pairs, first, 256 + done)
        done += 1
        for made in range(known, pairs.n):
            if pairs.counts[made] > 0:
                _push(pairs, made)
    return done


@inner
def _rank(table: ConstIntegers32, keys: ConstIntegers, symbols: Integers32, at: cython.Py_ssize_t) -> cython.int:
    """The rank of the pair at ``at``, or one above all."""
    pair = table[_find(table, table.shape[0] - 1, keys, _key(symbols[at], symbols[at + 1]))]
    return pair if pair >= 0 else NO_RANK


@kernel
def encode_words(
    data: ConstBytes,
    starts: ConstIntegers,
    ends: ConstIntegers,
    byte_ids: ConstIntegers32,
    table: ConstIntegers32,
    keys: ConstIntegers,
    made: ConstIntegers32,
    symbols: Integers32,
    first: Integers,
    last: Integers,
) -> cython.Py_ssize_t:
    """Merge every word ``data[starts[w]:ends[w]]``: again and again its pair of the lowest rank, the leftmost first.

    Pairs are numbered by rank, and pair number r becomes the symbol ``made[r]``. The tokens of word w are then
    ``symbols[first[w]:last[w]]``. A word is searched for its lowest rank before every merge, which is quadratic: words
    of more than ``LONG`` bytes are for a heap (:func:`margin.text.bpe_merging.merge_symbols`), and are left with
    ``last[w]`` = -1.
    """
    ranks = cython.declare(cython.int[LONG])
    used: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    at: cython.Py_ssize_t
    lowest: cython.int
    for w in range(starts.shape[0]):
        n = ends[w] - starts[w]
        first[w] = used
        if n > LONG:
            last[w] = -1
            continue
        for k in range(n):
            symbols[used + k] = byte_ids[data[starts[w] + k]]
        for k in range(n - 1):
            ranks[k] = _rank(table, keys, symbols, used + k)
        while n > 1:
            at = 0
            lowest = ranks[0]
            for k in range(1, n - 1):
                if ranks[k] < lowest:
                    lowest = ranks[k]
                    at = k
            if lowest == NO_RANK:
                break
            symbols[used + at] = made[lowest]
            for k in range(at + 1, n - 1):
                symbols[used + k] = symbols[used + k + 1]
                ranks[k - 1] = ranks[k]
            n -= 1
            if at > 0:
                ranks[at - 1] = _rank(table, keys, symbols, used + at - 1)
            if at < n - 1:
                ranks[at] = _rank(table, keys, symbols, used + at)
        used += n
        last[w] = used
    return used


@kernel
def spread(
    numbers: ConstIntegers32, symbols: ConstIntegers32, first: ConstIntegers, last: ConstIntegers, out: Integers32
) -> cython.Py_ssize_t:
    """The tokens of all words in order, from those of each different word; how many there are."""
    n: cython.Py_ssize_t = 0
    for i in range(numbers.shape[0]):
        for k in range(first[numbers[i]], last[numbers[i]]):
            out[n] = symbols[k]
            n += 1
    return n
