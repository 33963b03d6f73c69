"""Log-likelihood scores of many families of one child in compiled code."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["log_likelihoods_with_one_more"]


@njit(cache=True)
def log_likelihoods_with_one_more(
    columns: np.ndarray,
    sizes: np.ndarray,
    family: np.ndarray,
    n_states: int,
    n_cells: int,
    others: np.ndarray,
    k_log_k: np.ndarray,
) -> np.ndarray:
    """Largest log-likelihood of a child given its parents and one more, for each of ``others``.

    ``columns`` (variables, rows) holds states; ``family`` is the position of every row in the table of parents and
    child, (n_cells,), of which the child with ``n_states`` is the last axis; ``k_log_k`` has k log k for every count.
    """
    found = np.empty(len(others))
    last = len(others) - 1
    # Four tables at a time: equal rows after each other would wait for one another at a single counter.
    for first in range(0, len(others), 4):
        a, b, c, d = (
            others[first],
            others[min(first + 1, last)],
            others[min(first + 2, last)],
            others[min(first + 3, last)],
        )
        at_a, at_b, at_c, at_d = columns[a], columns[b], columns[c], columns[d]
        counts = np.zeros((4, n_cells * max(sizes[a], sizes[b], sizes[c], sizes[d])), dtype=np.int32)
        of_a, of_b, of_c, of_d = counts[0], counts[1], counts[2], counts[3]
        for row in range(len(family)):
            start = family[row]
            of_a[start + n_cells * at_a[row]] += 1
            of_b[start + n_cells * at_b[row]] += 1
            of_c[start + n_cells * at_c[row]] += 1
            of_d[start + n_cells * at_d[row]] += 1
        for which in range(first, min(first + 4, len(others))):
            table = counts[which - first, : n_cells * sizes[others[which]]]
            found[which] = _log_likelihood(table, n_states, k_log_k)
    return found


@njit(cache=True)
def _log_likelihood(counts: np.ndarray, n_states: int, k_log_k: np.ndarray) -> float:
    total = 0.0
    for start in range(0, len(counts), n_states):
        together = 0
        for cell in range(start, start + n_states):
            together += counts[cell]
            total += k_log_k[counts[cell]]
        total -= k_log_k[together]
    return total
