"""Kernels of maps: compiled and as they are written."""

import numpy as np
import pytest
from tests.compiled.levels import agree, is_compiled

from margin.compiled import reduction
from margin.reduction import mesh_kernels, path_kernels, tsne_kernels, umap_kernels
from margin.reduction.block_sizes import LANES


def same_bits(first, second):
    assert [np.asarray(a).tobytes() for a in first] == [np.asarray(b).tobytes() for b in second]


@pytest.mark.parametrize("n", [1, 5, 70])
def test_pushes(n, beside):
    """The twin computes in double precision where Python's numbers are, so only the digits of float32 agree."""
    Y = np.random.default_rng(n).normal(size=(2, n)).astype(np.float32)
    found = []
    for kernels in (reduction, tsne_kernels):
        plane, general = (np.empty((2, n), np.float32), np.empty(n, np.float32)), None
        kernels.pushes_in_plane(0, -(-n // LANES), Y, *plane)
        general = np.empty((2, n), np.float32), np.empty(n, np.float32)
        kernels.pushes(0, -(-n // LANES), Y, *np.empty((2, 2, LANES), np.float32), *general)
        found.append((*plane, *general))
    same_bits(found[0][:2], found[0][2:])
    agree(*found, beside, rtol=1e-4, atol=1e-5)
    gaps = Y[:, :, None].astype(float) - Y[:, None, :]
    w = 1 / (1 + (gaps**2).sum(0))
    for force, sums in (found[0][:2], found[1][:2], found[1][2:]):
        np.testing.assert_allclose(sums, w.sum(1), rtol=1e-5)
        np.testing.assert_allclose(force, (w**2 * gaps).sum(2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("keep", [False, True])
def test_pulls(d, keep, beside):
    rng = np.random.default_rng(d)
    n = 9
    starts = np.append(0, np.cumsum(rng.integers(0, 5, n)))
    neighbors, P = rng.integers(n, size=starts[-1]).astype(np.int32), rng.random(starts[-1])
    Y = rng.normal(size=(d, n)).astype(np.float32)
    found = []
    for kernels in (reduction, tsne_kernels):
        for pulls in (kernels.pulls, *([kernels.pulls_in_plane] if d == 2 else [])):
            force, spread = np.empty((d, n)), np.full(starts[-1] if keep else 0, -1.0)
            pulls(0, n, starts, neighbors, P, Y, force, spread)
            found.append((force, spread))
    for other in found[1:]:
        agree(found[0], other, beside, rtol=1e-6, atol=1e-9)


def test_mesh(beside):
    rng = np.random.default_rng(0)
    points = rng.uniform(2, 9, size=(2, 40)).astype(np.float32)
    origin, found = np.array([0.5, 0.25]), []
    fields = rng.normal(size=(2, 16, 17)).astype(np.float32)
    for kernels in (reduction, mesh_kernels):
        mesh, out = np.zeros((16, 17)), np.empty((2, 40))
        kernels.spread_charges(points, origin, 0.75, mesh)
        kernels.gather_fields(0, 40, points, origin, 0.75, *fields, out)
        found.append((mesh, out))
    agree(*found, beside, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[0][0].sum(), 40, rtol=1e-12)


def test_umap_epochs(beside):
    rng = np.random.default_rng(1)
    n, edges = 12, 30
    heads, tails, period = rng.integers(n, size=edges), rng.integers(n, size=edges), rng.uniform(1, 3, edges)
    found = []
    for kernels in (reduction, umap_kernels):
        Y, due = np.linspace(-3, 4, 2 * n).reshape(n, 2), period.copy()
        state = np.array([2**63 + 12345], dtype=np.uint64)
        random = state if is_compiled(kernels) else state.astype(object)  # integers that wrap by the mask alone
        for now in range(1, 6):
            kernels.epoch(heads, tails, period, due, float(now), Y, 1.6, 0.9, 0.5, 3, random)
        found.append((Y, due, int(random[0])))
    agree(*found, beside, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 6, 70])
def test_paths(n):
    from scipy.sparse.csgraph import shortest_path

    rng = np.random.default_rng(n)
    D = np.where(rng.random((n, n)) < 0.3, rng.uniform(0.1, 2, (n, n)), np.inf)
    np.fill_diagonal(D, 0)
    rows, columns = (np.ascontiguousarray(part) for part in np.nonzero(np.isfinite(D) & (D > 0)))
    starts = np.searchsorted(rows, np.arange(n + 1))
    expected = shortest_path(np.where(np.isfinite(D), D, 0))
    for kernels in (reduction, path_kernels):
        out, (heap, position) = np.empty((n, n)), np.empty((2, n), dtype=np.int64)
        kernels.dijkstra(0, n, starts, columns, D[rows, columns], np.arange(n), heap, position, out)
        np.testing.assert_allclose(out, expected, rtol=1e-12)
        F = D.copy()
        for step in range(-(-n // 64)):
            kernels.through_tile(F, *(3 * [step * 64]), n)
            kernels.floyd_cross(0, -(-n // 64), F, step)
            kernels.floyd_rest(0, -(-n // 64), F, step)
        np.testing.assert_allclose(F, expected, rtol=1e-12)
