"""What happens to the leaves of a grown tree: sums of their rows, values of the nodes above."""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstIntegers, ConstIntegers32, ConstVector, Vector, kernel
from margin.trees.boosting.state_kernels import ConstNodes

__all__ = ["add_to_leaves", "leaf_sums", "node_means"]


@kernel
def leaf_sums(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    rows: ConstIntegers32,
    start: ConstIntegers,
    stop: ConstIntegers,
    values: ConstVector,
    sums: Vector,
) -> cython.void:
    """Sums of ``values`` over the rows of leaves ``low`` to ``high``, each in the order of the rows."""
    total: cython.double
    for k in range(low, high):
        total = 0.0
        for i in range(start[k], stop[k]):
            total += values[rows[i]]
        sums[k] = total


@kernel
def add_to_leaves(
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    rows: ConstIntegers32,
    start: ConstIntegers,
    stop: ConstIntegers,
    value: ConstVector,
    predictions: Vector,
) -> cython.void:
    """Add the values of leaves ``low`` to ``high`` to the predictions of their rows."""
    for k in range(low, high):
        added = value[k]
        for i in range(start[k], stop[k]):
            predictions[rows[i]] += added


@kernel
def node_means(nodes: ConstNodes, value: Vector, weight: Vector) -> cython.void:
    """Fill weight and value of inner nodes, in place: sums and weighted means over the leaves below them."""
    for number in range(nodes.shape[0] - 1, -1, -1):  # children have larger numbers
        a = nodes[number].left
        b = nodes[number].right
        if a >= 0:
            weight[number] = weight[a] + weight[b]
            value[number] = (weight[a] * value[a] + weight[b] * value[b]) / weight[number]
