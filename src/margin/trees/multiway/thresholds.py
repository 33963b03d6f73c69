"""The best threshold of a numeric column, and of all numeric columns of a node at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from margin.core.arguments import finite, numbers
from margin.trees.multiway.gains import checked_weights, code, gain_of_counts

__all__ = ["Scan", "Threshold", "best_threshold", "threshold_scan"]

# Cells of one (classes, rows, columns) work array: wider problems are scanned a few columns at a time.
SCAN_CELLS = 2_000_000


class Threshold(NamedTuple):
    """The best cut of a numeric column: ``x <= value`` against ``x > value``."""

    value: float
    gain: float
    ratio: float


class Scan(NamedTuple):
    """The best cut of every column (p,), its gain and gain ratio, and how many cuts the column has."""

    value: np.ndarray
    gain: np.ndarray
    ratio: np.ndarray
    n_cuts: np.ndarray


def best_threshold(
    x: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    criterion: str = "gain_ratio",
    min_samples_leaf: float = 0.0,
) -> Threshold:
    """The cut of ``x`` with the largest gain ratio (or gain, if that is the ``criterion``), halfway between neighbors.

    Both sides must have at least ``min_samples_leaf`` weight. Missing entries (NaN) are left out. Without a cut (all
    known values equal) the value is NaN, gain and ratio are 0.

    >>> best_threshold([64, 65, 70, 71], ["yes", "yes", "no", "no"])
    Threshold(value=67.5, gain=1.0, ratio=1.0)
    """
    if criterion not in ("gain", "gain_ratio"):
        raise ValueError(f"best_threshold: criterion must be 'gain' or 'gain_ratio'; got {criterion!r}.")
    column = numbers("best_threshold", "x", x)
    finite("best_threshold", "x", column[~np.isnan(column)])
    labels, weights = code("best_threshold", "y", y), checked_weights("best_threshold", y, sample_weight)
    if column.shape != labels.shape or np.isnan(labels).any():
        raise ValueError(
            f"best_threshold: x and y must have one length and every row a label; got {column.shape}, {labels.shape} "
            f"and {np.count_nonzero(np.isnan(labels))} missing labels."
        )
    classes = labels.astype(np.int64)
    scan = threshold_scan(column[:, None], classes, weights, int(classes.max()) + 1, min_samples_leaf, criterion)
    return Threshold(float(scan.value[0]), float(scan.gain[0]), float(scan.ratio[0]))


def threshold_scan(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, min_leaf: float, criterion: str
) -> Scan:
    """The best cut of every column of ``X`` (m, p) for class numbers ``y`` (m,).

    A column without a cut has the value NaN, and 0 for the rest.
    """
    width = max(1, SCAN_CELLS // (len(X) * n_classes))
    parts = [
        _scan(X[:, j : j + width], y, weights, n_classes, min_leaf, criterion) for j in range(0, X.shape[1], width)
    ]
    return Scan(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _scan(X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, min_leaf: float, criterion: str) -> Scan:
    if len(X) < 2:
        nothing = np.zeros(X.shape[1])
        return Scan(np.full(X.shape[1], np.nan), nothing, nothing, nothing)
    order = np.argsort(X, axis=0, kind="stable")  # missing values (NaN) come last
    values = np.take_along_axis(X, order, axis=0)
    known = np.where(np.isnan(values), 0.0, weights[order])
    # (classes, m, p): the weight of every class in the first rows up to this one
    below = np.cumsum(np.where(y[order] == np.arange(n_classes)[:, None, None], known, 0.0), axis=1)
    left, total = below.sum(axis=0), below[:, -1]
    apart = values[:-1] < values[1:]
    fits = apart & (left[:-1] >= min_leaf) & (left[-1] - left[:-1] >= min_leaf)
    row, column = np.nonzero(fits)
    side = below[:, row, column]
    halves = np.stack([side, np.maximum(total[:, column] - side, 0.0)])  # (2, classes, cuts)
    missing = np.maximum(weights.sum() - left[-1], 0.0)
    gain_and_ratio = np.zeros((2, *apart.shape))  # gain and ratio of every cut
    gain_and_ratio[:, row, column] = gain_of_counts(halves.transpose(2, 0, 1), missing[column])
    scores = np.where(fits, gain_and_ratio[0 if criterion == "gain" else 1], -np.inf)
    best, columns = scores.argmax(axis=0), np.arange(X.shape[1])
    cut = np.where(fits.any(axis=0), _between(values[best, columns], values[best + 1, columns]), np.nan)
    gain, ratio = gain_and_ratio[:, best, columns]
    return Scan(cut, gain, ratio, apart.sum(axis=0))


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Halfway, but ``low`` itself where neighbors are so near that rounding leaves nothing between them."""
    middle = low / 2 + high / 2  # halves first: the sum of two large numbers may overflow
    return np.where((middle > low) & (middle < high), middle, low)
