r"""How well scores order the rows: curves over all thresholds and the areas under them. Ties are counted exactly.

A row is called positive when its score is at least the threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import UndefinedMetricError, finite, labels_pair, ratio, weights
from margin.metrics.binary_scores import binary_scores, counts_by_score
from margin.metrics.parameter_texts import SCORES

__all__ = ["average_precision", "pair_count", "precision_recall_curve", "roc_auc", "roc_curve", "top_k_accuracy"]


@with_parameters(SCORES)
def roc_curve(
    y_true: Any, score: ArrayLike, pos_label: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""False and true positive rates, :math:`FP/(FP + TN)` and :math:`TP/(TP + FN)`, at every distinct threshold.

    Thresholds fall from infinity, where both rates are 0, to the least score, where both are 1.

    Examples
    --------
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    fp, tp, thresholds = counts_by_score(*binary_scores("roc_curve", y_true, score, pos_label, sample_weight))
    if tp[-1] == 0 or fp[-1] == 0:
        raise UndefinedMetricError("roc_curve: y_true must hold both classes; got one.")
    return _from_zero(fp), _from_zero(tp), np.concatenate([[np.inf], thresholds])


@with_parameters(SCORES)
def roc_auc(
    y_true: ArrayLike,
    score: ArrayLike,
    labels: ArrayLike | None = None,
    average: str = "macro",
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Probability that a random positive scores above a random negative, a tie counting one half: the area under ROC.

    ``score`` is one score per row, or one column per class: with two columns the second is used, with more the mean
    (``average="macro"``, or "weighted" by class size) of one class against the rest. ``labels`` are the classes of the
    columns, by default the sorted labels of ``y_true``.

    Parameters
    ----------
    score : array-like of shape (n,) or (n, n_classes)
        Scores of the positive class, or one column per class.

    Examples
    --------
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), roc_auc([0, 1], [0.5, 0.5])
    (0.75, 0.5)
    """
    return _over_classes("roc_auc", _area, y_true, score, labels, average, pos_label, sample_weight)


def _area(where: str, positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> float:
    fp, tp, _ = counts_by_score(positive, score, w)
    if tp[-1] == 0 or fp[-1] == 0:
        raise UndefinedMetricError(f"{where}: each class must occur and not be the only one in y_true.")
    fpr, tpr = _from_zero(fp), _from_zero(tp)
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)


@with_parameters(SCORES)
def precision_recall_curve(
    y_true: Any, score: ArrayLike, pos_label: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision and recall at every distinct threshold, thresholds rising; a last point (1, 0) belongs to infinity."""
    where = "precision_recall_curve"
    fp, tp, thresholds = counts_by_score(*binary_scores(where, y_true, score, pos_label, sample_weight))
    if tp[-1] == 0:
        raise UndefinedMetricError(f"{where}: y_true must hold the positive class.")
    precision, recall = ratio(tp, tp + fp, 0.0), tp / tp[-1]
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


@with_parameters(SCORES)
def average_precision(
    y_true: ArrayLike,
    score: ArrayLike,
    labels: ArrayLike | None = None,
    average: str = "macro",
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Precision averaged over steps of recall, :math:`\sum_t (R_t - R_{t-1}) P_t`. Arguments as in :func:`roc_auc`.

    Parameters
    ----------
    score : array-like of shape (n,) or (n, n_classes)
        Scores of the positive class, or one column per class.
    """
    return _over_classes("average_precision", _steps, y_true, score, labels, average, pos_label, sample_weight)


def _steps(where: str, positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> float:
    fp, tp, _ = counts_by_score(positive, score, w)
    if tp[-1] == 0:
        raise UndefinedMetricError(f"{where}: each class must occur in y_true.")
    return float(np.sum(np.diff(tp, prepend=0.0) / tp[-1] * ratio(tp, tp + fp, 0.0)))


@with_parameters(SCORES)
def pair_count(y_true: Any, score: ArrayLike, pos_label: Any = None) -> tuple[int, int, int]:
    r"""Pairs of a positive and a negative row by order of their scores: (positive above, tied, positive below).

    The first plus half the second, over all three, is the area under the ROC curve.

    Examples
    --------
    >>> pair_count([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.4])
    (2, 1, 1)
    """
    positive, s, _ = binary_scores("pair_count", y_true, score, pos_label, None)
    negatives = np.sort(s[~positive])
    less = np.searchsorted(negatives, s[positive], side="left")
    less_or_equal = np.searchsorted(negatives, s[positive], side="right")
    above, tied = int(less.sum()), int((less_or_equal - less).sum())
    return above, tied, int(np.sum(positive)) * len(negatives) - above - tied


@with_parameters(SCORES)
def top_k_accuracy(
    y_true: Any,
    score: ArrayLike,
    k: int = 2,
    labels: ArrayLike | None = None,
    sample_weight: Any = None,
) -> float:
    """Fraction of rows whose class is among the ``k`` best scored; of equal scores the later class goes first.

    Parameters
    ----------
    score : array-like of shape (n, n_classes)
        Scores of the classes.
    k : int
        How many of the best scored classes may be right.

    Examples
    --------
    >>> top_k_accuracy([0, 1, 2], [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]], k=2)
    0.6666666666666666
    """
    where = "top_k_accuracy"
    scores = finite(where, "score", score, ndim=(2,))
    codes = class_codes(where, y_true, scores.shape[1], labels)
    if len(codes) != len(scores):
        raise ValueError(f"{where}: y_true and score must have equal length; got {len(codes)} and {len(scores)}.")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= scores.shape[1]:
        raise ValueError(f"{where}: k must be between 1 and the {scores.shape[1]} classes; got {k!r}.")
    best = np.argsort(scores, axis=1, kind="stable")[:, ::-1][:, :k]
    hit = np.any(best == codes[:, None], axis=1)
    return float(np.average(hit, weights=weights(where, sample_weight, len(hit))))


def class_codes(where: str, y_true: ArrayLike, n_classes: int, labels: Any = None) -> np.ndarray:
    """True labels as positions among the classes of the score columns."""
    if labels is None:
        known, codes, _ = labels_pair(where, y_true, y_true)
        if len(known) != n_classes:
            raise ValueError(f"{where}: y_true has {len(known)} classes and score {n_classes} columns; give labels.")
        return codes
    order = np.asarray(labels)
    if order.shape != (n_classes,) or len(np.unique(order)) != n_classes:
        raise ValueError(f"{where}: labels must be {n_classes} different labels, one per column; got {order.shape}.")
    position = {label: i for i, label in enumerate(order.tolist())}
    codes = np.array([position.get(label, -1) for label in np.asarray(y_true).tolist()], dtype=np.intp)
    if np.any(codes < 0):
        stranger = np.asarray(y_true).tolist()[int(np.argmin(codes))]
        raise ValueError(f"{where}: y_true holds {stranger!r}, which is not among labels.")
    return codes


def _over_classes(
    where: str,
    measure: Callable[[str, np.ndarray, np.ndarray, np.ndarray], float],
    y_true: Any,
    score: Any,
    labels: Any,
    average: str,
    pos_label: Any,
    sample_weight: Any,
) -> float:
    """A binary measure, or its mean over classes, each against the rest."""
    if average not in ("macro", "weighted"):
        raise ValueError(f"{where}: average must be 'macro' or 'weighted'; got {average!r}.")
    scores = finite(where, "score", score, ndim=(1, 2))
    if scores.ndim == 2 and scores.shape[1] > 1:
        codes = class_codes(where, y_true, scores.shape[1], labels)
        if len(codes) != len(scores):
            raise ValueError(f"{where}: y_true and score must have equal length; got {len(codes)} and {len(scores)}.")
        w = weights(where, sample_weight, len(codes))
        if scores.shape[1] == 2:
            return measure(where, codes == 1, scores[:, 1], w)
        values = [measure(where, codes == i, scores[:, i], w) for i in range(scores.shape[1])]
        sizes = np.bincount(codes, weights=w, minlength=scores.shape[1])
        return float(np.average(values, weights=sizes if average == "weighted" else None))
    return measure(where, *binary_scores(where, y_true, scores.ravel(), pos_label, sample_weight))


def _from_zero(counts: np.ndarray) -> np.ndarray:
    """Cumulative counts as rates, with the point (0) where nothing is called positive."""
    return np.concatenate([[0.0], counts / counts[-1]])
