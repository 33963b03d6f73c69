r"""The network simplex for transport between two finite sets, compiled.

A basis is a spanning tree over m sources, n sinks and one artificial root. Artificial arcs point up to the root,
carry nothing and cost what the starting prices ask, so a good guess of the dual variables starts the search near
its end. Potentials satisfy M[i, j] = potential[i] - potential[m + j] on tree arcs; another arc may enter when

    M[i, j] + potential[m + j] - potential[i] < 0.

The tree is strongly feasible (an arc without flow points up) and stays so by the choice of the leaving arc
(W. H. Cunningham, A network simplex method, Mathematical Programming 11, 1976), which rules out cycling.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import ConstMatrix, ConstVector, IntegerMatrix32, Vector, inner, kernel
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

INFINITE = float("inf")
# Minima keep their order, counts of comparisons become vector instructions: look for a better entry 64 at a time.
BLOCK = 64


@kernel
def cheapest(costs: ConstMatrix, i: cython.Py_ssize_t, prices: ConstVector, bound: cython.double) -> cython.Py_ssize_t:
    """Index of the least ``costs[i] + prices`` below ``bound``, or -1 if there is none."""
    n = prices.shape[0]
    start: cython.Py_ssize_t = 0
    found: cython.Py_ssize_t = -1
    least: cython.double = bound
    better: cython.longlong
    while start + BLOCK <= n:
        better = 0
        for j in range(start, start + BLOCK):
            better += 1 if costs[i, j] + prices[j] < least else 0
        if better > 0:
            for j in range(start, start + BLOCK):
                if costs[i, j] + prices[j] < least:
                    least = costs[i, j] + prices[j]
                    found = j
        start += BLOCK
    for j in range(start, n):
        if costs[i, j] + prices[j] < least:
            least = costs[i, j] + prices[j]
            found = j
    return found


@inner
def _greedy_flow(a: ConstVector, wanted: Vector, M: ConstMatrix, open_prices: Vector, tree: Tree) -> cython.void:
    """Serve each source from its cheapest sinks in turn: a forest whose arcs all carry flow.

    ``wanted`` begins as the masses of the sinks and ``open_prices`` as their prices; both are written over.
    """
    m = M.shape[0]
    n_open: cython.Py_ssize_t = M.shape[1]
    left: cython.double
    for i in range(m):
        left = a[i]
        while n_open > 0:
            j = cheapest(M, i, open_prices, INFINITE)
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
                open_prices[j] = INFINITE
                n_open -= 1
            if tree.parent[i] == m + j:
                break


@inner
def _set_potentials(M: ConstMatrix, prices: ConstVector, tree: Tree) -> cython.void:
    """Potentials from the root down; a child of the root takes its starting price."""
    m = M.shape[0]
    root = m + M.shape[1]
    node: cython.int = tree.following[root]
    while node != root:
        above = tree.parent[node]
        if above == root and node >= m:
            tree.potential[node] = prices[node - m]
        elif above == root:
            j = cheapest(M, node, prices, INFINITE)
            tree.potential[node] = M[node, j] + prices[j] if j >= 0 else INFINITE
        elif node < m:
            tree.potential[node] = tree.potential[above] + M[node, above - m]
        else:
            tree.potential[node] = tree.potential[above] - M[above, node - m]
        node = tree.following[node]


@inner
def _leaving_node(tree: Tree, i: cython.int, j: cython.int, apex: cython.int) -> cython.int:
    """Node whose arc blocks the cycle, as a number below zero, -1 - node, if it lies on the side of ``j``.

    Among equals the last on the way apex -> i -> j -> apex is taken: this keeps the tree strongly feasible.
    """
    sent: cython.double = INFINITE
    leaving: cython.int = -1
    node: cython.int = i
    while node != apex:
        if tree.points_up[node] and tree.flow[node] < sent:
            sent = tree.flow[node]
            leaving = node
        node = tree.parent[node]
    node = j
    while node != apex:
        if not tree.points_up[node] and tree.flow[node] <= sent:
            sent = tree.flow[node]
            leaving = -1 - node
        node = tree.parent[node]
    return leaving


@inner
def _send(tree: Tree, i: cython.int, j: cython.int, apex: cython.int, amount: cython.double) -> cython.void:
    """Send ``amount`` around the cycle that the arc (i, j) closes."""
    node: cython.int = i
    while node != apex:
        tree.flow[node] += -amount if tree.points_up[node] else amount
        node = tree.parent[node]
    node = j
    while node != apex:
        tree.flow[node] += amount if tree.points_up[node] else -amount
        node = tree.parent[node]


@kernel
def network_simplex(
    a: ConstVector,
    M: ConstMatrix,
    prices: ConstVector,
    tolerance: cython.double,
    max_pivots: cython.longlong,
    tree: Tree,
    sinks: Vector,
    open_prices: Vector,
    scratch: IntegerMatrix32,
) -> cython.longlong:
    r"""Minimize :math:`\langle T, M \rangle` over plans with marginals ``a`` > 0 and ``sinks`` > 0 of equal sum.

    ``prices`` (n,) is a guess of minus the sinks' dual variables. ``tree`` begins with all nodes as children of the
    root, and nothing flowing. Returns the number of pivots, which equals ``max_pivots`` only if the search was cut
    short. Reduced costs above ``-tolerance`` count as non-negative. Written over: ``sinks``, ``open_prices``, which
    begin as the prices, and ``scratch`` (4, nodes).
    """
    m = M.shape[0]
    i: cython.int = 0
    n_clean: cython.Py_ssize_t = 0
    n_pivots: cython.longlong = 0
    _greedy_flow(a, sinks, M, open_prices, tree)
    number_in_preorder(tree, scratch)
    _set_potentials(M, prices, tree)
    sink_potentials: Vector = tree.potential[m : m + M.shape[1]]
    while n_clean < m and n_pivots < max_pivots:
        found = cheapest(M, i, sink_potentials, tree.potential[i] - tolerance)
        if found < 0:
            n_clean += 1
        else:
            n_clean = 0
            n_pivots += 1
            _pivot(tree, i, m + found, M[i, found] + sink_potentials[found] - tree.potential[i])
        i = i + 1 if i + 1 < m else 0
    return n_pivots


@inner
def _pivot(tree: Tree, i: cython.int, j: cython.int, reduced_cost: cython.double) -> cython.void:
    """Let the arc (i, j) enter the tree, in place of the one that blocks the cycle it closes."""
    apex = meeting_node(tree, i, j)
    leaving: cython.int = _leaving_node(tree, i, j, apex)
    on_source_side: cython.bint = leaving >= 0
    leaving = leaving if on_source_side else -1 - leaving
    amount = tree.flow[leaving]
    if amount > 0:
        _send(tree, i, j, apex, amount)
    cut(tree, leaving, apex)
    top: cython.int = i if on_source_side else j
    above: cython.int = j if on_source_side else i
    tail = reroot(tree, leaving, top, above, amount, on_source_side)
    hang(tree, top, tail, apex)
    shift_potentials(tree, top, tail, reduced_cost if on_source_side else -reduced_cost)
