"""What fitted trees, forests and boosted ensembles hold: what the compiled walks trust is checked here, on load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.category_encoding import MAX_CATEGORIES
from margin.core.invariants import (
    Anything,
    ArrayOf,
    Count,
    DictOf,
    FieldsOf,
    ListOf,
    ModelWith,
    OneOf,
    Real,
    Sizes,
    Stored,
    Violation,
    optional,
    sometimes,
)

__all__ = [
    "BINS",
    "BOOSTED_TREES",
    "CATEGORIES",
    "CATEGORY_NAMES",
    "CLASSES",
    "CLASS_TREE",
    "CURVE",
    "DRAWS",
    "LEFT_OUT",
    "MEMBERS",
    "MULTIWAY_TREE",
    "NODES_AND_SETS",
    "SAMPLING",
    "SCORE",
    "SETS",
    "TARGET_CLASSES",
    "TARGET_TREE",
    "categories_are_coded",
    "check_binary_nodes",
    "check_multiway_tree",
    "fractions_belong_to_classes",
    "members_have_the_same_columns",
    "members_see_their_columns",
    "outputs_divide_trees",
]


def check_binary_nodes(nodes: Mapping[str, np.ndarray], first: np.ndarray, size: np.ndarray, where: str) -> None:
    """Children come after their parent, side by side, inside their tree: no walk can leave it or run in a circle.

    ``first`` is the number of the first node of every node's tree, ``size`` the number of nodes of that tree.
    """
    inner = nodes["feature"] >= 0
    own = np.arange(len(inner)) - first
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    if not np.all((left > own)[inner]) or not np.all((right == left + 1)[inner]) or not np.all((right < size)[inner]):
        raise Violation(f"{where}: the children of a node must be two later nodes, side by side, of the same tree")
    if len(inner) and not np.all(nodes["category_row"] < len(nodes["category_set"])):
        raise Violation(f"{where}['category_row'] must be less than the number of category sets")
    if np.any(nodes["category_row"][nodes["feature"] < 0] >= 0):
        raise Violation(f"{where}['category_row'] must be -1 in a leaf, which asks nothing")


def check_multiway_tree(tree: Mapping[str, np.ndarray], where: str) -> None:
    """Nodes are numbered level by level, so the numbers of all children follow from how many there are."""
    count, n_children = len(tree["feature"]), tree["n_children"].astype(np.int64)
    inner = n_children > 0
    first = 1 + np.cumsum(n_children) - n_children
    if count != 1 + n_children.sum() or not np.array_equal(inner, tree["feature"] >= 0):
        raise Violation(f"{where}: every node but the root must be the child of a node that asks about a column")
    if not np.array_equal(tree["first_child"], np.where(inner, first, -1)):
        raise Violation(f"{where}['first_child'] must number the children level by level")
    if not np.array_equal(tree["parent"][1:], np.repeat(np.arange(count), n_children)) or tree["parent"][0] != -1:
        raise Violation(f"{where}['parent'] must be the node whose children are numbered so")
    same = np.diff(tree["parent"][1:]) == 0
    if not np.all(np.diff(tree["branch"][1:])[same] > 0):
        raise Violation(f"{where}['branch'] must ascend among the children of a node")


def _binary_fields(value: Stored) -> dict[str, Stored]:
    return {
        "feature": ArrayOf("n_nodes", kind="int32", low=-1, below="n_features"),
        "threshold": ArrayOf("n_nodes", kind="float64", finite=False),
        "left": ArrayOf("n_nodes", kind="int32", low=-1),
        "right": ArrayOf("n_nodes", kind="int32", low=-1),
        "missing_left": ArrayOf("n_nodes", kind="b"),
        "category_row": ArrayOf("n_nodes", kind="int32", low=-1),
        "category_set": ArrayOf("n_sets", 32, kind="uint8"),
        "value": value,
        "n_samples": ArrayOf("n_nodes", kind="int64"),
        "weight": ArrayOf("n_nodes", kind="float64", finite=False),
    }


def _tree(outputs: str) -> Stored:
    fields = _binary_fields(ArrayOf("n_nodes", outputs, kind="float64"))
    return FieldsOf({**fields, "impurity": ArrayOf("n_nodes", kind="float64", finite=False)}, rule=_one_tree)


def _one_tree(tree: Any, where: str, _: Sizes) -> None:
    count = len(tree["feature"])
    check_binary_nodes(tree, np.zeros(count, dtype=np.int64), np.full(count, count), where)


CLASS_TREE = _tree("n_values")  # one number per class
TARGET_TREE = _tree("n_outputs")  # one number per target


def categories_are_coded(model: Mapping[str, Any], sizes: Sizes) -> None:
    """A node that asks about categories reads codes: its column must be one that is coded."""
    known = model.get("categories_", {})
    for column, values in known.items():
        ascends = not isinstance(values, np.ndarray) or np.all(np.diff(values) > 0)
        if column >= sizes["n_features"] or len(values) > MAX_CATEGORIES or not ascends:
            raise Violation(f"categories_[{column}] must be at most {MAX_CATEGORIES} strings or ascending numbers")
    for tree in [model["_tree"]] if "_tree" in model else model.get("trees_", []):
        split_columns = tree["feature"][(tree["category_row"] >= 0) & (tree["feature"] >= 0)]
        if not set(split_columns.tolist()) <= known.keys():
            raise Violation("a node asks about categories of a column that has none in categories_")


def fractions_belong_to_classes(model: Mapping[str, Any], sizes: Sizes) -> None:
    classes = model.get("classes_")
    if isinstance(classes, list) and sum(map(len, classes)) != sizes["n_values"]:
        raise Violation("value must have a column for every class of every target in classes_")


CATEGORIES = DictOf(Count(), OneOf(ArrayOf(None, kind="float64"), ListOf(Anything())))
CLASSES = ArrayOf("n_classes", kind="labels")
# Of several targets a list; the fractions of all their classes stand side by side.
TARGET_CLASSES = OneOf(ArrayOf("n_values", kind="labels"), ListOf(ArrayOf(None, kind="labels"), "n_targets"))
SCORE = sometimes(Real())
CURVE = sometimes(ArrayOf(None, finite=False))
LEFT_OUT = sometimes(ArrayOf(..., finite=False))  # what trees say of the rows that they left out


SAMPLED: dict[str, Stored] = {
    "rows": Count(low=1, high=10**10),
    "drawn": Count(high=10**10),
    "weightless": ArrayOf(None, kind="int64", low=0),
}
# Files of earlier versions do not say by which stream samples are drawn; there was one.
SAMPLING = sometimes(optional(OneOf(FieldsOf({**SAMPLED, "stream": Count(high=1)}), FieldsOf(SAMPLED))))
MULTIWAY_TREE = FieldsOf(
    {
        "feature": ArrayOf("n_nodes", kind="int32", low=-1, below="n_features"),
        "threshold": ArrayOf("n_nodes", kind="float64", finite=False),
        "gain": ArrayOf("n_nodes", kind="float64", finite=False),
        "parent": ArrayOf("n_nodes", kind="int32", low=-1),
        "branch": ArrayOf("n_nodes", kind="int32", low=-1),
        "first_child": ArrayOf("n_nodes", kind="int32", low=-1),
        "n_children": ArrayOf("n_nodes", kind="int32", low=0),
        "value": ArrayOf("n_nodes", "n_classes", kind="float64", low=0),
    },
    rule=lambda tree, where, _: check_multiway_tree(tree, where),
)


def _boosted_trees(trees: Any, where: str, _: Sizes) -> None:
    start = trees["start"]
    if not len(start) or start[0] != 0 or start[-1] != len(trees["feature"]) or np.any(np.diff(start) < 1):
        raise Violation(f"{where}['start'] must ascend from 0 to the number of nodes")
    sizes = np.diff(start)
    check_binary_nodes(trees, np.repeat(start[:-1], sizes), np.repeat(sizes, sizes), where)


def _bins(bins: Any, where: str, _: Sizes) -> None:
    offsets, counts = bins["offsets"], np.diff(bins["offsets"])
    if len(offsets) != len(bins["categorical"]) + 1 or offsets[0] != 0 or offsets[-1] != len(bins["edges"]):
        raise Violation(f"{where}['offsets'] must go from 0 to the number of edges, one column after another")
    if np.any(counts < 0) or np.any(counts > 255 - ~bins["categorical"]):
        raise Violation(f"{where}['offsets'] must give every column at most 255 bins")
    between = np.ones(max(len(bins["edges"]) - 1, 0), dtype=bool)
    between[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(bins["edges"]))] - 1] = False
    if np.any(np.diff(bins["edges"])[between] <= 0):
        raise Violation(f"{where}['edges'] must ascend within every column")


def outputs_divide_trees(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "trees_" in model and (len(model["trees_"]["start"]) - 1) % sizes["n_outputs"]:
        raise Violation("trees_ must have as many trees per round as start_ has outputs")
    classes = sizes.known.get("n_classes", 0)
    if "classes_" in model and sizes["n_outputs"] != (1 if classes == 2 else classes):
        raise Violation("start_ must have one output per class, or one for two classes")


BOOSTED_TREES = FieldsOf(
    {
        "start": ArrayOf(None, kind="int64", low=0),
        **_binary_fields(ArrayOf("n_nodes", kind="float64")),
        "code": ArrayOf("n_nodes", kind="uint8"),
        "gain": ArrayOf("n_nodes", kind="float64", finite=False),
    },
    rule=_boosted_trees,
)
BINS = FieldsOf(
    {
        "edges": ArrayOf(None, kind="float64"),
        "offsets": ArrayOf(None, kind="int64", low=0),
        "categorical": ArrayOf("n_features", kind="b"),
        "exact": ArrayOf("n_features", kind="b"),
    },
    rule=_bins,
)
CATEGORY_NAMES = DictOf(Count(), ListOf(Anything()))


def members_see_their_columns(model: Mapping[str, Any], _: Sizes) -> None:
    members, columns = model.get("estimators_", []), model.get("estimators_features_", [])
    for member, own in zip(members, columns):
        if getattr(member, "n_features_in_", len(own)) != len(own):
            raise Violation("estimators_features_ must name as many columns as each member was fitted to")


def members_have_the_same_columns(model: Mapping[str, Any], sizes: Sizes) -> None:
    for member in model.get("estimators_", []):
        if getattr(member, "n_features_in_", sizes["n_features"]) != sizes["n_features"]:
            raise Violation("estimators_ must have been fitted to the columns of the ensemble")


DRAWN: dict[str, Stored] = {
    "seed": Count(),
    "rows": Count(low=1, size="n_rows", high=10**10),
    "drawn": Count(low=1, high=10**10),
    "columns": Count(low=1, high=10**10),
    "attempts": ListOf(Count(low=1, high=10**4), "n_members"),
}
DRAWS = OneOf(FieldsOf(DRAWN), FieldsOf({**DRAWN, "chances": ArrayOf("n_rows", low=0, high=1)}))
MEMBERS = ListOf(ModelWith(["predict"]), "n_members")

SETS = ("n_sets",)  # a tree of thresholds alone has no sets of categories
NODES_AND_SETS = ("n_nodes", *SETS)  # before the first round there is no tree
