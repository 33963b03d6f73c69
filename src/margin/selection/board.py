"""From trials to a leaderboard: means, honest intervals, costs, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from margin.metrics import Metric
from margin.selection.corrected import corrected_interval, corrected_paired_test
from margin.selection.trial import FOLD, SCREEN, Trial

__all__ = ["Standing", "board"]

RANKED, PARTIAL, CUT, FAILED, LEFT_OUT = "ranked", "partial", "cut", "failed", "left out"
#: Two models are told apart when chance alone would give such a difference less often than this.
LEVEL = 0.05
#: So many folds of a model whose others were not reached, or one with so many test rows, are no luck.
SEVERAL, MANY_ROWS = 2, 1_000
NAN = float("nan")


@dataclass(frozen=True)
class Standing:
    """One row of the board; seconds are medians over the folds.

    ``status`` is "ranked" (all folds), "partial" (some), "cut" (given up for its cost, ``mean`` is from a part of the
    rows), "failed" or "left out"; ``error`` gives the reason of the last three. ``p_value`` is of the corrected paired
    test against the best, ``tied`` says that it finds no difference. ``others`` are the means of the other metrics.
    """

    model: str
    metric: str
    mean: float
    low: float
    high: float
    fit_seconds: float
    predict_seconds: float
    folds: int
    error: str = ""
    status: str = RANKED
    scores: tuple[float, ...] = ()
    n_train: int = 0
    p_value: float = NAN
    tied: bool = False
    settings: str = ""
    others: Mapping[str, float] = field(default_factory=dict)


def board(
    trials: Iterable[Trial],
    metric: Metric,
    *,
    n_folds: int,
    cut: Mapping[str, str] | None = None,
    left_out: Mapping[str, str] | None = None,
    mixed: bool = False,
) -> list[Standing]:
    """The standings, best first: models with all folds or enough, those with one, then cut, failed and left out ones.

    Who has some folds but not all, because time ended, stands where they put it beside the best of the others on the
    same folds, unless they are too few to say so. ``mixed`` ranks all of them by their means: for a board that still
    grows. Intervals end at the least and the largest value of the metric: no accuracy is above 1.
    """
    cut, left_out = cut or {}, left_out or {}
    by_model: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.stage in (FOLD, SCREEN):
            by_model.setdefault(trial.model, []).append(trial)
    rows = [_standing(model, own_trials, metric, n_folds, cut.get(model, "")) for model, own_trials in by_model.items()]
    rows += [_without_score(model, metric, CUT, reason) for model, reason in cut.items() if model not in by_model]
    rows += [_without_score(model, metric, LEFT_OUT, reason) for model, reason in left_out.items()]
    order = {RANKED: 0, PARTIAL: 1, CUT: 2, FAILED: 3, LEFT_OUT: 4}
    sign = -1 if metric.greater_is_better else 1
    best = min((s for s in rows if s.status == RANKED), key=lambda s: (sign * s.mean, s.model), default=None)

    def place(s: Standing) -> tuple[int, float, str]:
        value = s.mean if mixed or best is None else _on_all_folds(s, best, by_model, metric)
        among_ranked = s.status == PARTIAL and (mixed or _is_no_luck(s, by_model[s.model]))
        return 0 if among_ranked else order[s.status], sign * value if value == value else np.inf, s.model

    return _with_tests(sorted(rows, key=place), by_model, metric)


def _is_no_luck(s: Standing, trials: Sequence[Trial]) -> bool:
    """Whether the folds that a model has say where it stands."""
    return s.folds >= SEVERAL or sum(t.n_test for t in trials if t.stage == FOLD and not t.error) >= MANY_ROWS


def _on_all_folds(s: Standing, best: Standing, by_model: Mapping[str, list[Trial]], metric: Metric) -> float:
    """About what a model with some folds would have on all: as far from the best as on the folds that it has."""
    if s.status != PARTIAL or not s.folds:
        return s.mean
    reference = _by_fold(by_model[best.model], metric)
    common = [reference[fold].scores[metric.name] for fold in _by_fold(by_model[s.model], metric)]
    return s.mean + best.mean - float(np.mean(common))


def _standing(model: str, trials: list[Trial], metric: Metric, n_folds: int, cut: str) -> Standing:
    folds = sorted((t for t in trials if t.stage == FOLD and not t.error), key=lambda trial: trial.fold)
    late = [trial.error for trial in trials if trial.late]
    if cut or (late and not folds):
        return _cut_standing(model, trials, metric, cut or late[0])
    failed = [trial.error for trial in trials if trial.error and not trial.late] or [
        trial.reasons.get(metric.name, f"{metric.name} was not measured")
        for trial in trials
        if metric.name not in trial.scores and not trial.error
    ]
    if failed:
        return replace(_without_score(model, metric, FAILED, failed[0]), folds=len(folds), settings=trials[0].settings)
    if not folds:
        return replace(_cut_standing(model, trials, metric, ""), status=PARTIAL)
    scores = [trial.scores[metric.name] for trial in folds]
    n_train, n_test = (round(float(np.mean([getattr(t, n) for t in folds]))) for n in ("n_train", "n_test"))
    mean, low, high = corrected_interval(scores, n_train, n_test)
    return Standing(
        model,
        metric.name,
        mean,
        max(low, metric.bounds[0]) if low == low else low,
        min(high, metric.bounds[1]) if high == high else high,
        # Medians: a fold that shared the processor with something else must not count for the others.
        float(np.median([trial.fit_seconds for trial in folds])),
        float(np.median([trial.predict_seconds for trial in folds])),
        len(folds),
        status=RANKED if len(folds) >= n_folds else PARTIAL,
        scores=tuple(scores),
        n_train=n_train,
        settings=folds[0].settings,
        others=_means_of_others(folds, metric),
    )


def _cut_standing(model: str, trials: Sequence[Trial], metric: Metric, reason: str) -> Standing:
    """The score on the most rows it was tried on, which is worth less than those of whole folds."""
    scored = sorted((t for t in trials if metric.name in t.scores), key=lambda t: (t.n_train, -t.fold))
    if not scored:
        return replace(_without_score(model, metric, CUT, reason), settings=trials[0].settings)
    last = scored[-1]
    mean = last.scores[metric.name]
    seconds = last.fit_seconds, last.predict_seconds
    return Standing(
        model, metric.name, mean, NAN, NAN, *seconds, 0, reason, CUT, n_train=last.n_train, settings=last.settings
    )


def _without_score(model: str, metric: Metric, status: str, reason: str) -> Standing:
    return Standing(model, metric.name, NAN, NAN, NAN, NAN, NAN, 0, reason, status)


def _means_of_others(folds: Sequence[Trial], metric: Metric) -> dict[str, float]:
    names = [name for name in folds[0].scores if name != metric.name and all(name in t.scores for t in folds)]
    return {name: float(np.mean([trial.scores[name] for trial in folds])) for name in names}


def _with_tests(rows: list[Standing], by_model: Mapping[str, list[Trial]], metric: Metric) -> list[Standing]:
    """Compare each model with the best over the folds both have seen."""
    if not rows or rows[0].status not in (RANKED, PARTIAL):
        return rows
    best = _by_fold(by_model[rows[0].model], metric)
    tested = [rows[0]]
    for row in rows[1:]:
        own = _by_fold(by_model.get(row.model, []), metric) if row.status in (RANKED, PARTIAL) else {}
        common = sorted(set(best) & set(own))
        if len(common) > 1:
            pair = [[trials_of[fold].scores[metric.name] for fold in common] for trials_of in (best, own)]
            sizes = [round(float(np.mean([getattr(best[f], n) for f in common]))) for n in ("n_train", "n_test")]
            p = corrected_paired_test(pair[0], pair[1], *sizes).p_value
            row = replace(row, p_value=p, tied=p > LEVEL)
        tested.append(row)
    return tested


def _by_fold(trials: Sequence[Trial], metric: Metric) -> dict[int, Trial]:
    return {t.fold: t for t in trials if t.stage == FOLD and metric.name in t.scores}
