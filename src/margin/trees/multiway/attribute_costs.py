"""What it costs to learn an attribute: the domain of ``costs``, and one number per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.domains import Build, Domain, Integer, Number
from margin.core.domains.base import parse_json
from margin.trees.multiway.category_columns import column_number

__all__ = ["AttributeCosts", "costs_of_columns"]


@dataclass(frozen=True)
class AttributeCosts(Domain):
    """None, or a dict from a column (its name or number) to a cost above 0.

    >>> AttributeCosts().accepts({"blood test": 20.0, 3: 1}), AttributeCosts().accepts({"age": 0})
    (True, False)
    """

    description = "None or a dict from columns to costs above 0"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return value is None
        keys = all(isinstance(key, str) or Integer(low=0).accepts(key) for key in value)
        return keys and all(Number(above=0).accepts(cost) for cost in value.values())

    def parse(self, text: str, build: Build | None = None) -> Any:
        return parse_json(self, text)

    def schema(self) -> dict[str, Any]:
        costs = {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}
        return {"anyOf": [costs, {"type": "null"}]}

    def wrong(self) -> list[Any]:
        return ["a string", 3, {"age": 0.0}, {-1: 2.0}]


def costs_of_columns(owner: str, costs: dict[Any, float] | None, names: Sequence[str], n_columns: int) -> np.ndarray:
    """The cost of every column (p,); 1 for those that ``costs`` does not name.

    >>> costs_of_columns("C45", {"scan": 30}, ["age", "scan"], 2)
    array([ 1., 30.])
    """
    costs_by_column = np.ones(n_columns)
    for key, cost in (costs or {}).items():
        costs_by_column[column_number(owner, "costs", key, names, n_columns)] = cost
    return costs_by_column
