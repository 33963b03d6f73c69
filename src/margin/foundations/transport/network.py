"""The network simplex on arrays: what ``network_simplex_kernels`` is given, and what it leaves."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TreeArrays", "solve_network"]

Array = NDArray[np.float64]


class TreeArrays(NamedTuple):
    """A spanning tree of sources, sinks and the root, in this order; see ``spanning_tree_kernels.Tree``."""

    parent: NDArray[np.int32]
    points_up: NDArray[np.uint8]
    flow: Array
    size: NDArray[np.int32]
    following: NDArray[np.int32]
    before: NDArray[np.int32]
    last: NDArray[np.int32]
    potential: Array


def solve_network(
    a: Array, b: Array, M: Array, prices: Array, tolerance: float, max_pivots: int, kernels: Any = None
) -> tuple[TreeArrays, int]:
    """The tree of an optimal plan from ``a`` > 0 to ``b`` > 0, of equal sum, and the number of pivots.

    ``kernels`` is a module with the loops, the compiled one by default.

    >>> tree, _ = solve_network(np.ones(1), np.ones(1), np.array([[3.0]]), np.zeros(1), 0.0, 9)
    >>> tree.flow.tolist(), tree.potential.tolist()
    ([1.0, 0.0, 0.0], [3.0, 0.0, 0.0])
    """
    loops = import_module("margin.compiled.transport") if kernels is None else kernels
    m, n = M.shape
    nodes = m + n + 1
    parent, size = np.full(nodes, m + n, dtype=np.int32), np.ones(nodes, dtype=np.int32)
    parent[-1] = -1
    following, before, last = np.zeros((3, nodes), dtype=np.int32)
    flow, potential, points_up = np.zeros(nodes), np.zeros(nodes), np.ones(nodes, dtype=np.uint8)
    tree = TreeArrays(parent, points_up, flow, size, following, before, last, potential)
    scratch = b.copy(), prices.copy(), np.empty((4, nodes), dtype=np.int32)
    costs, masses = np.ascontiguousarray(M, dtype=np.float64), np.ascontiguousarray(a)
    pivots = loops.network_simplex(
        masses, costs, np.ascontiguousarray(prices), tolerance, max_pivots, loops.Tree(*tree), *scratch
    )
    return tree, int(pivots)
