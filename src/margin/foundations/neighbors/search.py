"""Exact nearest neighbors: candidates from a fast filter, judged by exact distances, with proof that none is missing.

A filter (matrix products in single precision, or a k-d tree) proposes a few more points than requested and gives a
lower bound on the power of all others. Powers of the candidates are then summed in double precision in one fixed
order. If the last neighbor wanted is strictly below the bound, nothing was missed; otherwise every point in the ball
through it is looked at. So the answer depends neither on the filter nor on blocks or threads, and equal distances are
always in the order of the rows. The tree that serves many Euclidean queries is exact by itself and needs no judge.
"""

from __future__ import annotations

from functools import cached_property, partial
from types import ModuleType
from typing import Any

import numpy as np

from margin.core.parallel import parallel_map
from margin.core.threads import blas_threads, threads_for
from margin.foundations.neighbors import ball_tree, filtering, kd_tree, tile_tree
from margin.foundations.neighbors.all_powers import powers as all_powers
from margin.foundations.neighbors.choosing import TREE_COLUMNS, tile_columns, waits

__all__ = ["ALGORITHMS", "NeighborIndex"]

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
TILE = 64  # points that a scan looks at together
LEAF_SIZE = 30  # rows of a leaf of a tree
SPARE = {"filter": 4, "tree": 1}  # candidates beyond those wanted; more of them fail to be proved less often
SCAN_WORK = 2**22  # additions up to which one scan takes less than the matrix products of a filter
SHARED_WORK = 2**22  # additions of a tree from which several threads are worth waking
TREE_NEIGHBORS = 100  # neighbors up to which inserting each in its place is fast (measured)
BALL_PAIRS = 2**23  # pairs of a query and a point that may be in sight at once


class NeighborIndex:
    """Points (n, d) in a space where the distance is a Minkowski distance, ready for queries."""

    def __init__(self, points: np.ndarray, exponent: float, algorithm: str = "auto", leaf_size: int = LEAF_SIZE):
        kind = points.dtype if points.dtype == np.float32 else np.float64
        self.points, self.exponent, self.leaf_size = np.ascontiguousarray(points, dtype=kind), exponent, leaf_size
        self.trees: ModuleType = ball_tree if algorithm == "ball_tree" else kd_tree
        self.chooses, (n, d) = algorithm == "auto", points.shape
        self.has_tree = d <= TREE_COLUMNS if self.chooses else algorithm in ("ball_tree", "kd_tree")
        self.has_tiles = exponent == 2.0 and (d <= tile_columns(n) if self.chooses else algorithm == "kd_tree")
        self._asked = (0, 0)  # queries and calls before there is a tree

    @cached_property
    def tiles(self) -> tile_tree.TileTree:
        """Our own tree, which answers :meth:`nearest` of few columns."""
        return tile_tree.build(self.points, self.leaf_size)

    @cached_property
    def tree(self) -> Any:
        """SciPy's or scikit-learn's tree, made when it is first asked."""
        if self.trees is ball_tree:
            return ball_tree.build(self.points, self.leaf_size, self.exponent)
        return kd_tree.build(self.points, self.leaf_size)

    def nearest(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Powers and indices of the ``k`` nearest points of every query (m, d), ascending, (m, k) each."""
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        if not len(queries):
            return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
        by_tree = not (self.chooses and self._waits(len(queries)))
        if by_tree and self.has_tiles and k <= TREE_NEIGHBORS:
            answer = partial(tile_tree.nearest, self.tiles, k=k)
        else:
            by_tree = by_tree and self.has_tree
            tree = self.tree if by_tree else None  # made before several threads ask for it
            answer = partial(self._nearest, k=k, tree=tree)
        parts = self._share_out(queries, answer, SHARED_WORK if by_tree else SCAN_WORK)
        powers, index = (np.concatenate(side) for side in zip(*parts))
        if not np.isfinite(powers).all():
            raise OverflowError("powers of distances exceed the range of a float64")
        return powers, index

    def within(self, queries: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, point and power of all pairs of at most ``power`` (a hair more is let through), by query and power."""
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        wanted = np.full(len(queries), power * (1 + kd_tree.SLACK))
        chunks = [self._ball(queries[part], wanted[part], part.start) for part in self._ball_parts(len(queries))]
        of_query, of_point, powers = (np.concatenate(side) for side in zip(*chunks))
        return of_query, of_point, powers

    def pairs(self, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query, point and distance of all pairs at most ``radius`` apart, for sums: in no order, and a distance is as
        exact as the tree that finds it."""
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        if self.has_tree and self.trees is kd_tree:
            return kd_tree.pairs(self.tree, queries, radius, self.exponent, self.leaf_size)
        of_query, of_point, powers = self.within(queries, radius if self.exponent == np.inf else radius**self.exponent)
        return of_query, of_point, powers if self.exponent == np.inf else powers ** (1 / self.exponent)

    def _waits(self, n_queries: int) -> bool:
        """Whether too little was asked yet for a tree; one that is there is used."""
        if "tiles" in vars(self) or "tree" in vars(self):
            return False
        self._asked = (self._asked[0] + n_queries, self._asked[1] + 1)
        return waits(len(self.points), *self._asked)

    def _nearest(self, queries: np.ndarray, k: int, tree: Any) -> tuple[np.ndarray, np.ndarray]:
        if tree is not None:
            m = min(k + SPARE["tree"], len(self.points))
            return self._judge_candidates(queries, k, *self.trees.candidates(tree, queries, m, self.exponent))
        if self.exponent == 2.0 and queries.size * len(self.points) > SCAN_WORK:
            m = min(k + SPARE["filter"], len(self.points))
            return self._judge_candidates(queries, k, *filtering.candidates(self.points, queries, m))
        return self._scan(queries, k)

    def _judge_candidates(
        self, queries: np.ndarray, k: int, candidates: np.ndarray, bound: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        m = candidates.shape[1]
        of_query = np.repeat(np.arange(len(queries)), m)
        powers = self._pair_powers(queries, of_query, candidates.ravel()).reshape(-1, m)
        powers, index = _rank(powers, candidates, k)
        doubtful = np.flatnonzero(~(powers[:, -1] < bound))
        for part in self._ball_parts(len(doubtful)):
            rows = doubtful[part]
            owner, points, exact_powers = self._ball(queries[rows], powers[rows, -1])
            starts = np.searchsorted(owner, np.arange(len(rows)))  # pairs come by query, then power, then index
            first = starts[:, None] + np.arange(k)
            powers[rows], index[rows] = exact_powers[first], points[first]
        return powers, index

    def _scan(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        from margin.compiled.neighbors import scan

        powers = np.full((len(queries), k), np.inf)
        index = np.full((len(queries), k), len(self.points), dtype=np.int64)
        tile = np.empty((self.points.shape[1], TILE))
        scan(self.points, queries, self.exponent, powers, index, tile)
        return _rank(powers, index, k)

    def _ball(
        self, queries: np.ndarray, powers: np.ndarray, offset: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Query (plus ``offset``), point and power of the pairs with at most the power of the query, sorted."""
        if self.has_tree:
            of_query, of_point = self.trees.ball_pairs(self.tree, queries, powers, self.exponent)
        elif self.exponent == 2.0:
            of_query, of_point = filtering.ball_pairs(self.points, queries, powers)
        else:
            near = all_powers(self.points, queries, self.exponent) <= powers[:, None] * (1 + kd_tree.SLACK)
            of_query, of_point = np.nonzero(near)
        pair_powers = self._pair_powers(queries, of_query, of_point)
        inside = pair_powers <= powers[of_query]
        of_query, of_point, pair_powers = of_query[inside], of_point[inside], pair_powers[inside]
        order = np.lexsort((of_point, pair_powers, of_query))
        return of_query[order] + offset, of_point[order], pair_powers[order]

    def _ball_parts(self, m: int) -> list[slice]:
        size = max(1, BALL_PAIRS // len(self.points))
        return [slice(start, min(start + size, m)) for start in range(0, m, size)]

    def _pair_powers(self, queries: np.ndarray, of_query: np.ndarray, of_point: np.ndarray) -> np.ndarray:
        from margin.compiled.neighbors import pair_powers

        found = np.empty(len(of_query))
        pairs = np.ascontiguousarray(of_query), np.ascontiguousarray(of_point)  # nonzero gives columns of a table
        pair_powers(self.points, queries, *pairs, self.exponent, found)
        return found

    def _share_out(self, queries: np.ndarray, function: Any, enough: int) -> list[Any]:
        """``function`` of as many parts of the queries as there are threads worth waking."""
        work = queries.size * len(self.points)
        if work < enough:  # one thread and no product large enough for BLAS to wake others
            return [function(queries)]
        threads = min(threads_for(work), len(queries))
        with blas_threads(1):
            return parallel_map(function, np.array_split(queries, threads), threads)


def _rank(powers: np.ndarray, index: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` smallest of every row, ascending by power and then by index; rows of a tree mostly are already."""
    wrong = np.flatnonzero(~(powers[:, 1:] > powers[:, :-1]).all(axis=1))
    if 2 * len(wrong) > len(powers):
        order = np.lexsort((index, powers), axis=1)[:, :k]
        return np.take_along_axis(powers, order, axis=1), np.take_along_axis(index, order, axis=1)
    order = np.lexsort((index[wrong], powers[wrong]), axis=1)
    for side in (powers, index):
        side[wrong] = np.take_along_axis(side[wrong], order, axis=1)
    return powers[:, :k].copy(), index[:, :k].copy()
