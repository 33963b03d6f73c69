"""One target or several: how classes, fractions and predictions of several targets lie beside each other.

The class fractions of several targets stand side by side in the columns of one array, in the order of the targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.class_weights import ClassWeight, row_weights
from margin.core.classes import encode_classes

__all__ = [
    "BALANCED_SUBSAMPLE",
    "CLASS_WEIGHT_SENTENCE",
    "ClassWeights",
    "ForestClassWeights",
    "TargetClasses",
    "balancing_factors",
    "coded_classes",
    "fraction_parts",
    "labels_of",
    "logarithms",
    "stacked_fractions",
]

BALANCED_SUBSAMPLE = "balanced_subsample"
CLASS_WEIGHT_SENTENCE = "Weights of the classes, multiplied into those of the rows; of several targets a list of dicts."

TargetClasses = np.ndarray | list[np.ndarray]  # the classes of one target, or of each of several


class ClassWeights(ClassWeight):
    """What ``class_weight`` may be for one target or several.

    >>> ClassWeights().accepts([{0: 1.0, 1: 2.0}, {"a": 3.0}]), ClassWeights().accepts([{0: -1.0}])
    (True, False)
    """

    description = "None, 'balanced', a dict of weights at least 0 or a list of such dicts, one per target"

    def type_text(self) -> str:
        return "'balanced', dict, list of dicts or None"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, list):
            one = super().accepts
            return len(value) > 0 and all(isinstance(item, dict) and one(item) for item in value)
        return super().accepts(value)


class ForestClassWeights(ClassWeights):
    """What a forest's ``class_weight`` may be.

    >>> ForestClassWeights().accepts("balanced_subsample"), ForestClassWeights().accepts("sample")
    (True, False)
    """

    description = (
        "None, 'balanced', 'balanced_subsample', a dict of weights at least 0 or a list of such dicts, one per target"
    )

    def type_text(self) -> str:
        return "'balanced', 'balanced_subsample', dict, list of dicts or None"

    def accepts(self, value: Any) -> bool:
        return (isinstance(value, str) and value == BALANCED_SUBSAMPLE) or super().accepts(value)

    def parse(self, text: str, build: Any = None) -> Any:
        return text if text == BALANCED_SUBSAMPLE else super().parse(text, build)

    def schema(self) -> dict[str, Any]:
        return {"enum": ["balanced", BALANCED_SUBSAMPLE, None]}


def coded_classes(
    owner: str, y: np.ndarray, class_weight: Any, weight: np.ndarray
) -> tuple[TargetClasses, np.ndarray, np.ndarray]:
    """The classes of ``y`` (n,) or (n, targets), the number of every row's class, and its weight times class weights.

    Classes of several targets are numbered one after another.
    """
    columns = [y] if y.ndim == 1 else list(y.T)
    if isinstance(class_weight, list) and (y.ndim == 1 or len(class_weight) != len(columns)):
        raise ValueError(
            f"{owner}: class_weight must be one dict for one target, or a dict per target; got {len(class_weight)} "
            f"dicts for {len(columns)}."
        )
    if isinstance(class_weight, dict) and y.ndim == 2:
        raise ValueError(f"{owner}: class_weight of several targets must be 'balanced' or a list of dicts; got a dict.")
    coded = [encode_classes(column) for column in columns]
    given = weight
    for position, (classes, numbers) in enumerate(coded):
        own = class_weight[position] if isinstance(class_weight, list) else class_weight
        # Balanced by the given weights alone, so that the factors of the targets are independent.
        weighted = np.asarray(row_weights(owner, own, classes, numbers, given))
        weight = weighted if position == 0 else weight * np.divide(weighted, given, where=given > 0, out=given * 0.0)
    if y.ndim == 1:
        return coded[0][0], coded[0][1].astype(np.float64), weight
    starts = np.cumsum([0] + [len(classes) for classes, _ in coded])
    numbered = np.column_stack([numbers + start for (_, numbers), start in zip(coded, starts)])
    return [classes for classes, _ in coded], numbered.astype(np.float64), weight


def balancing_factors(target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""What balances the classes in every sample: :math:`W / (K W_c)` of a row's class, its product over the targets.

    ``target`` (n,) or (n, targets) holds class numbers, ``weights`` (samples, n) those of the rows in every sample, K
    counts the classes that a sample has. Returns (samples, n), one for a row that a sample has not.

    >>> balancing_factors(np.array([0.0, 0.0, 0.0, 1.0]), np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 2.0]]))
    array([[0.66666667, 0.66666667, 0.66666667, 2.        ],
           [1.        , 1.        , 1.        , 1.        ]])
    """
    factors = np.ones_like(weights)
    for numbers in target.reshape(len(target), -1).T.astype(np.int64):
        numbers = numbers - numbers.min()
        for factor, weight in zip(factors, weights):
            totals = np.bincount(numbers, weight)
            present = totals > 0
            of_class = np.divide(totals.sum(), present.sum() * totals, where=present, out=np.ones_like(totals))
            factor *= of_class[numbers]
    return np.where(weights > 0, factors, 1.0)


def fraction_parts(fractions: np.ndarray, classes: TargetClasses) -> list[np.ndarray]:
    """The class fractions (n, classes) of every target.

    >>> [part.tolist() for part in fraction_parts(np.array([[0.5, 0.5, 1.0]]), [np.arange(2), np.arange(1)])]
    [[[0.5, 0.5]], [[1.0]]]
    """
    if not isinstance(classes, list):
        return [fractions]
    return np.split(fractions, np.cumsum([len(labels) for labels in classes])[:-1], axis=1)


def labels_of(fractions: np.ndarray, classes: TargetClasses) -> np.ndarray:
    """The most frequent class of every row, (n,) or (n, targets)."""
    if not isinstance(classes, list):
        return classes[fractions.argmax(axis=1)]
    parts = fraction_parts(fractions, classes)
    return np.column_stack([labels[part.argmax(axis=1)] for labels, part in zip(classes, parts)])


def logarithms(fractions: Any) -> Any:
    """Logarithms of an array, or of each of a list of arrays."""
    with np.errstate(divide="ignore"):
        return [np.log(part) for part in fractions] if isinstance(fractions, list) else np.log(fractions)


def stacked_fractions(fractions: np.ndarray, classes: TargetClasses) -> np.ndarray:
    """The fractions as (n, targets, most classes), zero where a target has fewer; this is scikit-learn's form."""
    parts = fraction_parts(fractions, classes)
    stacked = np.zeros((len(fractions), len(parts), max(part.shape[1] for part in parts)))
    for target, part in enumerate(parts):
        stacked[:, target, : part.shape[1]] = part
    return stacked
