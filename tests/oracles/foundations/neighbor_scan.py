"""The loops of a neighbor search in NumPy, against which the compiled ones are tested."""

import numpy as np

from margin.foundations.neighbors.all_powers import add_power, powers

BLOCK_VALUES = 2**18  # powers held at once (2 MB)


def pair_powers(
    points: np.ndarray, queries: np.ndarray, of_query: np.ndarray, of_point: np.ndarray, exponent: float
) -> np.ndarray:
    """Powers of the pairs (``of_query[i]``, ``of_point[i]``)."""
    sums = np.zeros(len(of_query))
    for j in range(points.shape[1]):
        add_power(sums, points[of_point, j].astype(np.float64) - queries[of_query, j], exponent)
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
