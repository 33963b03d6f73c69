"""Byte-pair merges as functions: which pairs to merge, learned from counted words, and how a word is merged by them."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

__all__ = ["Pair", "learn_merges", "merge_symbols"]

Pair = tuple[int, int]


def learn_merges(words: Mapping[bytes, int], n_merges: int, *, min_frequency: int = 1) -> list[Pair]:
    """The pairs merged when, ``n_merges`` times, the commonest pair of neighbors becomes a new symbol.

    Symbols 0 to 255 are bytes and the i-th merge makes symbol ``256 + i``. Pairs are counted over all words, each as
    often as it occurs; of equally common pairs the one with the smaller symbols is taken. The list ends early when no
    pair occurs ``min_frequency`` times.

    >>> learn_merges({b"low": 5, b"lower": 2, b"newest": 6}, 2)
    [(119, 101), (108, 111)]
    """
    symbols = [list(word) for word in words]
    counts = list(words.values())
    pair_counts: defaultdict[Pair, int] = defaultdict(int)
    words_with: defaultdict[Pair, set[int]] = defaultdict(set)
    for i, word in enumerate(symbols):
        for pair in itertools.pairwise(word):
            pair_counts[pair] += counts[i]
            words_with[pair].add(i)
    heap = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < n_merges:
        negative, pair = heapq.heappop(heap)
        if -negative != pair_counts[pair]:  # counted before later merges took some of its occurrences
            if pair_counts[pair] > 0:
                heapq.heappush(heap, (-pair_counts[pair], pair))
            continue
        if -negative < max(min_frequency, 1):
            break
        new = 256 + len(merges)
        merges.append(pair)
        changed: set[Pair] = set()
        for i in words_with.pop(pair):
            before, after = symbols[i], _merge(symbols[i], pair, new)
            for old in itertools.pairwise(before):
                pair_counts[old] -= counts[i]
            for made in itertools.pairwise(after):
                pair_counts[made] += counts[i]
                if new in made:
                    words_with[made].add(i)
                    changed.add(made)
            symbols[i] = after
        for made in changed:
            heapq.heappush(heap, (-pair_counts[made], made))
    return merges


def _merge(word: list[int], pair: Pair, new: int) -> list[int]:
    """``word`` with ``pair``, wherever it stands, as the symbol ``new``; from the left, occurrences do not overlap."""
    merged, i = [], 0
    while i < len(word):
        if word[i] == pair[0] and i + 1 < len(word) and word[i + 1] == pair[1]:
            merged.append(new)
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return merged


def merge_symbols(symbols: Sequence[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """A word after all merges: again and again the pair of the lowest rank, the leftmost of several, is merged.

    ``ranks[pair]`` holds the rank and the merged symbol. A heap over a linked list, so a word of n symbols costs
    O(n log n), however long.

    >>> merge_symbols(list(b"aaab"), {(97, 97): (0, 256), (256, 97): (1, 257)})
    [257, 98]
    """
    here = list(symbols)
    after = list(range(1, len(here) + 1))
    before = list(range(-1, len(here) - 1))
    heap = [(*ranks[pair], i) for i, pair in enumerate(itertools.pairwise(here)) if pair in ranks]
    heapq.heapify(heap)
    gone = -1
    while heap:
        rank, new, i = heapq.heappop(heap)
        j = after[i]
        if here[i] == gone or j >= len(here) or ranks.get((here[i], here[j]), (-1, -1))[0] != rank:
            continue  # one of the two was merged with another neighbor
        here[i], here[j] = new, gone
        after[i] = after[j]
        if after[i] < len(here):
            before[after[i]] = i
            if (new, here[after[i]]) in ranks:
                heapq.heappush(heap, (*ranks[new, here[after[i]]], i))
        if before[i] >= 0 and (here[before[i]], new) in ranks:
            heapq.heappush(heap, (*ranks[here[before[i]], new], before[i]))
    return [symbol for symbol in here if symbol != gone]
