"""A spanning tree that changes by one arc at a time, compiled.

Every node but the root keeps the tree arc to its parent: its flow and whether it points up (from the node to its
parent). The nodes form a circular list in preorder, so a subtree is a run of that list, and replacing an arc means
cutting a run out, turning it over and hanging it elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from margin.core.cached_kernels import njit

__all__ = ["Tree", "cut", "hang", "meeting_node", "number_in_preorder", "reroot", "shift_potentials"]


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
def number_in_preorder(tree: Tree) -> None:
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
def meeting_node(tree: Tree, first: int, second: int) -> int:
    """The lowest common ancestor: the smaller subtree cannot contain the other node."""
    while first != second:
        if tree.size[first] < tree.size[second]:
            first = tree.parent[first]
        else:
            second = tree.parent[second]
    return first


@njit(cache=True)
def cut(tree: Tree, top: int, apex: int) -> None:
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
def reroot(tree: Tree, top: int, new_top: int, new_parent: int, amount: float, points_up: bool) -> int:
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
def hang(tree: Tree, top: int, tail: int, apex: int) -> None:
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
def shift_potentials(tree: Tree, top: int, tail: int, amount: float) -> None:
    """Add ``amount`` to the potentials of a subtree, or take it from all others if those are fewer."""
    node, count = top, tree.size[top]
    n_nodes = tree.parent.size
    if 2 * count > n_nodes:
        node, count, amount = tree.following[tail], n_nodes - count, -amount
    for _ in range(count):
        tree.potential[node] += amount
        node = tree.following[node]
