"""Scores that are too good to be true: next to nothing is left of a guess's error, and a few columns do it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.interpretation import permutation_importance
from margin.selection.chance import chance_score

if TYPE_CHECKING:
    from margin.service.comparison.result import Comparison

__all__ = ["too_good"]

#: Of a guess's error, what an honest model leaves at least; measured on so many rows, or it may be luck.
LEAST_LEFT, FEWEST_ROWS = 0.01, 50
#: Columns whose values are permuted one by one: at most so many, on at most so many rows, so often.
MOST_COLUMNS, MOST_ROWS, REPEATS = 200, 500, 3
#: The columns that are named: the fewest that lose so large a part of what all lose, if they are so few.
MOST_OF_IT, MOST_NAMED = 0.8, 3


def too_good(comparison: Comparison) -> str:
    """A sentence that warns of a score which hardly any table allows, and names the columns behind it; or ""."""
    if comparison.running or not comparison.winner or comparison.source.image_shape is not None:
        return ""
    left = _left(comparison)
    if left is None or left > LEAST_LEFT:
        return ""
    said = f"Too good to be true? {comparison.winner} leaves {left:.1%} of the error of a guess"
    columns = _columns_behind(comparison)
    if not columns:
        return f"{said}: look whether a column is known only after {comparison.target or 'the target'} is."
    named = ", ".join(map(repr, columns))
    ignore = " ".join(f"--ignore {shlex.quote(name)}" for name in columns)
    return f"{said}, and owes it to {named}: what is not known before {comparison.target} is, leave out ({ignore})."


def _left(comparison: Comparison) -> float | None:
    """The part of a guess's error that the winner leaves on unseen rows; None if there are too few, or no such part."""
    metric, score = comparison.metric, comparison.held_out_score
    if score is not None and len(comparison.plan.held_out) >= FEWEST_ROWS:
        guess = comparison.held_out_chance
    else:
        own = next((s for s in comparison.standings if s.model == comparison.winner), None)
        folds = [fold for fold in comparison.plan.folds if len(fold[1])]
        if own is None or not own.folds or sum(len(test) for _, test in folds) < FEWEST_ROWS:
            return None
        score = own.mean
        guess = float(np.mean([chance_score(metric, comparison.y, *fold, comparison.classes) for fold in folds]))
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    if guess is None or score is None or not np.isfinite([best, guess, score]).all() or guess == best:
        return None
    return abs(best - score) / abs(best - guess)


def _columns_behind(comparison: Comparison) -> list[str]:
    """The few columns without whose values the score is gone; none if there is no model to ask, or they are many."""
    model, X = _model(comparison), comparison.X
    if model is None or X.shape[1] > MOST_COLUMNS or not hasattr(model, comparison.metric.needs):
        return []
    rows = comparison.plan.held_out if comparison.judged_ is not None else comparison.plan.development
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.intp)]
    some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    sign = 1.0 if comparison.metric.greater_is_better else -1.0

    def score(fitted: Any, asked: Any, truth: Any) -> float:
        return sign * comparison.metric.measure(fitted, asked, truth)

    drops = permutation_importance(
        model, some, comparison.y[rows], n_repeats=REPEATS, scoring=score, random_state=comparison.seed
    ).mean(axis=1)
    order = np.argsort(-drops, kind="stable")
    total = float(np.maximum(drops, 0.0).sum())
    if total <= 0:
        return []
    enough = int(np.searchsorted(np.cumsum(drops[order]), MOST_OF_IT * total)) + 1
    return [comparison.features[j] for j in order[:enough]] if enough <= MOST_NAMED else []


def _model(comparison: Comparison) -> Any:
    if comparison.judged_ is not None:
        return comparison.judged_
    return comparison.best_ if comparison.run.model_path.exists() else None
