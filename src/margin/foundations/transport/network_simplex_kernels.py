r"""The network simplex for transport between two finite sets, compiled.

A basis is a spanning tree over m sources, n sinks and one artificial root. Artificial arcs point up to the root,
carry nothing and cost what the starting prices ask, so a good guess of the dual variables starts the search near
its end. Potentials satisfy M[i, j] = potential[i] - potential[m + j] on tree arcs; another arc may enter when

    M[i, j] + potential[m + j] - potential[i] < 0.

The tree is strongly feasible (an arc without flow points up) and stays so by the choice of the leaving arc
(W. H. Cunningham, A network simplex method, Mathematical Programming 11, 1976), which rules out cycling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from margin.core.cached_kernels import njit
from margin.foundations.transport.spanning_tree_kernels import (
    Tree,
    cut,
    hang,
    meeting_node,
    number_in_preorder,
    reroot,
    shift_potentials,
)

__all__ = ["cheapest", "network_simplex"]

Array = NDArray[np.float64]

# Floating-point minima do not vectorize in LLVM, counts of comparisons do: look for a better entry 64 at a time.
BLOCK = 64


@njit(cache=True)
def cheapest(costs: Array, prices: Array, bound: float) -> tuple[int, float]:
    """Index of the least ``costs + prices`` below ``bound`` and that sum, or (-1, bound) if there is none."""
    n = costs.size
    found = -1
    whole = n - n % BLOCK
    for start in range(0, whole, BLOCK):
        better = 0
        for j in range(start, start + BLOCK):
            better += 1 if costs[j] + prices[j] < bound else 0
        if better:
            for j in range(start, start + BLOCK):
                if costs[j] + prices[j] < bound:
                    bound = costs[j] + prices[j]
                    found = j
    for j in range(whole, n):
        if costs[j] + prices[j] < bound:
            bound = costs[j] + prices[j]
            found = j
    return found, bound


@njit(cache=True)
def _greedy_flow(a: Array, b: Array, M: Array, prices: Array, tree: Tree) -> None:
    """Serve each source from its cheapest sinks in turn: a forest whose arcs all carry flow."""
    m, n = M.shape
    wanted = b.copy()
    open_prices = prices.copy()
    n_open = n
    for i in range(m):
        left = a[i]
        while n_open > 0:
            j, _ = cheapest(M[i], open_prices, np.inf)
            if left <= wanted[j]:
                tree.parent[i] = m + j
                tree.flow[i] = left
                wanted[j] -= left
            else:
                tree.parent[m + j] = i
                tree.points_up[m + j] = False
                tree.flow[m + j] = wanted[j]
                left -= wanted[j]
                wanted[j] = 0.0
            if wanted[j] == 0.0:
                open_prices[j] = np.inf
                n_open -= 1
            if tree.parent[i] == m + j:
                break


@njit(cache=True)
def _set_potentials(M: Array, prices: Array, tree: Tree) -> None:
    """Potentials from the root down; a child of the root takes its starting price."""
    m, n = M.shape
    root = m + n
    node = tree.following[root]
    while node != root:
        above = tree.parent[node]
        if above == root:
            tree.potential[node] = prices[node - m] if node >= m else cheapest(M[node], prices, np.inf)[1]
        elif node < m:
            tree.potential[node] = tree.potential[above] + M[node, above - m]
        else:
            tree.potential[node] = tree.potential[above] - M[above, node - m]
        node = tree.following[node]


@njit(cache=True)
def _leaving_node(tree: Tree, i: int, j: int, apex: int) -> tuple[int, float, bool]:
    """Node whose arc blocks the cycle, how much can be sent, and whether it lies on the side of ``i``.

    Among equals the last on the way apex -> i -> j -> apex is taken: this keeps the tree strongly feasible.
    """
    sent = np.inf
    leaving = -1
    on_source_side = True
    node = i
    while node != apex:
        if tree.points_up[node] and tree.flow[node] < sent:
            sent = tree.flow[node]
            leaving = node
        node = tree.parent[node]
    node = j
    while node != apex:
        if not tree.points_up[node] and tree.flow[node] <= sent:
            sent = tree.flow[node]
            leaving = node
            on_source_side = False
        node = tree.parent[node]
    return leaving, sent, on_source_side


@njit(cache=True)
def _send(tree: Tree, i: int, j: int, apex: int, amount: float) -> None:
    """Send ``amount`` around the cycle that the arc (i, j) closes."""
    node = i
    while node != apex:
        tree.flow[node] += -amount if tree.points_up[node] else amount
        node = tree.parent[node]
    node = j
    while node != apex:
        tree.flow[node] += amount if tree.points_up[node] else -amount
        node = tree.parent[node]


@njit(cache=True)
def network_simplex(a: Array, b: Array, M: Array, prices: Array, tolerance: float, max_pivots: int) -> tuple[Tree, int]:
    r"""Minimize \(\langle T, M \rangle\) over plans with marginals ``a`` > 0 and ``b`` > 0 of equal sum.

    ``prices`` (n,) is a guess of minus the sinks' dual variables. Returns the tree and the number of pivots,
    which equals ``max_pivots`` only if the search was cut short. Reduced costs above ``-tolerance`` count as
    non-negative.
    """
    m, n = M.shape
    n_nodes = m + n + 1
    tree = Tree(
        np.full(n_nodes, m + n, dtype=np.int32),
        np.ones(n_nodes, dtype=np.bool_),
        np.zeros(n_nodes),
        np.ones(n_nodes, dtype=np.int32),
        np.zeros(n_nodes, dtype=np.int32),
        np.zeros(n_nodes, dtype=np.int32),
        np.zeros(n_nodes, dtype=np.int32),
        np.zeros(n_nodes),
    )
    tree.parent[m + n] = -1
    _greedy_flow(a, b, M, prices, tree)
    number_in_preorder(tree)
    _set_potentials(M, prices, tree)
    sink_potentials = tree.potential[m : m + n]
    i, n_clean, n_pivots = 0, 0, 0
    while n_clean < m and n_pivots < max_pivots:
        j, least = cheapest(M[i], sink_potentials, tree.potential[i] - tolerance)
        if j < 0:
            n_clean += 1
        else:
            n_clean = 0
            n_pivots += 1
            reduced_cost = least - tree.potential[i]
            apex = meeting_node(tree, i, m + j)
            leaving, amount, on_source_side = _leaving_node(tree, i, m + j, apex)
            if amount > 0:
                _send(tree, i, m + j, apex, amount)
            cut(tree, leaving, apex)
            top, above = (i, m + j) if on_source_side else (m + j, i)
            tail = reroot(tree, leaving, top, above, amount, on_source_side)
            hang(tree, top, tail, apex)
            shift_potentials(tree, top, tail, reduced_cost if on_source_side else -reduced_cost)
        i = i + 1 if i + 1 < m else 0
    return tree, n_pivots
