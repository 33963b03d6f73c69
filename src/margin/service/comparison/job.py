"""The work of a comparison, in order: screen, folds, tune, put leaders together, learning curve, judge, last fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from margin.core.threads import available
from margin.runs import interruptible
from margin.selection import Budget, Candidate, Task, TrialData, open_workers, run_folds, screen
from margin.selection.comparison import RESERVE, Workers, promising, reserve
from margin.selection.schedule import LEAST_KEPT, rungs, seconds_text
from margin.selection.trial import CURVE, FOLD
from margin.selection.workers import Result
from margin.service.comparison.candidates import BASELINE, tuned_candidate
from margin.service.comparison.finishing import Watch, fitted, judged, metrics_for
from margin.service.comparison.last_fits import finish_in_time
from margin.service.comparison.leaders import put_together
from margin.service.comparison.one_model import is_measured, try_until_one_is_measured
from margin.service.comparison.result import Comparison
from margin.store.models import library_versions

__all__ = ["Watch", "restore", "run_job", "screening_order"]

#: Fraction of a budget that is reserved for tuning, if requested; how many leaders are tuned.
TUNING, TUNED = 0.4, 3
#: Parts of a fold's training rows, and folds, of the learning curve; the seconds or the part of the rest it may cost.
CURVE_PARTS, CURVE_FOLDS, CURVE_SECONDS, CURVE_FRACTION = (0.125, 0.25, 0.5, 1.0), 3, 10.0, 0.25
#: Where time may run out during screening, these come first: cheap ones, and those that win most often.
EARLY = (
    "logistic-regression", "ridge", "linear-regression", "hist-gradient-boosting", "random-forest", "decision-tree",
    "extra-trees", "gradient-boosting", "gaussian-nb", "linear-discriminant-analysis",
)  # fmt: skip


#: These come last: their cost grows with the cube of the rows, and a trial that is ended takes its process with it.
LATE = ("gaussian-process",)


def screening_order(names: Iterable[str]) -> list[str]:
    """The baseline, what should be tried first, the rest as in the catalog, and what is likely to be given up.

    >>> screening_order(["gaussian-process-classifier", "c45", "gaussian-nb", "random-forest-classifier", "baseline"])
    ['baseline', 'random-forest-classifier', 'gaussian-nb', 'c45', 'gaussian-process-classifier']
    """

    def place(name: str) -> int:
        plain = name.removeprefix("log-").removesuffix("-classifier").removesuffix("-regressor")
        if name == BASELINE or plain in EARLY:
            return -1 if name == BASELINE else EARLY.index(plain)
        return len(EARLY) + (plain in LATE)

    return sorted(names, key=place)


def run_job(comparison: Comparison, n_jobs: int | None, watch: Watch) -> None:
    """Run what is missing; every trial is kept as soon as it is done. Ctrl-C leaves the best so far, fitted."""
    run = comparison.run
    comparison.passed_over.clear()
    with run.locked():
        run.update(status="running", versions=library_versions(), command=comparison.command, call=comparison.call)
        with interruptible() as stop:
            job = _Job(comparison, n_jobs, watch, stop)
            try:
                job.trials()
                comparison.kept.write_board(comparison.standings)
                run.update(remarks=comparison.remarks, cut=comparison.given_up, cut_budget=comparison.budget)
                if job.budget is not None and not stop.is_set():
                    finish_in_time(comparison, job.workers, job.budget, stop, watch)
            finally:
                job.close()
            stopped = stop.is_set()
            while job.budget is None and not stopped and not judged(comparison, watch):
                pass  # who fails now is out, and the next best is judged
        while (job.budget is None or stopped) and not fitted(comparison, stopped, watch):
            pass
        comparison.kept.write_board(comparison.standings)
        run.update(remarks=comparison.remarks, cut=comparison.given_up, passed_over=comparison.passed_over)


def restore(comparison: Comparison) -> None:
    """The candidates and rows that follow from kept trials: tuned leaders, blend and stack."""
    _add_tuned(comparison)
    if comparison.request.ensembles and comparison.status != "running":
        put_together(comparison)


def _add_tuned(comparison: Comparison) -> list[Candidate]:
    """The three best models that have something to search, as candidates that search; trials of others are dropped."""
    if not comparison.request.tune:
        return []
    by_name = {candidate.name: candidate for candidate in comparison.candidates}
    ranked = [s.model for s in comparison.standings if s.status == "ranked" and s.model in by_name]
    candidates: list[Candidate] = []
    for name in (name for name in ranked if name != BASELINE):
        settings = comparison.request.tune, comparison.seed, comparison.folder / "searches"
        tuned = tuned_candidate(by_name[name], comparison.plan, comparison.metric, *settings)
        if tuned is not None and len(candidates) < TUNED:
            candidates.append(tuned)
    names = [candidate.name for candidate in candidates]
    comparison.trials[:] = [t for t in comparison.trials if t.model in names or not t.model.startswith("tuned-")]
    comparison.candidates += candidates
    return candidates


class _Job:
    """The trials of one start of a comparison."""

    def __init__(self, comparison: Comparison, n_jobs: int | None, watch: Watch, stop: threading.Event):
        self.of, self.stop, self.watch = comparison, stop, watch
        self.used_before = comparison.seconds
        self.started = comparison.started
        seconds = comparison.budget
        self.budget = None if seconds is None else Budget(seconds, self.used_before, started=self.started)
        data = TrialData(comparison.X, comparison.y, metrics_for(comparison), comparison.classes)
        # A process for which there is no trial would only be started and ended; tuned leaders come on top.
        trials = (len(comparison.candidates) + (TUNED if comparison.request.tune else 0)) * comparison.n_folds
        jobs = min(n_jobs or available(), trials)
        self._open = partial(open_workers, comparison.candidates, data, jobs, limited=self.budget is not None)
        self._workers: Workers | None = None

    def workers(self) -> Workers:
        """Opened when they are first needed."""
        if self._workers is None:
            self._workers = self._open()
            self.of.n_jobs = self._workers.n_jobs
        return self._workers

    def close(self) -> None:
        if self._workers is not None:
            self._workers.close()

    def trials(self) -> None:
        comparison = self.of
        names = [candidate.name for candidate in comparison.candidates]
        comparison.running = True
        try:
            self.watch(comparison)
            if self._needs_work(names) or comparison.request.tune:
                self._compare(self.workers(), names)
                self._tune(self.workers())
            self._one_at_least(names)
            comparison.running = False
            if comparison.request.ensembles and not self.stop.is_set():
                put_together(comparison)
            self._curve()
        finally:
            comparison.running = False
        self.watch(comparison)

    def _needs_work(self, names: list[str]) -> bool:
        done = {trial.key for trial in self.of.trials}
        given_up = self.of.given_up
        return any(
            (name, FOLD, fold, len(train)) not in done
            for name in names
            if name not in given_up
            for fold, (train, _) in enumerate(self.of.plan.folds)
        )

    def _compare(self, workers: Workers, names: list[str]) -> None:
        """All models on all folds, or as far as the budget allows."""
        comparison = self.of
        keep = RESERVE + (TUNING if comparison.request.tune else 0.0)
        common: dict[str, Any] = {"stop": self.stop, "given_up": comparison.given_up, "keep": keep}
        if self.budget is not None:
            names = screening_order(names)
            common |= {"metric": comparison.metric, "spared": [BASELINE]}
            if rungs(len(comparison.plan.folds[0][0])):
                rest = (comparison.plan, comparison.trials)
                self._take(screen(workers, names, *rest, budget=self.budget, **common))
                self._revive(names)
        self._take(run_folds(workers, names, comparison.plan, comparison.trials, **common, budget=self.budget))
        if self.budget is not None and not self.stop.is_set():
            reason = f"not reached within {seconds_text(self.budget.seconds)}"
            trials = comparison.trials
            scored = {trial.model for trial in trials if trial.stage == FOLD and not trial.error}
            failed = {trial.model for trial in trials if trial.error and not trial.late}
            late = {trial.model: trial.error for trial in trials if trial.late and trial.model not in scored}
            unseen = {name: reason for name in names if name not in scored | failed}
            comparison.given_up.update({**unseen, **late, **comparison.given_up})

    def _revive(self, names: list[str]) -> None:
        """If all were too slow in screening, the best of them get their chance nevertheless; where a busy machine let
        none be measured, those that come first."""
        comparison = self.of
        ranked = promising([n for n in names if n != BASELINE], comparison.trials, comparison.metric)
        if not self.stop.is_set() and all(name in comparison.given_up for name in ranked):
            scored = {t.model for t in comparison.trials if comparison.metric.name in t.scores}
            for name in ([name for name in ranked if name in scored] or ranked)[:LEAST_KEPT]:
                comparison.given_up.pop(name, None)

    def _one_at_least(self, names: list[str]) -> None:
        """Where time was up before any model had a score, one is tried all the same, and then fitted to all rows."""
        comparison = self.of
        if self.budget is None or self.stop.is_set() or is_measured(comparison.trials, comparison.metric):
            return
        rest, before = (comparison.plan, comparison.trials, comparison.metric, self.stop), len(comparison.trials)
        self._take(try_until_one_is_measured(self.workers(), screening_order(names), *rest))
        for trial in comparison.trials[before:]:
            if trial.error:  # the board says that it failed, not that it was never reached
                comparison.given_up.pop(trial.model, None)
            else:
                over = seconds_text(self.budget.seconds)
                comparison.given_up[trial.model] = f"tried on {trial.n_train:,} rows only, when {over} were over"

    def _tune(self, workers: Workers) -> None:
        """Settings for the leaders, looked for inside each fold."""
        comparison = self.of
        if not comparison.request.tune or self.stop.is_set():
            return
        candidates = _add_tuned(comparison)
        for candidate in candidates:
            workers.add(candidate)
        names = [candidate.name for candidate in candidates]
        self._take(
            run_folds(
                workers,
                names,
                comparison.plan,
                comparison.trials,
                stop=self.stop,
                given_up=comparison.given_up,
                budget=self.budget,
            )
        )

    def _curve(self) -> None:
        """The winner's learning curve on a few folds, if it costs little."""
        comparison = self.of
        winner = comparison.winning_candidate
        if winner is None or self.stop.is_set():
            return
        deadline = None if self.budget is None else self.budget.deadline(self._reserve())
        tasks = list(_curve_tasks(comparison, deadline))
        done = {trial.key for trial in comparison.trials if trial.settings == winner.settings}
        todo = [task for task in tasks if task.key not in done]
        rows = sum(len(task.train) for task in todo)
        standing = next(s for s in comparison.standings if s.model == winner.name)
        cost = (standing.fit_seconds + 5 * standing.predict_seconds) * rows / max(standing.n_train, 1)
        allowed = max(CURVE_SECONDS, CURVE_FRACTION * (time.monotonic() - self.started))
        if self.budget is not None:
            allowed = min(allowed, self.budget.left(self._reserve()))
        requested = cost <= allowed if comparison.request.curve is None else comparison.request.curve
        if not todo or not requested or allowed <= 0:
            return
        self.workers().add(winner)
        self._take(self.workers().run(partial(next, iter(todo), None), self.stop))
        comparison.kept.write_curve(comparison.trials)

    def _reserve(self) -> float:
        assert self.budget is not None
        of, names = self.of, [candidate.name for candidate in self.of.candidates]
        return reserve(names, of.plan, of.trials, of.metric, self.budget, self.workers().n_jobs)

    def _take(self, results: Iterable[Result] | Iterator[Result]) -> None:
        comparison = self.of
        for trial, output in results:
            comparison.trials.append(trial)
            comparison.kept.add(trial, output)
            seconds = self.used_before + time.monotonic() - self.started
            comparison.run.update(comparing_seconds=seconds, cut=comparison.given_up, cut_budget=comparison.budget)
            self.watch(comparison)


def _curve_tasks(comparison: Comparison, deadline: float | None) -> Iterator[Task]:
    plan, winner = comparison.plan, comparison.winner
    for fold, (train, test) in enumerate(plan.folds[:CURVE_FOLDS]):
        for fraction in CURVE_PARTS:
            part = plan.part(train, max(round(fraction * len(train)), 2), seed=fold)
            yield Task(winner, fold, part, test, CURVE, measures_training=True, deadline=deadline)
