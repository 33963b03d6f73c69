"""The trees of an ensemble one after the other in flat arrays that grow: one dict of arrays whatever their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.trees.binning import Bins
from margin.trees.boosting.kernel_types import CATEGORY_SHIFT, CODE_SHIFT, FEATURE_SHIFT, MISSING_SHIFT, Trees
from margin.trees.cart.structure import TreeArrays

__all__ = ["Collected", "compiled_view", "tree_at"]

FIELDS: dict[str, Any] = {
    "feature": np.int32,
    "code": np.uint8,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "category_row": np.int32,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "n_samples": np.int64,
    "weight": np.float64,
}


class Collected:
    """Buffers of twice the needed size, so that adding a tree costs no more than its nodes."""

    def __init__(self, trees: dict[str, np.ndarray] | None = None):
        self.used = {"start": 1, "node": 0, "set": 0}
        self.start = np.zeros(16, dtype=np.int64)
        self.sets = np.zeros((0, 32), dtype=np.uint8)
        self.fields = {name: np.zeros(256, dtype=kind) for name, kind in FIELDS.items()}
        if trees is not None:
            for tree in range(len(trees["start"]) - 1):
                self.append(_part(trees, tree))

    def append(self, tree: dict[str, np.ndarray]) -> None:
        """Add one tree: the fields above per node, and its own ``category_set``."""
        used, count, sets = self.used, len(tree["feature"]), len(tree["category_set"])
        for name, array in tree.items():
            if name == "category_set":
                self.sets = _with_room(self.sets, used["set"] + sets)
                self.sets[used["set"] : used["set"] + sets] = array
            else:
                self.fields[name] = _with_room(self.fields[name], used["node"] + count)
                self.fields[name][used["node"] : used["node"] + count] = array
        rows = self.fields["category_row"][used["node"] : used["node"] + count]
        rows[rows >= 0] += used["set"]
        self.start = _with_room(self.start, used["start"] + 1)
        self.start[used["start"]] = used["node"] + count
        self.used = {"start": used["start"] + 1, "node": used["node"] + count, "set": used["set"] + sets}

    def view(self) -> dict[str, np.ndarray]:
        """What has been added so far, without a copy; later trees do not change it."""
        found = {name: array[: self.used["node"]] for name, array in self.fields.items()}
        return {"start": self.start[: self.used["start"]], **found, "category_set": self.sets[: self.used["set"]]}

    def between(self, low: int, high: int) -> dict[str, np.ndarray]:
        """Trees ``low`` to ``high``, counted from ``low``, without a copy."""
        start = self.start[low : high + 1]
        found = {name: array[start[0] : start[-1]] for name, array in self.fields.items()}
        return {"start": start - start[0], **found, "category_set": self.sets[: self.used["set"]]}


def compiled_view(trees: dict[str, np.ndarray]) -> Trees:
    """What the compiled prediction reads of the collected trees."""
    inner = trees["feature"] >= 0
    word = np.where(inner, trees["left"], 0).astype(np.int64)
    word |= trees["code"].astype(np.int64) << CODE_SHIFT
    word |= trees["missing_left"].astype(np.int64) << MISSING_SHIFT
    word |= (trees["category_row"] >= 0).astype(np.int64) << CATEGORY_SHIFT
    word |= np.where(inner, trees["feature"], 0).astype(np.int64) << FEATURE_SHIFT
    return Trees(trees["start"], word, trees["category_row"], trees["category_set"], trees["value"])


def tree_at(trees: dict[str, np.ndarray], number: int) -> TreeArrays:
    """Tree ``number`` of a collection in the form of :mod:`margin.trees.cart.structure`."""
    tree = _part(trees, number)
    return tree | {"value": tree["value"][:, None]}


def _part(trees: dict[str, np.ndarray], number: int) -> dict[str, np.ndarray]:
    nodes = slice(trees["start"][number], trees["start"][number + 1])
    tree = {name: trees[name][nodes].copy() for name in FIELDS}
    asked = tree["category_row"] >= 0
    first = int(tree["category_row"][asked].min()) if asked.any() else 0
    tree["category_row"][asked] -= first
    return tree | {"category_set": trees["category_set"][first : first + int(asked.sum())].copy()}


def thresholds(feature: np.ndarray, code: np.ndarray, is_category: np.ndarray, bins: Bins) -> np.ndarray:
    """The values behind the codes: a row goes left if its value is at most this."""
    found = np.zeros(len(feature))
    nodes = np.flatnonzero((feature >= 0) & ~is_category)
    first, last = bins.offsets[feature[nodes]], bins.offsets[feature[nodes] + 1]
    place = first + code[nodes]
    inside = place < last
    # Past the last edge lies every known value: the question is whether the value is missing.
    found[nodes] = np.where(inside, np.append(bins.edges, np.inf)[np.where(inside, place, -1)], np.inf)
    return found


def _with_room(array: np.ndarray, needed: int) -> np.ndarray:
    if needed <= len(array):
        return array
    wider = np.zeros((max(2 * len(array), needed), *array.shape[1:]), dtype=array.dtype)
    wider[: len(array)] = array
    return wider
