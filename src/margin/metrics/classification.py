r"""How well predicted labels agree with true ones. All are functions of the confusion matrix :math:`C_{ij}`, the
(weighted) number of rows of class :math:`i` predicted as class :math:`j`."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.notices import warn_user
from margin.metrics.arguments import UndefinedMetricError, labels_pair, positive_label, ratio, weights

__all__ = [
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "confusion_matrix",
    "f1",
    "fbeta",
    "jaccard",
    "matthews",
    "negative_predictive_value",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
]

_AVERAGES = ("binary", "micro", "macro", "weighted", None)


def accuracy(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """Fraction of rows whose label is right.

    >>> accuracy(["a", "b", "b"], ["a", "b", "a"])
    0.6666666666666666
    """
    _, true, predicted = labels_pair("accuracy", y_true, y_pred)
    return float(np.average(true == predicted, weights=weights("accuracy", sample_weight, len(true))))


def confusion_matrix(y_true: Any, y_pred: Any, labels: Any = None, sample_weight: Any = None) -> np.ndarray:
    """Counts (or weights) of rows by true label (rows) and predicted label (columns).

    Labels are in sorted order, or in the order of ``labels``; rows with other labels are left out.

    >>> confusion_matrix([1, 1, 0, 0, 1], [1, 0, 0, 1, 1], labels=[1, 0])
    array([[2, 1],
           [1, 1]])
    """
    where = "confusion_matrix"
    known, true, predicted = labels_pair(where, y_true, y_pred)
    w = None if sample_weight is None else weights(where, sample_weight, len(true))
    matrix = _confusion(true, predicted, len(known), w)
    if labels is None:
        return matrix
    wanted = np.asarray(labels)
    if wanted.ndim != 1 or not wanted.size or len(np.unique(wanted)) != len(wanted):
        raise ValueError(f"{where}: labels must be a list of different labels; got {labels!r}.")
    position = {label: i for i, label in enumerate(known.tolist())}
    positions = np.array([position.get(label, -1) for label in wanted.tolist()])
    if np.all(positions < 0):
        raise ValueError(f"{where}: none of labels {wanted.tolist()[:5]} occurs in y_true or y_pred.")
    present = positions >= 0
    result = np.zeros((len(wanted), len(wanted)), dtype=matrix.dtype)
    result[np.ix_(present, present)] = matrix[np.ix_(positions[present], positions[present])]
    return result


def balanced_accuracy(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    r"""Mean over true classes of the fraction found, :math:`\frac1K\sum_i C_{ii}/\sum_j C_{ij}`."""
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight)
    occurring = matrix.sum(axis=1) > 0
    return float(np.mean(np.diag(matrix)[occurring] / matrix.sum(axis=1)[occurring]))


def precision(y_true: Any, y_pred: Any, **options: Any) -> Any:
    r"""Fraction of predicted positives that are positive, :math:`TP/(TP + FP)`. Options as in :func:`fbeta`.

    >>> precision([1, 0, 1, 1], [1, 1, 1, 0])
    0.6666666666666666
    """
    return _rates("precision", y_true, y_pred, **options)


def recall(y_true: Any, y_pred: Any, **options: Any) -> Any:
    r"""Fraction of positives that are found, :math:`TP/(TP + FN)`. Options as in :func:`fbeta`."""
    return _rates("recall", y_true, y_pred, **options)


#: The medical name of recall.
sensitivity = recall


def fbeta(y_true: Any, y_pred: Any, beta: float = 1.0, **options: Any) -> Any:
    r"""Weighted harmonic mean of precision and recall, in which recall counts ``beta`` squared times as much:

    .. math:: F_\beta = \frac{(1 + \beta^2)\,TP}{(1 + \beta^2)\,TP + \beta^2\,FN + FP}

    ``average``: "binary" measures the class ``pos_label``; "micro" pools all classes; "macro" and "weighted" are means
    over classes, the latter by their true size; None gives one value per class. ``sample_weight`` weights rows. Where
    nothing is to be divided by, the value is ``zero_division``; by default it is 0 with a warning.

    >>> fbeta([1] * 50 + [0] * 10, [1] * 30 + [0] * 20 + [1] * 10, beta=2)
    0.625
    """
    if not isinstance(beta, int | float | np.number) or not 0 <= beta < np.inf:
        raise ValueError(f"fbeta: beta must be a number of at least 0; got {beta!r}.")
    return _rates("fbeta", y_true, y_pred, beta=float(beta), **options)


def f1(y_true: Any, y_pred: Any, **options: Any) -> Any:
    r"""Harmonic mean of precision and recall, :math:`2TP/(2TP + FN + FP)`. Options as in :func:`fbeta`."""
    return _rates("f1", y_true, y_pred, beta=1.0, **options)


def specificity(y_true: Any, y_pred: Any, pos_label: Any = None, sample_weight: Any = None) -> float:
    r"""Fraction of negatives that are recognized, :math:`TN/(TN + FP)`: recall with the classes swapped."""
    tn, fp, _, _ = _binary_counts("specificity", y_true, y_pred, pos_label, sample_weight)
    return float(_divided("specificity", np.array(tn), np.array(tn + fp), None))


def negative_predictive_value(y_true: Any, y_pred: Any, pos_label: Any = None, sample_weight: Any = None) -> float:
    r"""Fraction of predicted negatives that are negative, :math:`TN/(TN + FN)`: precision with the classes swapped."""
    tn, _, fn, _ = _binary_counts("negative_predictive_value", y_true, y_pred, pos_label, sample_weight)
    return float(_divided("negative_predictive_value", np.array(tn), np.array(tn + fn), None))


def matthews(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
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


def cohen_kappa(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    r"""Agreement beyond chance, :math:`(p_o - p_e)/(1 - p_e)`, with :math:`p_e` that of independent labelings.

    >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0])
    0.5
    """
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight).astype(np.float64)
    matrix /= matrix.sum()
    expected = float(matrix.sum(axis=1) @ matrix.sum(axis=0))
    if len(matrix) == 1:
        raise UndefinedMetricError("cohen_kappa: is not defined for one and the same label everywhere.")
    return float((np.trace(matrix) - expected) / (1 - expected))


def jaccard(y_true: Any, y_pred: Any, **options: Any) -> Any:
    r"""Intersection over union of the true and the predicted members of a class, :math:`TP/(TP + FP + FN)`.

    Options as in :func:`fbeta`.

    >>> jaccard([1, 0, 1, 1], [1, 1, 1, 0])
    0.5
    """
    return _rates("jaccard", y_true, y_pred, **options)


def _confusion(true: np.ndarray, predicted: np.ndarray, k: int, w: np.ndarray | None) -> np.ndarray:
    return np.bincount(true * k + predicted, weights=w, minlength=k * k).reshape(k, k)


def _rates(
    where: str,
    y_true: Any,
    y_pred: Any,
    *,
    beta: float = 1.0,
    average: str | None = "binary",
    pos_label: Any = None,
    sample_weight: Any = None,
    zero_division: float | None = None,
) -> Any:
    """Precision, recall, F or Jaccard index per class from the confusion matrix, then averaged."""
    if average not in _AVERAGES:
        raise ValueError(f"{where}: average must be binary, micro, macro, weighted or None; got {average!r}.")
    known, true, predicted = labels_pair(where, y_true, y_pred)
    matrix = _confusion(true, predicted, len(known), weights(where, sample_weight, len(true)))
    tp, support, called = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    if average == "binary":
        if len(known) > 2:
            raise ValueError(f"{where}: average='binary' needs two classes; got {len(known)}; choose another average.")
        at = np.flatnonzero(known == positive_label(where, known, pos_label))
        tp, support, called = (part[at] if at.size else np.zeros(1) for part in (tp, support, called))
    elif average == "micro":
        tp, support, called = (np.array([part.sum()]) for part in (tp, support, called))
    values = _divided(where, *_fraction(where, tp, support, called, beta), zero_division)
    if average is None:
        return values
    if average == "weighted":
        return float(np.average(values, weights=support))
    return float(values.mean())


def _fraction(
    where: str, tp: np.ndarray, support: np.ndarray, called: np.ndarray, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    if where == "precision":
        return tp, called
    if where == "recall":
        return tp, support
    if where == "jaccard":
        return tp, support + called - tp
    return (1 + beta**2) * tp, beta**2 * support + called


def _divided(where: str, numerator: np.ndarray, denominator: np.ndarray, zero_division: float | None) -> np.ndarray:
    if zero_division is None and np.any(denominator == 0):
        warn_user(f"{where}: nothing to divide by for some class; its value is set to 0.", RuntimeWarning)
    return ratio(numerator, denominator, 0.0 if zero_division is None else float(zero_division))


def _binary_counts(
    where: str, y_true: Any, y_pred: Any, pos_label: Any, sample_weight: Any
) -> tuple[float, float, float, float]:
    """(TN, FP, FN, TP)."""
    known, true, predicted = labels_pair(where, y_true, y_pred)
    if len(known) > 2:
        raise ValueError(f"{where}: two classes are needed; got {len(known)}.")
    positive = known == positive_label(where, known, pos_label)
    w = weights(where, sample_weight, len(true))
    counts = _confusion(positive[true].astype(np.intp), positive[predicted].astype(np.intp), 2, w)
    tn, fp, fn, tp = counts.ravel().tolist()
    return tn, fp, fn, tp
