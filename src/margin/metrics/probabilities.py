r"""How good predicted probabilities are, not only their order: proper scores and calibration.

``proba`` is one probability per row (of the positive class) or a matrix with one column per class; ``labels`` are the
classes of the columns, by default the sorted labels of ``y_true``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import UndefinedMetricError, finite, labels_pair, positive_label, ratio, weights
from margin.metrics.parameter_texts import PROBABILITIES
from margin.metrics.ranking import class_codes

__all__ = [
    "CalibrationBins",
    "brier",
    "calibration_bins",
    "expected_calibration_error",
    "log_loss",
    "mcfadden_r2",
]

#: Rows of probabilities must sum to one up to this: float32 softmax over a thousand classes is well within it.
_SUM_TOLERANCE = 1e-3


@with_parameters(PROBABILITIES)
def log_loss(
    y_true: ArrayLike, proba: ArrayLike, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean negative log-probability of the true class, :math:`-\frac1n\sum_i \log p_{i, y_i}`, in nats.

    Probabilities are kept a machine epsilon (of their type) away from 0 and 1, so a confident mistake costs about 36
    nats and not infinity.

    Examples
    --------
    >>> round(log_loss([1, 0], [0.8, 0.4]), 6)
    0.366985
    """
    p, codes, w = _arguments("log_loss", y_true, proba, labels, sample_weight)
    eps = np.finfo(_float_type(proba)).eps
    chosen = np.clip(p, eps, 1 - eps)[np.arange(len(p)), codes]
    return float(-np.average(np.log(chosen), weights=w))


@with_parameters(PROBABILITIES)
def brier(
    y_true: ArrayLike, proba: ArrayLike, labels: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean squared error of the probabilities: :math:`(p_i - y_i)^2` for two classes, summed over classes for more.

    Examples
    --------
    >>> round(brier([1, 0], [0.8, 0.4]), 6)
    0.1
    """
    p, codes, w = _arguments("brier", y_true, proba, labels, sample_weight)
    gap = p.copy()
    gap[np.arange(len(p)), codes] -= 1
    # With two classes both columns have the same square; convention counts it once.
    return float(np.average(np.sum(gap**2, axis=1), weights=w) / (2 if p.shape[1] == 2 else 1))


@with_parameters(PROBABILITIES)
def mcfadden_r2(y_true: ArrayLike, proba: ArrayLike, labels: ArrayLike | None = None) -> float:
    r"""McFadden's pseudo R squared, :math:`1 - \ell/\ell_0`, with the class frequencies as the null model.

    It is 0 for the class frequencies themselves, 1 for certainty of what happens, negative for worse than that.
    """
    p, codes, _ = _arguments("mcfadden_r2", y_true, proba, labels, None)
    frequencies = np.bincount(codes, minlength=p.shape[1]) / len(codes)
    if np.max(frequencies) == 1:
        raise UndefinedMetricError("mcfadden_r2: y_true must hold at least two classes; got one.")
    null = -np.sum(frequencies[frequencies > 0] * np.log(frequencies[frequencies > 0]))
    return 1.0 - log_loss(codes, p, labels=np.arange(p.shape[1])) / float(null)


@dataclass(frozen=True)
class CalibrationBins:
    """Rows grouped by confidence: mean confidence, fraction of positives (or right answers), weight of each bin."""

    edges: np.ndarray
    confidence: np.ndarray
    frequency: np.ndarray
    weight: np.ndarray


@with_parameters(PROBABILITIES)
def calibration_bins(
    y_true: ArrayLike,
    proba: ArrayLike,
    n_bins: int = 10,
    strategy: str = "uniform",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CalibrationBins:
    """Bins of equal width ("uniform") or equal count ("quantile"), empty ones left out.

    For two classes the confidence is the probability of the positive class; for more, of the likeliest class, and the
    frequency is how often that class is right. A probability on an edge belongs to the lower bin, zero to the first.

    Examples
    --------
    >>> bins = calibration_bins([0, 1, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> bins.confidence.tolist(), bins.frequency.tolist()
    ([0.15000000000000002, 0.8500000000000001], [0.5, 1.0])
    """
    where = "calibration_bins"
    p, codes, w = _arguments(where, y_true, proba, labels, sample_weight)
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"{where}: n_bins must be an integer of at least 1; got {n_bins!r}.")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f"{where}: strategy must be 'uniform' or 'quantile'; got {strategy!r}.")
    if p.shape[1] == 2:
        confidence, right = p[:, 1], codes == 1
    else:
        confidence, right = p.max(axis=1), codes == p.argmax(axis=1)
    levels = np.linspace(0, 1, n_bins + 1)
    edges = levels if strategy == "uniform" else np.quantile(confidence, levels)
    position = np.searchsorted(edges[1:-1], confidence)
    total = np.bincount(position, weights=w, minlength=n_bins)
    used = total > 0
    mean, fraction = (
        ratio(np.bincount(position, weights=w * values, minlength=n_bins), total, 0.0) for values in (confidence, right)
    )
    return CalibrationBins(edges, mean[used], fraction[used], total[used])


@with_parameters(PROBABILITIES)
def expected_calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    n_bins: int = 10,
    strategy: str = "uniform",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean gap between confidence and frequency over bins, :math:`\sum_b \frac{w_b}{w} |c_b - f_b|`."""
    bins = calibration_bins(y_true, proba, n_bins, strategy, labels, sample_weight)
    return float(np.average(np.abs(bins.confidence - bins.frequency), weights=bins.weight))


def _float_type(proba: Any) -> Any:
    kind = np.asarray(proba).dtype
    return kind if kind.kind == "f" else np.float64


def _arguments(
    where: str, y_true: Any, proba: Any, labels: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities (n, K), true classes as columns of it, weights (n,)."""
    p = finite(where, "proba", proba, ndim=(1, 2))
    if np.any(p < 0) or np.any(p > 1):
        raise ValueError(f"{where}: proba must lie in [0, 1]; got {p.min():g} to {p.max():g}.")
    if p.ndim == 2 and p.shape[1] > 1:
        worst = float(np.max(np.abs(p.sum(axis=1) - 1)))
        if worst > _SUM_TOLERANCE:
            raise ValueError(f"{where}: rows of proba must sum to 1; one is off by {worst:g}.")
        codes = class_codes(where, y_true, p.shape[1], labels)
    else:
        p = np.column_stack([1 - p.ravel(), p.ravel()])
        codes = class_codes(where, y_true, 2, _two_labels(where, y_true) if labels is None else labels)
    if len(codes) != len(p):
        raise ValueError(f"{where}: y_true and proba must have equal length; got {len(codes)} and {len(p)}.")
    return p, codes, weights(where, sample_weight, len(p))


def _two_labels(where: str, y_true: Any) -> list[Any]:
    """(negative, positive) labels of a two-class problem, also where only one of 0 and 1 occurs."""
    known, _, _ = labels_pair(where, y_true, y_true)
    positive = positive_label(where, known)
    others = [label for label in known.tolist() if label != positive]
    return [others[0] if others else 0, positive]
