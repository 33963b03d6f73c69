"""Weights of classes: the domain of ``class_weight`` and the weight it gives to every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from margin.core.domains.base import Domain, says_none
from margin.core.domains.values import Number

__all__ = ["ClassWeight", "class_factors", "row_weights"]


@dataclass(frozen=True)
class ClassWeight(Domain):
    """None, "balanced", or a dict from label to a weight that is not negative.

    >>> ClassWeight().accepts("balanced"), ClassWeight().accepts({0: 1, 1: 2.5}), ClassWeight().accepts({0: -1})
    (True, True, False)
    """

    description = "None, 'balanced' or a dict of weights at least 0"

    def type_text(self) -> str:
        return "'balanced', dict or None"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, dict):
            return all(Number(low=0).accepts(weight) for weight in value.values())
        return value is None or (isinstance(value, str) and value == "balanced")

    def parse(self, text: str, build: Any = None) -> Any:
        if says_none(text):
            return None
        if text == "balanced":
            return text
        raise ValueError(f"{text!r} is not None or 'balanced'.")

    def schema(self) -> dict[str, Any]:
        return {"enum": ["balanced", None]}

    def wrong(self) -> list[Any]:
        return ["a string", 3, {0: -1.0}]


@overload
def row_weights(
    owner: str, class_weight: Any, classes: np.ndarray, index: np.ndarray, weights: np.ndarray
) -> np.ndarray: ...
@overload
def row_weights(
    owner: str, class_weight: Any, classes: np.ndarray, index: np.ndarray, weights: None
) -> np.ndarray | None: ...
@overload
def row_weights(
    owner: str, class_weight: Any, classes: np.ndarray, index: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None: ...
def row_weights(
    owner: str, class_weight: Any, classes: np.ndarray, index: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None:
    r"""The weight of every row: its own times that of its class; None when all are one.

    ``index`` (n,) are positions in ``classes``. "balanced" gives class c the weight :math:`W / (K W_c)`, where W and
    :math:`W_c` are total weights, so that every class counts the same.

    >>> row_weights("model", "balanced", np.array([0, 1]), np.array([0, 0, 0, 1]), None).round(2)
    array([0.67, 0.67, 0.67, 2.  ])
    """
    if class_weight is None:
        return weights
    own = np.ones(len(index)) if weights is None else weights
    totals = np.bincount(index, own, minlength=len(classes))
    return own * class_factors(owner, class_weight, classes, totals, own.sum())[index]


def class_factors(owner: str, class_weight: Any, classes: np.ndarray, totals: np.ndarray, whole: float) -> np.ndarray:
    """What ``class_weight``, which is not None, makes of a weight of 1 in each class.

    ``totals`` (K,) are the weights of all rows of each class, ``whole`` is their sum.

    >>> class_factors("model", "balanced", np.array(["a", "b"]), np.array([3.0, 1.0]), 4.0).round(2)
    array([0.67, 2.  ])
    """
    if isinstance(class_weight, str):
        return whole / (len(classes) * np.where(totals > 0, totals, 1.0))
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"{owner}: class_weight names {unknown[0]!r}, which is not a class of y.")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
