"""What stands beside a winner: whether it beat a guess, what time left out, and why unseen rows said something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from margin.metrics import metric as metric_named
from margin.selection import Standing, Trial
from margin.selection.chance import chance_score
from margin.selection.schedule import seconds_text
from margin.selection.trial import FOLD, SCREEN
from margin.service.comparison.candidates import BASELINE

if TYPE_CHECKING:
    from margin.service.comparison.result import Comparison

__all__ = [
    "ahead_when_cut", "beyond_the_interval", "cut_short", "hardly_told_apart", "nothing_learned", "of_which_rows",
]  # fmt: skip

#: Where a few large errors decide a metric, this one tells about the others.
TYPICAL = "mae"


def nothing_learned(comparison: Comparison) -> str:
    """Why the winner counts as no better than a guess, as a sentence; empty where it is better on the same rows."""
    baseline = next((s for s in comparison.standings if s.model == BASELINE), None)
    if baseline is None or not comparison.winner:
        return ""
    gains = _gains(comparison, comparison.winner, BASELINE)
    if _typical_errors(comparison):
        return ""
    if baseline.tied and gains and min(gains) <= 0:
        return (
            "≈ the baseline is not distinguishable from the best either: nothing was found to learn in"
            f" {len(comparison.y):,} rows."
        )
    if not gains or np.mean(gains) > 0:
        return ""
    better = [
        s.model for s in comparison.standings if s.model in comparison.not_saved and _beats(comparison, s, baseline)
    ]
    nothing = f"only {', '.join(better)} found something to learn" if better else "nothing was found to learn"
    return f"The baseline, which looks at no column, is as good as {comparison.winner} on the same rows: {nothing}."


def _beats(comparison: Comparison, standing: Standing, baseline: Standing) -> bool:
    """Whether a model is ahead of the baseline in the mean over folds."""
    sign = 1 if comparison.metric.greater_is_better else -1
    return standing.status == "ranked" and sign * (standing.mean - baseline.mean) > 0


def cut_short(comparison: Comparison) -> str:
    """What the budget left out, and who was ahead of the winner when it was; empty where every model had all folds."""
    if comparison.budget is None:
        return ""
    rows = [s for s in comparison.standings if s.model not in (BASELINE, "blend", "stack")]
    cut = [s for s in rows if s.status == "cut" and not s.error.startswith("failed")]
    untried = [s for s in cut if not s.n_train]
    counts = {
        "tried on a part of the rows": len(cut) - len(untried),
        "without a score": len(untried),
        "on some of the folds": sum(s.status == "partial" for s in rows),
    }
    if not any(counts.values()):
        return ""
    listed = ", ".join(f"{n} {how}" for how, n in counts.items() if n)
    models = len([s for s in rows if s.status != "left out"])
    ahead = ahead_when_cut(comparison)
    led = "" if not ahead else f" {', '.join(ahead)} {'was' if len(ahead) == 1 else 'were'} ahead on the same rows."
    within = seconds_text(comparison.budget)
    return f"Time ended the search after {within}: of {models} models, {listed}.{led} --budget gives more time."


def of_which_rows(comparison: Comparison) -> str:
    """On which rows the winner is fitted and which ones the scores speak of, where many files were compared on some."""
    drawn, facts = comparison.drawn, comparison.run.manifest.get("winner", {})
    if drawn is None or not comparison.winner or not facts.get("finished"):
        return ""
    if facts.get("all_rows"):
        held_out = ", the held-out one too," if comparison.held_out_score is not None else ""
        return (
            f"{comparison.winner} is fitted on {comparison.fitted_on}; every score{held_out} is of fits on the"
            f" {len(comparison.y):,} rows drawn."
        )
    reason = facts.get("on_sample", "that is still to be done")
    return f"{comparison.winner} is fitted on {comparison.fitted_on} and not on all {drawn.n_rows:,}: {reason}."


def ahead_when_cut(comparison: Comparison) -> list[str]:
    """Models that had a better score than the winner on the same part of the rows, but no time for a fold."""
    cut = [s.model for s in comparison.standings if s.status == "cut" and s.model != BASELINE]
    return [model for model in cut if sum(_gains(comparison, model, comparison.winner)) > 0]


def hardly_told_apart(comparison: Comparison) -> str:
    """That the baseline is behind the winner in every fold, but too few or too different folds say so; or empty."""
    tied = any(s.tied for s in comparison.standings if s.model == BASELINE)
    gains = _gains(comparison, comparison.winner, BASELINE) if tied else []
    typical = _typical_errors(comparison) if gains and min(gains) <= 0 else None
    if typical is not None:
        return (
            f"≈ the baseline is not distinguishable from the best by {comparison.metric.name}, which a few large errors"
            f" decide; by {TYPICAL} {comparison.winner} has {typical[0]:.4g} and the best guess {typical[1]:.4g}."
        )
    if not gains or min(gains) <= 0:
        return ""
    return f"≈ the baseline is behind in each fold, but {len(gains)} that differ so much could do that by chance."


def _typical_errors(comparison: Comparison) -> tuple[float, float] | None:
    """The mean absolute error of the winner and of the best guess by it, where the first is less in every fold."""
    if comparison.task != "regression" or comparison.metric.name == TYPICAL:
        return None
    own = [t for t in comparison.trials if t.model == comparison.winner and t.stage == FOLD and TYPICAL in t.scores]
    pairs = [
        (t.scores[TYPICAL], chance_score(metric_named(TYPICAL), comparison.y, *comparison.plan.folds[t.fold], ()))
        for t in own
    ]
    if len(pairs) < 2 or any(score >= chance for score, chance in pairs):
        return None
    score, chance = np.mean(pairs, axis=0).tolist()
    return score, chance


def _gains(comparison: Comparison, model: str, other: str) -> list[float]:
    """By how much a model is better than another on the rows that both were tried on; empty if there are none.

    Folds say it if both have some in common, otherwise the largest part of the rows.
    """
    both = [_scores(comparison, name) for name in (model, other)]
    common = set(both[0]) & set(both[1])
    keys = [key for key in common if key[0] == FOLD] or sorted(common, key=lambda key: key[2])[-1:]
    sign = 1 if comparison.metric.greater_is_better else -1
    return [sign * (both[0][key] - both[1][key]) for key in sorted(keys)]


def _scores(comparison: Comparison, model: str) -> dict[tuple[str, int, int], float]:
    """Score by stage, fold and number of training rows."""
    trials: Sequence[Trial] = comparison.trials
    own = [t for t in trials if t.model == model and t.stage in (FOLD, SCREEN) and comparison.metric.name in t.scores]
    return {(t.stage, t.fold, t.n_train): t.scores[comparison.metric.name] for t in own}


def beyond_the_interval(comparison: Comparison, own: Standing, score: float, n_models: int) -> str:
    """Why the held-out score may lie outside the interval of the winner's folds; empty where it does not."""
    if not own.low <= own.high or own.low <= score <= own.high:
        return ""
    better = (score > own.high) == comparison.metric.greater_is_better
    n = len(comparison.plan.held_out)
    kind = comparison.plan.kind
    if kind == "time":
        reason = f"the rows held out are the last {n:,}, and time has changed them or what they depend on"
    elif kind == "groups":
        reason = f"the {n:,} rows held out are of other groups, and groups differ"
    elif better:
        reason = f"the interval is one of means over the folds, and {n:,} rows scatter more than those"
    else:
        chosen = f", and the best of {n_models} is flattered by being chosen" if n_models > 1 else ""
        reason = f"the interval is one of means over the folds, {n:,} rows scatter more than those{chosen}"
    return f" That is {'better' if better else 'worse'} than the interval of its folds: {reason}."
