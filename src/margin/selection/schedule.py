"""Which trial comes next: cheap models first, dear ones on parts of the rows until they prove worth their cost.

Without a budget every model sees every fold. With one, and many rows, all models are first tried on a small part of the
training rows; where not all can be afforded, the better ones go on to a part four times as large (successive halving),
and the most promising see all rows first: whenever time is up, the best are done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from margin.selection.trial import FOLD, SCREEN, Task, Trial

__all__ = ["FoldQueue", "Screened", "cost_at", "cut", "last_fits_seconds", "rungs", "seconds_left"]

FIRST_RUNG, RUNG_FACTOR = 2_000, 4
#: A model whose folds would all together cost less than this part of the budget is not worth cutting.
CHEAP = 0.05
#: How the cost of a fit grows with the rows: at least and at most, and as long as one size is known. That one is mostly
#: what a fit costs on any number of rows, so the growth is taken to be small: who is dear shows on the next rung.
LEAST_GROWTH, LARGEST_GROWTH, USUAL_GROWTH = 0.5, 3.0, 0.85
#: Before the last rung a cost is known roughly, and only one so many times too large is a reason to give up a model.
ROUGHLY = 4.0
#: The last fits cost a little more than the rows they add, and a process may have to import first.
LAST_GROWTH, START_SECONDS = 1.15, 2.0
#: So many of the best so far see all folds before models that were never tried, once time runs short.
MEASURED_FIRST = 3
#: So many models go on whatever they cost: a board of nothing helps nobody, and the budget ends them in any case.
LEAST_KEPT = 3


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


def cost_at(rows: int, test_rows: int, trials: Sequence[Trial]) -> float:
    """Seconds of a trial with so many training and test rows, by the growth between the model's two largest trials."""
    known = sorted((t for t in trials if not t.error), key=lambda t: t.n_train)
    if not known:
        return math.inf
    fit = _extrapolate_seconds(rows, [(t.n_train, t.fit_seconds) for t in known], (LEAST_GROWTH, USUAL_GROWTH))
    # Most models answer a row in the same time however many they have learned from.
    per_row = _extrapolate_seconds(rows, [(t.n_train, t.predict_seconds / max(t.n_test, 1)) for t in known], (0.0, 0.0))
    return fit + per_row * test_rows


def _extrapolate_seconds(rows: int, known: Sequence[tuple[int, float]], growths: tuple[float, float]) -> float:
    """The last of ``known`` (rows, seconds) at ``rows``; ``growths`` are the least and the usual power."""
    least, growth = growths
    size, seconds = known[-1]
    if len(known) > 1 and known[-2][0] < size:
        ratio = max(seconds, 1e-6) / max(known[-2][1], 1e-6)
        growth = float(np.clip(math.log(ratio) / math.log(size / known[-2][0]), least, LARGEST_GROWTH))
    return seconds * (rows / size) ** growth


def last_fits_seconds(fit_seconds: float, more_rows: float, n_jobs: int, judged: bool) -> float:
    """About how long the last fits of a model take by what a fold's fit took, on ``more_rows`` times its rows: one fit
    to all rows and, if it is to be ``judged``, one without the held-out ones, side by side where there are two jobs.

    >>> round(last_fits_seconds(4.0, 1.25, n_jobs=2, judged=True), 1)
    7.2
    """
    fits = 2 if judged and n_jobs == 1 else 1
    return START_SECONDS + fits * fit_seconds * more_rows**LAST_GROWTH


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

    A model goes if one trial on all rows would take (before the ``last`` rung, by far) longer than ``longest`` seconds.
    Then the worst of the dear ones go until the rest can be afforded, before the last rung only those in the worse
    half. The best never goes by an estimate: its own folds show what it costs. A few others go on whatever happens, the
    cheapest of those given up.
    """
    reasons: dict[str, str] = {}
    ranked = sorted((m for m in models if m.model not in spared), key=lambda m: -m.score)
    for m in ranked[1:]:
        if m.full_cost > longest * (1.0 if last else ROUGHLY):
            reasons[m.model] = f"a fold with all rows would take about {seconds_text(m.full_cost)}"
    rest = [m for m in ranked if m.model not in reasons]
    cheap = {m.model for m in rest if m.full_cost * n_folds <= CHEAP * processor_seconds}
    # A leader that takes longer than a trial may is ended once and for all by the first.
    total = sum(m.full_cost * n_folds if m.full_cost <= longest else longest for m in rest)
    for m in reversed(rest[1 if last else math.ceil(len(rest) / 2) :]):
        if total > processor_seconds and m.model not in cheap:
            cost = m.full_cost * n_folds
            reasons[m.model] = f"in the worse half on these rows, and its folds would take about {seconds_text(cost)}"
            if last:
                reasons[m.model] = f"its folds would take about {seconds_text(cost)}"
            total -= cost
    missing = min(LEAST_KEPT, len(ranked)) - (len(ranked) - len(reasons))
    for m in sorted((m for m in ranked if m.model in reasons), key=lambda m: m.full_cost)[: max(missing, 0)]:
        del reasons[m.model]
    return reasons


class FoldQueue:
    """The trials of the folds: first one fold of every model, then model after model, the cheapest first.

    ``trials`` is the list that grows as results come in. What it holds already is passed over; so are models in
    ``given_up`` and those that have failed, which would fail again. ``order``, where given, says which models promise
    most, best first, and that decides instead of the cost; once ``is_short()`` of time, the best of those tried so far
    see all folds before others are tried: the best of many single folds is mostly a lucky one. A trial may take
    ``limit()`` seconds, or those of ``limit_of_best()``, a model and its seconds, and one whose model is known to take
    longer is not begun. At ``deadline()`` (of ``time.monotonic``) what still runs is ended.
    """

    def __init__(
        self,
        models: Iterable[str],
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        trials: Sequence[Trial],
        *,
        given_up: Mapping[str, str] | None = None,
        limit: Callable[[], float | None] = lambda: None,
        order: Callable[[], Sequence[str]] | None = None,
        deadline: Callable[[], float | None] = lambda: None,
        limit_of_best: Callable[[], tuple[str, float] | None] = lambda: None,
        is_short: Callable[[], bool] = lambda: False,
    ):
        self.folds, self.trials, self.limit, self.deadline, self.order = folds, trials, limit, deadline, order
        self.limit_of_best, self.is_short = limit_of_best, is_short
        self.given_up = given_up if given_up is not None else {}
        done = {trial.key for trial in trials}
        self.open = {
            model: [f for f, (train, _) in enumerate(folds) if (model, FOLD, f, len(train)) not in done]
            for model in (models if order is None else [model for model in order() if model in set(models)])
        }

    def next(self) -> Task | None:
        usual, best = self.limit(), self.limit_of_best()
        limits = {model: best[1] if best is not None and best[0] == model else usual for model in self.open}
        # Who was late on a part of the rows is in given_up, unless it is all there is.
        failed = (t.model for t in self.trials if t.error and not (t.late and t.stage == SCREEN))
        over = {*failed, *self.given_up}
        waiting = {
            model: folds
            for model, folds in self.open.items()
            if folds and model not in over and self._is_affordable(model, limits[model])
        }
        if not waiting:
            return None
        model = self._choose(waiting)
        fold = self.open[model].pop(0)
        train, test = self.folds[fold]
        return Task(model, fold, train, test, limit=limits[model], deadline=self.deadline())

    def _choose(self, waiting: Mapping[str, Sequence[int]]) -> str:
        untried = [model for model, folds in waiting.items() if len(folds) == len(self.folds)]
        if untried and self.order is not None and self.is_short():
            tried = {t.model for t in self.trials if t.stage == FOLD and not t.error}
            best = [model for model in self.order() if model in tried][:MEASURED_FIRST]
            if ahead := [model for model in best if model in waiting]:
                return ahead[0]
        return untried[0] if untried else self._best(waiting)

    def _is_affordable(self, model: str, limit: float | None) -> bool:
        return limit is None or (limit > 0 and self._cost(model, untried=0.0) <= limit)

    def _best(self, waiting: Collection[str]) -> str:
        if self.order is None:
            return min(waiting, key=self._cost)
        return next(model for model in self.order() if model in waiting)

    def _cost(self, model: str, untried: float = math.inf) -> float:
        """The median cost of its trials; a model whose first is still running comes last."""
        known = [t.seconds for t in self.trials if t.model == model and t.stage == FOLD and not t.error]
        return float(np.median(known)) if known else untried


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
