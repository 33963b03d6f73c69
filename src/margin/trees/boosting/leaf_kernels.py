"""What happens to the leaves of a grown tree, compiled by Numba: sums of their rows, values of the nodes above."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import cached_kernel

__all__ = ["add_to_leaves", "leaf_sums", "node_means"]


@cached_kernel
def leaf_sums(low, high, rows, start, stop, values, sums):
    """Sums of ``values`` over the rows of leaves ``low`` to ``high``, each in the order of the rows."""
    for k in range(low, high):
        total = 0.0
        for i in range(np.uint64(start[k]), np.uint64(stop[k])):
            total += values[np.uint64(rows[i])]
        sums[k] = total


@cached_kernel
def add_to_leaves(low, high, rows, start, stop, value, predictions):
    """Add the values of leaves ``low`` to ``high`` to the predictions of their rows."""
    for k in range(low, high):
        for i in range(np.uint64(start[k]), np.uint64(stop[k])):
            predictions[np.uint64(rows[i])] += value[k]


@cached_kernel
def node_means(nodes, value, weight):
    """Fill weight and value of inner nodes, in place: sums and weighted means over the leaves below them."""
    for number in range(nodes.size - 1, -1, -1):  # children have larger numbers
        node = nodes[number]
        if node.left >= 0:
            a, b = node.left, node.right
            weight[number] = weight[a] + weight[b]
            value[number] = (weight[a] * value[a] + weight[b] * value[b]) / weight[number]
