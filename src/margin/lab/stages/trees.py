"""Binary trees, drawn beside what they predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel

__all__ = ["tree_panels"]

MOST_NODES = 63


def tree_panels(model: Any) -> list[Panel]:
    """The tree of a single decision tree; nothing for every other model."""
    tree = getattr(model, "tree_", None)
    if tree is None or not hasattr(tree, "children_left"):
        return []
    return [{"panel": "tree", "title": "the tree", "nodes": _nodes(tree, hasattr(model, "classes_"))}]


def _nodes(tree: Any, classifies: bool) -> list[Panel]:
    shown: list[Panel] = []
    waiting = [(0, -1, "")]
    while waiting and len(shown) < MOST_NODES:
        node, parent, branch = waiting.pop(0)
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        value = np.asarray(tree.value[node], dtype=float).ravel()
        leaf = left < 0
        answer = f"{int(value.argmax())}" if classifies else f"{value[0]:.3g}"
        question = f"x{int(tree.feature[node]) + 1} ≤ {float(tree.threshold[node]):.3g}"
        color = int(value.argmax()) if classifies else 0
        label, rows = answer if leaf else question, int(tree.n_node_samples[node])
        number = len(shown)
        shown.append(
            {"parent": parent, "label": label, "branch": branch, "note": f"{rows} rows", "color": color, "leaf": leaf}
        )
        if not leaf:
            waiting += [(left, number, "yes"), (right, number, "no")]
    return shown
