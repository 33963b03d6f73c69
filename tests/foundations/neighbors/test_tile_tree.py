"""The tree of tiles: its shape by definition, its answers against a scan of all points, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.foundations.neighbor_scan import scan

from margin.foundations.neighbors import search, tile_tree
from margin.foundations.neighbors.tile_tree import FANOUT, LANES


def rows(n, m, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def middles(begin, end, lanes):
    """Where ranges of points are cut, by the rule of ``order_points``: begin, middle and end of every cut."""
    leaves = -(-(end - begin) // lanes)
    if leaves <= 1:
        return []
    unit = max(FANOUT**power for power in range(20) if power == 0 or 2 * FANOUT**power <= leaves)
    middle = begin + lanes * unit * max(1, (leaves + unit) // (2 * unit))
    return [(begin, middle, end), *middles(begin, middle, lanes), *middles(middle, end, lanes)]


@pytest.mark.parametrize(("n", "lanes"), [(1, 16), (17, 16), (2000, 16), (9000, 32)])
@pytest.mark.parametrize("kind", ["normal", "few values", "all equal"])
def test_every_cut_separates_along_a_column(n, lanes, kind):
    points = rows(n, 1, 3)[0]
    points = {"normal": points, "few values": np.round(points), "all equal": np.zeros((n, 3))}[kind]
    order = tile_tree._leaf_order(points, lanes)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    for begin, middle, end in middles(0, n, lanes):
        left, right = points[order[begin:middle]], points[order[middle:end]]
        assert (left.max(axis=0) <= right.min(axis=0)).any(), (begin, middle, end)


@pytest.mark.parametrize("n", [1, 40, 64, 65, 700, 5000])
def test_every_node_encloses_its_points_and_leads_to_every_leaf_once(n):
    points = rows(n, 1, 4)[0]
    tree = tile_tree.build(points, 5)
    inner, leaves = len(tree.boxes), []

    def walk(node, low, high):
        if node >= inner:
            leaves.append(node - inner)
            held = points[tree.numbers[node - inner][tree.numbers[node - inner] < n]]
            np.testing.assert_array_equal(held.min(axis=0), low)
            np.testing.assert_array_equal(held.max(axis=0), high)
            return
        smallest, largest = tree.boxes[node]
        np.testing.assert_array_equal(smallest.min(axis=1), low)
        np.testing.assert_array_equal(largest.max(axis=1), high)
        for lane in np.flatnonzero(smallest[0] < np.inf):
            walk(tree.children[node] + lane, smallest[:, lane], largest[:, lane])

    walk(0, points.min(axis=0), points.max(axis=0))
    assert sorted(leaves) == list(range(len(tree.tiles)))
    assert tree.tiles.shape[2] % LANES == 0


@pytest.mark.parametrize("d", [1, 2, 3, 6, 11])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (16, 16), (65, 5), (3000, 1), (3000, 12)])
def test_neighbors_and_powers_are_those_of_a_scan(n, k, d):
    points, queries = rows(n, 60, d)
    queries[:20] = points[np.arange(20) % n]
    expected = scan(points, queries, k, 2.0)
    for leaf_size in (1, 30, 10**6):
        found = tile_tree.nearest(tile_tree.build(points, leaf_size), queries, k)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(-1e8, 1e8), st.sampled_from([1e-150, 1e-9, 1.0, 1e140]))
def test_nothing_is_missed_where_powers_are_equal_or_rounded(seed, d, offset, scale):
    """Few values make many equal powers; a large offset leaves few digits for the differences."""
    rng = np.random.default_rng(seed)
    points = (rng.integers(-3, 4, size=(400, d)) * rng.choice([1.0, 0.1], size=(400, d)) + offset) * scale
    queries = (rng.integers(-4, 5, size=(30, d)) * 0.5 + offset) * scale
    found = tile_tree.nearest(tile_tree.build(points, 4), queries, 9)
    expected = scan(points, queries, 9, 2.0)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_powers_beyond_float64_are_noticed():
    points, queries = rows(100, 3, 2)
    with pytest.raises(OverflowError, match="range of a float64"):
        tile_tree.nearest(tile_tree.build(points, 30), queries * 1e200, 1)


def test_both_trees_and_any_number_of_threads_give_the_same_bits(monkeypatch):
    points, queries = rows(4000, 500, 5)
    points[:500] = points[500:1000]  # ties
    index = search.NeighborIndex(points.astype(np.float32), 2.0)
    with monkeypatch.context() as patched:
        patched.setattr(search, "TREE_NEIGHBORS", 0)
        expected = index.nearest(queries, 7)
        assert "tiles" not in vars(index)
    for threads in (1, 3):
        monkeypatch.setattr(search, "threads_for", lambda work, threads=threads: threads)
        found = index.nearest(queries, 7)
        assert "tiles" in vars(index)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
