r"""The interval and the paired test for scores of folds whose training rows overlap.

Such scores are not independent, so the usual standard error is too small. Nadeau and Bengio (2003) widen it:

.. math:: \hat\sigma^2 \left(\frac1k + \frac{n_{\text{test}}}{n_{\text{train}}}\right).

The differences :math:`d_1, \dots, d_k` of two models over the same folds give the test statistic, with k - 1 degrees of
freedom,

.. math:: t = \bar d \Big/ \sqrt{\Bigl(\frac1k + \frac{n_\text{test}}{n_\text{train}}\Bigr)\hat\sigma_d^2} .
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from margin.core.arguments import finite, integer
from margin.foundations.statistics.intervals import mean_interval
from margin.foundations.statistics.p_values import HypothesisTest, p_value
from margin.foundations.statistics.t_tests import t_test_from_error

__all__ = ["corrected_interval", "corrected_paired_test"]

LEVEL = 0.95


def corrected_interval(
    scores: Sequence[float], n_train: int, n_test: int, level: float = LEVEL
) -> tuple[float, float, float]:
    """Mean and interval of cross-validated scores by the corrected variance above.

    Parameters
    ----------
    scores : sequence of float
        One score per fold.
    n_train : int
        Training rows of a fold.
    n_test : int
        Test rows of a fold.
    level : float in (0, 1)
        Confidence level.

    Examples
    --------
    >>> mean, low, high = corrected_interval([0.8, 0.9, 0.85], n_train=80, n_test=40)
    >>> low < mean < high
    True
    """
    values = np.asarray(scores, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    return mean, *mean_interval(mean, _corrected_error(values, n_train, n_test), len(values) - 1, level)


def corrected_paired_test(first: Any, second: Any, n_train: int, n_test: int) -> HypothesisTest:
    """Are two models' scores on the same folds equal in the mean? The corrected t-test above, two-sided.

    Parameters
    ----------
    first : array-like of shape (k,)
        Scores of one model.
    second : array-like of shape (k,)
        Scores of the other on the same folds.
    n_train : int
        Training rows of a fold.
    n_test : int
        Test rows of a fold.

    Examples
    --------
    >>> test = corrected_paired_test([0.9, 0.8, 0.85], [0.9, 0.8, 0.85], n_train=80, n_test=40)
    >>> test.p_value
    1.0
    """
    where = "corrected_paired_test"
    a, b = finite(where, "first", first), finite(where, "second", second)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(f"{where}: first and second must be equal lists of two or more; got {a.shape}, {b.shape}.")
    n_train, n_test = (integer(where, name, n, low=1) for name, n in (("n_train", n_train), ("n_test", n_test)))
    gaps, null = a - b, "both models have one mean score"
    error, df = _corrected_error(gaps, n_train, n_test), float(len(gaps) - 1)
    if error == 0:  # every fold has the same difference
        statistic = 0.0 if gaps.mean() == 0 else float(np.copysign(np.inf, gaps.mean()))
        return HypothesisTest(null, statistic, df, p_value(statistic, df))
    return t_test_from_error(null, float(gaps.mean()), error, df)


def _corrected_error(values: np.ndarray, n_train: int, n_test: int) -> float:
    """The standard error of a mean over folds by the corrected variance above."""
    return float(np.sqrt(values.var(ddof=1) * (1 / len(values) + n_test / n_train)))
