"""Compiled loops against NumPy twins."""

import numpy as np
import pytest
from tests.compiled.as_written import numbers

from margin.compiled.boosting import node_means, pack
from margin.trees.boosting.cost_pruning import prune_grown
from margin.trees.boosting.growing import EMPTY, UNLIMITED, TreeGrower, column_table
from margin.trees.boosting.histogram_kernels import add_rows, subtract, take_rows, unpack  # as they are written
from margin.trees.boosting.kernel_types import NODE, SplitLimits
from margin.trees.boosting.packing import COUNTED_ROWS, choose_packing


def derivatives(n, rng, constant=False):
    return rng.normal(size=n), EMPTY if constant else rng.uniform(0.01, 0.25, n)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("n", [1, 17, 1000, 100_000])
def test_packed_sums_are_the_sums(n, constant):
    rng = np.random.default_rng(n)
    g, h = derivatives(n, rng, constant)
    packing, cells = choose_packing(g, h), np.empty(n, dtype=np.int64)
    pack(g, h, 3, packing, cells)
    for rows in (slice(None), slice(0, n // 2 + 1), np.flatnonzero(g > 0), np.flatnonzero(g <= 0)):
        gradient, hessian, count = unpack(cells[rows].sum(), packing)
        # Random rounding: each row is off by at most a unit, and the errors have mean zero.
        allowed = 5 * np.sqrt(max(len(cells[rows]), 1))
        assert abs(gradient - g[rows].sum()) <= allowed * packing.gradient_unit
        expected = len(cells[rows]) if constant else h[rows].sum()
        assert abs(hessian - expected) <= (0 if constant else allowed * packing.hessian_unit)
        assert count == len(cells[rows])


def test_units_are_small_where_rows_are_few():
    g = np.random.default_rng(0).normal(size=1000)
    assert choose_packing(g, EMPTY).gradient_unit < 1e-12
    assert choose_packing(g, np.ones(1000)).gradient_unit < 1e-5


def test_many_rows_are_counted_by_their_hessian():
    g, h = np.ones(COUNTED_ROWS + 1), np.full(COUNTED_ROWS + 1, 0.2)
    packing = choose_packing(g, h)
    assert not packing.counted
    cells = np.empty(len(g), dtype=np.int64)
    pack(g, h, 0, packing, cells)
    gradient, hessian, count = unpack(cells[:1000].sum(), packing)
    assert gradient == pytest.approx(1000, rel=0.01)
    assert hessian == pytest.approx(200, rel=0.01)
    assert count == pytest.approx(1000, rel=0.01)


def test_sums_that_are_not_finite_are_refused():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="finite sum"):
        choose_packing(np.array([1e308, 1e308]), EMPTY)


def test_histogram_and_sibling():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 256, size=(500, 7)).astype(np.uint8)
    cells = rng.integers(-(2**40), 2**40, 500)
    rows = np.sort(rng.choice(500, 200, replace=False)).astype(np.int32)
    size = 7 * 256
    pool = np.empty(3 * size, dtype=np.int64)
    whole, part, taken = pool[:size], pool[size : 2 * size], pool[2 * size :]
    add_rows(numbers(codes), np.arange(500, dtype=np.int32), 0, 500, cells, 0, 7, pool, 0)
    add_rows(numbers(codes), rows, 0, 120, cells, 0, 2, pool, size)
    add_rows(numbers(codes), rows, 0, 120, cells, 2, 7, pool, size)
    twin = np.zeros((7, 256), dtype=np.int64)
    for j in range(7):
        np.add.at(twin[j], codes[rows[:120], j], cells[rows[:120]])
    np.testing.assert_array_equal(part.reshape(7, 256), twin)
    taken[:] = whole
    take_rows(numbers(codes), rows, 0, 120, cells, 0, 2, pool, 2 * size)
    take_rows(numbers(codes), rows, 0, 120, cells, 2, 7, pool, 2 * size)
    subtract(pool, 0, size, 0, 7)
    np.testing.assert_array_equal(taken, whole)
    rest = np.setdiff1d(np.arange(500), rows[:120])
    for j in range(7):
        other = np.zeros(256, dtype=np.int64)
        np.add.at(other, codes[rest, j], cells[rest])
        np.testing.assert_array_equal(whole.reshape(7, 256)[j], other)


def limits(**changes):
    chosen = {
        "best_first": "max_leaves" in changes,
        "max_leaves": UNLIMITED,
        "max_depth": 1,
        "min_split": 2 * changes.get("min_leaf", 1),
        "min_leaf": 1,
        "min_hessian": 1e-3,
        "l2": 0.0,
        "min_gain": 0.0,
        "feature_fraction": 1.0,
        "random_ties": False,
        "pooled_below": 1,
    }
    return SplitLimits(**(chosen | changes))


def grower(codes, limits, categorical=None):
    p = codes.shape[1]
    known = np.where(codes == 255, 0, codes)
    flags = np.zeros(p, dtype=bool) if categorical is None else np.array(categorical)
    columns = column_table(known.max(axis=0).astype(np.int64) + 1, flags, np.zeros(p, dtype=np.int64), None)
    return TreeGrower(codes, columns, limits)


def gain_of(left, g, h, l2):
    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + l2)

    return 0.5 * (score(left) + score(~left) - score(np.ones(len(g), dtype=bool)))


def every_question(column, categorical):
    """All ways to divide the rows of one column, each as a mask of the rows that go left."""
    if categorical:
        values = np.unique(column)
        for pattern in range(1, 2 ** len(values) - 1):
            yield np.isin(column, values[[bool(pattern >> k & 1) for k in range(len(values))]])
        return
    for cut in np.unique(column[column != 255]):
        for missing_left in (False, True):
            yield np.where(column == 255, missing_left, column <= cut)


@pytest.mark.parametrize("min_leaf", [1, 15])
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("constant", [True, False])
def test_the_first_split_is_the_best_of_all(constant, l2, min_leaf):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 12, size=(120, 3)).astype(np.uint8)
    codes[rng.random((120, 3)) < 0.1] = 255
    g, h = derivatives(120, rng, constant)
    curvature = np.ones(120) if constant else h
    grown = grower(codes, limits(l2=l2, min_leaf=min_leaf)).grow(g, h)
    best = max(
        gain_of(left, g, curvature, l2)
        for j in range(3)
        for left in every_question(codes[:, j], False)
        if min_leaf <= left.sum() <= 120 - min_leaf
    )
    assert grown.nodes["gain"][0] == pytest.approx(best, rel=1e-4)
    left = np.isin(np.arange(120), grown.rows[: grown.nodes["stop"][1]])
    assert gain_of(left, g, curvature, l2) == pytest.approx(best, rel=1e-4)


def test_a_set_of_categories_is_the_best_of_all_sets():
    """With hessians that all are one and no smoothing needed (equal counts) the order by mean gradient is enough."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(8), 40).astype(np.uint8)[:, None]
    codes[rng.random(320) < 0.05] = 255
    g = rng.normal(size=320) + rng.normal(size=256)[codes[:, 0]]
    grown = grower(codes, limits(), [True]).grow(g, EMPTY)
    best = max(gain_of(left, g, np.ones(320), 0.0) for left in every_question(codes[:, 0], True))
    assert grown.nodes["gain"][0] == pytest.approx(best, rel=1e-9)


def twin(codes, g, h, rows, leaves, min_leaf):
    """Leaf by leaf growth written with masks; returns the sets of rows of its leaves."""

    def best(rows):
        found = (0.0, None)
        for j in range(codes.shape[1]):
            for cut in np.unique(codes[rows, j])[:-1]:
                left = codes[rows, j] <= cut
                if min(left.sum(), (~left).sum()) >= min_leaf:
                    found = max(found, (gain_of(left, g[rows], h[rows], 0.0), (rows[left], rows[~left])), key=_first)
        return found

    def _first(pair):
        return pair[0]

    waiting = [(best(rows), rows)]
    while len(waiting) < leaves:
        waiting.sort(key=lambda item: item[0][0])
        (_, parts), _ = waiting.pop()
        if parts is None:
            break
        waiting += [(best(part), part) for part in parts]
    return {tuple(sorted(rows.tolist())) for _, rows in waiting}


@pytest.mark.parametrize("subset", [False, True])
def test_growth_leaf_by_leaf(subset):
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 30, size=(300, 4)).astype(np.uint8)
    g, h = rng.normal(size=300) + (codes[:, 0] > 10) - (codes[:, 1] > 20), rng.uniform(0.5, 1.0, 300)
    rows = np.sort(rng.choice(300, 200, replace=False)) if subset else None
    grown = grower(codes, limits(max_leaves=9, max_depth=99, min_leaf=5)).grow(g, h, rows)
    found = {tuple(sorted(grown.rows[a:b].tolist())) for a, b in zip(grown.starts, grown.stops, strict=True)}
    assert found == twin(codes, g, h, np.arange(300) if rows is None else rows, 9, 5)


def test_no_limit_of_leaves_grows_until_nothing_is_gained():
    rng = np.random.default_rng(7)
    codes = np.arange(200).astype(np.uint8)[:, None]
    grown = grower(codes, limits(max_depth=10**6)).grow(rng.normal(size=200), EMPTY)
    assert len(grown.leaves) == 200


def test_equal_gradients_are_never_split():
    codes = np.arange(200).astype(np.uint8)[:, None]
    for h in (EMPTY, np.full(200, 0.2)):
        grown = grower(codes, limits(max_depth=10**6)).grow(np.full(200, 0.3), h)
        assert len(grown.leaves) == 1


def test_a_root_that_is_not_split_is_a_leaf_whatever_the_tree_before_was():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 8, size=(100, 2)).astype(np.uint8)
    growing = grower(codes, limits(), categorical=[True, False])
    assert len(growing.grow(rng.normal(size=100), EMPTY).nodes) > 1
    nodes = growing.grow(np.ones(100), EMPTY).nodes
    assert len(nodes) == 1
    assert [int(nodes[name][0]) for name in ("feature", "left", "right")] == [-1, -1, -1]
    assert [float(nodes[name][0]) for name in ("gain", "code", "is_category", "missing_left")] == [0, 0, 0, 0]
    value, weight = np.array([0.5]), np.array([100.0])
    node_means(nodes, value, weight)
    assert (value[0], weight[0]) == (0.5, 100.0)


def test_leaf_sums_and_additions():
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 50, size=(400, 3)).astype(np.uint8)
    g, h, w = rng.normal(size=400), rng.uniform(size=400), rng.uniform(size=400)
    growing, F = grower(codes, limits(max_leaves=7, max_depth=99)), np.zeros(400)
    grown = growing.grow(g, h)
    sums = np.column_stack([growing.sums(grown, values) for values in (g, h, w, EMPTY)])
    growing.add(grown, np.arange(7.0), F)
    for k, (a, b) in enumerate(zip(grown.starts, grown.stops, strict=True)):
        rows = grown.rows[a:b]
        expected = [g[rows].sum(), h[rows].sum(), w[rows].sum(), b - a]
        np.testing.assert_allclose(sums[k], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(F[rows], k)


@pytest.mark.parametrize("leaves", [3, 90, UNLIMITED])
def test_a_pool_that_is_too_small_is_enlarged_on_the_way(leaves, monkeypatch):
    """Growth stops where histograms run out and goes on with more: the tree is that of a pool which is large enough."""
    rng = np.random.default_rng(9)
    codes, g = rng.integers(0, 200, size=(2000, 3)).astype(np.uint8), rng.normal(size=2000)
    rules = limits(max_depth=10**6) if leaves == UNLIMITED else limits(max_leaves=leaves, max_depth=10**6)
    ample = grower(codes, rules).grow(g, EMPTY)
    monkeypatch.setattr("margin.trees.boosting.growing.FIRST_HISTOGRAMS", 2)
    tight = grower(codes, rules)
    grown = tight.grow(g, EMPTY)
    assert len(tight.pool) > 2 * 3 * 256 or leaves == 3
    for name in ("feature", "code", "gain", "left", "start", "stop"):
        np.testing.assert_array_equal(grown.nodes[name], ample.nodes[name])


def test_pruning_minimizes_error_plus_leaves():
    """Against scikit-learn's pruning of the same tree (an exact one: few distinct values)."""
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(10)
    codes = rng.integers(0, 30, size=(400, 3)).astype(np.uint8)
    y = np.sin(codes[:, 0] / 5.0) + 0.1 * codes[:, 1] + rng.normal(size=400)
    grown = grower(codes, limits(max_depth=10**6, min_leaf=5)).grow(-y, EMPTY)
    for alpha in (1e-4, 3e-3, 1e-2, 0.1, 10.0):
        pruned = prune_grown(grown, alpha, 400.0)
        peer = DecisionTreeRegressor(min_samples_leaf=5, ccp_alpha=alpha).fit(codes, y)
        assert len(pruned.leaves) == peer.get_n_leaves()
        sizes = sorted(np.bincount(peer.apply(codes))[np.unique(peer.apply(codes))])
        assert sorted(pruned.stops - pruned.starts) == sizes


def test_columns_that_gain_the_same_are_drawn_if_asked():
    """Three copies of one column: the first is asked, or each about as often."""
    rng = np.random.default_rng(11)
    codes, g = np.repeat(rng.integers(0, 40, size=(500, 1)), 3, axis=1).astype(np.uint8), rng.normal(size=500)
    asked = {
        random: [int(grower(codes, limits(random_ties=random)).grow(g, EMPTY, seed=seed).nodes["feature"][0])
                 for seed in range(300)]
        for random in (False, True)
    }  # fmt: skip
    assert set(asked[False]) == {0}
    assert np.bincount(asked[True]).min() > 60


def packed_by_numpy(g, h, seed, packing):
    """What the kernel ``pack`` does."""

    def mixed(x):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    up = up_too = 0.5
    if packing.dithered:
        bits = mixed(mixed(np.array([seed], dtype=np.uint64)) + np.arange(len(g), dtype=np.uint64))
        up, up_too = (bits & np.uint64(0xFFFFFFFF)) * 2.0**-32, (bits >> np.uint64(32)) * 2.0**-32
    cells = np.floor(g / packing.gradient_unit + up).astype(np.int64) << packing.gradient_shift
    if len(h):
        cells += np.floor(h / packing.hessian_unit + up_too).astype(np.int64) << packing.hessian_shift
    return cells + packing.counted


@pytest.mark.parametrize(("n", "constant"), [(1, True), (900, False), (6001, True), (40_003, False), (40_003, True)])
def test_derivatives_are_packed_as_by_numpy(n, constant):
    """Rounded to the nearest or, by the seed, at random."""
    g, h = derivatives(n, np.random.default_rng(12), constant)
    for dithered in (False, True):
        packing, cells = choose_packing(g, h), np.empty(n, dtype=np.int64)
        packing.dithered = dithered
        pack(g, h, 5, packing, cells)
        np.testing.assert_array_equal(cells, packed_by_numpy(g, h, 5, packing))


def test_coarse_units_are_rounded_at_random():
    g, h = derivatives(40_000, np.random.default_rng(12))
    assert choose_packing(g, h).dithered
    assert not choose_packing(g, EMPTY).dithered
    assert not choose_packing(g[:900], h[:900]).dithered


def test_a_node_without_weight_has_no_mean():
    nodes = np.zeros(3, dtype=NODE)
    nodes["left"], nodes["right"] = [1, -1, -1], [2, -1, -1]
    value = np.array([0.0, 3.0, 5.0])
    node_means(nodes, value, np.zeros(3))
    assert np.isnan(value[0])
    assert value[1:].tolist() == [3.0, 5.0]
