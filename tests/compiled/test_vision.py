"""Kernels of detection: compiled and as they are written, the same bits."""

import numpy as np
import pytest

from margin.compiled import vision
from margin.vision.detection import segment_kernels, suppression_kernels


@pytest.mark.parametrize("n", [0, 1, 40])
def test_suppression(n):
    rng = np.random.default_rng(n)
    corners = rng.uniform(0, 10, (n, 2))
    boxes = np.hstack([corners, corners + rng.uniform(0, 6, (n, 2))])
    labels, order = rng.integers(2, size=n), rng.permutation(n)
    found = []
    for kernels in (vision, suppression_kernels):
        kept = np.zeros(n, dtype=bool)
        kernels.suppress(boxes, labels, order, 0.3, np.empty(n, dtype=np.int64), kept.view(np.uint8))
        found.append(kept)
    np.testing.assert_array_equal(found[0], found[1])
    assert n == 0 or 0 < found[0].sum() <= n


def test_segments():
    rng = np.random.default_rng(0)
    n, edges = 30, 80
    first, second = rng.integers(n, size=edges), rng.integers(n, size=edges)
    weight = np.sort(rng.random(edges))
    found = []
    for kernels in (vision, segment_kernels):
        parent, size, steepest = np.arange(n), np.ones(n, dtype=np.int64), np.zeros(n)
        kernels.join(first, second, weight, parent, size, steepest, 0.5, 3)
        found.append((parent, size, steepest))
    for compiled, written in zip(*found, strict=True):
        np.testing.assert_array_equal(compiled, written)
    assert 1 <= len(np.unique(found[0][0])) < n
