"""Monotone and interaction constraints as users give them: their domains, and what trees read of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.category_encoding import unknown_column
from margin.core.domains import Build, Domain
from margin.core.domains.base import parse_json

__all__ = ["InteractionConstraint", "MonotoneConstraint", "interaction_groups", "monotone_directions"]

SIGNS = (-1, 0, 1)


@dataclass(frozen=True)
class MonotoneConstraint(Domain):
    """None, one sign per column, or a dict from column names to signs.

    >>> [MonotoneConstraint().accepts(value) for value in ([1, 0.0, -1], {"age": 1}, [2])]
    [True, True, False]
    """

    description = "None, one of -1, 0 and 1 per column, or a dict of these by column name"

    def type_text(self) -> str:
        return "list of {-1, 0, 1}, dict or None"

    def accepts(self, value: Any) -> bool:
        if value is None:
            return True
        if isinstance(value, dict):
            return all(isinstance(name, str) for name in value) and self.accepts(list(value.values()))
        if isinstance(value, str) or not isinstance(value, list | tuple | np.ndarray):
            return False
        return all(not isinstance(sign, str) and np.isscalar(sign) and sign in SIGNS for sign in value)

    def parse(self, text: str, build: Build | None = None) -> Any:
        return parse_json(self, text)

    def schema(self) -> dict[str, Any]:
        sign = {"enum": list(SIGNS)}
        return {
            "anyOf": [
                {"type": "array", "items": sign},
                {"type": "object", "additionalProperties": sign},
                {"type": "null"},
            ]
        }

    def wrong(self) -> list[Any]:
        return ["a string", 3, [2], {"age": 0.5}]


@dataclass(frozen=True)
class InteractionConstraint(Domain):
    """None, "pairwise", "no_interactions" or groups of columns.

    >>> InteractionConstraint().accepts([{0, 1}, {2}]), InteractionConstraint().accepts([0, 1])
    (True, False)
    """

    description = "None, 'pairwise', 'no_interactions' or a list of groups of column numbers"

    def type_text(self) -> str:
        return "{'pairwise', 'no_interactions'}, list of groups of columns or None"

    def accepts(self, value: Any) -> bool:
        if value is None or (isinstance(value, str) and value in ("pairwise", "no_interactions")):
            return True
        if isinstance(value, str) or not isinstance(value, list | tuple):
            return False
        return all(isinstance(group, list | tuple | set | frozenset) and _are_columns(group) for group in value)

    def parse(self, text: str, build: Build | None = None) -> Any:
        return text if text in ("pairwise", "no_interactions") else parse_json(self, text)

    def schema(self) -> dict[str, Any]:
        groups = {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}}
        return {"anyOf": [{"enum": ["pairwise", "no_interactions", None]}, groups]}

    def wrong(self) -> list[Any]:
        return ["a string", 3, [0, 1], [[-1]]]


def monotone_directions(owner: str, given: Any, categorical: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """1, -1 or 0 per column (p,), int64.

    >>> monotone_directions("Boosting", {"age": -1}, np.zeros(2, dtype=bool), ["size", "age"])
    array([ 0, -1])
    """
    directions = np.zeros(len(categorical), dtype=np.int64)
    if given is None:
        return directions
    if isinstance(given, dict):
        known = [] if names is None else list(names)
        for name, sign in given.items():
            if name not in known:
                raise ValueError(f"{owner}: monotonic_cst names {name!r}, {unknown_column(names)}.")
            directions[known.index(name)] = sign
    elif len(given) != len(directions):
        raise ValueError(f"{owner}: monotonic_cst has {len(given)} entries; X has {len(directions)} columns.")
    else:
        directions[:] = np.asarray(given)
    wrong = np.flatnonzero((directions != 0) & categorical)
    if len(wrong):
        sign, column = directions[wrong[0]], wrong[0]
        raise ValueError(f"{owner}: monotonic_cst must be 0 for categorical columns; got {sign} for {column}.")
    return directions


def interaction_groups(owner: str, given: Any, columns: int) -> np.ndarray | None:
    """The groups as flags (groups, p), columns that no group names forming one more; None if all may interact.

    >>> interaction_groups("Boosting", [[0, 1]], 3).astype(int)
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given == "no_interactions":
            return np.eye(columns, dtype=bool)
        first, second = np.triu_indices(columns, 1)
        if not len(first):
            return None
        flags = np.zeros((len(first), columns), dtype=bool)
        flags[np.arange(len(first)), first] = flags[np.arange(len(first)), second] = True
        return flags
    groups = [sorted(int(column) for column in group) for group in given]
    named = {column for group in groups for column in group}
    if named and max(named) >= columns:
        raise ValueError(f"{owner}: interaction_cst names column {max(named)}; X has {columns} columns.")
    rest = [column for column in range(columns) if column not in named]
    flags = np.zeros((len(groups) + bool(rest), columns), dtype=bool)
    for flag, group in zip(flags, [*groups, rest]):
        flag[group] = True
    return flags


def _are_columns(group: Any) -> bool:
    return all(isinstance(j, int | np.integer) and not isinstance(j, bool) and j >= 0 for j in group)
