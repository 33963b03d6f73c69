"""One tree after the other on the same coded table: buffers are made once, leaves are found by compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from margin.core.compiling_ahead import FirstWork
from margin.core.parallel import assisted, over_ranges
from margin.core.threads import WORK_PER_THREAD, threads_for
from margin.trees.binning import Bins
from margin.trees.boosting.bundling import Bundles
from margin.trees.boosting.kernel_types import (
    CANDIDATE,
    CODES,
    COLUMN,
    COMPLETE,
    NODE,
    POOL_FULL,
    PROGRESS,
    Packing,
    SplitLimits,
)
from margin.trees.boosting.packing import choose_packing, pack_by_numpy, packing_bits
from margin.trees.boosting.tree_buffer import NO_SETS, TreeBuffer

__all__ = ["GrownTree", "TreeGrower", "column_table"]

EMPTY = np.zeros(0)
FIRST_HISTOGRAMS = 64  # of the pool, which grows when more leaves are open at once
WORK_PER_CELL = 6.5  # of growing a tree: two threads from 600,000 cells on, below which a second one gains nothing
COLUMNS_PER_THREAD = 16  # with so many for each, threads take columns; with fewer, rows
WORK_PER_ROW = 4.0  # of a sum over the rows of every leaf
MOST_THREADS = 16  # that grow one tree: more of them wait for each other, and each needs a histogram of its own
UNLIMITED = np.iinfo(np.int64).max
ROOT = np.zeros((), dtype=NODE)
ROOT["feature"] = ROOT["left"] = ROOT["right"] = -1

# Up to this many rows NumPy packs derivatives and sums leaves, with the same bits: compiling the loops for it would
# take as long as hundreds of such fits. So it does for the first trees of larger tables, until so many rows were
# packed, or visited to sum or change them.
SMALL_ROWS = 4096
FIRST_PACKED = FirstWork(5_000_000)
FIRST_VISITS = FirstWork(15_000_000)
SMALL_CELLS = WORK_PER_THREAD  # rows times columns up to which :meth:`TreeGrower.grow_round` grows all trees of a round

# A round in one call takes longer to compile than the growth of a tree: the first trees of a process are grown one by
# one, to the same bits, unless the compiled round is there already.
FIRST_TREES = FirstWork(5_000)


@dataclass(frozen=True)
class GrownTree:
    """A tree just grown: its nodes, and the training rows ordered by leaf."""

    nodes: np.ndarray  # records (kernel_types.NODE)
    category_sets: np.ndarray | None  # (nodes, 32) uint8, if some column is categorical
    leaves: np.ndarray  # numbers of the leaves
    starts: np.ndarray  # leaf k owns rows[starts[k]:stops[k]]
    stops: np.ndarray
    rows: np.ndarray

    @cached_property
    def rows_by_leaf(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows, each leaf's together and in their order, and the number of the leaf of each."""
        sizes = self.stops - self.starts
        order = np.argsort(self.starts)  # leaves own neighboring ranges of rows
        return self.rows, np.repeat(order, sizes[order])


def column_table(
    n_bins: np.ndarray, categorical: np.ndarray, monotone: np.ndarray, bundles: Bundles | None
) -> np.ndarray:
    """One record per column (kernel_types.COLUMN)."""
    columns = np.zeros(len(n_bins), dtype=COLUMN)
    columns["n_bins"], columns["categorical"], columns["monotone"] = n_bins, categorical, monotone
    columns["stored"] = np.arange(len(n_bins)) if bundles is None else bundles.stored
    columns["base"] = -1 if bundles is None else bundles.base
    return columns


class TreeGrower:
    """Grows trees on one coded table (n, q) under one set of limits; ``groups`` are columns that may interact."""

    def __init__(
        self,
        codes: np.ndarray,
        columns: np.ndarray,
        limits: SplitLimits,
        bundles: Bundles | None = None,
        groups: np.ndarray | None = None,
    ):
        self.codes, self.columns, self.limits, self.groups = codes, columns, limits, groups
        n, q = codes.shape
        p, capacity = len(columns), _capacity(limits, n)
        self.threads = min(threads_for(WORK_PER_CELL * n * q), MOST_THREADS)
        self.leaf_threads = threads_for(WORK_PER_ROW * n)
        self.packed = np.empty(n, dtype=np.int64)
        self.rows, self.spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.nodes = np.zeros(capacity, dtype=NODE)
        histograms = min(FIRST_HISTOGRAMS, limits.max_leaves + 1)
        self.pool = np.empty((histograms, q * CODES), dtype=np.int64)
        self.candidates = np.zeros((2, p), dtype=CANDIDATE)
        blocks = q + self.threads
        self.lefts = np.empty(self.threads, dtype=np.int64)
        by_rows = self.threads > 1 and q < COLUMNS_PER_THREAD * self.threads
        self.parts = np.empty((self.threads, q * CODES) if by_rows else (1, 0), dtype=np.int64)
        self.scratch, self.gains = np.empty((blocks, 2, CODES), dtype=np.int64), np.empty((blocks, CODES))
        self.gain_bits = self.gains.view(np.int64)
        self.order, self.goes_left = np.empty(max(p, CODES), dtype=np.int64), np.empty(CODES, dtype=np.uint64)
        self.waiting, self.free = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        self.progress = np.zeros(1, dtype=PROGRESS)
        self.category_sets = np.zeros((capacity, 32), dtype=np.uint8) if columns["categorical"].any() else None
        self.bounds = np.empty((capacity, 2)) if columns["monotone"].any() else None
        self.members = None if bundles is None else bundles.members
        self.member_start = None if bundles is None else bundles.first
        self.active = None if groups is None else np.ones((capacity, len(groups)), dtype=bool)

    def grow(
        self, gradient: np.ndarray, hessian: np.ndarray, rows: np.ndarray | None = None, seed: int = 0, number: int = 0
    ) -> GrownTree:
        """Tree ``number`` for these derivatives (n,) on ``rows`` (None: all); an empty hessian is 1 for every row.

        ``seed`` draws the columns of every node. Rounding does not depend on it: a fit that draws nothing is the same
        for every seed.
        """
        rows = np.arange(len(gradient), dtype=np.int32) if rows is None else rows.astype(np.int32)
        packing = choose_packing(gradient, hessian)
        self._pack(gradient, hessian, number, packing)
        self.progress[0] = (1, 1, 0, 0, 0)
        self.nodes[0] = ROOT  # whatever the tree before made of it: a root that is not split is a leaf
        root, total = self.nodes[0], self.packed if len(rows) == len(self.packed) else self.packed[rows]
        root["stop"], root["total"] = len(rows), total.sum()
        if self.bounds is not None:
            self.bounds[0] = -np.inf, np.inf
        drawing = self.limits.feature_fraction < 1.0 or self.limits.random_ties
        self._grow(rows, packing, seed + number if drawing else None)
        count = int(self.progress["n_nodes"][0])
        nodes = self.nodes[:count].copy()
        leaves = np.flatnonzero(nodes["feature"] < 0)
        category_sets = None if self.category_sets is None else self.category_sets[:count].copy()
        return GrownTree(nodes, category_sets, leaves, nodes["start"][leaves], nodes["stop"][leaves], rows)

    @property
    def grows_rounds(self) -> bool:
        """Whether :meth:`grow_round` can be used: the table is small, and columns have no constraints.

        It does not depend on how many threads there are: none of these tables is worth a second one.
        """
        special = (self.bounds, self.members, self.groups)
        leaves = (len(self.nodes) + 1) // 2
        few = len(self.codes) <= SMALL_ROWS and self.codes.size <= SMALL_CELLS and leaves < FIRST_HISTOGRAMS
        return few and all(part is None for part in special)

    def takes_round(self, trees: int) -> bool:
        """Whether to grow the next ``trees`` by :meth:`grow_round`."""
        if not self.grows_rounds:
            return False
        from margin.trees.boosting.round_kernels import grow_round

        return not FIRST_TREES.takes(trees, grow_round)

    def grow_round(
        self, seed: int, number: int, derivatives: tuple[np.ndarray, ...], steps: Any, bins: Bins, trees: TreeBuffer,
        predictions: np.ndarray,
    ) -> int:  # fmt: skip
        """A tree per output, the first being tree ``number``, added to ``trees`` and to ``predictions``; their leaves.

        ``derivatives`` are gradients, hessians by which splits are rated and by which leaves are, each (outputs, n) or
        (outputs, 0) where they are 1, and the weights of rows, (n,) or (0,).
        """
        from margin.trees.boosting.round_kernels import NOT_FINITE, grow_round

        gradient, curvature = derivatives[:2]
        category_sets = NO_SETS if self.category_sets is None else self.category_sets
        outputs = len(gradient)
        stored, stored_sets = trees.reserve(outputs * len(self.nodes), outputs * len(category_sets))
        stops = np.empty(outputs, dtype=np.int64)
        leaves, n_sets = grow_round(
            *(self.codes, self.columns, self.rows, self.spare, self.packed),
            packing_bits(len(self.codes), not curvature.shape[1]),
            *(self.limits, self.nodes, self.pool, self.candidates, self.scratch, self.gains, self.gain_bits),
            *(self.order, self.goes_left, self.waiting, self.free, self.progress, category_sets, seed, number),
            *(*derivatives, steps, bins.offsets, bins.edges),
            *(stored, trees.n_nodes, stored_sets, trees.n_sets, stops, predictions),
        )
        if leaves == NOT_FINITE:
            for own, curved in zip(gradient, curvature):
                choose_packing(own, curved)  # says so
        trees.accept(stops, n_sets)
        return int(leaves)

    def _grow(self, rows: np.ndarray, packing: Packing, seed: int | None) -> None:
        while self._grow_until_full(rows, packing, seed) == POOL_FULL:
            self.pool = np.concatenate([self.pool, np.empty_like(self.pool)])

    def _grow_until_full(self, rows: np.ndarray, packing: Packing, seed: int | None) -> int:
        """Grow on as far as the pool goes; other threads, if there are any, take part in large searches."""
        from margin.core.team_kernels import OVER, new_board
        from margin.trees.boosting.growth_kernels import grow

        before: tuple[Any, ...] = (
            *(self.codes, self.columns, rows, self.spare, self.packed, packing, self.limits, self.nodes, self.pool),
            *(self.candidates, self.scratch, self.gains, self.gain_bits, self.order, self.goes_left, self.waiting),
            *(self.free, self.progress, seed),
        )
        after = (self.category_sets, self.bounds, self.members, self.member_start, self.groups, self.active)
        if self.threads == 1:
            return int(grow(*before, None, 0, *after, None, None))
        board, shared = new_board(self.threads), (self.lefts, self.parts)
        try:
            with assisted(lambda thread: grow(*before, board, thread, *after, *shared) == COMPLETE, self.threads):
                return int(grow(*before, board, 0, *after, *shared))
        finally:
            board[OVER] = 1

    def _pack(self, gradient: np.ndarray, hessian: np.ndarray, seed: int, packing: Packing) -> None:
        """Gradient, hessian and count of every row into ``packed``."""
        from margin.trees.boosting.histogram_kernels import pack

        if (len(gradient) <= SMALL_ROWS and not packing.dithered) or FIRST_PACKED.takes(len(gradient), pack):
            pack_by_numpy(gradient, hessian, seed, packing, self.packed)
        else:
            pack(gradient, hessian, seed if packing.dithered else None, packing, self.packed)

    def sums(self, grown: GrownTree, values: np.ndarray) -> np.ndarray:
        """Exact sums of ``values`` (n,) in every leaf; an empty array counts rows."""
        if not len(values):
            return (grown.stops - grown.starts).astype(np.float64)
        if _is_left_to_numpy(grown):
            order, leaf = grown.rows_by_leaf
            return np.bincount(leaf, weights=values[order], minlength=len(grown.leaves))
        from margin.trees.boosting.leaf_kernels import leaf_sums

        found = np.empty(len(grown.leaves))
        self._over_leaves(leaf_sums, len(found), (grown.rows, grown.starts, grown.stops, values, found))
        return found

    def add(self, grown: GrownTree, values: np.ndarray, predictions: np.ndarray) -> None:
        """Add the leaves' values to the predictions of the rows the tree was grown on."""
        if _is_left_to_numpy(grown):
            order, leaf = grown.rows_by_leaf
            predictions[order] += values[leaf]
            return
        from margin.trees.boosting.leaf_kernels import add_to_leaves

        self._over_leaves(add_to_leaves, len(values), (grown.rows, grown.starts, grown.stops, values, predictions))

    def _over_leaves(self, kernel: Any, leaves: int, arguments: tuple[Any, ...]) -> None:
        """Call ``kernel(low, high, ...)``; each thread takes a range of leaves."""
        over_ranges(lambda low, high: kernel(low, high, *arguments), leaves, self.leaf_threads)


def _is_left_to_numpy(grown: GrownTree) -> bool:
    """Whether NumPy visits the rows of its leaves."""
    from margin.trees.boosting.leaf_kernels import add_to_leaves, leaf_sums

    return len(grown.rows) <= SMALL_ROWS or FIRST_VISITS.takes(len(grown.rows), leaf_sums, add_to_leaves)


def _capacity(limits: SplitLimits, n: int) -> int:
    """The most nodes a tree can have."""
    leaves = max(1, n // limits.min_leaf)
    leaves = min(leaves, limits.max_leaves)
    if limits.max_depth < 40:
        leaves = min(leaves, 2**limits.max_depth)
    return 2 * leaves - 1
