"""The winner on rows it has not seen: every metric, the figures of its task, and what it learned about the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.metrics import UndefinedMetricError
from margin.report.classification import (
    Judged,
    calibration_figure,
    confusion_figure,
    gains_figure,
    precision_recall_figure,
    roc_figure,
)
from margin.report.data import image_shape_of
from margin.report.effect_charts import curve_figures, importance_figure, shapley_figure
from margin.report.effects import Effects, asking_seconds, effects_of
from margin.report.errors import errors_content
from margin.report.layout import grid, numbers_table, paragraph
from margin.report.markup import Markup, element, join
from margin.report.numbers import count, score
from margin.report.regression import predicted_figure, residual_figure, spread_figure
from margin.report.related_columns import related_content
from margin.report.terms import METRICS, term
from margin.report.threshold import threshold_figure

__all__ = ["UnseenRows", "columns_content", "has_unseen_rows", "held_out_interval", "judged_content", "unseen_rows"]

RESAMPLES, LEVEL = 400, 0.95
#: The metrics that stand beside the one that decided; the others are folded away.
CUSTOMARY = (
    "accuracy", "balanced_accuracy", "precision", "recall", "f1", "f1_macro", "matthews", "roc_auc",
    "average_precision", "log_loss", "brier", "rmse", "mae", "r2", "median_absolute_error", "mape",
)  # fmt: skip
#: More columns than this are not looked at singly.
MOST_COLUMNS = 1000


class UnseenRows:
    """The rows that the winner is judged by: the held-out part, or else the test parts of all folds."""

    def __init__(self, comparison: Any):
        held = np.asarray(comparison.plan.held_out)
        self.held_out = bool(len(held)) and comparison.judged_ is not None
        if self.held_out:
            self.rows, self.output = held, comparison.output(comparison.winner, -1)
        else:
            self.rows, self.output = comparison.out_of_fold(comparison.winner)
        self.y = np.asarray(comparison.y)[self.rows]
        self.model = comparison.judged_ if self.held_out else comparison.best_
        self.interval: tuple[float, float] | None = None  # of the deciding metric, once it is measured

    def sentence(self) -> str:
        """What these rows are, in one sentence."""
        n = count(len(self.rows))
        if self.held_out:
            return f"Measured on {n} rows that were held out: no model was chosen, tuned or trained on them."
        return f"No rows were held out: measured on the test parts of the folds, {n} rows in all."


def has_unseen_rows(comparison: Any) -> bool:
    """Whether any rows judge the winner: a budget may have ended before a fold was done or they were asked."""
    if not comparison.winner or comparison.best_ is None:
        return False
    if len(comparison.plan.held_out) and comparison.judged_ is not None:
        return True
    return any(s.folds for s in comparison.standings if s.model == comparison.winner)


def unseen_rows(comparison: Any) -> UnseenRows:
    return UnseenRows(comparison)


def judged_content(comparison: Any, unseen: UnseenRows) -> Markup:
    """Scores and figures."""
    whose = paragraph(comparison.of_which_rows) if comparison.of_which_rows else None
    parts = [paragraph(unseen.sentence()), whose, _scores(comparison, unseen)]
    if comparison.task == "classification":
        judged = Judged(
            unseen.y, unseen.output.predicted, unseen.output.scores, unseen.output.kind, tuple(comparison.classes)
        )
        parts += _classification(judged)
    else:
        predicted = np.asarray(unseen.output.predicted, dtype=float)
        y, target = unseen.y.astype(float), comparison.target or "y"
        figures = (
            predicted_figure(y, predicted, target),
            residual_figure(y, predicted, target),
            spread_figure(y, predicted),
        )
        parts.append(grid(*figures))
    return join([*parts, errors_content(comparison, unseen)])


def _classification(judged: Judged) -> list[Markup]:
    confusion = confusion_figure(judged)
    both = len(np.unique(judged.y)) > 1
    if judged.scores is None or not both:
        return [grid(confusion)]
    figures = [confusion, roc_figure(judged), precision_recall_figure(judged), calibration_figure(judged)]
    if not judged.is_binary:
        return [grid(*figures)]
    return [grid(*figures, gains_figure(judged)), threshold_figure(judged)]


def _scores(comparison: Any, unseen: UnseenRows) -> Markup | None:
    """The metric that decided, with its interval, the most common ones, and all others on demand."""
    scores = dict(comparison.held_out_scores or {}) if unseen.held_out else {}
    name = comparison.metric.name
    if name not in scores:
        return None
    low, high = held_out_interval(comparison, unseen)
    interval = element("small", f"{score(low)} to {score(high)}") if np.isfinite(low) else None
    shown = [name, *(key for key in CUSTOMARY if key in scores and key != name)]
    pairs = [_score_pair(key, scores[key], interval if key == name else None, first=key == name) for key in shown]
    rest = [[key.replace("_", " "), score(scores[key])] for key in scores if key not in shown]
    facts = element("dl", *pairs, class_="facts")
    if not rest:
        return facts
    table = numbers_table(["metric", "value"], rest, numeric=(1,))
    return join([facts, element("details", element("summary", f"{len(rest)} more metrics"), table)])


def _score_pair(name: str, value: float, interval: Markup | None, *, first: bool) -> Markup:
    name_of_metric = term(METRICS.get(name, ""), name.replace("_", " "))
    cell = element("dd", score(value), interval)
    return element("div", element("dt", name_of_metric), cell, class_="first" if first else None)


def held_out_interval(comparison: Any, unseen: UnseenRows, seed: int = 0) -> tuple[float, float]:
    """A 95 % interval of the deciding metric on the unseen rows: quantiles over resampled rows; NaN if undefined.

    It stands in two places of the page and is measured once.
    """
    if unseen.interval is None:
        unseen.interval = _resampled_interval(comparison, unseen, seed)
    return unseen.interval


def _resampled_interval(comparison: Any, unseen: UnseenRows, seed: int) -> tuple[float, float]:
    measure = _measure(comparison, unseen)
    if measure is None:
        return float("nan"), float("nan")
    rng, n, values = np.random.default_rng(seed), len(unseen.y), []
    for _ in range(RESAMPLES):
        try:
            values.append(measure(rng.integers(n, size=n)))
        except (UndefinedMetricError, ValueError):  # a resample without one of the classes
            continue
    if len(values) < RESAMPLES / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _measure(comparison: Any, unseen: UnseenRows) -> Callable[[np.ndarray], float] | None:
    """The metric as a function of row positions, from the model's predictions; None if it needs more than that."""
    metric, output = comparison.metric, unseen.output
    if metric.needs == "predict":
        predictions = np.asarray(output.predicted)
    elif metric.needs == "predict_proba" and output.kind == "probabilities":
        predictions = np.asarray(output.scores)
    else:
        return None
    classes, truth = list(comparison.classes) or None, unseen.y
    if classes and ":" not in metric.name:  # codes are compared much faster than strings; options may name a class
        position = {label: code for code, label in enumerate(classes)}
        truth = np.array([position[label] for label in truth.tolist()])
        if metric.needs == "predict":
            predictions = np.array([position[label] for label in predictions.tolist()])
        classes = list(range(len(classes)))
    return lambda rows: metric.of_output(predictions[rows], None, truth[rows], classes)


def columns_content(comparison: Any, unseen: UnseenRows, seconds: float | None = None) -> Markup:
    """Importance, Shapley values and partial dependence through the fitted pipeline; not for pixels.

    What would take more than ``seconds`` is left for another time.
    """
    if image_shape_of(comparison) is not None or comparison.X.shape[1] > MOST_COLUMNS:
        return paragraph(f"{count(comparison.X.shape[1])} columns are too many to be asked one by one.")
    if seconds is not None and asking_seconds(unseen.model, _rows(comparison, unseen)) > seconds:
        return paragraph(
            "There was no time left to ask the model about its columns. This command does: ",
            element("code", f"margin report {comparison.folder}"),
        )
    effects = winner_effects(comparison, unseen)
    unit = f"predicted {comparison.target or 'value'}"
    if comparison.task == "classification":
        binary = len(comparison.classes) == 2
        unit = f"probability of “{comparison.classes[1]}”" if binary else "probability of the chosen class"
    axis = "probability" if comparison.task == "classification" else "prediction"
    n = effects.n_rows
    rows = (
        f"Importance is measured on {count(n[0])} rows, Shapley values on {count(n[1])}, dependence on {count(n[2])}."
    )
    explanation = f"Asked through the whole pipeline, so these are the columns of the table. {rows}"
    both = grid(importance_figure(effects, comparison.metric.name), shapley_figure(effects, unit), class_="wide")
    related = related_content(comparison.X, list(comparison.features))
    return join([paragraph(explanation), both, related, curve_figures(effects, axis)])


def winner_effects(comparison: Any, unseen: UnseenRows) -> Effects:
    """The effects of the columns of the model that has not seen the rows, if there is one."""
    X = _rows(comparison, unseen)
    return effects_of(
        unseen.model,
        X,
        unseen.y,
        score_of(comparison, unseen.model),
        task=comparison.task,
        classes=tuple(comparison.classes),
        names=() if hasattr(X, "iloc") else list(comparison.features),
        seed=comparison.seed,
    )


def _rows(comparison: Any, unseen: UnseenRows) -> Any:
    return comparison.X.iloc[unseen.rows] if hasattr(comparison.X, "iloc") else np.asarray(comparison.X)[unseen.rows]


def score_of(comparison: Any, model: Any) -> Callable[[Any, Any, Any], float]:
    """The deciding metric as a score that is better when it is greater; the model's own where it cannot be measured."""
    metric = comparison.metric
    if not hasattr(model, metric.needs):
        return lambda fitted, rows, truth: float(fitted.score(rows, truth))
    sign = 1.0 if metric.greater_is_better else -1.0
    return lambda fitted, rows, truth: sign * metric.measure(fitted, rows, truth)
