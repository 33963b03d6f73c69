"""One tree after the other on the same coded table: buffers are made once, leaves are found by compiled loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from margin.core.threads import threads_for
from margin.trees.boosting.kernel_types import CODES, Nodes, Rules, Table
from margin.trees.boosting.packing import choose_packing

__all__ = ["Grower", "Grown"]

EMPTY = np.zeros(0)
FIRST_HISTOGRAMS = 64  # of the pool, which grows when more leaves are open at once
UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Grown:
    """A tree just grown: its nodes, and the training rows ordered by leaf."""

    nodes: Nodes  # trimmed copies
    leaves: np.ndarray  # numbers of the leaves
    rows: np.ndarray  # leaf k owns rows[start:stop]

    @property
    def starts(self) -> np.ndarray:
        return self.nodes.start[self.leaves]

    @property
    def stops(self) -> np.ndarray:
        return self.nodes.stop[self.leaves]


class Grower:
    """Grows trees on one table under one set of rules; ``threads`` is what its work is worth.

    Whoever calls it holds Numba at that number: once around a round, because setting it takes as long as the work on a
    small table.
    """

    def __init__(self, table: Table, rules: Rules):
        self.table, self.rules = table, rules
        n, p = table.codes.shape
        self.cells = np.empty(n, dtype=np.int64)
        self.spare = np.empty(n, dtype=np.int32)
        self.nodes = _nodes(_capacity(rules, n), bool(table.categorical.any()))
        slots = FIRST_HISTOGRAMS if rules.max_leaves == 0 else min(FIRST_HISTOGRAMS, rules.max_leaves + 1)
        self.pool = np.empty((slots, p * CODES), dtype=np.int64)
        self.threads = threads_for(2.0 * n * p)

    def grow(
        self, gradient: np.ndarray, hessian: np.ndarray, rows: np.ndarray | None = None, seed: int = 0, number: int = 0
    ) -> Grown:
        """Tree ``number`` for these derivatives (n,) on ``rows`` (None: all); an empty hessian is 1 for every row.

        ``seed`` draws the columns of every node. Rounding does not depend on it: a fit that draws nothing is the same
        for every seed.
        """
        from margin.trees.boosting.growth_kernels import grow
        from margin.trees.boosting.histogram_kernels import pack

        rows = np.arange(len(gradient), dtype=np.int32) if rows is None else rows.astype(np.int32)
        gradient = np.ascontiguousarray(gradient, dtype=np.float64)
        hessian = np.ascontiguousarray(hessian, dtype=np.float64)
        packing = choose_packing(gradient, hessian)
        pack(gradient, hessian, number, packing, self.cells)
        count, self.pool = grow(
            *(self.table, rows, self.spare, self.cells, packing, self.rules),
            *(self.nodes, self.pool, seed + number, self.threads),
        )
        used = Nodes(*(array[:count].copy() for array in self.nodes))
        return Grown(used, np.flatnonzero(used.feature < 0), rows)

    def sums(self, grown: Grown, gradient: np.ndarray, hessian: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Exact sums of gradient, hessian and weight in every leaf, (leaves, 3); empty arrays count rows."""
        from margin.trees.boosting.growth_kernels import leaf_sums

        found = np.empty((len(grown.leaves), 3))
        leaf_sums(grown.rows, grown.starts, grown.stops, gradient, hessian, weight, found)
        return found

    def add(self, grown: Grown, values: np.ndarray, predictions: np.ndarray) -> None:
        """Add the leaves' values to the predictions of the rows the tree was grown on."""
        from margin.trees.boosting.growth_kernels import add_to_leaves

        add_to_leaves(grown.rows, grown.starts, grown.stops, values, predictions)


def _capacity(rules: Rules, n: int) -> int:
    """The most nodes a tree can have."""
    leaves = max(1, n // rules.min_leaf)
    if rules.max_leaves > 0:
        leaves = min(leaves, rules.max_leaves)
    if rules.max_depth < 40:
        leaves = min(leaves, 2**rules.max_depth)
    return 2 * leaves - 1


def _nodes(capacity: int, categorical: bool) -> Nodes:
    def empty(kind: type) -> np.ndarray:
        return np.zeros(capacity, dtype=kind)

    return Nodes(
        feature=empty(np.int32),
        code=empty(np.uint8),
        missing_left=empty(np.bool_),
        is_category=empty(np.bool_),
        category_set=np.zeros((capacity if categorical else 1, 32), dtype=np.uint8),
        left=empty(np.int32),
        right=empty(np.int32),
        gain=empty(np.float64),
        depth=empty(np.int64),
        start=empty(np.int64),
        stop=empty(np.int64),
        lower=empty(np.float64),
        upper=empty(np.float64),
        slot=empty(np.int64),
        total=empty(np.int64),
    )
