"""A tree as text: the question at a node, the whole tree as text, and the path of one row as a list of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from margin.trees.cart.several_targets import TargetClasses, fraction_parts
from margin.trees.cart.structure import TreeArrays, goes_left

__all__ = ["column_names", "export_text", "path_rules", "question", "value_text"]


def column_names(names: Sequence[str] | None, columns: int) -> list[str]:
    """The given names, or x0, x1, ..."""
    return [f"x{i}" for i in range(columns)] if names is None else [str(name) for name in names]


def question(
    tree: TreeArrays,
    node: int,
    names: Sequence[str],
    categories: Mapping[int, Any],
    *,
    left: bool = True,
    say_missing: bool = True,
) -> str:
    """What a row that goes left (or right) at an inner node fulfills: "age <= 30.5", "color in {1, 4} or missing"."""
    column = int(tree["feature"][node])
    row = int(tree["category_row"][node])
    missing = " or missing" if say_missing and bool(tree["missing_left"][node]) == left else ""
    if row < 0:
        if np.isinf(tree["threshold"][node]):
            return f"{names[column]} is {'known' if left else 'missing'}"
        return f"{names[column]} {'<=' if left else '>'} {tree['threshold'][node]:.6g}{missing}"
    bits = np.unpackbits(tree["category_set"][row], bitorder="little").astype(bool)
    chosen = [_show(value) for code, value in enumerate(categories[column]) if bits[code] == left]
    return f"{names[column]} in {{{', '.join(chosen)}}}{missing}"


def _show(category: Any) -> str:
    return category if isinstance(category, str) else f"{category:g}"


def value_text(tree: TreeArrays, node: int, classes: TargetClasses | None) -> str:
    """What the node predicts: "class setosa (98 %)" or "12.5"; of several targets one after another."""
    value = tree["value"][node]
    if classes is None:
        return ", ".join(f"{number:.6g}" for number in value)
    labels = classes if isinstance(classes, list) else [classes]
    parts = zip(labels, fraction_parts(value[None], classes))
    return "class " + ", ".join(f"{own[part.argmax()]} ({100 * part.max():.0f} %)" for own, part in parts)


def export_text(
    tree: TreeArrays,
    *,
    names: Sequence[str],
    categories: Mapping[int, Any] | None = None,
    classes: TargetClasses | None = None,
    max_depth: int | None = None,
) -> str:
    """The tree as indented lines, one per side of every question and one per leaf."""
    lines: list[str] = []
    waiting: list[tuple[int, int, str]] = [(0, 0, "")]
    while waiting:
        node, level, condition = waiting.pop()
        if condition:
            lines.append("|   " * (level - 1) + "|-- " + condition)
        indent = "|   " * level
        if tree["feature"][node] < 0:
            lines.append(f"{indent}|-- {value_text(tree, node, classes)}, {tree['n_samples'][node]} rows")
        elif max_depth is not None and level >= max_depth:
            lines.append(f"{indent}|-- ... {value_text(tree, node, classes)}, {tree['n_samples'][node]} rows below")
        else:
            for side, left in (("right", False), ("left", True)):  # the last is written first
                waiting.append(
                    (int(tree[side][node]), level + 1, question(tree, node, names, categories or {}, left=left))
                )
    return "\n".join(lines)


def path_rules(
    tree: TreeArrays,
    row: np.ndarray,
    *,
    names: Sequence[str],
    categories: Mapping[int, Any] | None = None,
    classes: TargetClasses | None = None,
) -> list[dict[str, Any]]:
    """The nodes one row (codes in categorical columns) passes, as dicts.

    Each has ``node``, ``rule`` (what the row fulfills; empty in the leaf), ``value`` (its own value of the column),
    ``rows`` (training rows in the node) and ``prediction`` (what the node alone would predict).
    """
    steps, node = [], 0
    while True:
        column = int(tree["feature"][node])
        step = {
            "node": node,
            "rule": "",
            "value": None,
            "rows": int(tree["n_samples"][node]),
            "prediction": value_text(tree, node, classes),
        }
        steps.append(step)
        if column < 0:
            return steps
        left = bool(goes_left(tree, np.array([node]), row[None, :])[0])
        step["rule"] = question(tree, node, names, categories or {}, left=left)
        known = (categories or {}).get(column)
        shown = row[column] if known is None or np.isnan(row[column]) else known[int(row[column])]
        step["value"] = shown if isinstance(shown, str) else float(shown)
        node = int(tree["left" if left else "right"][node])
