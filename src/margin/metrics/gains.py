r"""What a ranking is worth to someone who can only act on some of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import UndefinedMetricError
from margin.metrics.binary_scores import binary_scores, counts_by_score
from margin.metrics.parameter_texts import SCORES

__all__ = ["cumulative_gains", "threshold_counts"]


@with_parameters(SCORES)
def cumulative_gains(y_true: ArrayLike, score: ArrayLike, pos_label: Any = None) -> tuple[np.ndarray, np.ndarray]:
    r"""Fraction of positives found among the fraction of rows with the highest scores, at every distinct score.

    Rows of equal score are taken together. A random order gives the diagonal; the ratio of the two is the lift.

    Examples
    --------
    >>> rows, gains = cumulative_gains([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> rows.tolist(), gains.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    counts = threshold_counts(y_true, score, pos_label)
    positive, negative = counts["true_positive"][-1], counts["false_positive"][-1]
    rows = (counts["true_positive"] + counts["false_positive"]) / (positive + negative)
    return rows, counts["true_positive"] / positive


@with_parameters(SCORES)
def threshold_counts(y_true: Any, score: ArrayLike, pos_label: Any = None) -> dict[str, np.ndarray]:
    """How many positives and negatives score at least as much as each threshold; thresholds fall from infinity.

    All four cells of the confusion matrix follow, since the last entries are the totals.

    Examples
    --------
    >>> counts = threshold_counts([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> counts["true_positive"].tolist(), counts["false_positive"].tolist()
    ([0, 1, 1, 2, 2], [0, 0, 1, 1, 2])
    """
    where = "threshold_counts"
    fp, tp, thresholds = counts_by_score(*binary_scores(where, y_true, score, pos_label, None))
    if tp[-1] == 0 or fp[-1] == 0:
        raise UndefinedMetricError(f"{where}: y_true must hold both classes; got one.")
    return {
        "threshold": np.append(np.inf, thresholds),
        "true_positive": np.append(0, tp.astype(np.int64)),
        "false_positive": np.append(0, fp.astype(np.int64)),
    }
