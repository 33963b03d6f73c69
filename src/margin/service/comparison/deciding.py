"""Which metric decides a comparison, and what happens where the folds do not allow it."""

from __future__ import annotations

import numpy as np

from margin.metrics import REGISTRY, Metric
from margin.metrics import metric as metric_named
from margin.selection import FoldPlan
from margin.selection.bounded import BoundedPipeline
from margin.service.comparison.data import OpenedData
from margin.service.comparison_request import ComparisonRequest
from margin.service.requests import BadRequest

__all__ = ["PRIMARY", "bounds_sentence", "choose_metric", "fewer_folds", "replace_undefined_metric"]

PRIMARY = {"classification": "accuracy", "regression": "rmse"}
#: Decides where one class is so frequent that accuracy says little; it needs no probabilities and no threshold.
PRIMARY_IF_LOPSIDED = "roc_auc"
#: Decides in its place where a fold lacks a class, so that nothing can be ranked there.
SEES_EVERY_CLASS = "balanced_accuracy"


def choose_metric(request: ComparisonRequest, opened: OpenedData) -> Metric:
    """The metric that decides."""
    task = opened.source.task
    if request.metric is None:
        suggested = None if opened.profile is None or opened.profile.task != task else opened.profile.suggested_metric
        chosen = suggested or (PRIMARY_IF_LOPSIDED if opened.lopsided else PRIMARY[task])
        if chosen != PRIMARY[task]:
            known = any("out of balance" in remark for remark in opened.remarks)
            cause = "As the classes are out of balance," if known else "The classes are out of balance:"
            opened.remarks.append(f"{cause} accuracy says little, and {chosen} decides; --metric names another.")
        return metric_named(chosen)
    try:
        metric = metric_named(request.metric)
    except ValueError as error:
        raise BadRequest(str(error).replace("metric:", "compare:", 1)) from None
    if task not in metric.tasks:
        raise BadRequest(f"compare: the metric {metric.name!r} is not one for {task}.")
    classes = len(set(opened.source.y.tolist())) if opened.source.y is not None else 0
    if metric.binary and classes != 2:
        average = f"{metric.name.partition(':')[0]}_macro"
        instead = f"; try {average}" if average in REGISTRY else ""
        raise BadRequest(f"compare: {metric.name} is of two classes, and there are {classes}{instead}.")
    return metric


def fewer_folds(opened: OpenedData, plan: FoldPlan) -> str:
    """Why there are fewer folds than requested."""
    counts = np.unique(np.asarray(opened.source.y)[plan.development].astype(str), return_counts=True)
    if plan.both_classes and len(plan.folds) == counts[1].min():
        rare = str(counts[0][counts[1].argmin()])
        return f"There are only {len(plan.folds)} folds: each needs a row of class {rare!r}."
    return f"There are only {len(plan.folds)} folds: more would leave some without rows of their own."


def rarest_class(plan: FoldPlan) -> str:
    """The class of which not every fold has a row, and what that means; empty where there is none."""
    if not plan.lacks_a_class or plan.labels is None:
        return ""
    labels, counts = np.unique(plan.labels[plan.development].astype(str), return_counts=True)
    rows = f"{counts.min()} row{'s' if counts.min() > 1 else ''}"
    return (
        f"Class {str(labels[counts.argmin()])!r} has {rows} to learn from and be tested on: a fold without one says"
        " nothing of how it is found."
    )


def bounds_sentence(y: np.ndarray, margin: float) -> str:
    """Between which numbers the regressions of a comparison predict, and why."""
    low, high = BoundedPipeline([], margin=margin).learn_bounds(y).bounds
    beyond = "its standard deviation" if margin == 1 else f"{margin:.2g} of its standard deviations"
    return f"No model predicts outside {low:.4g} to {high:.4g}: the range of the target and {beyond} beyond it."


def replace_undefined_metric(decides: Metric, request: ComparisonRequest, opened: OpenedData, plan: FoldPlan) -> Metric:
    """The metric that decides, or another where the user chose none and some part of the rows lacks a class."""
    if not decides.ranks:
        return decides
    y = np.asarray(opened.source.y).astype(str)
    parts = [test for _, test in plan.folds] + ([plan.held_out] if len(plan.held_out) else [])
    lacking = [str(label) for part in parts for label in np.setdiff1d(y, y[part])]
    if not lacking:
        return decides
    lack = f"{decides.name} needs rows of every class in every fold, and one has none of class {lacking[0]!r}"
    if request.metric is not None:
        raise BadRequest(f"compare: {lack}; try {SEES_EVERY_CLASS}, or --folds with fewer of them.")
    opened.remarks[:] = [remark for remark in opened.remarks if f"and {decides.name} decides" not in remark]
    opened.remarks.append(f"{lack}, so {SEES_EVERY_CLASS} decides; --metric names another.")
    return metric_named(SEES_EVERY_CLASS)
