"""Kernels of neighbor searches: compiled and as they are written, the same bits."""

import numpy as np
import pytest

from margin.compiled import neighbors
from margin.foundations.neighbors import scan_kernels, tile_tree, tile_tree_kernels


def outcomes(run, written):
    compiled, other = run(neighbors), run(written)
    for one, two in zip(compiled, other, strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    "way, m", [("keep_in_list", 1), ("keep_in_list", 7), ("keep_in_heap", 5), ("keep_in_heap", 40)]
)
@pytest.mark.parametrize("n", [0, 64, 128])
@pytest.mark.parametrize("few", [False, True])
def test_keeping(way, m, n, few):
    rng = np.random.default_rng(n + m)
    products, half = rng.normal(size=(3, n)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    if few:
        products, half = np.round(products), np.where(np.arange(n) % 5 == 0, np.float32(np.inf), np.round(half))
    products.flags.writeable = False

    def run(kernels):
        scores, index = np.full((3, m), np.inf, np.float32), np.zeros((3, m), np.int64)
        flags = np.zeros(64, dtype=np.uint8)
        getattr(kernels, way)(products, half, 11, scores, index, flags, flags.view(np.int64))
        return scores, index

    outcomes(run, scan_kernels)
    # Of equal scores those of the first points are kept.
    for row, scores, index in zip(half - products, *run(neighbors), strict=True):
        order = np.lexsort((index, scores))
        found = np.argsort(row, kind="stable")[:m]
        found = found[row[found] < np.inf]
        np.testing.assert_array_equal(index[order][: len(found)], found + 11)
        np.testing.assert_array_equal(scores[order][: len(found)], row[found])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("n, d, k", [(1, 1, 1), (63, 3, 5), (64, 33, 64), (70, 2, 3)])
def test_powers(n, d, k, exponent, dtype):
    rng = np.random.default_rng(n + d)
    points, queries = np.round(rng.normal(size=(n, d)), 1).astype(dtype), np.round(rng.normal(size=(3, d)), 1)
    pairs = rng.integers(3, size=n + 2), rng.integers(n, size=n + 2)

    def run(kernels):
        powers, index, found = np.full((3, k), np.inf), np.full((3, k), n), np.empty(n + 2)
        kernels.scan(points, queries, exponent, powers, index, np.empty((d, 64)))
        kernels.pair_powers(points, queries, *pairs, exponent, found)
        return powers, index, found

    outcomes(run, scan_kernels)


@pytest.mark.parametrize("n, d, k", [(1, 1, 1), (40, 2, 3), (300, 3, 6)])
def test_tree(n, d, k):
    rng = np.random.default_rng(n)
    points, queries = np.round(rng.normal(size=(n, d)), 1), np.round(rng.normal(size=(9, d)), 1)
    tree = tile_tree.build(points, 5)

    def run(kernels):
        order, stacks = np.arange(n), np.empty((2, 64), np.int64)
        kernels.order_points(points, 16, 8, order, np.empty(n), *stacks)
        powers, index = np.full((9, k), np.finfo(float).max), np.full((9, k), n)
        memory = np.empty(256), np.empty(256, np.int64), np.empty(8), np.empty(tree.tiles.shape[2])
        nodes = kernels.Nodes(tree.boxes, tree.children, tree.tiles, tree.numbers)
        kernels.search(queries, np.arange(9)[::-1].copy(), nodes, kernels.NearestSoFar(powers, index, *memory))
        return order, powers, index

    outcomes(run, tile_tree_kernels)
