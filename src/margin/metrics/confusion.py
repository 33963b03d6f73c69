r"""The confusion matrix and measures of agreement over all classes.

:math:`C_{ij}` is the (weighted) number of rows of class :math:`i` predicted as class :math:`j`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import UndefinedMetricError, labels_pair, weights
from margin.metrics.parameter_texts import LABELS

__all__ = ["accuracy", "balanced_accuracy", "cohen_kappa", "confusion_counts", "confusion_matrix", "matthews"]


@with_parameters(LABELS)
def accuracy(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Fraction of rows whose label is right.

    Examples
    --------
    >>> accuracy(["a", "b", "b"], ["a", "b", "a"])
    0.6666666666666666
    """
    _, true, predicted = labels_pair("accuracy", y_true, y_pred)
    return float(np.average(true == predicted, weights=weights("accuracy", sample_weight, len(true))))


@with_parameters(LABELS)
def confusion_matrix(
    y_true: ArrayLike, y_pred: ArrayLike, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> np.ndarray:
    """Counts (or weights) of rows by true label (rows) and predicted label (columns).

    Labels are in sorted order, or in the order of ``labels``; rows with other labels are left out.

    Parameters
    ----------
    labels : array-like, optional
        Labels to count, in this order; by default all that occur, sorted.

    Examples
    --------
    >>> confusion_matrix([1, 1, 0, 0, 1], [1, 0, 0, 1, 1], labels=[1, 0])
    array([[2, 1],
           [1, 1]])
    """
    where = "confusion_matrix"
    known, true, predicted = labels_pair(where, y_true, y_pred)
    w = None if sample_weight is None else weights(where, sample_weight, len(true))
    matrix = confusion_counts(true, predicted, len(known), w)
    if labels is None:
        return matrix
    chosen = np.asarray(labels)
    if chosen.ndim != 1 or not chosen.size or len(np.unique(chosen)) != len(chosen):
        raise ValueError(f"{where}: labels must be a list of different labels; got {labels!r}.")
    position = {label: i for i, label in enumerate(known.tolist())}
    positions = np.array([position.get(label, -1) for label in chosen.tolist()])
    if np.all(positions < 0):
        raise ValueError(f"{where}: none of labels {chosen.tolist()[:5]} occurs in y_true or y_pred.")
    present = positions >= 0
    result = np.zeros((len(chosen), len(chosen)), dtype=matrix.dtype)
    result[np.ix_(present, present)] = matrix[np.ix_(positions[present], positions[present])]
    return result


@with_parameters(LABELS)
def balanced_accuracy(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean over true classes of the fraction found, :math:`\frac1K\sum_i C_{ii}/\sum_j C_{ij}`."""
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight)
    occurring = matrix.sum(axis=1) > 0
    return float(np.mean(np.diag(matrix)[occurring] / matrix.sum(axis=1)[occurring]))


@with_parameters(LABELS)
def matthews(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Matthews correlation: Pearson's correlation of the two labelings, also for more than two classes.

    With row sums :math:`t`, column sums :math:`p`, total :math:`s` and trace :math:`c` of the confusion matrix it is
    :math:`(cs - t\cdot p)/\sqrt{(s^2 - p\cdot p)(s^2 - t\cdot t)}`, and 0 when one labeling is constant.
    """
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight).astype(np.float64)
    matrix /= matrix.sum()
    t, p = matrix.sum(axis=1), matrix.sum(axis=0)
    scale = (1 - p @ p) * (1 - t @ t)
    constant = np.count_nonzero(t) < 2 or np.count_nonzero(p) < 2
    return 0.0 if constant else float((np.trace(matrix) - t @ p) / np.sqrt(scale))


@with_parameters(LABELS)
def cohen_kappa(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Agreement beyond chance, :math:`(p_o - p_e)/(1 - p_e)`, with :math:`p_e` that of independent labelings.

    Examples
    --------
    >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    """
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight).astype(np.float64)
    matrix /= matrix.sum()
    expected = float(matrix.sum(axis=1) @ matrix.sum(axis=0))
    if len(matrix) == 1:
        raise UndefinedMetricError("cohen_kappa: is not defined for one and the same label everywhere.")
    return float((np.trace(matrix) - expected) / (1 - expected))


def confusion_counts(true: np.ndarray, predicted: np.ndarray, k: int, w: np.ndarray | None) -> np.ndarray:
    """Counts (k, k) of pairs of codes, or the sums of their weights ``w``."""
    return np.bincount(true * k + predicted, weights=w, minlength=k * k).reshape(k, k)
