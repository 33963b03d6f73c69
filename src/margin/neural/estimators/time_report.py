"""Where the time of a fit goes: one short training that is measured part by part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from margin.core.array_types import ArrayLike, MatrixLike
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.training.timing import measuring

__all__ = ["TimeReport", "profile_fit"]

#: What takes the time, and what makes it less.
HINTS = {
    "data": "batches are waited for: rows in memory, smaller images or fewer augmentations make them faster",
    "forward": "the network itself takes the time: a smaller one, or larger batches where they are small, is faster",
    "backward": "gradients take the time: a smaller network, or freeze= for layers that need not learn, is faster",
    "gradient": "gradients take the time: a smaller network, or larger batches where they are small, is faster",
    "update": "moving the weights takes the time: larger batches make fewer updates",
    "evaluation": "held-out rows take the time: fewer of them (validation_fraction) are judged faster",
    "other": "what is neither data nor network takes the time: records (record_steps), watchers and preparing the rows",
}


@dataclass(frozen=True)
class TimeReport:
    """Seconds of a short training by what they were spent on, and what to make of it."""

    seconds: Mapping[str, float]
    steps: int

    @property
    def fractions(self) -> dict[str, float]:
        """Parts of the whole, the largest first."""
        total = sum(self.seconds.values()) or 1.0
        return {name: spent / total for name, spent in sorted(self.seconds.items(), key=lambda item: -item[1])}

    @property
    def hint(self) -> str:
        """One sentence on the largest part."""
        return HINTS[next(iter(self.fractions))]

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {part:.0%}" for name, part in self.fractions.items())
        return f"{parts} of {sum(self.seconds.values()):.2g} s for {self.steps} updates: {self.hint}."


def profile_fit(model: Any, X: MatrixLike, y: ArrayLike | None = None, *, seconds: float = 5.0) -> TimeReport:
    """Train a copy of ``model`` for about ``seconds`` and say what the time went to.

    "data" is drawing batches, "forward" the network and its loss, "backward" the gradients ("gradient" where both are
    one), "update" moving the weights, "evaluation" judging held-out rows, "other" the rest.

    Parameters
    ----------
    model : a network of Margin, such as ``MLPClassifier`` or ``CNNClassifier``
    X, y : what its ``fit`` takes
    seconds : how long to train at most; the first record after it ends the training

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from margin import MLPClassifier, profile_fit
    >>> X, y = load_digits(return_X_y=True)
    >>> report = profile_fit(MLPClassifier(max_iter=3, random_state=0), X, y)
    >>> sorted(report.seconds), round(sum(report.fractions.values()), 6)
    (['data', 'evaluation', 'gradient', 'other', 'update'], 1.0)
    """
    if not isinstance(model, NeuralEstimator):
        raise TypeError(f"profile_fit: model must be a network that learns by updates; got {type(model).__name__}.")
    if getattr(model, "solver", None) == "lbfgs":
        raise ValueError("profile_fit: model has the solver 'lbfgs', whose steps are not measured; got no other.")
    if not seconds > 0:
        raise ValueError(f"profile_fit: seconds must be above 0; got {seconds!r}.")
    from sklearn.base import clone

    copy, steps = clone(model).set_params(warm_start=False), 0
    began = time.perf_counter()
    with measuring() as spent, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that is cut off need not have converged
        records = copy.iterate(X) if y is None else copy.iterate(X, y)
        for record in records:
            steps = record.iteration
            if time.perf_counter() - began >= seconds:
                break
        records.close()
    whole = time.perf_counter() - began
    return TimeReport({**spent, "other": max(whole - sum(spent.values()), 0.0)}, steps)
