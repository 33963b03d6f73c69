"""Maxima over all tag sequences of a chain; sentences stand one after another.

``scores`` (N, K) holds the score of every tag at every token, ``ends`` where each sentence ends, ``first`` (K,) the
score of a tag at the start, ``last`` at the end, ``between`` (K, K) that of a tag after another. All are logarithms.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstIntegers,
    ConstMatrix,
    ConstVector,
    IntegerMatrix,
    Integers,
    Matrix,
    Vector,
    inner,
    kernel,
)

__all__ = ["best_tags"]

LEAST = float("-inf")


@inner
def _extend(
    before: cython.double,
    j: cython.longlong,
    between: ConstMatrix,
    best: Matrix,
    came_from: IntegerMatrix,
    t: cython.Py_ssize_t,
) -> cython.void:
    """Go on from tag ``j``, whose best sequence has the score ``before``, wherever that is better than from earlier
    tags. Bits take the place of a branch, so that it vectorizes."""
    better: cython.longlong
    here = t & 1
    for k in range(between.shape[1]):
        value = before + between[j, k]
        better = cython.cast(cython.longlong, value > best[here, k])
        best[here, k] = value if value > best[here, k] else best[here, k]
        came_from[t, k] ^= (came_from[t, k] ^ j) & -better


@kernel
def best_tags(
    scores: ConstMatrix,
    ends: ConstIntegers,
    first: ConstVector,
    last: ConstVector,
    between: ConstMatrix,
    tags: Integers,
    found: Vector,
    best: Matrix,
    came_from: IntegerMatrix,
) -> cython.void:
    """Viterbi: fills ``tags`` (N,) with the sequence of the largest score, and ``found`` with the score of every
    sentence that is not empty; ``best`` (2, K) and ``came_from``, as long as the longest sentence, are scratch."""
    start: cython.Py_ssize_t = 0
    tag: cython.Py_ssize_t
    n_tags = scores.shape[1]
    for s in range(ends.shape[0]):
        length = ends[s] - start
        if length == 0:
            continue
        for k in range(n_tags):
            best[0, k] = first[k] + scores[start, k]
        for t in range(1, length):
            here = t & 1
            for k in range(n_tags):
                value = best[1 - here, 0] + between[0, k]
                best[here, k] = value if value > LEAST else LEAST
                came_from[t, k] = 0
            for j in range(1, n_tags):
                _extend(best[1 - here, j], j, between, best, came_from, t)
            for k in range(n_tags):
                best[here, k] += scores[start + t, k]
        here = (length - 1) & 1
        tag = 0
        for k in range(n_tags):
            if best[here, k] + last[k] > best[here, tag] + last[tag]:
                tag = k
        found[s] = best[here, tag] + last[tag]
        for t in range(length - 1, 0, -1):
            tags[start + t] = tag
            tag = came_from[t, tag]
        tags[start] = tag
        start = ends[s]
