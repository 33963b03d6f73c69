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
    from margin.trees.cart.kernel_types import FIRST_TARGET, PACKED_GINI, TARGETS, WEIGHTS, NodeRows, has_vectors

    n = len(rows)
    positions = np.empty((2, n), dtype=np.uint32)  # unsigned: no index counts from the end
    positions[0] = rows
    if rules.mode == PACKED_GINI:
        count = weight.astype(np.int64)
        packed = np.empty((2, n), dtype=np.int64)
        packed[0] = (count << 32) | (count * target.astype(np.int64))
        return NodeRows(starts=starts, row=positions, amounts=packed)
    own = target.reshape(n, -1).T if has_vectors(rules.mode) else np.empty((0, n))
    numbers = np.empty((FIRST_TARGET + len(own), n))
    numbers[WEIGHTS], numbers[TARGETS], numbers[FIRST_TARGET:] = weight, np.arange(n) if len(own) else target, own
    return NodeRows(starts=starts, row=positions, amounts=numbers)


def search_buffers(codes: ColumnCodes, rules: GrowthRules, n: int, states: np.ndarray) -> SearchBuffers:
    """Memory for trees of at most ``n`` rows; ``states`` are what their generators begin with."""
    from margin.trees.cart.kernel_types import ABSOLUTE_ERROR, SearchBuffers

    size, k = codes.missing + 3, rules.classes
    return SearchBuffers(
        node_codes=np.empty(n, dtype=codes.codes.dtype),
        keys=np.empty((2, n), dtype=np.int64),
        group_integers=np.zeros((8, size), dtype=np.int64),
        group_numbers=np.empty((7, size)),
        sums=np.zeros(size * max(2, k)),
        group_classes=np.empty(size * k),
        class_weights=np.zeros((2, k)),
        ranking=np.zeros((6, n + 1 if rules.mode == ABSOLUTE_ERROR else 0)),
        features=np.arange(len(codes.codes)),
        states=states,
        generator=np.empty(1, dtype=np.uint64),
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
