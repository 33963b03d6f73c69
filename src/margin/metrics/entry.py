"""One metric a board can be sorted by: its function, its direction, and what a model must offer to be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.metrics.arguments import UndefinedMetricError, positive_label

__all__ = ["Metric"]

PLAIN_NAMES = {"predict": "predictions", "predict_proba": "probabilities", "score_samples": "log-densities"}


@dataclass(frozen=True)
class Metric:
    """``needs`` is the method whose output is measured; ``against`` is what it is measured against: y, X or nothing.

    A metric that ``ranks`` depends on the order of the scores only, so decision values do where a model has no
    probabilities. A ``binary`` one is of the positive class of two; ``averaged`` says that there are means of it over
    classes. ``bounds`` are its least and its largest value, ``options`` the arguments that a name may set.
    """

    name: str
    function: Callable[..., float]
    tasks: tuple[str, ...]
    needs: str
    greater_is_better: bool
    against: str = "y"
    bounds: tuple[float, float] = (-np.inf, np.inf)
    binary: bool = False
    ranks: bool = False
    options: tuple[str, ...] = ()
    averaged: bool = False
    pos_label: Any = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of a model whose output will do, the best first."""
        return (self.needs, "decision_function") if self.ranks else (self.needs,)

    def measure(self, model: Any, X: Any, y: Any = None) -> float:
        """The metric of a fitted model on rows ``X`` (and ``y`` where it needs them)."""
        method = next((method for method in self.methods if hasattr(model, method)), None)
        if method is None:
            raise ValueError(f"{self.name}: {type(model).__name__} has no {self.needs}.")
        if self.against == "y" and y is None:
            raise ValueError(f"{self.name}: y is needed.")
        return self.of_output(getattr(model, method)(X), X, y, getattr(model, "classes_", None))

    def of_outputs(self, outputs: Mapping[str, Any], y: Any, classes: Any) -> float:
        """The metric of what a model's methods returned, by name; an :class:`UndefinedMetricError` says what lacks."""
        for method in self.methods:
            if method in outputs:
                return self.of_output(outputs[method], None, y, classes)
        raise UndefinedMetricError(f"{self.name} needs {PLAIN_NAMES[self.needs]}, which the model does not give.")

    def of_output(self, output: Any, X: MatrixLike | None, y: ArrayLike, classes: Any) -> float:
        """The metric of what the model's method returned; ``classes`` are those of the columns of probabilities."""
        if self.against == "nothing":
            return self.function(output)
        if self.against == "X":
            return self.function(X, output)
        if self.binary:
            return self._of_positive_class(output, y, classes)
        if self.needs == "predict_proba":
            return self._of_scores(np.asarray(output), y, classes)
        return self.function(y, output)

    def _of_positive_class(self, output: Any, y: Any, classes: Any) -> float:
        known = np.unique(y) if classes is None else np.asarray(classes)
        if len(known) != 2:
            averages = f"; name an average: {self.name}_macro" if self.averaged else ""
            raise UndefinedMetricError(f"{self.name}: two classes are needed; got {len(known)}{averages}.")
        positive = self._positive(known)
        if self.needs == "predict_proba":
            return self.function(y, _column(np.asarray(output), known, positive), pos_label=positive)
        return self.function(y, output, pos_label=positive)

    def _of_scores(self, output: np.ndarray, y: Any, classes: Any) -> float:
        if not self.ranks:
            return self.function(y, output, labels=classes)
        two = output.ndim == 1 or output.shape[1] <= 2
        if two and classes is not None and len(classes) == 2:
            positive = self._positive(np.asarray(classes))
            return self.function(y, _column(output, np.asarray(classes), positive), pos_label=positive)
        if not two and classes is not None:
            # A class that no row of a small fold has can be ranked neither well nor badly.
            present = np.isin(np.asarray(classes), np.asarray(y))
            if 1 < present.sum() < len(present):
                return self.function(y, output[:, present], labels=np.asarray(classes)[present])
        return self.function(y, output, labels=classes)

    def _positive(self, known: np.ndarray) -> Any:
        if self.pos_label is None:
            return positive_label(self.name, known)
        for label in known.tolist():
            if str(label) == str(self.pos_label):
                return label
        raise ValueError(f"{self.name}: the classes are {', '.join(map(str, known[:5]))}.")

    def better(self, a: float, b: float) -> bool:
        """Whether ``a`` is strictly better than ``b``."""
        return a > b if self.greater_is_better else a < b


def _column(output: np.ndarray, known: np.ndarray, positive: Any) -> np.ndarray:
    """Scores of the positive class; one score per row is of the second class, so the first has its negative."""
    if output.ndim == 2 and output.shape[1] > 1:
        return output[:, known.tolist().index(positive)]
    return output.ravel() if len(known) < 2 or positive == known[1] else -output.ravel()
