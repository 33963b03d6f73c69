"""Out-of-bag estimates: every row is judged only by the members of an ensemble that were not trained on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.notices import warn_user
from margin.core.restoring import restore
from margin.foundations.statistics.bootstrap import bootstrap_indices
from margin.trees.cart.several_targets import TargetClasses, labels_of

__all__ = ["OutOfBag", "bootstrap_counts", "forget_out_of_bag"]


def forget_out_of_bag(model: Any) -> None:
    """Drop what an earlier fit learned from rows left out: it says nothing about other members."""
    for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
        model.__dict__.pop(name, None)


def bootstrap_counts(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of ``n`` rows is among ``draws`` drawn with replacement, float64 (n,)."""
    return np.bincount(bootstrap_indices(n, rng, draws), minlength=n).astype(np.float64)


class OutOfBag:
    """Sums of predictions for rows that were left out, and the error of their averages."""

    def __init__(self, target: np.ndarray, outputs: int, weight: np.ndarray, classes: TargetClasses | None = None):
        self.target, self.weight, self.classes = target, weight, classes
        self.classify = outputs > 0
        self.several = target.ndim == 2
        # Of several targets the classes are numbered one after another.
        self.starts = np.cumsum([0] + [len(labels) for labels in classes or []]) if self.several else np.zeros(1, int)
        self.sums = np.zeros((len(target), outputs or (target.shape[1] if self.several else 1)))
        self.votes = np.zeros(len(target))

    def add(self, left_out: np.ndarray, predictions: np.ndarray) -> None:
        """Add one member's ``predictions`` (rows, outputs) for the rows numbered ``left_out``."""
        self.sums[left_out] += predictions
        self.votes[left_out] += 1

    def averages(self) -> np.ndarray:
        """The average prediction for every row, NaN where no member left it out, (n, outputs)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums / np.where(self.votes > 0, self.votes, np.nan)[:, None]

    def error(self) -> float:
        """Fraction of rows misclassified (in any target), or mean squared error; NaN while no row was left out."""
        judged = self.votes > 0
        if not judged.any():
            return float("nan")
        loss = self._losses(judged)
        return float(np.average(loss, weights=self.weight[judged]))

    def score(self) -> float:
        """Accuracy (of all targets at once), or the coefficient of determination, its mean over several targets."""
        from sklearn.metrics import r2_score

        if self.classify:
            return 1.0 - self.error()
        judged = self.votes > 0
        if not judged.any():
            return float("nan")
        w, y = self.weight[judged], self.target[judged]
        if self.several:
            predicted = self.sums[judged] / self.votes[judged][:, None]
            return float(r2_score(y, predicted, sample_weight=w))
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        return 1.0 - self.error() / spread if spread > 0 else float("nan")

    def measure_by(self, metric: Callable[[Any, Any], Any]) -> float:
        """``metric`` of the true and the predicted targets of the rows left out; NaN while there is none."""
        judged = self.votes > 0
        if not judged.any():
            return float("nan")
        target, predicted = self.target[judged], self.sums[judged] / self.votes[judged][:, None]
        if self.classes is not None:
            return float(metric(self._labels(target.astype(np.int64)), labels_of(predicted, self.classes)))
        return float(metric(target, predicted if self.several else predicted[:, 0]))

    def _labels(self, numbers: np.ndarray) -> np.ndarray:
        """The classes with these numbers, (n,) or (n, targets)."""
        if not isinstance(self.classes, list):
            return np.asarray(self.classes)[numbers]
        parts = zip(self.classes, self.starts, numbers.T)
        return np.column_stack([classes[column - start] for classes, start, column in parts])

    def _losses(self, judged: np.ndarray) -> np.ndarray:
        if self.several:
            return self._losses_of_several(self.sums[judged], self.votes[judged], self.target[judged])
        if self.classify:
            return (self.sums[judged].argmax(axis=1) != self.target[judged]).astype(np.float64)
        return (self.sums[judged, 0] / self.votes[judged] - self.target[judged]) ** 2

    def _losses_of_several(self, sums: np.ndarray, votes: np.ndarray, target: np.ndarray) -> np.ndarray:
        if not self.classify:
            return np.mean((sums / votes[:, None] - target) ** 2, axis=1)
        parts = zip(np.split(sums, self.starts[1:-1], axis=1), self.starts)
        chosen = np.column_stack([part.argmax(axis=1) + start for part, start in parts])
        return (chosen != target).any(axis=1).astype(np.float64)

    def warn_of_unjudged(self, owner: str) -> None:
        """Say so if some rows have no prediction because no member left them out."""
        if not (self.votes > 0).all():
            warn_user(
                f"{owner}: some rows were in the sample of every member and have no out-of-bag prediction; more "
                "members would help.",
            )

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums.copy(), "votes": self.votes.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.sums, self.votes = restore(state, "sums", self.sums), restore(state, "votes", self.votes)
