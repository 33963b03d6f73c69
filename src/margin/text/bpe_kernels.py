"""Byte-pair merges compiled by Numba; twins of :mod:`margin.text.bpe_merging`.

Words lie one after another in ``symbols`` and are lists linked by ``before`` and ``after`` (-1 at their ends). Pairs
are numbered as they are met; a hash table with open addressing finds their numbers. Each pair has its count and a chain
of the positions where it was seen, and a heap of (count, pair) is corrected when it is read.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["LONG", "add_pair", "encode_words", "find_pair", "learn_pairs", "spread"]

OPTIONS = {"nogil": True}
LONG = 64


@njit(cache=True, **OPTIONS)
def find_pair(table, keys, left, right):
    """The slot of a pair in ``table``, which holds its number, or -1 where it is not there yet."""
    key = (np.int64(left) << 32) | np.int64(right)
    mask = np.int64(len(table) - 1)
    code = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(code >> np.uint64(32)) & mask
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, **OPTIONS)
def add_pair(table, keys, n, left, right):
    """The table with pair number ``n``, twice as large where it would be more than half full."""
    if 2 * n >= len(table):
        larger = np.full(2 * len(table), -1, dtype=np.int32)
        for number in range(n):
            larger[find_pair(larger, keys, keys[number] >> 32, keys[number] & 0xFFFFFFFF)] = number
        table = larger
    keys[n] = (np.int64(left) << 32) | np.int64(right)
    table[find_pair(table, keys, left, right)] = n
    return table


@njit(cache=True, **OPTIONS)
def precedes(count, key, other_count, other_key):
    """The commoner pair comes first, of equally common ones that with the smaller symbols."""
    return count > other_count or (count == other_count and key < other_key)


@njit(cache=True, **OPTIONS)
def push(heap, size, count, pair, keys):
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if not precedes(count, keys[pair], heap[parent, 0], keys[heap[parent, 1]]):
            break
        heap[i, 0], heap[i, 1] = heap[parent, 0], heap[parent, 1]
        i = parent
    heap[i, 0], heap[i, 1] = count, pair
    return size + 1


@njit(cache=True, **OPTIONS)
def pop(heap, size, keys):
    """Take the first out; the others are in order again."""
    size -= 1
    count, pair = heap[size, 0], heap[size, 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        other = child + 1
        if other < size and precedes(heap[other, 0], keys[heap[other, 1]], heap[child, 0], keys[heap[child, 1]]):
            child = other
        if not precedes(heap[child, 0], keys[heap[child, 1]], count, keys[pair]):
            break
        heap[i, 0], heap[i, 1] = heap[child, 0], heap[child, 1]
        i = child
    heap[i, 0], heap[i, 1] = count, pair
    return size


@njit(cache=True, **OPTIONS)
def note(pair, position, weight, counts, chains, links, n_links):
    """One more occurrence of a pair; a chain is its first and last link, a link a position and the next link."""
    counts[pair] += weight
    links[n_links, 0], links[n_links, 1] = position, -1
    if chains[pair, 0] < 0:
        chains[pair, 0] = n_links
    else:
        links[chains[pair, 1], 1] = n_links
    chains[pair, 1] = n_links


@njit(cache=True, **OPTIONS)
def learn_pairs(symbols, before, after, weights, keys, counts, chains, links, heap, merges, min_frequency):
    """Merge the commonest pair ``len(merges)`` times, or until none occurs ``min_frequency`` times; how many there are.

    ``weights`` says for each position how often its word occurs; ``counts`` are 0 and ``chains`` -1 at first. All
    occurrences of a pair come up in one merge, that of its later symbol, from left to right; so pairs numbered in a
    merge are those whose counts are final and can be put on the heap after it.
    """
    table = np.full(1 << 12, -1, dtype=np.int32)
    n_links = n_pairs = size = done = 0
    for i in range(len(symbols)):
        if after[i] >= 0:
            pair = table[find_pair(table, keys, symbols[i], symbols[after[i]])]
            if pair < 0:
                table = add_pair(table, keys, n_pairs, symbols[i], symbols[after[i]])
                pair = n_pairs
                n_pairs += 1
            note(pair, i, weights[i], counts, chains, links, n_links)
            n_links += 1
    for pair in range(n_pairs):
        size = push(heap, size, counts[pair], pair, keys)
    while size > 0 and done < len(merges):
        count, pair = heap[0, 0], heap[0, 1]
        size = pop(heap, size, keys)
        if count != counts[pair]:  # counted before later merges took some of its occurrences
            if counts[pair] > 0:
                size = push(heap, size, counts[pair], pair, keys)
            continue
        if count < min_frequency:
            break
        left, right = keys[pair] >> 32, keys[pair] & 0xFFFFFFFF
        new, known = 256 + done, n_pairs
        merges[done, 0], merges[done, 1] = left, right
        done += 1
        link = chains[pair, 0]
        while link >= 0:
            i = links[link, 0]
            link = links[link, 1]
            j = after[i]
            if symbols[i] != left or j < 0 or symbols[j] != right:
                continue  # one of the two was merged with another neighbor
            weight, previous, following = weights[i], before[i], after[j]
            counts[pair] -= weight
            if previous >= 0:
                counts[table[find_pair(table, keys, symbols[previous], left)]] -= weight
            if following >= 0:
                counts[table[find_pair(table, keys, right, symbols[following])]] -= weight
                before[following] = i
            symbols[i], symbols[j] = new, -1
            after[i] = following
            for side in range(2):
                start = previous if side == 0 else i
                if start < 0 or after[start] < 0:
                    continue
                a, b = symbols[start], symbols[after[start]]
                made = table[find_pair(table, keys, a, b)]
                if made < 0:
                    table = add_pair(table, keys, n_pairs, a, b)
                    made = n_pairs
                    n_pairs += 1
                note(made, start, weight, counts, chains, links, n_links)
                n_links += 1
        for made in range(known, n_pairs):
            if counts[made] > 0:
                size = push(heap, size, counts[made], made, keys)
    return done


@njit(cache=True, **OPTIONS)
def rank_of(table, keys, symbols, k):
    """The rank of the pair at ``k``, or one above all."""
    pair = table[find_pair(table, keys, symbols[k], symbols[k + 1])]
    return pair if pair >= 0 else np.int32(0x7FFFFFFF)


@njit(cache=True, **OPTIONS)
def encode_words(data, starts, ends, byte_ids, table, keys, made, symbols, first, last):
    """Merge every word ``data[starts[w]:ends[w]]``: again and again its pair of the lowest rank, the leftmost first.

    Pairs are numbered by rank, and pair number r becomes the symbol ``made[r]``. The tokens of word w are then
    ``symbols[first[w]:last[w]]``. A word is searched for its lowest rank before every merge, which is quadratic: words
    of more than ``LONG`` bytes are for the heap of the twin, and are left with ``last[w]`` = -1.
    """
    used = 0
    ranks = np.empty(LONG, dtype=np.int32)
    for w in range(len(starts)):
        n = ends[w] - starts[w]
        first[w] = used
        if n > LONG:
            last[w] = -1
            continue
        word = symbols[used : used + n]
        for k in range(n):
            word[k] = byte_ids[data[starts[w] + k]]
        for k in range(n - 1):
            ranks[k] = rank_of(table, keys, word, k)
        while n > 1:
            at = 0
            for k in range(1, n - 1):
                if ranks[k] < ranks[at]:
                    at = k
            if ranks[at] == 0x7FFFFFFF:
                break
            word[at] = made[ranks[at]]
            for k in range(at + 1, n - 1):
                word[k] = word[k + 1]
                ranks[k - 1] = ranks[k]
            n -= 1
            for k in (at - 1, at):
                if 0 <= k < n - 1:
                    ranks[k] = rank_of(table, keys, word, k)
        used += n
        last[w] = used
    return used


@njit(cache=True, **OPTIONS)
def spread(numbers, symbols, first, last, out):
    """The tokens of all words in order, from those of each different word; how many there are."""
    n = 0
    for number in numbers:
        for k in range(first[number], last[number]):
            out[n] = symbols[k]
            n += 1
    return n
