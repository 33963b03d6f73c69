r"""How well one class is separated from the others: precision, recall, F, Jaccard index, and their counterparts for the
negatives. All are fractions of cells of the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.core.notices import warn_user
from margin.metrics.arguments import labels_pair, positive_label, ratio, weights
from margin.metrics.confusion import confusion_counts
from margin.metrics.parameter_texts import LABELS

__all__ = [
    "f1",
    "fbeta",
    "jaccard",
    "negative_predictive_value",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
]

_AVERAGES = ("binary", "micro", "macro", "weighted", None)


def precision(y_true: ArrayLike, y_pred: ArrayLike, **options: Any) -> Any:
    r"""Fraction of predicted positives that are positive, :math:`TP/(TP + FP)`. Options as in :func:`fbeta`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    **options
        ``average``, ``pos_label``, ``sample_weight`` and ``zero_division``, as in :func:`fbeta`.

    Examples
    --------
    >>> precision([1, 0, 1, 1], [1, 1, 1, 0])
    0.6666666666666666
    """
    return _rates("precision", y_true, y_pred, **options)


def recall(y_true: ArrayLike, y_pred: ArrayLike, **options: Any) -> Any:
    r"""Fraction of positives that are found, :math:`TP/(TP + FN)`. Options as in :func:`fbeta`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    **options
        ``average``, ``pos_label``, ``sample_weight`` and ``zero_division``, as in :func:`fbeta`.
    """
    return _rates("recall", y_true, y_pred, **options)


#: The medical name of recall.
sensitivity = recall


def fbeta(y_true: ArrayLike, y_pred: ArrayLike, beta: float = 1.0, **options: Any) -> Any:
    r"""Weighted harmonic mean of precision and recall, in which recall counts ``beta`` squared times as much:

    .. math:: F_\beta = \frac{(1 + \beta^2)\,TP}{(1 + \beta^2)\,TP + \beta^2\,FN + FP}

    ``average``: "binary" measures the class ``pos_label``; "micro" pools all classes; "macro" and "weighted" are means
    over classes, the latter by their true size; None gives one value per class. ``sample_weight`` weights rows. Where
    nothing is to be divided by, the value is ``zero_division``; by default it is 0 with a warning.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    beta : float
        Weight of recall relative to precision.
    **options
        ``average``, ``pos_label``, ``sample_weight`` and ``zero_division``, as above.

    Examples
    --------
    >>> fbeta([1] * 50 + [0] * 10, [1] * 30 + [0] * 20 + [1] * 10, beta=2)
    0.625
    """
    if not isinstance(beta, int | float | np.number) or not 0 <= beta < np.inf:
        raise ValueError(f"fbeta: beta must be a number of at least 0; got {beta!r}.")
    return _rates("fbeta", y_true, y_pred, beta=float(beta), **options)


def f1(y_true: ArrayLike, y_pred: ArrayLike, **options: Any) -> Any:
    r"""Harmonic mean of precision and recall, :math:`2TP/(2TP + FN + FP)`. Options as in :func:`fbeta`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    **options
        ``average``, ``pos_label``, ``sample_weight`` and ``zero_division``, as in :func:`fbeta`.
    """
    return _rates("f1", y_true, y_pred, beta=1.0, **options)


@with_parameters(LABELS)
def specificity(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any = None, sample_weight: ArrayLike | None = None
) -> float:
    r"""Fraction of negatives that are recognized, :math:`TN/(TN + FP)`: recall with the classes swapped."""
    tn, fp, _, _ = _binary_counts("specificity", y_true, y_pred, pos_label, sample_weight)
    return float(_divide("specificity", np.array(tn), np.array(tn + fp), None))


@with_parameters(LABELS)
def negative_predictive_value(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any = None, sample_weight: ArrayLike | None = None
) -> float:
    r"""Fraction of predicted negatives that are negative, :math:`TN/(TN + FN)`: precision with the classes swapped."""
    tn, _, fn, _ = _binary_counts("negative_predictive_value", y_true, y_pred, pos_label, sample_weight)
    return float(_divide("negative_predictive_value", np.array(tn), np.array(tn + fn), None))


def jaccard(y_true: ArrayLike, y_pred: ArrayLike, **options: Any) -> Any:
    r"""Intersection over union of the true and the predicted members of a class, :math:`TP/(TP + FP + FN)`.

    Options as in :func:`fbeta`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    **options
        ``average``, ``pos_label``, ``sample_weight`` and ``zero_division``, as in :func:`fbeta`.

    Examples
    --------
    >>> jaccard([1, 0, 1, 1], [1, 1, 1, 0])
    0.5
    """
    return _rates("jaccard", y_true, y_pred, **options)


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
    matrix = confusion_counts(true, predicted, len(known), weights(where, sample_weight, len(true)))
    tp, support, called = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    if average == "binary":
        if len(known) > 2:
            raise ValueError(f"{where}: average='binary' needs two classes; got {len(known)}; choose another average.")
        at = np.flatnonzero(known == positive_label(where, known, pos_label))
        tp, support, called = (part[at] if at.size else np.zeros(1) for part in (tp, support, called))
    elif average == "micro":
        tp, support, called = (np.array([part.sum()]) for part in (tp, support, called))
    values = _divide(where, *_fraction(where, tp, support, called, beta), zero_division)
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


def _divide(where: str, numerator: np.ndarray, denominator: np.ndarray, zero_division: float | None) -> np.ndarray:
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
    counts = confusion_counts(positive[true].astype(np.intp), positive[predicted].astype(np.intp), 2, w)
    tn, fp, fn, tp = counts.ravel().tolist()
    return tn, fp, fn, tp
