"""Members of a bag that are decision trees of ours, as trees of one table: a forest's walk answers for all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from margin.core.array_types import MatrixLike
from margin.core.sparse_input import dense_rows
from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.cart.structure import TreeArrays
from margin.trees.cart.training_data import ROWS

__all__ = ["table_of", "trees_of_members"]


def trees_of_members(members: Sequence[Any], columns: Sequence[np.ndarray], outputs: int) -> list[TreeArrays] | None:
    """The members' trees over the columns and classes of the bag; None where they are anything else.

    ``columns`` are those of each member, ``outputs`` the number of classes, 0 for regression. A member that encodes
    categories has codes of its own.
    """
    if not all(_is_plain_tree(member, outputs) for member in members):
        return None
    return [_over_all(member, chosen, outputs) for member, chosen in zip(members, columns)]


def table_of(member: Any, X: MatrixLike) -> np.ndarray:
    """Rows as such members take them, checked once for all of them."""
    owner = type(member).__name__
    return dense_rows(owner, check_array(X, estimator=member, input_name="X", **ROWS))


def _is_plain_tree(member: Any, outputs: int) -> bool:
    if outputs:
        same = getattr(type(member), "predict_proba", None) is DecisionTreeClassifier.predict_proba
    else:
        same = getattr(type(member), "predict", None) is DecisionTreeRegressor.predict
    return same and not member.categories_


def _over_all(member: Any, columns: np.ndarray, outputs: int) -> TreeArrays:
    tree = member._tree
    changed: dict[str, np.ndarray] = {}
    if not np.array_equal(columns, np.arange(len(columns))):
        changed["feature"] = np.where(tree["feature"] >= 0, columns[tree["feature"]], -1).astype(np.int32)
    if outputs > tree["value"].shape[1]:  # the member's sample lacked a class
        changed["value"] = np.zeros((len(tree["value"]), outputs))
        changed["value"][:, np.asarray(member.classes_, dtype=np.int64)] = tree["value"]
    return {**tree, **changed} if changed else tree
