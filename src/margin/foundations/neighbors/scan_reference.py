"""The loops of a neighbor search in NumPy: for small tables, and the twin that the compiled ones are tested against.

Sums run over the columns in order, so these functions and ``scan_kernels`` agree to the last bit (a
general exponent excepted, whose powers differ between libraries).
"""

from __future__ import annotations

import numpy as np

__all__ = ["pair_powers", "powers", "scan"]

BLOCK_VALUES = 2**18  # powers held at once (2 MB)


def powers(points: np.ndarray, queries: np.ndarray, exponent: float) -> np.ndarray:
    """Powers of all pairs, (m, n), of ``queries`` (m, d) and ``points`` (n, d)."""
    if exponent == 2.0 and len(queries) < points.shape[1]:
        # Few queries: all columns at once. A sum over the first axis adds one column after the other, as below.
        gaps = np.empty((points.shape[1], len(points)))
        return np.stack([_squares(points, query, gaps) for query in queries])
    sums = np.zeros((len(queries), len(points)))
    for j in range(points.shape[1]):
        _add(sums, points[None, :, j].astype(np.float64) - queries[:, j, None], exponent)
    return sums


def pair_powers(
    points: np.ndarray, queries: np.ndarray, of_query: np.ndarray, of_point: np.ndarray, exponent: float
) -> np.ndarray:
    """Powers of the pairs (``of_query[i]``, ``of_point[i]``)."""
    sums = np.zeros(len(of_query))
    for j in range(points.shape[1]):
        _add(sums, points[of_point, j].astype(np.float64) - queries[of_query, j], exponent)
    return sums


def scan(points: np.ndarray, queries: np.ndarray, k: int, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` smallest powers of every query and their points, (m, k) each; of equal powers the smaller index.

    Points column after column in memory (Fortran order) are read fastest.
    """
    smallest = np.empty((len(queries), k))
    index = np.empty((len(queries), k), dtype=np.int64)
    size = max(1, BLOCK_VALUES // len(points))
    for start in range(0, len(queries), size):
        all_powers = powers(points, queries[start : start + size], exponent)
        bounds = np.partition(all_powers, k - 1, axis=1)[:, k - 1]
        for i, (row, bound) in enumerate(zip(all_powers, bounds), start):
            near = np.flatnonzero(row <= bound)  # k of them, or more with ties: no need to sort the others
            index[i] = near[np.argsort(row[near], kind="stable")[:k]]
            smallest[i] = row[index[i]]
    return smallest, index


def _squares(points: np.ndarray, query: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Squared distances of one query to all points; ``gaps`` (d, n) is overwritten."""
    np.subtract(points.T, query[:, None], out=gaps, dtype=np.float64)
    np.multiply(gaps, gaps, out=gaps)
    return np.add.reduce(gaps, axis=0)


def _add(total: np.ndarray, gap: np.ndarray, exponent: float) -> None:
    if exponent == 2.0:
        total += gap * gap
        return
    size = np.abs(gap)
    if exponent == 1.0:
        total += size
    elif exponent == 3.0:
        total += size * size * size
    elif exponent == np.inf:
        np.maximum(total, size, out=total)
    else:
        total += size**exponent
