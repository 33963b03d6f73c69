"""A tree as a picture: boxes for questions and leaves, on a Matplotlib axis that is given or made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from margin.trees.cart.explaining import question, value_text
from margin.trees.cart.pruning import leaf_counts
from margin.trees.cart.several_targets import TargetClasses, fraction_parts
from margin.trees.cart.structure import TreeArrays, depths

__all__ = ["node_positions", "plot_tree"]


def node_positions(tree: TreeArrays) -> np.ndarray:
    """Where to draw every node, (nodes, 2): leaves side by side, a parent above the middle of its children."""
    count, level = leaf_counts(tree), depths(tree)
    first = np.zeros(len(count))  # the position of the leftmost leaf below a node
    for node in np.flatnonzero(tree["feature"] >= 0):
        left, right = tree["left"][node], tree["right"][node]
        first[left], first[right] = first[node], first[node] + count[left]
    x = first + (count - 1) / 2.0
    for node in np.flatnonzero(tree["feature"] >= 0)[::-1]:
        x[node] = (x[tree["left"][node]] + x[tree["right"][node]]) / 2
    return np.column_stack([x, -level])


def plot_tree(
    tree: TreeArrays,
    *,
    names: Sequence[str],
    categories: Mapping[int, np.ndarray] | None = None,
    classes: TargetClasses | None = None,
    max_depth: int | None = None,
    path: Sequence[int] | None = None,
    axis: Any = None,
    fontsize: float = 8,
) -> Any:
    """Draw the tree (its top ``max_depth`` questions) and return the axis; nodes on ``path`` get a bold frame."""
    from matplotlib import colormaps

    if axis is None:
        from matplotlib.figure import Figure

        axis = Figure(figsize=(10, 6), layout="constrained").subplots()
    level = depths(tree)
    deepest = int(level.max()) if max_depth is None else min(max_depth, int(level.max()))
    top = tree if deepest == level.max() else _top(tree, level >= deepest)
    position = node_positions(top)
    colors = colormaps["tab10"] if classes is not None else colormaps["viridis"]
    marked = set() if path is None else set(path)
    for node in range(len(top["feature"])):
        inner = top["feature"][node] >= 0
        if inner:
            for side, word in (("left", "yes"), ("right", "no")):
                child = top[side][node]
                bold = node in marked and int(child) in marked
                axis.plot(*position[[node, child]].T, color="0.2" if bold else "0.7", lw=2.5 if bold else 1, zorder=1)
                middle = position[[node, child]].mean(axis=0)
                axis.text(*middle, word, fontsize=0.85 * fontsize, color="0.4", ha="center", va="center", zorder=2)
        text = [question(top, node, names, categories or {}, say_missing=False)] if inner else []
        text += [value_text(top, node, classes).removeprefix("class "), f"{top['n_samples'][node]} rows"]
        strength = 0.25 if inner else 0.6  # of the color against white: a transparent box would show the lines below
        box = {
            "boxstyle": "round,pad=0.35",
            "fc": 1 - strength * (1 - np.array(colors(_shade(top, node, classes))[:3])),
            "ec": "black" if node in marked else "0.5",
            "lw": 2 if node in marked else 0.8,
        }
        axis.text(*position[node], "\n".join(text), ha="center", va="center", fontsize=fontsize, bbox=box, zorder=3)
    axis.set_xlim(position[:, 0].min() - 0.6, position[:, 0].max() + 0.6)
    axis.set_ylim(-deepest - 0.5, 0.5)
    axis.axis("off")
    return axis


def _top(tree: TreeArrays, cut: np.ndarray) -> TreeArrays:
    from margin.trees.cart.structure import subtree

    return subtree(tree, cut | (tree["feature"] < 0))


def _shade(tree: TreeArrays, node: int, classes: TargetClasses | None) -> Any:
    value = tree["value"]
    if classes is not None:
        return int(fraction_parts(value[node][None], classes)[0].argmax()) % 10  # by the first target
    low, high = float(value[:, 0].min()), float(value[:, 0].max())
    return 0.5 if high == low else (float(value[node, 0]) - low) / (high - low)
