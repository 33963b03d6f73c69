"""Kernels of k-means: compiled and as they are written."""

import numpy as np
import pytest
from tests.compiled.levels import agree

from margin.cluster import compiled_loops, kmeans_kernels, plusplus_kernels

NAMES = ("RowState", "WaitingRows", "add_changes", "reassign_rows", "sum_clusters", "to_means")


def passes(n, d, k):
    """Some passes of Lloyd's algorithm; everything that the loops change."""
    rng = np.random.default_rng(n + d)
    X, weights = rng.normal(size=(n, d)) + rng.integers(k, size=n)[:, None], rng.integers(0, 3, n).astype(float)
    offset, order = rng.normal(size=d), rng.permutation(n)
    chosen = compiled_loops.far_rows(X, weights + 1, offset, order, 0, rng.random((k - 1, 3)))
    centers, found = X[chosen] - offset, [chosen]
    labels, came_from = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    upper, lower, moved, half_gap = np.full(n, np.inf), np.zeros(n), np.zeros(k), np.zeros(k)
    state = labels, upper, lower, came_from
    for _ in range(3):
        fell = compiled_loops.reassign(X, weights, offset, centers, half_gap, moved, *state)
        sums = compiled_loops.cluster_sums(X, weights, offset, labels, k)
        compiled_loops.add_changes(X, weights, offset, labels, came_from, *sums)
        moved, half_gap = compiled_loops.move_centers(*sums, centers)
        found += [np.array(fell), *(part.copy() for part in (*state, *sums, centers, moved, half_gap))]
    return found


@pytest.mark.parametrize("n, d, k", [(1, 1, 1), (7, 3, 2), (300, 9, 5), (65, 4, 3)])
def test_compiled_and_written(n, d, k, monkeypatch, beside):
    compiled = passes(n, d, k)
    for name in NAMES:
        monkeypatch.setattr(compiled_loops, name, getattr(kmeans_kernels, name))
    monkeypatch.setattr(compiled_loops, "choose_far_rows", plusplus_kernels.choose_far_rows)
    agree(compiled, passes(n, d, k), beside, rtol=1e-9, atol=1e-9)  # products are BLAS's, of SciPy's build or NumPy's
