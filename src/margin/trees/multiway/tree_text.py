"""A category tree as text: indented text, and one if-then rule per leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from margin.trees.multiway.category_columns import Categories
from margin.trees.multiway.category_tree import Tree, children

__all__ = ["TreeNames", "condition", "tree_rules", "tree_text"]


class TreeNames(NamedTuple):
    """How a tree's numbers are called: columns, categories of columns, classes."""

    columns: Sequence[str]
    categories: Mapping[int, Categories]
    classes: Sequence[Any]


def tree_text(tree: Tree, names: TreeNames) -> str:
    """One line per node below the root; a leaf shows its class, weight and, after a slash, the weight it gets wrong."""
    if not tree["n_children"][0]:
        return _leaf(tree, 0, names)
    lines, waiting = [], [(child, 0) for child in reversed(children(tree, 0))]
    while waiting:
        node, level = waiting.pop()
        line = "|   " * level + condition(tree, node, names)
        lines.append(line if tree["n_children"][node] else f"{line}: {_leaf(tree, node, names)}")
        waiting += [(child, level + 1) for child in reversed(children(tree, node))]
    return "\n".join(lines)


def tree_rules(tree: Tree, names: TreeNames) -> list[str]:
    """The path to every leaf as one rule; a bound that a later one tightens is left out."""
    rules = []
    for leaf in np.flatnonzero(tree["n_children"] == 0):
        path = [int(leaf)]
        while tree["parent"][path[-1]] > 0:
            path.append(int(tree["parent"][path[-1]]))
        conditions: dict[tuple[int, int], str] = {}
        for node in reversed(path if leaf else []):
            key = (int(tree["feature"][tree["parent"][node]]), int(tree["branch"][node]))
            conditions.pop(key, None)
            conditions[key] = condition(tree, node, names)
        rules.append(f"if {' and '.join(conditions.values()) or 'true'} then {_leaf(tree, int(leaf), names)}")
    return rules


def condition(tree: Tree, node: int, names: TreeNames) -> str:
    """What is true of a row that went from the parent of ``node`` to ``node``."""
    above, branch = int(tree["parent"][node]), int(tree["branch"][node])
    feature, threshold = int(tree["feature"][above]), float(tree["threshold"][above])
    if np.isnan(threshold):
        return f"{names.columns[feature]} = {_show(names.categories[feature][branch])}"
    return f"{names.columns[feature]} {'>' if branch else '<='} {threshold:.6g}"


def _leaf(tree: Tree, node: int, names: TreeNames) -> str:
    value = tree["value"][node]
    wrong = value.sum() - value.max()
    weights = f"{value.sum():.6g}" + (f"/{wrong:.6g}" if wrong > 0 else "")
    return f"{_show(names.classes[int(value.argmax())])} ({weights})"


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
