r"""How well a map of labels agrees with another: accuracy, IoU, Dice and Hausdorff distance per class.

.. math:: \mathrm{IoU}_c = \frac{|A_c \cap B_c|}{|A_c \cup B_c|}, \qquad
          \mathrm{Dice}_c = \frac{2|A_c \cap B_c|}{|A_c| + |B_c|}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.metrics.sets import hausdorff

__all__ = ["class_dice", "class_hausdorff", "class_iou", "mean_iou", "pixel_accuracy"]


def _counts(truth: Any, predicted: Any, n_classes: int | None) -> np.ndarray:
    """Pixels by true class (rows) and predicted class (columns)."""
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if truth.shape != predicted.shape:
        raise ValueError(f"segmentation: truth and found must have one shape; got {truth.shape} and {predicted.shape}.")
    if truth.dtype.kind not in "iub" or predicted.dtype.kind not in "iub":
        raise ValueError(f"segmentation: maps must hold class numbers; got {truth.dtype} and {predicted.dtype}.")
    most = int(max(truth.max(initial=0), predicted.max(initial=0))) + 1
    k = most if n_classes is None else n_classes
    if most > k or min(truth.min(initial=0), predicted.min(initial=0)) < 0:
        raise ValueError(f"segmentation: classes must be numbers from 0 to {k - 1}; got others.")
    pairs = truth.astype(np.int64).ravel() * k + predicted.astype(np.int64).ravel()
    return np.bincount(pairs, minlength=k * k).reshape(k, k)


def pixel_accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """Fraction of pixels with the right class.

    Parameters
    ----------
    truth : array-like of int
        True class of every pixel, one map or several.
    found : array-like of the shape of ``truth``
        Predicted classes.
    """
    counts = _counts(truth, found, None)
    return float(np.trace(counts) / counts.sum())


def class_iou(truth: ArrayLike, found: ArrayLike, n_classes: int | None = None) -> np.ndarray:
    """IoU of every class over all pixels given; NaN for a class that is in neither map.

    Parameters
    ----------
    truth : array-like of int
        True class of every pixel, one map or several.
    found : array-like of the shape of ``truth``
        Predicted classes.
    n_classes : int, optional
        Number of classes; by default one more than the largest that occurs.

    Examples
    --------
    >>> class_iou([[0, 1], [1, 1]], [[0, 1], [0, 1]])
    array([0.5       , 0.66666667])
    """
    counts = _counts(truth, found, n_classes)
    shared, union = np.diag(counts), counts.sum(axis=0) + counts.sum(axis=1) - np.diag(counts)
    return np.where(union > 0, shared / np.maximum(union, 1), np.nan)


def class_dice(truth: ArrayLike, found: ArrayLike, n_classes: int | None = None) -> np.ndarray:
    """Dice coefficient of every class; NaN for a class that is in neither map.

    Parameters
    ----------
    truth : array-like of int
        True class of every pixel, one map or several.
    found : array-like of the shape of ``truth``
        Predicted classes.
    n_classes : int, optional
        Number of classes; by default one more than the largest that occurs.
    """
    counts = _counts(truth, found, n_classes)
    total = counts.sum(axis=0) + counts.sum(axis=1)
    return np.where(total > 0, 2 * np.diag(counts) / np.maximum(total, 1), np.nan)


def mean_iou(truth: ArrayLike, found: ArrayLike, n_classes: int | None = None) -> float:
    """The mean of :func:`class_iou` over the classes that occur.

    Parameters
    ----------
    truth : array-like of int
        True class of every pixel, one map or several.
    found : array-like of the shape of ``truth``
        Predicted classes.
    n_classes : int, optional
        Number of classes; by default one more than the largest that occurs.
    """
    return float(np.nanmean(class_iou(truth, found, n_classes)))


def class_hausdorff(truth: np.ndarray, found: np.ndarray, label: int) -> float:
    """Hausdorff distance in pixels between the pixels of one class in two maps (h, w).

    0 where neither has the class, infinite where one has it and the other not.

    Parameters
    ----------
    truth : ndarray of shape (h, w)
        True class of every pixel.
    found : ndarray of shape (h, w)
        Predicted class of every pixel.
    label : int
        The class.
    """
    a, b = np.argwhere(np.asarray(truth) == label), np.argwhere(np.asarray(found) == label)
    if len(a) == 0 or len(b) == 0:
        return 0.0 if len(a) == len(b) else float("inf")
    return hausdorff(a.astype(float), b.astype(float))
