"""The metrics a board can be sorted by: name, function, direction, and what a model must offer to be measured.

A name may carry options, written as those of a data set: ``fbeta:beta=2``, ``pinball:alpha=0.9``, ``f1:pos_label=yes``.
Averages are in the name: ``f1`` is of the positive class (of two), ``f1_macro`` the plain mean over classes,
``f1_weighted`` the mean weighted by class size, ``f1_micro`` pools all classes.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.metrics import (
    classification,
    clustering,
    confusion,
    density,
    partitions,
    probabilities,
    ranking,
    regression,
    thresholds,
)
from margin.metrics.arguments import UndefinedMetricError
from margin.metrics.entry import Metric

__all__ = ["REGISTRY", "Metric", "evaluate", "methods_for", "metric", "metrics_of", "scores_of_outputs"]

FRACTION, LOSS, CORRELATION, BELOW_ONE = (0.0, 1.0), (0.0, np.inf), (-1.0, 1.0), (-np.inf, 1.0)


def _regression(
    name: str, function: Any, greater: bool = False, bounds: tuple[float, float] = LOSS, **more: Any
) -> Metric:
    return Metric(name, function, ("regression",), "predict", greater, bounds=bounds, **more)


def _labels(name: str, function: Any, bounds: tuple[float, float] = FRACTION, **more: Any) -> Metric:
    return Metric(name, function, ("classification",), "predict", True, bounds=bounds, **more)


def _scores(name: str, function: Any, greater: bool, bounds: tuple[float, float] = FRACTION, **more: Any) -> Metric:
    return Metric(name, function, ("classification",), "predict_proba", greater, bounds=bounds, **more)


def _averages(name: str, function: Any, averages: tuple[str, ...], **more: Any) -> tuple[Metric, ...]:
    """The metric of the positive class and its averages over classes; an empty class counts 0."""
    of_positive = _labels(name, partial(function, zero_division=0.0), binary=True, averaged=True, **more)
    means = [_labels(f"{name}_{a}", partial(function, average=a, zero_division=0.0), **more) for a in averages]
    return (of_positive, *means)


def _clusters(name: str, function: Any, bounds: tuple[float, float] = FRACTION, **more: Any) -> Metric:
    return Metric(name, function, ("clustering",), "predict", **{"greater_is_better": True, **more}, bounds=bounds)


_METRICS: tuple[Metric, ...] = (
    _regression("r2", regression.r2, True, BELOW_ONE),
    _regression("rmse", regression.rmse),
    _regression("mse", regression.mse),
    _regression("mae", regression.mae),
    _regression("median_absolute_error", regression.median_absolute_error),
    _regression("max_error", regression.max_error),
    _regression("explained_variance", regression.explained_variance, True, BELOW_ONE),
    _regression("squared_correlation", regression.squared_correlation, True, FRACTION),
    _regression("mape", regression.mape),
    _regression("rmsle", regression.rmsle),
    _regression("pinball", regression.pinball, options=("alpha",)),
    _labels("accuracy", confusion.accuracy),
    _labels("balanced_accuracy", confusion.balanced_accuracy),
    *_averages("precision", classification.precision, ("macro", "weighted", "micro")),
    *_averages("recall", classification.recall, ("macro", "weighted", "micro")),
    *_averages("f1", classification.f1, ("macro", "weighted", "micro")),
    *_averages("fbeta", partial(classification.fbeta, beta=2.0), ("macro", "weighted"), options=("beta",)),
    *_averages("jaccard", classification.jaccard, ("macro", "weighted")),
    _labels("specificity", classification.specificity, binary=True),
    _labels("negative_predictive_value", classification.negative_predictive_value, binary=True),
    _labels("matthews", confusion.matthews, CORRELATION),
    _labels("cohen_kappa", confusion.cohen_kappa, CORRELATION),
    _scores("log_loss", probabilities.log_loss, False, LOSS),
    _scores("brier", probabilities.brier, False, LOSS),
    _scores(
        "calibration_error", probabilities.expected_calibration_error, False, options=("n_bins", "strategy")
    ),
    _scores("mcfadden_r2", probabilities.mcfadden_r2, True, BELOW_ONE),
    _scores("roc_auc", ranking.roc_auc, True, ranks=True),
    _scores("roc_auc_weighted", partial(ranking.roc_auc, average="weighted"), True, ranks=True),
    _scores("average_precision", ranking.average_precision, True, ranks=True),
    _scores(
        "recall_at_fpr", partial(thresholds.recall_at_fpr, max_fpr=0.05), True,
        binary=True, ranks=True, options=("max_fpr",),
    ),
    _scores("top_k_accuracy", ranking.top_k_accuracy, True, options=("k",)),
    _clusters("adjusted_rand", partitions.adjusted_rand, CORRELATION),
    _clusters("nmi", partitions.normalized_mutual_information),
    _clusters("v_measure", partitions.v_measure),
    _clusters("homogeneity", partitions.homogeneity),
    _clusters("completeness", partitions.completeness),
    _clusters("silhouette", clustering.silhouette, CORRELATION, against="X"),
    _clusters("davies_bouldin", clustering.davies_bouldin, LOSS, against="X", greater_is_better=False),
    _clusters("calinski_harabasz", clustering.calinski_harabasz, LOSS, against="X"),
    Metric("log_likelihood", density.mean_log_likelihood, ("density",), "score_samples", True, "nothing"),
)  # fmt: skip

#: Name -> metric.
REGISTRY: Mapping[str, Metric] = MappingProxyType({entry.name: entry for entry in _METRICS})

#: What scikit-learn calls them where we say it shorter.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "root_mean_squared_error": "rmse",
        "mean_squared_error": "mse",
        "mean_absolute_error": "mae",
        "mean_absolute_percentage_error": "mape",
        "root_mean_squared_log_error": "rmsle",
        "mean_pinball_loss": "pinball",
        "brier_score": "brier",
        "brier_score_loss": "brier",
        "matthews_corrcoef": "matthews",
        "cohen_kappa_score": "cohen_kappa",
        "roc_auc_ovr": "roc_auc",
        "roc_auc_ovr_weighted": "roc_auc_weighted",
        "normalized_mutual_info_score": "nmi",
        "adjusted_rand_score": "adjusted_rand",
    }
)


def metric(name: str) -> Metric:
    """The metric of that name, with the options it carries; scikit-learn's scoring names are understood too.

    Parameters
    ----------
    name : str
        A name of the registry or of scikit-learn's scorers, e.g. "roc_auc", "neg_log_loss" or "fbeta:beta=0.5".

    Examples
    --------
    >>> metric("rmse").greater_is_better, metric("neg_log_loss").name, metric("fbeta:beta=0.5").bounds
    (False, 'log_loss', (0.0, 1.0))
    """
    plain, _, options = str(name).partition(":")
    plain = plain.removeprefix("neg_")
    plain = ALIASES.get(plain, plain)
    if plain not in REGISTRY:
        close = difflib.get_close_matches(plain, [*REGISTRY, *ALIASES], n=3)
        hint = f"close matches are {', '.join(close)}" if close else f"there are {', '.join(REGISTRY)}"
        raise ValueError(f"metric: there is no metric {name!r}; {hint}.")
    entry = REGISTRY[plain]
    return _with_options(entry, options) if options else entry


def _with_options(entry: Metric, text: str) -> Metric:
    allowed = (*entry.options, *(("pos_label",) if entry.binary or entry.ranks else ()))
    options: dict[str, Any] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or key not in allowed:
            takes = f"takes {', '.join(allowed)}" if allowed else "takes no options"
            raise ValueError(f"metric: {entry.name} {takes}, written {entry.name}:name=value; got {part!r}.")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    positive = options.pop("pos_label", None)
    function = partial(entry.function, **options) if options else entry.function
    return replace(entry, name=f"{entry.name}:{text}", function=function, pos_label=positive)


def metrics_of(task: str) -> tuple[Metric, ...]:
    """The metrics of a task, the customary one first.

    Parameters
    ----------
    task : str
        The task of a model, as in the catalog.

    Examples
    --------
    >>> [entry.name for entry in metrics_of("density")]
    ['log_likelihood']
    """
    suitable = tuple(entry for entry in REGISTRY.values() if task in entry.tasks)
    if not suitable:
        tasks = ", ".join(dict.fromkeys(task for entry in REGISTRY.values() for task in entry.tasks))
        raise ValueError(f"metrics_of: task must be one of {tasks}; got {task!r}.")
    return suitable


def evaluate(model: Any, X: Any, y: Any = None, task: str = "classification") -> dict[str, float]:
    """Every metric of the task that the model and the rows allow, by name.

    A metric is left out when the model lacks the method it needs, when it needs ``y`` and there is none, or when it is
    not defined on these rows (one class only, one cluster only, more than two classes).

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n, n_features)
        Rows to evaluate on.
    y : array-like of shape (n,), optional
        Their targets.
    task : str
        The task of the model, as in the catalog.
    """
    wanted = [entry for entry in metrics_of(task) if not (entry.against == "y" and y is None)]
    outputs = {method: getattr(model, method)(X) for method in methods_for(wanted, model)}
    return scores_of_outputs(wanted, outputs, X, y, getattr(model, "classes_", None))


def methods_for(metrics: Sequence[Metric], model: Any) -> list[str]:
    """The methods of a model whose outputs these metrics need, each once."""
    found = (next((method for method in entry.methods if hasattr(model, method)), None) for entry in metrics)
    return [method for method in dict.fromkeys(found) if method is not None]


def scores_of_outputs(
    metrics: Sequence[Metric], outputs: Mapping[str, Any], X: MatrixLike | None, y: ArrayLike, classes: Any
) -> dict[str, float]:
    """The metrics that are defined of what a model's methods returned."""
    scores = {}
    for entry in metrics:
        method = next((method for method in entry.methods if method in outputs), None)
        if method is None:
            continue
        try:
            scores[entry.name] = entry.of_output(outputs[method], X, y, classes)
        except UndefinedMetricError:
            continue
    return scores
