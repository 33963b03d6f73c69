"""Counts at thresholds and cumulative gains against counting by hand and scikit-learn's ROC."""

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from margin.metrics import UndefinedMetricError, cumulative_gains, threshold_counts


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    y, score = rng.random(60) < 0.4, rng.integers(0, 12, 60) / 10  # many ties
    counts = threshold_counts(y, score)
    for t, tp, fp in zip(counts["threshold"], counts["true_positive"], counts["false_positive"], strict=True):
        assert (tp, fp) == (np.sum(y & (score >= t)), np.sum(~y & (score >= t)))
    fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
    np.testing.assert_allclose(counts["true_positive"] / y.sum(), tpr)
    np.testing.assert_allclose(counts["false_positive"] / (~y).sum(), fpr)
    rows, found = cumulative_gains(y, score)
    for part, gain in zip(rows, found, strict=True):
        best = np.argsort(-score, kind="stable")[: round(part * 60)]
        assert gain == pytest.approx(y[best].sum() / y.sum())


def test_one_class_has_no_gains():
    with pytest.raises(UndefinedMetricError, match="both classes"):
        cumulative_gains([1, 1], [0.1, 0.2])
