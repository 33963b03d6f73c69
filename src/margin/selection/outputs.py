"""Outputs of a fitted model for rows it has not seen: predictions, and scores of the classes where it has them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.metrics import Metric, UndefinedMetricError
from margin.selection.bounded import bounded_prediction

__all__ = ["Output", "join", "output_of", "scores_of"]

PROBABILITIES, DECISIONS = "probabilities", "decision values"


@dataclass(frozen=True)
class Output:
    """``predicted`` are labels or numbers, one per row.

    ``scores`` are of ``kind`` "probabilities", (n, K) with a column for every class of the comparison, or "decision
    values", (n,) for two classes and (n, K) for more. ``excess`` says how far a regressor left the range of its
    training targets before it was bounded.
    """

    predicted: np.ndarray
    scores: np.ndarray | None = None
    kind: str = ""
    excess: float = 0.0

    def by_method(self) -> Mapping[str, Any]:
        """The same under the names of the methods that gave it."""
        if self.scores is None:
            return {"predict": self.predicted}
        method = "predict_proba" if self.kind == PROBABILITIES else "decision_function"
        return {"predict": self.predicted, method: self.scores}


def output_of(model: Any, X: MatrixLike, classes: Sequence[Any] = ()) -> Output:
    """Ask a fitted model about ``X``; ``classes`` are those of the comparison, none for a regression.

    Probabilities are computed once: the prediction is the likeliest class unless its class decides
    otherwise, so ``predict`` is always called; decision values are asked for only where there are no probabilities.
    """
    if not len(classes):
        numbers, excess = bounded_prediction(model, X)
        return Output(np.asarray(numbers, dtype=np.float64).ravel(), excess=excess)
    predicted = np.asarray(model.predict(X))
    for method, kind in (("predict_proba", PROBABILITIES), ("decision_function", DECISIONS)):
        if hasattr(model, method):
            scores = np.asarray(getattr(model, method)(X), dtype=np.float64)
            return Output(predicted, _with_every_class(scores, kind, model, classes), kind)
    return Output(predicted)


def _with_every_class(scores: np.ndarray, kind: str, model: Any, classes: Sequence[Any]) -> np.ndarray:
    """Columns in the order of ``classes``: a class that the training rows lacked has probability 0."""
    known = np.asarray(getattr(model, "classes_", classes)).tolist()
    if known == list(classes) or scores.ndim == 1:
        return scores
    missing = 0.0 if kind == PROBABILITIES else float(scores.min()) - 1.0
    full = np.full((len(scores), len(classes)), missing)
    position = {label: i for i, label in enumerate(classes)}
    for column, label in enumerate(known):
        full[:, position[label]] = scores[:, column]
    return full


def scores_of(
    output: Output, y: np.ndarray, classes: Sequence[Any], metrics: Sequence[Metric]
) -> tuple[dict[str, float], dict[str, str]]:
    """The value of every metric that is defined, and for the others the reason."""
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    outputs = output.by_method()
    for entry in metrics:
        try:
            with warnings.catch_warnings():  # a class that is never predicted is a zero on the board, not a message
                warnings.simplefilter("ignore")
                values[entry.name] = entry.of_outputs(outputs, y, np.asarray(classes) if len(classes) else None)
        except UndefinedMetricError as error:
            reasons[entry.name] = str(error)
        except ValueError as error:  # predictions that are not finite, or options that do not fit these classes
            reasons[entry.name] = str(error).splitlines()[0]
    return values, reasons


def join(outputs: Sequence[Output]) -> Output:
    """The outputs of several folds, one after the other."""
    predicted = np.concatenate([output.predicted for output in outputs])
    if any(output.scores is None for output in outputs):
        return Output(predicted)
    return Output(predicted, np.concatenate([o.scores for o in outputs if o.scores is not None]), outputs[0].kind)
