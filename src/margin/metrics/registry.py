"""The metrics a board can be sorted by: name, function, direction, and what a model must offer to be measured."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from margin.metrics import classification, clustering, density, probabilities, ranking, regression
from margin.metrics.arguments import UndefinedMetricError

__all__ = ["REGISTRY", "Metric", "evaluate", "metric", "metrics_of"]


@dataclass(frozen=True)
class Metric:
    """``needs`` is the method whose output is measured; ``against`` is what it is measured against: y, X or nothing."""

    name: str
    function: Callable[..., float]
    tasks: tuple[str, ...]
    needs: str
    greater_is_better: bool
    against: str = "y"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value the metric can take."""
        return _BOUNDS.get(self.name, (-np.inf, np.inf))

    def measure(self, model: Any, X: Any, y: Any = None) -> float:
        """The metric of a fitted model on rows ``X`` (and ``y`` where it needs them)."""
        if not hasattr(model, self.needs):
            raise ValueError(f"{self.name}: {type(model).__name__} has no {self.needs}.")
        if self.against == "y" and y is None:
            raise ValueError(f"{self.name}: y is needed.")
        return self.of_output(getattr(model, self.needs)(X), X, y, getattr(model, "classes_", None))

    def of_output(self, output: Any, X: Any, y: Any, classes: Any) -> float:
        """The metric of what the model's method returned; ``classes`` are those of the columns of probabilities."""
        if self.against == "nothing":
            return self.function(output)
        if self.against == "X":
            return self.function(X, output)
        if self.needs == "predict_proba":
            return self.function(y, output, labels=classes)
        return self.function(y, output)

    def better(self, a: float, b: float) -> bool:
        """Whether ``a`` is strictly better than ``b``."""
        return a > b if self.greater_is_better else a < b


def _macro(function: Callable[..., Any]) -> Callable[..., float]:
    return partial(function, average="macro", zero_division=0.0)


_ROWS: tuple[tuple[str, Callable[..., float], str, str, bool], ...] = (
    ("r2", regression.r2, "regression", "predict", True),
    ("rmse", regression.rmse, "regression", "predict", False),
    ("mse", regression.mse, "regression", "predict", False),
    ("mae", regression.mae, "regression", "predict", False),
    ("median_absolute_error", regression.median_absolute_error, "regression", "predict", False),
    ("explained_variance", regression.explained_variance, "regression", "predict", True),
    ("mape", regression.mape, "regression", "predict", False),
    ("accuracy", classification.accuracy, "classification", "predict", True),
    ("balanced_accuracy", classification.balanced_accuracy, "classification", "predict", True),
    ("precision", _macro(classification.precision), "classification", "predict", True),
    ("recall", _macro(classification.recall), "classification", "predict", True),
    ("f1", _macro(classification.f1), "classification", "predict", True),
    ("matthews", classification.matthews, "classification", "predict", True),
    ("log_loss", probabilities.log_loss, "classification", "predict_proba", False),
    ("brier", probabilities.brier, "classification", "predict_proba", False),
    ("calibration_error", probabilities.expected_calibration_error, "classification", "predict_proba", False),
    ("roc_auc", ranking.roc_auc, "classification", "predict_proba", True),
    ("average_precision", ranking.average_precision, "classification", "predict_proba", True),
    ("adjusted_rand", clustering.adjusted_rand, "clustering", "predict", True),
    ("nmi", clustering.normalized_mutual_information, "clustering", "predict", True),
    ("v_measure", clustering.v_measure, "clustering", "predict", True),
)

_SHARES = "accuracy balanced_accuracy precision recall f1 calibration_error roc_auc average_precision nmi v_measure"
_LOSSES = "rmse mse mae median_absolute_error mape log_loss brier davies_bouldin calinski_harabasz"
_BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_SHARES.split(), (0.0, 1.0)),
    **dict.fromkeys(_LOSSES.split(), (0.0, np.inf)),
    **dict.fromkeys(("matthews", "adjusted_rand", "silhouette"), (-1.0, 1.0)),
    **dict.fromkeys(("r2", "explained_variance"), (-np.inf, 1.0)),
}

#: Name -> metric. Precision, recall and F1 are macro means over the classes, so they need no positive label.
REGISTRY: Mapping[str, Metric] = MappingProxyType(
    {name: Metric(name, function, (task,), needs, greater) for name, function, task, needs, greater in _ROWS}
    | {
        "silhouette": Metric("silhouette", clustering.silhouette, ("clustering",), "predict", True, "X"),
        "davies_bouldin": Metric("davies_bouldin", clustering.davies_bouldin, ("clustering",), "predict", False, "X"),
        "calinski_harabasz": Metric(
            "calinski_harabasz", clustering.calinski_harabasz, ("clustering",), "predict", True, "X"
        ),
        "log_likelihood": Metric(
            "log_likelihood", density.mean_log_likelihood, ("density",), "score_samples", True, "nothing"
        ),
    }
)


def metric(name: str) -> Metric:
    """The metric of that name.

    >>> metric("rmse").greater_is_better
    False
    """
    if name not in REGISTRY:
        close = difflib.get_close_matches(str(name), REGISTRY, n=3)
        hint = f"close matches are {', '.join(close)}" if close else f"there are {', '.join(REGISTRY)}"
        raise ValueError(f"metric: there is no metric {name!r}; {hint}.")
    return REGISTRY[name]


def metrics_of(task: str) -> tuple[Metric, ...]:
    """The metrics of a task, the customary one first.

    >>> [entry.name for entry in metrics_of("density")]
    ['log_likelihood']
    """
    found = tuple(entry for entry in REGISTRY.values() if task in entry.tasks)
    if not found:
        tasks = ", ".join(dict.fromkeys(task for entry in REGISTRY.values() for task in entry.tasks))
        raise ValueError(f"metrics_of: task must be one of {tasks}; got {task!r}.")
    return found


def evaluate(model: Any, X: Any, y: Any = None, task: str = "classification") -> dict[str, float]:
    """Every metric of the task that the model and the rows allow, by name.

    A metric is left out when the model lacks the method it needs, when it needs ``y`` and there is none, or when it is
    not defined on these rows (one class only, one cluster only).
    """
    outputs: dict[str, Any] = {}
    scores = {}
    for entry in metrics_of(task):
        if not hasattr(model, entry.needs) or (entry.against == "y" and y is None):
            continue
        if entry.needs not in outputs:
            outputs[entry.needs] = getattr(model, entry.needs)(X)
        try:
            scores[entry.name] = entry.of_output(outputs[entry.needs], X, y, getattr(model, "classes_", None))
        except UndefinedMetricError:
            continue
    return scores
