r"""The network simplex for transport between two finite sets, compiled.

A basis is a spanning tree over m sources, n sinks and one artificial root. Every node but the root keeps the
tree arc to its parent: its flow and whether it points up (from the node to its parent). Artificial arcs point up,
carry nothing and cost what the starting prices ask, so a good guess of the dual variables starts the search near
its end. Potentials satisfy M[i, j] = potential[i] - potential[m + j] on tree arcs; another arc may enter when

    M[i, j] + potential[m + j] - potential[i] < 0.

The tree is strongly feasible (an arc without flow points up) and stays so by the choice of the leaving arc
(W. H. Cunningham, A network simplex method, Mathematical Programming 11, 1976), which rules out cycling.
It is stored as a circular list in preorder, so a subtree is a run of that list and a pivot relinks a few runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Tree", "cheapest", "network_simplex"]

Array = NDArray[np.float64]

# Floating-point minima do not vectorize in LLVM, counts of comparisons do: look for a better entry 64 at a time.
BLOCK = 64


class Tree(NamedTuple):
    """A spanning tree; the last node is the root. ``following`` and ``before`` link the nodes in preorder."""

    parent: NDArray[np.int32]
    points_up: NDArray[np.bool_]
    flow: NDArray[np.float64]
    size: NDArray[np.int32]
    following: NDArray[np.int32]
    before: NDArray[np.int32]
    last: NDArray[np.int32]
    potential: NDArray[np.float64]


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
def _number_in_preorder(tree: Tree) -> None:
    """Fill ``following``, ``before``, ``size`` and ``last`` from ``parent``."""
    n_nodes = tree.parent.size
    root = n_nodes - 1
    child = np.full(n_nodes, -1, dtype=np.int32)
    sibling = np.full(n_nodes, -1, dtype=np.int32)
    for node in range(root):
        sibling[node] = child[tree.parent[node]]
        child[tree.parent[node]] = node
    order = np.empty(n_nodes, dtype=np.int32)
    stack = np.empty(n_nodes, dtype=np.int32)
    stack[0] = root
    height = 1
    for k in range(n_nodes):
        height -= 1
        node = stack[height]
        order[k] = node
        node = child[node]
        while node >= 0:
            stack[height] = node
            height += 1
            node = sibling[node]
    for k in range(n_nodes):
        successor = order[(k + 1) % n_nodes]
        tree.following[order[k]] = successor
        tree.before[successor] = order[k]
    for k in range(n_nodes - 1, 0, -1):
        tree.size[tree.parent[order[k]]] += tree.size[order[k]]
    for k in range(n_nodes):
        tree.last[order[k]] = order[k + tree.size[order[k]] - 1]


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
def _meeting_node(tree: Tree, first: int, second: int) -> int:
    """The lowest common ancestor: the smaller subtree cannot contain the other node."""
    while first != second:
        if tree.size[first] < tree.size[second]:
            first = tree.parent[first]
        else:
            second = tree.parent[second]
    return first


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
def _cut(tree: Tree, top: int, apex: int) -> None:
    """Take the run of ``top``'s subtree out of the list and out of its ancestors' sizes and ends."""
    end = tree.last[top]
    previous, successor = tree.before[top], tree.following[end]
    tree.following[previous] = successor
    tree.before[successor] = previous
    node = tree.parent[top]
    while node != apex:
        tree.size[node] -= tree.size[top]
        node = tree.parent[node]
    node = tree.parent[top]
    while node >= 0 and tree.last[node] == end:
        tree.last[node] = previous
        node = tree.parent[node]


@njit(cache=True)
def _reroot(tree: Tree, top: int, new_top: int, new_parent: int, amount: float, points_up: bool) -> int:
    """Turn the subtree of ``top`` over so that ``new_top`` heads it and hangs below ``new_parent``.

    Climbing from ``new_top`` to ``top``, each node contributes the runs before and after the part already placed.
    """
    n_nodes = tree.size[top]
    tail = tree.last[new_top]
    # The part already placed was the run from behind ``run_before`` to ``run_end``, ahead of ``run_after``.
    run_before, run_end, run_after = tree.before[new_top], tail, tree.following[tail]
    run_size = tree.size[new_top]
    node, above, flow = new_top, new_parent, amount
    tree.size[new_top] = n_nodes
    while True:
        climb, old_flow, old_up = tree.parent[node], tree.flow[node], tree.points_up[node]
        tree.parent[node], tree.flow[node], tree.points_up[node] = above, flow, points_up
        if node == top:
            break
        node, above, flow, points_up = climb, node, old_flow, not old_up
        old_before, old_end, old_size = tree.before[node], tree.last[node], tree.size[node]
        old_after = run_after if old_end == run_end else tree.following[old_end]
        tree.following[tail], tree.before[node] = node, tail
        tail = run_before
        if run_end != old_end:
            tree.following[tail], tree.before[run_after] = run_after, tail
            tail = old_end
        tree.size[node] = n_nodes - run_size
        run_before, run_end, run_after, run_size = old_before, old_end, old_after, old_size
    node = top
    while node != new_parent:
        tree.last[node] = tail
        node = tree.parent[node]
    return tail


@njit(cache=True)
def _hang(tree: Tree, top: int, tail: int, apex: int) -> None:
    """Put the run from ``top`` to ``tail`` behind its new parent."""
    above = tree.parent[top]
    successor = tree.following[above]
    tree.following[above], tree.before[top] = top, above
    tree.following[tail], tree.before[successor] = successor, tail
    node = above
    while node != apex:
        tree.size[node] += tree.size[top]
        node = tree.parent[node]
    node = above
    while node >= 0 and tree.last[node] == above:
        tree.last[node] = tail
        node = tree.parent[node]


@njit(cache=True)
def _shift(tree: Tree, top: int, tail: int, amount: float) -> None:
    """Add ``amount`` to the potentials of a subtree, or take it from all others if those are fewer."""
    node, count = top, tree.size[top]
    n_nodes = tree.parent.size
    if 2 * count > n_nodes:
        node, count, amount = tree.following[tail], n_nodes - count, -amount
    for _ in range(count):
        tree.potential[node] += amount
        node = tree.following[node]


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
    _number_in_preorder(tree)
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
            apex = _meeting_node(tree, i, m + j)
            leaving, amount, on_source_side = _leaving_node(tree, i, m + j, apex)
            if amount > 0:
                _send(tree, i, m + j, apex, amount)
            _cut(tree, leaving, apex)
            top, above = (i, m + j) if on_source_side else (m + j, i)
            tail = _reroot(tree, leaving, top, above, amount, on_source_side)
            _hang(tree, top, tail, apex)
            _shift(tree, top, tail, reduced_cost if on_source_side else -reduced_cost)
        i = i + 1 if i + 1 < m else 0
    return tree, n_pivots
