"""Euclidean neighbors from a tree of our own, made for many queries: it looks at 8 boxes or 64 points at a time.

A leaf is a tile, (columns, points), and the box of a node stands next to those of its siblings, so that one vector
instruction serves several of them. Queries are answered in the order of a tree of their own: those that follow each
other are near each other, and find the tiles they need in the processor's cache. Powers are exact, and equal ones come
in the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["TileTree", "build", "nearest"]

FANOUT = 8  # children of a node: one cache line per column and side
LANES = 16  # the points of a leaf are a multiple: two vectors of AVX-512, four of AVX2
STACK = 256  # a tree of 2^60 points needs less
FARTHEST = np.finfo(np.float64).max  # the power that a neighbor not yet found has


@dataclass(frozen=True)
class TileTree:
    """Nodes are numbered level by level from the root, then come the leaves."""

    boxes: np.ndarray  # (nodes, 2, d, FANOUT): smallest and largest values of every child
    children: np.ndarray  # (nodes,): the number of the first child
    tiles: np.ndarray  # (leaves, d, lanes): points; infinite where the last leaf has none
    numbers: np.ndarray  # (leaves, lanes): which rows of the table they are
    n: int


def build(points: np.ndarray, leaf_size: int) -> TileTree:
    """A tree of ``points`` (n, d); its leaves hold twice ``leaf_size`` points, rounded up to a multiple of 16."""
    n, d = points.shape
    lanes = -(-2 * leaf_size // LANES) * LANES
    lanes = min(lanes, -(-n // LANES) * LANES)
    leaves = -(-n // lanes)
    points = np.ascontiguousarray(points, dtype=np.float64)
    numbers = np.full(leaves * lanes, n)
    numbers[:n] = _leaf_order(points, lanes)
    rows = np.full((leaves * lanes, d), np.inf)
    np.take(points, numbers[:n], axis=0, out=rows[:n], mode="clip")
    tiles = np.ascontiguousarray(rows.reshape(leaves, lanes, d).transpose(0, 2, 1))
    low, high = tiles.min(axis=2), tiles.max(axis=2)
    high[-1] = rows[(leaves - 1) * lanes : n].max(axis=0)
    return TileTree(*_nodes(low, high), tiles, numbers.reshape(leaves, lanes), n)


def nearest(tree: TileTree, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Powers and indices of the ``k`` nearest points of every query (m, d), ascending, (m, k) each."""
    from margin.compiled.neighbors import NearestSoFar, Nodes, search

    powers = np.full((len(queries), k), FARTHEST)
    index = np.full((len(queries), k), tree.n)
    turns = _leaf_order(queries, LANES)
    stack = np.empty(STACK), np.empty(STACK, dtype=np.int64)
    found = NearestSoFar(powers, index, *stack, np.empty(FANOUT), np.empty(tree.tiles.shape[2]))
    search(queries, turns, Nodes(tree.boxes, tree.children, tree.tiles, tree.numbers), found)
    if (index == tree.n).any():
        raise OverflowError("powers of distances exceed the range of a float64")
    return powers, index


def _leaf_order(points: np.ndarray, lanes: int) -> np.ndarray:
    from margin.compiled.neighbors import order_points

    order = np.arange(len(points))
    stacks = np.empty((2, STACK), dtype=np.int64)
    order_points(points, lanes, FANOUT, order, np.empty(len(points)), *stacks)
    return order


def _nodes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes and first children of the nodes over leaves with these smallest and largest values (leaves, d)."""
    levels: list[np.ndarray] = []
    while not levels or len(low) > 1:
        groups = -(-len(low) // FANOUT)
        box: np.ndarray = np.empty((2, groups * FANOUT, low.shape[1]))
        for side, values, nothing in zip(box, (low, high), (np.inf, -np.inf)):
            side[: len(values)], side[len(values) :] = values, nothing
        box = box.reshape(2, groups, FANOUT, -1)
        low, high = box[0].min(axis=1), box[1].max(axis=1)
        levels.insert(0, box.transpose(1, 0, 3, 2))
    ends = np.cumsum([len(level) for level in levels])
    children = [end + FANOUT * np.arange(len(level)) for end, level in zip(ends, levels)]
    return np.ascontiguousarray(np.concatenate(levels)), np.concatenate(children)
