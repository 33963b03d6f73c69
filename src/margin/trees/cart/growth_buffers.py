"""The arrays that the compiled grower works on: rows in the order of nodes, memory for the search, and for trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes, GrowthRules, NodeRows, SearchBuffers, TreeBuffers

__all__ = ["node_rows", "search_buffers", "tree_buffers"]


def node_rows(
    rules: GrowthRules, starts: np.ndarray, rows: np.ndarray, weight: np.ndarray, target: np.ndarray
) -> NodeRows:
    """The ``rows`` of trees that lie one after another, with their weights and centered targets."""
    from margin.trees.cart.kernel_types import PACKED_GINI, NodeRows, has_vectors

    n = len(rows)
    shared = {"starts": starts, "row": rows.astype(np.uint32), "spare_row": np.empty(n, dtype=np.uint32)}
    if rules.mode == PACKED_GINI:
        count = weight.astype(np.int64)
        packed = (count << 32) | (count * target.astype(np.int64))
        return NodeRows(**shared, packed=packed, spare_packed=np.empty(n, dtype=np.int64))
    several = np.ascontiguousarray(target.reshape(n, -1).T) if has_vectors(rules.mode) else None
    return NodeRows(
        **shared,
        weights=np.array(weight, dtype=np.float64),
        spare_weights=np.empty(n),
        targets=np.array(target if several is None else np.arange(n), dtype=np.float64),
        spare_targets=np.empty(n),
        several=several,
    )


def search_buffers(codes: ColumnCodes, rules: GrowthRules, n: int, states: np.ndarray) -> SearchBuffers:
    """Memory for trees of at most ``n`` rows; ``states`` are what their generators begin with."""
    from margin.trees.cart.kernel_types import ABSOLUTE_ERROR, SearchBuffers

    size, k = codes.missing + 3, rules.classes
    integers = ("group_codes", "group_rows", "left_rows", "split_order", "best_order")
    numbers = ("group_weights", "group_totals", "left_weights", "left_totals", "gains", "left_medians", "right_medians")
    ranking: dict[str, np.ndarray] = {}
    if rules.mode == ABSOLUTE_ERROR:
        heaps, positions = (
            ("heap_weights", "heap_totals", "sorted_targets"),
            ("ranks", "sorted_positions", "spare_positions"),
        )
        ranking = {name: np.empty(n + 1) for name in heaps} | {
            name: np.empty(n + 1, dtype=np.int32) for name in positions
        }
    return SearchBuffers(
        node_codes=np.empty(n, dtype=np.int32),
        node_classes=np.empty(n, dtype=np.int32),
        class_places=np.empty(k, dtype=np.int64),
        keys=np.empty(n, dtype=np.int64),
        spare_keys=np.empty(n, dtype=np.int64),
        digit_starts=np.empty(256, dtype=np.int64),
        **{name: np.empty(size, dtype=np.int64) for name in integers},
        row_counts=np.zeros(size, dtype=np.int64),
        packed_sums=np.zeros(size, dtype=np.int64),
        **{name: np.empty(size) for name in numbers},
        sums=np.zeros(size * max(2, k)),
        group_sums=np.empty(size * k),
        node_sums=np.empty(k),
        left_sums=np.empty(k),
        features=np.empty(len(codes.codes), dtype=np.int64),
        states=states,
        **ranking,
    )


def tree_buffers(codes: ColumnCodes, rules: GrowthRules, counts: np.ndarray) -> TreeBuffers:
    """Memory for the largest trees that the limits allow over so many rows; pages not reached are never touched."""
    from margin.trees.cart.kernel_types import NODE, TreeBuffers

    leaves = np.maximum(1, counts // max(1, rules.min_leaf))
    if rules.max_leaves > 0:
        leaves = np.minimum(leaves, rules.max_leaves)
    if rules.max_depth < int(counts.max()).bit_length():
        leaves = np.minimum(leaves, 2**rules.max_depth)
    size = int(2 * leaves.sum()) - len(counts)
    return TreeBuffers(
        roots=np.empty(len(counts) + 1, dtype=np.int64),
        nodes=np.empty(size, dtype=NODE),
        value=np.empty((size, rules.classes)),
        sets=np.empty((size + 1 if codes.flags[0].any() else 1, 32), dtype=np.uint8),
        waiting=np.empty(size, dtype=np.int64),
    )
