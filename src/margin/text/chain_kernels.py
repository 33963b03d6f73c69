"""Maxima over all tag sequences of a chain, compiled by Numba; sentences stand one after another.

``scores`` (N, K) holds the score of every tag at every token, ``ends`` where each sentence ends, ``first`` (K,) the
score of a tag at the start, ``last`` at the end, ``between`` (K, K) that of a tag after another. All are logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["best_tags"]

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}


@njit(**OPTIONS)
def best_tags(scores, ends, first, last, between, tags):
    """Viterbi: fills ``tags`` (N,) with the sequence of the largest score, returns the score of each sentence."""
    n_tags = scores.shape[1]
    best, came_from = np.empty(scores.shape), np.zeros(scores.shape, dtype=np.int64)
    found = np.zeros(len(ends))
    start = 0
    for s in range(len(ends)):
        end = ends[s]
        if end == start:
            continue
        for k in range(n_tags):
            best[start, k] = first[k] + scores[start, k]
        for t in range(start + 1, end):
            for k in range(n_tags):
                best[t, k] = -np.inf
                for j in range(n_tags):
                    value = best[t - 1, j] + between[j, k]
                    if value > best[t, k]:
                        best[t, k], came_from[t, k] = value, j
                best[t, k] += scores[t, k]
        tag = 0
        for k in range(n_tags):
            if best[end - 1, k] + last[k] > best[end - 1, tag] + last[tag]:
                tag = k
        found[s] = best[end - 1, tag] + last[tag]
        for t in range(end - 1, start - 1, -1):
            tags[t] = tag
            tag = came_from[t, tag]
        start = end
    return found
