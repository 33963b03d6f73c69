r"""What a split tells about the class: entropy, information gain, split information, gain ratio. All in bits.

The functions on top take a column as it is (strings or numbers, with missing entries); :func:`gain_of_counts` is the
same mathematics for many tables of counts at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.arguments import finite
from margin.foundations.information import entropy_of_weights, total_surprise
from margin.trees.multiway.category_columns import encode, is_empty, sort_categories

__all__ = [
    "checked_weights",
    "class_entropy",
    "code",
    "entropy_bits",
    "gain_of_counts",
    "gain_ratio",
    "information_gain",
    "split_information",
]


def class_entropy(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""How mixed the labels are, :math:`H(S) = -\sum_c p_c \log_2 p_c`.

    >>> round(class_entropy(["yes"] * 9 + ["no"] * 5), 3)
    0.94
    """
    codes, weights = code("class_entropy", "y", y), checked_weights("class_entropy", y, sample_weight)
    if np.isnan(codes).any():
        raise ValueError("class_entropy: y must not have missing labels.")
    counts = np.bincount(codes.astype(np.int64), weights)
    return float(entropy_bits(counts))


def information_gain(y: ArrayLike, feature: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""The entropy of the class that knowing the feature takes away.

    .. math:: IG(S, F) = H(S) - \sum_v \frac{|S_v|}{|S|} H(S_v)

    :math:`H(S)` is the entropy of the *class* among the rows, and :math:`S_v` are the rows in which F has the value
    v; so it is the mutual information of class and feature, never negative, and H(S) for a perfect split. Rows in
    which F is missing are left out, and the gain is multiplied by the fraction of the known ones.

    >>> information_gain(["no", "no", "yes", "yes"], ["hot", "hot", "cool", "cool"])
    1.0
    """
    counts, missing = _table("information_gain", y, feature, sample_weight)
    return float(gain_of_counts(counts, missing)[0])


def split_information(feature: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""The entropy of the feature itself, :math:`-\sum_v \frac{|S_v|}{|S|} \log_2 \frac{|S_v|}{|S|}`.

    Missing entries are one more value, as in C4.5.

    >>> split_information(["a", "b", "c", "d"])
    2.0
    """
    codes, weights = code("split_information", "feature", feature), checked_weights("feature", feature, sample_weight)
    sizes = np.bincount(np.where(np.isnan(codes), -1, codes).astype(np.int64) + 1, weights)
    return float(entropy_bits(sizes))


def gain_ratio(y: ArrayLike, feature: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Information gain per bit of the split, :math:`IG(S, F) / \mathrm{split}(S, F)`; 0 if F has one value.

    A feature with a value of its own for every row has the largest gain there is and tells nothing about a new row;
    its split information, :math:`\log_2 n`, outweighs its gain.

    >>> y = ["no", "no", "yes", "yes"]
    >>> gain_ratio(y, ["hot", "hot", "cool", "cool"]), gain_ratio(y, [1, 2, 3, 4])
    (1.0, 0.5)
    """
    counts, missing = _table("gain_ratio", y, feature, sample_weight)
    return float(gain_of_counts(counts, missing)[1])


def gain_of_counts(counts: np.ndarray, missing: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    r"""Gain and gain ratio of tables of weights (..., values, classes).

    ``missing`` (...) is the weight of rows whose value is not known. With M of it beside N known,

    .. math:: \mathrm{gain} = \frac{N}{N + M} \Bigl(H(S) - \sum_v \tfrac{N_v}{N} H(S_v)\Bigr),

    and the split information counts the missing rows as one more value.
    """
    sizes = counts.sum(axis=-1)  # (..., values)
    known = sizes.sum(axis=-1)
    bits = total_surprise(counts.sum(axis=-2), base=2) - total_surprise(counts, base=2).sum(axis=-1)
    weight = known + missing
    gain = np.maximum(bits, 0.0) / np.where(weight > 0, weight, 1.0)
    groups = np.concatenate([sizes, np.broadcast_to(np.asarray(missing)[..., None], (*known.shape, 1))], axis=-1)
    information = entropy_bits(groups)
    split = np.count_nonzero(sizes, axis=-1) > 1  # one value only: nothing is split, whatever is missing
    ratio = np.where(split, gain, 0.0) / np.where(information > 0, information, 1.0)
    return gain, np.where(information > 0, ratio, 0.0)


def entropy_bits(weights: np.ndarray) -> np.ndarray:
    """The entropy of weights along the last axis, which need not add up to one; 0 where there is none."""
    return entropy_of_weights(weights, base=2)


def _table(
    owner: str, y: ArrayLike, feature: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights by value and class (values, classes) of the known rows, and the weight of the others."""
    labels, values = code(owner, "y", y), code(owner, "feature", feature)
    if labels.shape != values.shape:
        raise ValueError(f"{owner}: y and feature must have one length; got {labels.shape} and {values.shape}.")
    if np.isnan(labels).any():
        raise ValueError(f"{owner}: y must not have missing labels.")
    weights = checked_weights(owner, y, sample_weight)
    known = ~np.isnan(values)
    n_classes = int(labels.max()) + 1
    flat = (values[known] * n_classes + labels[known]).astype(np.int64)
    width = int(values[known].max(initial=0)) + 1
    counts = np.bincount(flat, weights[known], minlength=width * n_classes).reshape(width, n_classes)
    return counts, weights[~known].sum()


def code(owner: str, name: str, values: ArrayLike) -> np.ndarray:
    """A column of strings or numbers as numbers of its values, NaN where missing."""
    column = np.asarray(values)
    if column.ndim != 1 or not len(column):
        raise ValueError(f"{owner}: {name} must be one column with at least one row; got shape {column.shape}.")
    if column.dtype.kind in "iufb":
        column = column.astype(np.float64)
    else:
        plain = np.asarray(values, dtype=object)
        column = np.array([None if is_empty(value) else value for value in plain.tolist()], dtype=object)
    return encode(column, sort_categories(column))


def checked_weights(owner: str, rows: ArrayLike, sample_weight: ArrayLike | None) -> np.ndarray:
    count = len(np.asarray(rows, dtype=object))
    if sample_weight is None:
        return np.ones(count)
    weights = finite(owner, "sample_weight", sample_weight)
    if weights.shape != (count,) or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(f"{owner}: sample_weight must hold {count} numbers of at least 0, not all 0.")
    return weights
