"""Log-likelihood scores of many families of one child."""

from __future__ import annotations

import cython

from margin.core.kernel_source import (
    ConstIntegers,
    ConstVector,
    IntegerMatrix32,
    Vector,
    inner,
    kernel,
)

__all__ = ["log_likelihoods_with_one_more"]

States = cython.const[cython.short][:, ::1]


@kernel
def log_likelihoods_with_one_more(
    columns: States,
    sizes: ConstIntegers,
    family: ConstIntegers,
    n_states: cython.Py_ssize_t,
    n_cells: cython.Py_ssize_t,
    others: ConstIntegers,
    k_log_k: ConstVector,
    counts: IntegerMatrix32,
    found: Vector,
) -> cython.void:
    """Largest log-likelihood of a child given its parents and one more, for each of ``others``, into ``found``.

    ``columns`` (variables, rows) holds states; ``family`` is the position of every row in the table of parents and
    child, (n_cells,), of which the child with ``n_states`` is the last axis; ``k_log_k`` has k log k for every count.
    ``counts`` (4, n_cells times the most states of another) is scratch.
    """
    last = others.shape[0] - 1
    # Four tables at a time: equal rows after each other would wait for one another at a single counter.
    for first in range(0, others.shape[0], 4):
        a = others[first]
        b = others[min(first + 1, last)]
        c = others[min(first + 2, last)]
        d = others[min(first + 3, last)]
        used = n_cells * max(max(sizes[a], sizes[b]), max(sizes[c], sizes[d]))
        for table in range(4):
            for cell in range(used):
                counts[table, cell] = 0
        for row in range(family.shape[0]):
            start = family[row]
            counts[0, start + n_cells * columns[a, row]] += 1
            counts[1, start + n_cells * columns[b, row]] += 1
            counts[2, start + n_cells * columns[c, row]] += 1
            counts[3, start + n_cells * columns[d, row]] += 1
        for which in range(first, min(first + 4, others.shape[0])):
            found[which] = _log_likelihood(counts, which - first, n_cells * sizes[others[which]], n_states, k_log_k)


@inner
def _log_likelihood(
    counts: IntegerMatrix32,
    table: cython.Py_ssize_t,
    n_cells: cython.Py_ssize_t,
    n_states: cython.Py_ssize_t,
    k_log_k: ConstVector,
) -> cython.double:
    total: cython.double = 0.0
    together: cython.Py_ssize_t
    start: cython.Py_ssize_t = 0
    while start < n_cells:
        together = 0
        for cell in range(start, start + n_states):
            together += counts[table, cell]
            total += k_log_k[counts[table, cell]]
        total -= k_log_k[together]
        start += n_states
    return total
