r"""How C4.5 grows: the question with the largest gain ratio, rows that split where their value is missing.

Among the columns whose gain is at least the average, the one with the largest gain ratio per cost is split. The
average keeps out splits with hardly any gain whose ratio is large only because hardly any row leaves the rest;
columns with very many categories do not count in it, for their gain would keep out all others.
A threshold was chosen among many, so its gain is first reduced by :math:`\log_2(\text{cuts}) / |S|`, the bits that
naming it costs (release 8 of C4.5).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from margin.trees.multiway.category_tree import GrowingTree, Tree
from margin.trees.multiway.gains import gain_of_counts
from margin.trees.multiway.thresholds import threshold_scan

__all__ = ["C45Settings", "PartialRows", "Split", "best_split", "divide", "grow"]

# A gain (in bits) or a part of a node's weight below this is rounding error, not information.
NOTHING = 1e-10


class PartialRows(NamedTuple):
    """The rows of a node: their numbers, and how much of each is here (less than its weight if it was split)."""

    number: np.ndarray
    weight: np.ndarray


class Split(NamedTuple):
    """A question about a column; ``threshold`` is NaN for a category."""

    feature: int
    threshold: float
    gain: float
    ratio: float


@dataclass(frozen=True)
class C45Settings:
    """What the growth obeys: the columns' costs and kinds (p,), and limits."""

    costs: np.ndarray
    numeric: np.ndarray
    n_categories: np.ndarray
    many_valued: np.ndarray
    max_depth: int | None
    min_samples_leaf: float
    threshold_criterion: str
    threshold_penalty: bool


def grow(X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, settings: C45Settings) -> Tree:
    """The unpruned tree on encoded ``X`` (n, p) and class numbers ``y``."""
    growing = GrowingTree.root(np.bincount(y, weights, minlength=n_classes))
    waiting = deque([(0, 0, PartialRows(np.arange(len(y)), weights))])
    while waiting:
        node, depth, rows = waiting.popleft()
        value = growing.arrays["value"][node]
        if value.sum() - value.max() <= NOTHING * value.sum() or depth == settings.max_depth:
            continue  # one class is left
        split = best_split(X, y, rows, n_classes, settings)
        if split is None:
            continue  # no column tells anything
        branches, parts = divide(X, rows, split)
        values = np.stack([np.bincount(y[part.number], part.weight, minlength=n_classes) for part in parts])
        numbers = growing.split(node, split.feature, split.threshold, split.gain, branches, values)
        waiting.extend((number, depth + 1, part) for number, part in zip(numbers, parts))
    return growing.grown_tree()


def best_split(X: np.ndarray, y: np.ndarray, rows: PartialRows, n_classes: int, settings: C45Settings) -> Split | None:
    """The column to ask about, or None if none tells anything."""
    threshold, gain, ratio = np.full(X.shape[1], np.nan), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if settings.numeric.any():
        table = X[np.ix_(rows.number, settings.numeric)]
        scan = threshold_scan(
            table, y[rows.number], rows.weight, n_classes, settings.min_samples_leaf, settings.threshold_criterion
        )
        naming = np.log2(np.maximum(scan.n_cuts, 1)) / rows.weight.sum() if settings.threshold_penalty else 0.0
        threshold[settings.numeric] = scan.value
        gain[settings.numeric] = np.maximum(scan.gain - naming, 0.0)
        ratio[settings.numeric] = scan.ratio * gain[settings.numeric] / np.where(scan.gain > 0, scan.gain, 1.0)
    for j in np.flatnonzero(~settings.numeric).tolist():
        gain[j], ratio[j] = _category_gain(X[rows.number, j], y[rows.number], rows.weight, n_classes, settings, j)
    tells = gain > NOTHING
    if not tells.any():
        return None
    counted = tells & ~settings.many_valued if (tells & ~settings.many_valued).any() else tells
    eligible = tells & (gain >= gain[counted].mean() - NOTHING)
    score = np.where(eligible, ratio / settings.costs, -np.inf)
    best = int(np.argmax(score >= score.max() - NOTHING))  # the first of equals
    return Split(best, float(threshold[best]), float(gain[best]), float(ratio[best]))


def _category_gain(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, settings: C45Settings, column: int
) -> tuple[float, float]:
    known = ~np.isnan(x)
    width = int(settings.n_categories[column])
    cell = x[known].astype(np.int64) * n_classes + y[known]
    counts = np.bincount(cell, weights[known], minlength=width * n_classes).reshape(width, n_classes)
    sizes = counts.sum(axis=1)
    if np.count_nonzero(sizes) < 2 or np.count_nonzero(sizes >= settings.min_samples_leaf) < 2:
        return 0.0, 0.0
    gain, ratio = gain_of_counts(counts, weights[~known].sum())
    return float(gain), float(ratio)


def divide(X: np.ndarray, rows: PartialRows, split: Split) -> tuple[np.ndarray, list[PartialRows]]:
    """The branches that have known rows, and the rows of each; a row with a missing value goes into all, in parts."""
    x = X[rows.number, split.feature]
    known = ~np.isnan(x)
    branch = x[known] if np.isnan(split.threshold) else (x[known] > split.threshold)
    branches, belongs = np.unique(branch.astype(np.int32), return_inverse=True)
    order = np.argsort(belongs, kind="stable")
    ends = np.cumsum(np.bincount(belongs))[:-1]
    numbers, weights = rows.number[known][order], rows.weight[known][order]
    fractions = np.bincount(belongs, rows.weight[known]) / rows.weight[known].sum()
    lost, lost_weight = rows.number[~known], rows.weight[~known]
    parts = [
        PartialRows(np.concatenate([number, lost]), np.concatenate([weight, fraction * lost_weight]))
        for number, weight, fraction in zip(np.split(numbers, ends), np.split(weights, ends), fractions)
    ]
    return branches, parts
