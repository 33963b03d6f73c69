"""How much the rows of each class count: the parameter ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.domains import Domain, Number

__all__ = ["ClassWeights", "row_weights"]


@dataclass(frozen=True)
class ClassWeights(Domain):
    """None, "balanced", or a number at least 0 for some of the classes (1 for the others)."""

    description = "None, 'balanced' or a dict from classes to numbers at least 0"

    def accepts(self, value: Any) -> bool:
        if value is None or (isinstance(value, str) and value == "balanced"):
            return True
        return isinstance(value, Mapping) and all(Number(low=0).accepts(weight) for weight in value.values())

    def parse(self, text: str, build: Any = None) -> Any:
        if text.lower() in {"none", "null"}:
            return None
        if text == "balanced":
            return text
        raise ValueError(f"{text!r} is not None or 'balanced'.")

    def schema(self) -> dict[str, Any]:
        return {"enum": [None, "balanced"]}

    def wrong(self) -> list[Any]:
        return ["a word", 3, {0: -1.0}]


def row_weights(
    owner: str, class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sample weights times the weight of each row's class; "balanced" gives every class the same total."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights, minlength=len(classes))
        per_class = weights.sum() / (len(classes) * np.where(totals > 0, totals, 1.0))
    else:
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(f"{owner}: class_weight names {unknown[0]!r}, which is not a class of y.")
        per_class = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    return weights * per_class[codes]
