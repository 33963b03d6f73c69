"""Powers of all pairs of queries and points, in NumPy: for balls in a metric without a filter of its own.

Sums run over the columns in order, as in ``scan_kernels``, and agree with those to the last bit (a general exponent
excepted, whose powers differ between libraries).
"""

from __future__ import annotations

import numpy as np

__all__ = ["add_power", "powers"]


def powers(points: np.ndarray, queries: np.ndarray, exponent: float) -> np.ndarray:
    """Powers of all pairs, (m, n), of ``queries`` (m, d) and ``points`` (n, d)."""
    if exponent == 2.0 and len(queries) < points.shape[1]:
        # Few queries: all columns at once. A sum over the first axis adds one column after the other, as below.
        gaps = np.empty((points.shape[1], len(points)))
        return np.stack([_squares(points, query, gaps) for query in queries])
    sums = np.zeros((len(queries), len(points)))
    for j in range(points.shape[1]):
        add_power(sums, points[None, :, j].astype(np.float64) - queries[:, j, None], exponent)
    return sums


def _squares(points: np.ndarray, query: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Squared distances of one query to all points; ``gaps`` (d, n) is overwritten."""
    np.subtract(points.T, query[:, None], out=gaps, dtype=np.float64)
    np.multiply(gaps, gaps, out=gaps)
    return np.add.reduce(gaps, axis=0)


def add_power(total: np.ndarray, gap: np.ndarray, exponent: float) -> None:
    """Add one column's part to sums of powers, in place."""
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
