"""One tree after the other on the same coded table: buffers are made once, leaves are found by compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from margin.core.parallel import over_ranges, with_assistants
from margin.core.team import OVER, new_board
from margin.core.threads import WORK_PER_THREAD, threads_for
from margin.trees.binning import Bins
from margin.trees.boosting.bundling import Bundles
from margin.trees.boosting.kernel_types import CANDIDATE, CODES, COLUMN, NODE, NOT_FINITE, POOL_FULL, SplitLimits
from margin.trees.boosting.packing import choose_packing, packing_bits
from margin.trees.boosting.tree_buffer import TreeBuffer

__all__ = ["GrownTree", "StepRules", "TreeGrower", "column_table"]

EMPTY = np.zeros(0)
FIRST_HISTOGRAMS = 64  # of the pool, which grows when more leaves are open at once
LEAST_HISTOGRAMS, FIRST_CELLS = 4, 2**25  # of many columns fewer at first: as many as fit into a quarter of a gigabyte
WORK_PER_CELL = 6.5  # of growing a tree: two threads from 600,000 cells on, below which a second one gains nothing
COLUMNS_PER_THREAD = 16  # with so many for each, threads take columns; with fewer, rows
WORK_PER_ROW = 4.0  # of a sum over the rows of every leaf
MOST_THREADS = 16  # that grow one tree: more of them wait for each other, and each needs a histogram of its own
UNLIMITED = np.iinfo(np.int64).max

# Up to so many rows, and rows times columns, :meth:`TreeGrower.grow_round` grows all trees of a round.
SMALL_ROWS, SMALL_CELLS = 4096, WORK_PER_THREAD


@dataclass(frozen=True)
class GrownTree:
    """A tree just grown: its nodes, and the training rows ordered by leaf."""

    nodes: np.ndarray  # records (kernel_types.NODE)
    category_sets: np.ndarray | None  # (nodes, 32) uint8, if some column is categorical
    leaves: np.ndarray  # numbers of the leaves
    starts: np.ndarray  # leaf k owns rows[starts[k]:stops[k]]
    stops: np.ndarray
    rows: np.ndarray


class StepRules(NamedTuple):
    """What a leaf adds: ``leaf_factor`` times the Newton step, shrunk; 0 where there is no curvature."""

    l2: float
    least_curvature: float
    leaf_factor: float
    learning_rate: float


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
        from margin.compiled.boosting import Growth, Limits, Packing

        n, q = codes.shape
        capacity = _capacity(limits, n)
        self.codes, self.limits = np.ascontiguousarray(codes), limits
        self.threads = min(threads_for(WORK_PER_CELL * n * q), MOST_THREADS)
        self.leaf_threads = threads_for(WORK_PER_ROW * n)
        self.packed, self.rows = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        self.nodes = np.zeros(capacity, dtype=NODE)
        self.histograms = _first_histograms(capacity, q)
        self.pool = np.empty(self.histograms * q * CODES, dtype=np.int64)
        self.category_sets = np.zeros((capacity, 32), dtype=np.uint8) if columns["categorical"].any() else None
        monotone = bool(columns["monotone"].any())
        self.constrained = monotone or bundles is not None or groups is not None
        self.goes_left, self.waiting = np.empty(CODES, dtype=np.int64), np.empty(capacity, dtype=np.int64)
        blocks = q + self.threads
        by_rows = self.threads > 1 and q < COLUMNS_PER_THREAD * self.threads
        self.growth = Growth(
            codes=self.codes,
            columns=columns,
            limits=Limits(**limits._asdict()),
            packing=Packing(),
            packed=self.packed,
            rows=self.rows,
            spare=np.empty(n, dtype=np.int32),
            nodes=self.nodes,
            pool=self.pool,
            candidates=np.zeros((2, len(columns)), dtype=CANDIDATE),
            sums=np.empty(blocks * CODES, dtype=np.int64),
            orders=np.empty(blocks * CODES, dtype=np.int64),
            gains=np.empty(blocks * CODES),
            drawn=np.empty(len(columns) + 1, dtype=np.int64),
            goes_left=self.goes_left,
            waiting=self.waiting,
            free=np.empty(capacity, dtype=np.int64),
            lefts=np.empty(self.threads, dtype=np.int64),
            parts=np.empty(self.threads * q * CODES if by_rows else 0, dtype=np.int64),
            draws=limits.feature_fraction < 1.0 or limits.random_ties,
            seed=0,
            category_sets=self.category_sets,
            bounds=np.empty((capacity, 2)) if monotone else None,
            members=None if bundles is None else bundles.members,
            member_start=None if bundles is None else bundles.first,
            groups=None if groups is None else np.ascontiguousarray(groups).view(np.uint8),
            active=None if groups is None else np.ones((capacity, len(groups)), dtype=np.uint8),
        )

    def grow(
        self, gradient: np.ndarray, hessian: np.ndarray, rows: np.ndarray | None = None, seed: int = 0, number: int = 0
    ) -> GrownTree:
        """Tree ``number`` for these derivatives (n,) on ``rows`` (None: all); an empty hessian is 1 for every row.

        ``seed`` draws the columns of every node. Rounding does not depend on it: a fit that draws nothing is the same
        for every seed.
        """
        from margin.compiled.boosting import pack, plant

        rows = np.arange(len(gradient), dtype=np.int32) if rows is None else rows.astype(np.int32)
        packing = choose_packing(gradient, hessian)
        pack(gradient, hessian, number, packing, self.packed)
        self.growth.use(rows, packing, seed + number)
        self.packing = packing
        packed = self.packed if len(rows) == len(self.packed) else self.packed[rows]
        plant(self.growth, int(packed.sum()))
        self._grow_planted(rows)
        count = self.growth.count_nodes()
        nodes = self.nodes[:count].copy()
        leaves = np.flatnonzero(nodes["feature"] < 0)
        category_sets = None if self.category_sets is None else self.category_sets[:count].copy()
        return GrownTree(nodes, category_sets, leaves, nodes["start"][leaves], nodes["stop"][leaves], rows)

    def _grow_planted(self, rows: np.ndarray) -> None:
        """Grow from the root that is planted; in the end ``rows`` are ordered by leaf."""
        while self._grow() == POOL_FULL:
            self._enlarge_pool()

    def _enlarge_pool(self) -> None:
        self.pool = np.concatenate([self.pool, np.empty_like(self.pool)])
        self.growth.use_pool(self.pool)

    def _grow(self) -> int:
        """Grow on as far as the pool goes; other threads, if there are any, take part in large searches."""
        from margin.compiled.boosting import assist, grow

        growth, board = self.growth, new_board(self.threads)
        if self.threads == 1:
            return int(grow(growth, board))
        try:
            with with_assistants(lambda thread: bool(assist(growth, board, thread)), self.threads):
                return int(grow(growth, board))
        finally:
            board[OVER] = 1

    def close(self) -> None:
        """The last tree is grown."""

    @property
    def grows_rounds(self) -> bool:
        """Whether :meth:`grow_round` can be used: the table is small, and columns have no constraints.

        It does not depend on how many threads there are: none of these tables is worth a second one.
        """
        leaves = (len(self.nodes) + 1) // 2
        few = len(self.codes) <= SMALL_ROWS and self.codes.size <= SMALL_CELLS and leaves < self.histograms
        return few and not self.constrained

    def grow_round(
        self,
        seed: int,
        number: int,
        derivatives: tuple[np.ndarray, ...],
        steps: StepRules,
        bins: Bins,
        trees: TreeBuffer,
        predictions: np.ndarray,
    ) -> int:
        """A tree per output, the first being tree ``number``, added to ``trees`` and to ``predictions``; their leaves.

        ``derivatives`` are gradients, hessians by which splits are rated and by which leaves are, each (outputs, n) or
        (outputs, 0) where they are 1, and the weights of rows, (n,) or (0,).
        """
        from margin.compiled.boosting import Round, grow_round

        gradient, curvature, hessian, weight = derivatives
        outputs = len(gradient)
        sets = 0 if self.category_sets is None else len(self.category_sets)
        stored, stored_sets = trees.reserve(outputs * len(self.nodes), outputs * sets)
        stops = np.empty(outputs, dtype=np.int64)
        bits = packing_bits(len(self.codes), not curvature.shape[1])
        this = Round(
            gradient=gradient,
            curvature=curvature,
            hessian=hessian,
            weight=weight,
            gradient_bits=bits.gradient,
            hessian_bits=bits.hessian,
            row_bits=bits.rows,
            offsets=bins.offsets,
            edges=bins.edges,
            stored=stored,
            stored_sets=stored_sets,
            first=trees.n_nodes,
            first_set=trees.n_sets,
            stops=stops,
            predictions=predictions,
            **steps._asdict(),
        )
        leaves, n_sets = grow_round(self.growth, this, number, seed, new_board(1))
        if leaves == NOT_FINITE:
            for own, curved in zip(gradient, curvature):
                choose_packing(own, curved)  # says so
        trees.accept(stops, n_sets)
        return int(leaves)

    def sums(self, grown: GrownTree, values: np.ndarray) -> np.ndarray:
        """Exact sums of ``values`` (n,) in every leaf; an empty array counts rows."""
        if not len(values):
            return (grown.stops - grown.starts).astype(np.float64)
        from margin.compiled.boosting import leaf_sums

        found = np.empty(len(grown.leaves))
        self._over_leaves(leaf_sums, len(found), (grown.rows, grown.starts, grown.stops, values, found))
        return found

    def add(self, grown: GrownTree, values: np.ndarray, predictions: np.ndarray) -> None:
        """Add the leaves' values to the predictions of the rows the tree was grown on."""
        from margin.compiled.boosting import add_to_leaves

        self._over_leaves(add_to_leaves, len(values), (grown.rows, grown.starts, grown.stops, values, predictions))

    def _over_leaves(self, kernel: Any, leaves: int, arguments: tuple[Any, ...]) -> None:
        """Call ``kernel(low, high, ...)``; each thread takes a range of leaves."""
        over_ranges(lambda low, high: kernel(low, high, *arguments), leaves, self.leaf_threads)


def _first_histograms(capacity: int, q: int) -> int:
    """How many the pool holds at first: no more than leaves can be open, fewer where many columns make them large."""
    leaves = (capacity + 1) // 2
    return min(FIRST_HISTOGRAMS, leaves + 1, max(LEAST_HISTOGRAMS, FIRST_CELLS // (q * CODES)))


def _capacity(limits: SplitLimits, n: int) -> int:
    """The most nodes a tree can have."""
    leaves = max(1, n // limits.min_leaf)
    leaves = min(leaves, limits.max_leaves)
    if limits.max_depth < 40:
        leaves = min(leaves, 2**limits.max_depth)
    return 2 * leaves - 1
