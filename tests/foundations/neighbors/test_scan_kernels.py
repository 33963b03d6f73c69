"""Every compiled loop against its NumPy twin, to the last bit."""

import numpy as np
import pytest
from tests.oracles.foundations import neighbor_scan as reference

from margin.compiled import neighbors as kernels

EXPONENTS = [1.0, 2.0, 3.0, np.inf]


def rows(n=203, m=17, d=70, dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype).astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_pair_powers(exponent, dtype):
    points, queries = rows(dtype=dtype)
    rng = np.random.default_rng(1)
    for n in (0, 1, 5, 400):
        pairs = rng.integers(len(queries), size=n), rng.integers(len(points), size=n)
        expected = reference.pair_powers(points, queries, *pairs, exponent)
        found = np.empty(n)
        kernels.pair_powers(points, queries, *pairs, exponent, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("exponent", [*EXPONENTS, 2.5])
@pytest.mark.parametrize("k", [1, 8, 203])
def test_scan(exponent, k):
    points, queries = rows()
    points[100:150] = points[:50]  # ties
    powers, index = np.full((len(queries), k), np.inf), np.full((len(queries), k), len(points))
    kernels.scan(points, queries, exponent, powers, index, np.empty((points.shape[1], 64)))
    order = np.lexsort((index, powers), axis=1)
    expected = reference.scan(points, queries, k, exponent)
    np.testing.assert_array_equal(np.take_along_axis(index, order, axis=1), expected[1])
    compare = np.testing.assert_allclose if exponent == 2.5 else np.testing.assert_array_equal
    compare(np.take_along_axis(powers, order, axis=1), expected[0], **({"rtol": 1e-13} if exponent == 2.5 else {}))


@pytest.mark.parametrize("n", [64, 192, 896])
@pytest.mark.parametrize(("m", "way"), [(1, "list"), (5, "list"), (32, "list"), (5, "heap"), (40, "heap")])
@pytest.mark.parametrize("kind", ["normal", "few values", "with infinities"])
def test_keeping_the_smallest(n, m, way, kind):
    """In two parts, as the blocks of a table come; with infinities a part has fewer scores than are kept."""
    rng = np.random.default_rng(2)
    products, half = rng.normal(size=(9, n)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    if kind == "few values":
        products, half = np.round(products), np.round(half)
    elif kind == "with infinities":
        half[rng.random(n) < 0.9] = np.inf
    scores, index = np.full((9, m), np.inf, np.float32), np.zeros((9, m), np.int64)
    flags = np.zeros(64, dtype=np.uint8)
    for part in (slice(0, n // 3 // 64 * 64), slice(n // 3 // 64 * 64, n)):
        given = products[:, part].copy(), half[part], part.start, scores, index, flags, flags.view(np.int64)
        (kernels.keep_in_list if way == "list" else kernels.keep_in_heap)(*given)
    np.testing.assert_array_equal(np.sort(scores, axis=1), np.sort(half - products, axis=1)[:, :m])
    assert way == "heap" or (np.sort(scores, axis=1) == scores).all()
    found = np.isfinite(scores)
    np.testing.assert_array_equal(np.take_along_axis(half - products, index, axis=1)[found], scores[found])
    assert all(len(set(row[kept])) == kept.sum() for row, kept in zip(index, found)), "no point twice"


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("d", [2, 9, 40, 200])
def test_few_and_many_queries_have_the_same_bits(d, kind):
    rng = np.random.default_rng(d)
    points, queries = rng.normal(size=(57, d)).astype(kind), rng.normal(size=(d + 3, d))
    together = reference.powers(points, queries, 2.0)
    alone = np.vstack([reference.powers(points, query[None], 2.0) for query in queries])
    np.testing.assert_array_equal(together, alone)
