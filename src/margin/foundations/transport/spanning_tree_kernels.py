"""A spanning tree that changes by one arc at a time, compiled.

Every node but the root keeps the tree arc to its parent: its flow and whether it points up (from the node to its
parent). The nodes form a circular list in preorder, so a subtree is a run of that list, and replacing an arc means
cutting a run out, turning it over and hanging it elsewhere.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import Bytes, IntegerMatrix32, Integers32, Vector, inner

__all__ = ["Tree", "cut", "hang", "meeting_node", "number_in_preorder", "reroot", "shift_potentials"]


@cython.cclass
class Tree:
    """A spanning tree; the last node is the root. ``following`` and ``before`` link the nodes in preorder."""

    parent: Integers32
    points_up: Bytes
    flow: Vector
    size: Integers32  # nodes of the subtree
    following: Integers32
    before: Integers32
    last: Integers32  # of the subtree, in preorder
    potential: Vector

    def __init__(
        self,
        parent: Integers32,
        points_up: Bytes,
        flow: Vector,
        size: Integers32,
        following: Integers32,
        before: Integers32,
        last: Integers32,
        potential: Vector,
    ):
        self.parent = parent
        self.points_up = points_up
        self.flow = flow
        self.size = size
        self.following = following
        self.before = before
        self.last = last
        self.potential = potential


@inner
def number_in_preorder(tree: Tree, scratch: IntegerMatrix32) -> cython.void:
    """Fill ``following``, ``before``, ``size`` and ``last`` from ``parent``; ``scratch`` (4, nodes) is written over."""
    child: Integers32 = scratch[0]
    sibling: Integers32 = scratch[1]
    order: Integers32 = scratch[2]
    stack: Integers32 = scratch[3]
    n_nodes = tree.parent.shape[0]
    root: cython.int = n_nodes - 1
    node: cython.int
    height: cython.Py_ssize_t = 1
    for k in range(n_nodes):
        child[k] = -1
        sibling[k] = -1
    for node in range(root):
        sibling[node] = child[tree.parent[node]]
        child[tree.parent[node]] = node
    stack[0] = root
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
        successor = order[k + 1 if k + 1 < n_nodes else 0]
        tree.following[order[k]] = successor
        tree.before[successor] = order[k]
    for k in range(n_nodes - 1):
        node = order[n_nodes - 1 - k]
        tree.size[tree.parent[node]] += tree.size[node]
    for k in range(n_nodes):
        tree.last[order[k]] = order[k + tree.size[order[k]] - 1]


@inner
def meeting_node(tree: Tree, first: cython.int, second: cython.int) -> cython.int:
    """The lowest common ancestor: the smaller subtree cannot contain the other node."""
    while first != second:
        if tree.size[first] < tree.size[second]:
            first = tree.parent[first]
        else:
            second = tree.parent[second]
    return first


@inner
def cut(tree: Tree, top: cython.int, apex: cython.int) -> cython.void:
    """Take the run of ``top``'s subtree out of the list and out of its ancestors' sizes and ends."""
    node: cython.int = tree.parent[top]
    end = tree.last[top]
    previous = tree.before[top]
    successor = tree.following[end]
    tree.following[previous] = successor
    tree.before[successor] = previous
    while node != apex:
        tree.size[node] -= tree.size[top]
        node = tree.parent[node]
    node = tree.parent[top]
    while node >= 0 and tree.last[node] == end:
        tree.last[node] = previous
        node = tree.parent[node]


@inner
def reroot(
    tree: Tree,
    top: cython.int,
    new_top: cython.int,
    new_parent: cython.int,
    amount: cython.double,
    upward: cython.bint,
) -> cython.int:
    """Turn the subtree of ``top`` over so that ``new_top`` heads it and hangs below ``new_parent``.

    Its arc carries ``amount``, ``upward`` or not. Climbing from ``new_top`` to ``top``, each node contributes the runs
    before and after the part already placed. Returns the last node of the run.
    """
    n_nodes: cython.int = tree.size[top]
    tail: cython.int = tree.last[new_top]
    # The part already placed was the run from behind ``run_before`` to ``run_end``, ahead of ``run_after``.
    run_before: cython.int = tree.before[new_top]
    run_end: cython.int = tail
    run_after: cython.int = tree.following[tail]
    run_size: cython.int = tree.size[new_top]
    node: cython.int = new_top
    above: cython.int = new_parent
    flow: cython.double = amount
    up: cython.bint = upward
    tree.size[new_top] = n_nodes
    while True:
        climb: cython.int = tree.parent[node]
        old_flow: cython.double = tree.flow[node]
        old_up: cython.bint = tree.points_up[node]
        tree.parent[node] = above
        tree.flow[node] = flow
        tree.points_up[node] = up
        if node == top:
            break
        above = node
        node = climb
        flow = old_flow
        up = not old_up
        old_before: cython.int = tree.before[node]
        old_end: cython.int = tree.last[node]
        old_size: cython.int = tree.size[node]
        old_after: cython.int = run_after if old_end == run_end else tree.following[old_end]
        tree.following[tail] = node
        tree.before[node] = tail
        tail = run_before
        if run_end != old_end:
            tree.following[tail] = run_after
            tree.before[run_after] = tail
            tail = old_end
        tree.size[node] = n_nodes - run_size
        run_before = old_before
        run_end = old_end
        run_after = old_after
        run_size = old_size
    node = top
    while node != new_parent:
        tree.last[node] = tail
        node = tree.parent[node]
    return tail


@inner
def hang(tree: Tree, top: cython.int, tail: cython.int, apex: cython.int) -> cython.void:
    """Put the run from ``top`` to ``tail`` behind its new parent."""
    above = tree.parent[top]
    successor = tree.following[above]
    node: cython.int = above
    tree.following[above] = top
    tree.before[top] = above
    tree.following[tail] = successor
    tree.before[successor] = tail
    while node != apex:
        tree.size[node] += tree.size[top]
        node = tree.parent[node]
    node = above
    while node >= 0 and tree.last[node] == above:
        tree.last[node] = tail
        node = tree.parent[node]


@inner
def shift_potentials(tree: Tree, top: cython.int, tail: cython.int, amount: cython.double) -> cython.void:
    """Add ``amount`` to the potentials of a subtree, or take it from all others if those are fewer."""
    node: cython.int = top
    count: cython.Py_ssize_t = tree.size[top]
    n_nodes = tree.parent.shape[0]
    if 2 * count > n_nodes:
        node = tree.following[tail]
        count = n_nodes - count
        amount = -amount
    for _ in range(count):
        tree.potential[node] += amount
        node = tree.following[node]
