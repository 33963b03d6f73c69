"""Scores of two classes: which rows are positive, and how many of both are above each score."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike
from margin.metrics.arguments import finite, labels_pair, positive_label, weights

__all__ = ["binary_scores", "counts_by_score"]


def binary_scores(
    where: str, y_true: ArrayLike, score: Any, pos_label: Any, sample_weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows are positive, their scores, their weights."""
    known, codes, _ = labels_pair(where, y_true, y_true)
    if len(known) > 2:
        raise ValueError(f"{where}: one score per row needs two classes; got {len(known)}.")
    positive = (known == positive_label(where, known, pos_label))[codes]
    s = finite(where, "score", score)
    if len(s) != len(positive):
        raise ValueError(f"{where}: y_true and score must have equal length; got {len(positive)} and {len(s)}.")
    return positive, s, weights(where, sample_weight, len(s))


def counts_by_score(
    positive: np.ndarray, score: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of false and true positives at each distinct score, scores falling; equal scores enter together."""
    score, positive, w = score[w > 0], positive[w > 0], w[w > 0]
    order = np.argsort(-score, kind="stable")
    score, positive, w = score[order], positive[order], w[order]
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    tp = np.cumsum(w * positive)[last]
    fp = np.cumsum(w * ~positive)[last]
    return fp, tp, score[last]
