"""A category tree on a Matplotlib axis: questions as boxes, answers in the color of their class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from margin.trees.multiway.category_tree import Tree, children, depths
from margin.trees.multiway.tree_text import TreeNames, condition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_tree", "node_positions"]

COLORS = ("#c8553d", "#3b6fb6", "#4f9d69", "#8e5aa8", "#d29a2e", "#3f9aa0", "#7a6f5d", "#b0478c")


def node_positions(tree: Tree) -> np.ndarray:
    """Where to draw every node, (nodes, 2): leaves evenly from left to right, a parent above the middle of its own.

    The second coordinate is minus the depth.
    """
    x = np.zeros(len(tree["feature"]))
    waiting, leaves = [0], 0
    while waiting:
        node = waiting.pop()
        waiting += reversed(children(tree, node))
        if not tree["n_children"][node]:
            x[node], leaves = leaves, leaves + 1
    for node in range(len(x) - 1, -1, -1):
        if tree["n_children"][node]:
            below = children(tree, node)
            x[node] = (x[below[0]] + x[below[-1]]) / 2
    return np.column_stack([x, -depths(tree)])


def draw_tree(tree: Tree, names: TreeNames, axis: Axes) -> None:
    """Questions with their gain, branches with their value, leaves with class and class weights."""
    positions = node_positions(tree)
    for node, (x, y) in enumerate(positions):
        if node:
            _draw_branch(tree, node, names, positions, axis)
        label, color, style = _node_look(tree, node, names)
        axis.text(x, y, label, ha="center", va="center", fontsize=9.5, color=color, bbox=style, zorder=3)
    axis.set_xlim(positions[:, 0].min() - 0.6, positions[:, 0].max() + 0.6)
    axis.set_ylim(positions[:, 1].min() - 0.4, 0.4)
    axis.set_axis_off()


def _draw_branch(tree: Tree, node: int, names: TreeNames, positions: np.ndarray, axis: Axes) -> None:
    above = int(tree["parent"][node])
    (x, y), (x_above, y_above) = positions[node], positions[above]
    axis.plot([x_above, x], [y_above, y], color="#999999", linewidth=1.2, zorder=1)
    column = names.columns[int(tree["feature"][above])]
    answer = condition(tree, node, names).removeprefix(f"{column} ").removeprefix("= ")
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    x, y = 0.4 * x_above + 0.6 * x, 0.4 * y_above + 0.6 * y
    axis.text(x, y, answer, ha="center", va="center", fontsize=9, bbox=plate, zorder=2)


def _node_look(tree: Tree, node: int, names: TreeNames) -> tuple[str, str, dict[str, str]]:
    """The label of a node, its color, and its box."""
    if tree["n_children"][node]:
        label = f"{names.columns[int(tree['feature'][node])]}?\ngain {tree['gain'][node]:.3f}"
        return label, "black", {"facecolor": "#f2efe9", "edgecolor": "#666666", "boxstyle": "round,pad=0.4"}
    value = tree["value"][node]
    best = int(value.argmax())
    label = f"{names.classes[best]}\n" + " : ".join(f"{weight:g}" for weight in value.round(2))
    fill = COLORS[best % len(COLORS)]
    return label, "white", {"facecolor": fill, "edgecolor": "none", "boxstyle": "round,pad=0.4"}
