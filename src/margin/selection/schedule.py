"""Which trial comes next: cheap models first, dear ones on parts of the rows until they prove worth their cost.

Without a budget every model sees every fold. With one, and many rows, all models are first tried on a small part of the
training rows; the better half of the dear ones goes on to a part four times as large (successive halving), and only
models whose cost can be afforded see all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from margin.selection.trial import FOLD, Task, Trial

__all__ = ["FoldQueue", "Screened", "cost_at", "cut", "rungs", "seconds_left"]

FIRST_RUNG, RUNG_FACTOR = 2_000, 4
#: A model whose folds would all together cost less than this part of the budget is not worth cutting.
CHEAP = 0.05
#: Cost grows at least in proportion to the rows; a first call that compiles must not look like falling cost.
LEAST_GROWTH, LARGEST_GROWTH, USUAL_GROWTH = 1.0, 3.0, 1.15


def rungs(n_train: int, first: int = FIRST_RUNG) -> list[int]:
    """Numbers of rows on the way to ``n_train``, itself left out; none where there are few rows.

    >>> rungs(48_000), rungs(3_000)
    ([2000, 8000], [])
    """
    steps, rows = [], first
    while rows <= n_train / 2:
        steps.append(rows)
        rows *= RUNG_FACTOR
    return steps


def cost_at(rows: int, trials: Sequence[Trial]) -> float:
    """Seconds of a trial with ``rows`` training rows, by the growth between the two largest trials of the model."""
    known = sorted((t for t in trials if not t.error), key=lambda t: t.n_train)
    if not known:
        return math.inf
    last = known[-1]
    growth = USUAL_GROWTH
    if len(known) > 1 and known[-2].n_train < last.n_train:
        ratio = max(last.seconds, 1e-3) / max(known[-2].seconds, 1e-3)
        growth = float(
            np.clip(math.log(ratio) / math.log(last.n_train / known[-2].n_train), LEAST_GROWTH, LARGEST_GROWTH)
        )
    return last.seconds * (rows / last.n_train) ** growth


@dataclass(frozen=True)
class Screened:
    """A model after a rung: its score (greater is better), and what one trial on all rows would cost."""

    model: str
    score: float
    full_cost: float


def cut(
    models: Sequence[Screened],
    *,
    n_folds: int,
    processor_seconds: float,
    longest: float,
    last: bool = False,
    spared: Collection[str] = (),
) -> dict[str, str]:
    """Which models go no further, with the reason; ``processor_seconds`` is what all their folds may cost together.

    A model goes if one trial on all rows would take longer than ``longest`` seconds, or if it is dear and in the worse
    half. After the ``last`` rung the worst of the dear ones go until the rest can be afforded; the best never does.
    """
    reasons: dict[str, str] = {}
    ranked = sorted((m for m in models if m.model not in spared), key=lambda m: -m.score)
    for m in ranked:
        if m.full_cost > longest:
            reasons[m.model] = f"a fold with all rows would take about {seconds_text(m.full_cost)}"
    rest = [m for m in ranked if m.model not in reasons]
    cheap = {m.model for m in rest if m.full_cost * n_folds <= CHEAP * processor_seconds}
    for m in rest[math.ceil(len(rest) / 2) :]:
        if m.model not in cheap:
            reasons[m.model] = "in the worse half on these rows, and dear"
    if last:
        rest = [m for m in rest if m.model not in reasons]
        total = sum(m.full_cost for m in rest) * n_folds
        for m in reversed(rest[1:]):
            if total > processor_seconds and m.model not in cheap:
                reasons[m.model] = f"its folds would take about {seconds_text(m.full_cost * n_folds)}"
                total -= m.full_cost * n_folds
    return reasons


class FoldQueue:
    """The trials of the folds: first one fold of every model, then model after model, the cheapest first.

    ``trials`` is the list that grows as results come in. What it holds already is passed over; so are models in
    ``given_up`` and those that have failed, which would fail again.
    """

    def __init__(
        self,
        models: Iterable[str],
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        trials: Sequence[Trial],
        *,
        given_up: Mapping[str, str] | None = None,
        limit: Callable[[], float | None] = lambda: None,
    ):
        self.folds, self.trials, self.limit = folds, trials, limit
        self.given_up = given_up if given_up is not None else {}
        done = {trial.key for trial in trials}
        self.open = {
            model: [f for f, (train, _) in enumerate(folds) if (model, FOLD, f, len(train)) not in done]
            for model in models
        }

    def next(self) -> Task | None:
        limit = self.limit()
        over = {trial.model for trial in self.trials if trial.error} | set(self.given_up)
        waiting = {model: folds for model, folds in self.open.items() if folds and model not in over}
        if not waiting or (limit is not None and limit <= 0):
            return None
        untried = [model for model, folds in waiting.items() if len(folds) == len(self.folds)]
        model = untried[0] if untried else min(waiting, key=self._cost)
        fold = self.open[model].pop(0)
        train, test = self.folds[fold]
        return Task(model, fold, train, test, limit=limit)

    def _cost(self, model: str) -> float:
        """The median cost of its trials; a model whose first is still running comes last."""
        known = [t.seconds for t in self.trials if t.model == model and t.stage == FOLD and not t.error]
        return float(np.median(known)) if known else math.inf


def seconds_left(trials: Sequence[Trial], models: Iterable[str], n_folds: int, n_jobs: int) -> float:
    """About how long the trials that are missing will take; a model not yet tried counts as the mean of the others."""
    spent: dict[str, list[float]] = {model: [] for model in models}
    for trial in trials:
        if trial.model in spent and trial.stage == FOLD:
            spent[trial.model].append(0.0 if trial.error else trial.seconds)
    known = [float(np.median(seconds)) for seconds in spent.values() if seconds]
    if not known:
        return math.nan
    usual = float(np.mean(known))
    missing = (
        (n_folds - len(seconds)) * (float(np.median(seconds)) if seconds else usual) for seconds in spent.values()
    )
    return sum(missing) / n_jobs


def seconds_text(seconds: float) -> str:
    """A duration as a person says it.

    >>> seconds_text(0.4), seconds_text(75), seconds_text(8000)
    ('1 s', '75 s', '2.2 h')
    """
    if seconds < 100:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
