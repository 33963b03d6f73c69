"""The trials of a comparison, in order: screen, folds, tune, put leaders together, learning curve."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from margin.core.threads import available
from margin.selection import Budget, Candidate, Task, open_workers, run_folds, screen
from margin.selection.comparison import RESERVE, Workers, promising, reserve
from margin.selection.schedule import LEAST_KEPT, rungs, seconds_text
from margin.selection.trial import CURVE, FOLD
from margin.selection.workers import Result
from margin.service.comparison.candidates import BASELINE, tuned_candidate
from margin.service.comparison.job import ComparisonJob
from margin.service.comparison.leaders import add_ensembles
from margin.service.comparison.one_model import is_measured, try_until_one_is_measured
from margin.service.comparison.result import Comparison
from margin.service.comparison_request import HowToRun

__all__ = ["JobTrials", "add_tuned", "screening_order"]

#: Fraction of a budget that is reserved for tuning, if requested; how many leaders are tuned.
TUNING, TUNED = 0.4, 3
#: Parts of a fold's training rows, and folds, of the learning curve; the seconds or the part of the rest it may cost.
CURVE_PARTS, CURVE_FOLDS, CURVE_SECONDS, CURVE_FRACTION = (0.125, 0.25, 0.5, 1.0), 3, 10.0, 0.25
#: Where time may run out, these come first: boosting, so that however short it is the winner is what a user would have
#: taken without a comparison; then cheap ones, and those that win most often.
EARLY = (
    "hist-gradient-boosting", "logistic-regression", "ridge", "linear-regression", "random-forest", "decision-tree",
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


def add_tuned(job: ComparisonJob) -> list[Candidate]:
    """The three best models that have something to search, as candidates that search; trials of others are dropped."""
    setup = job.setup
    if not setup.request.tune:
        return []
    by_name = {candidate.name: candidate for candidate in job.candidates}
    ranked = [s.model for s in job.result().standings if s.status == "ranked" and s.model in by_name]
    candidates: list[Candidate] = []
    for name in (name for name in ranked if name != BASELINE):
        settings = setup.request.tune, setup.seed, setup.folder / "searches"
        tuned = tuned_candidate(by_name[name], setup.plan, setup.metric, *settings)
        if tuned is not None and len(candidates) < TUNED:
            candidates.append(tuned)
    names = [candidate.name for candidate in candidates]
    job.trials[:] = [t for t in job.trials if t.model in names or not t.model.startswith("tuned-")]
    job.candidates += candidates
    return candidates


class JobTrials:
    """The trials of one start of a comparison."""

    def __init__(self, job: ComparisonJob, how: HowToRun, stop: threading.Event):
        self.job, self.stop, self.plan, self.metric = job, stop, job.setup.plan, job.setup.metric
        self.request, self.started = job.setup.request, job.started
        self.used_before = float(job.setup.run.manifest.get("comparing_seconds", 0.0))
        seconds = job.setup.budget
        self.budget = None if seconds is None else Budget(seconds, self.used_before, started=self.started)
        # A process for which there is no trial would only be started and ended; tuned leaders come on top.
        trials = (len(job.candidates) + (TUNED if self.request.tune else 0)) * job.setup.n_folds
        jobs = min(how.n_jobs or available(), trials)
        self._open = partial(open_workers, job.candidates, job.trial_data, jobs, limited=self.budget is not None)
        self._cluster = how.cluster
        self._workers: Workers | None = None
        self._at_home: Workers | None = None

    def workers(self) -> Workers:
        """Opened when they are first needed."""
        if self._workers is None:
            self._workers = self._open() if self._cluster is None else self._open(cluster=self._cluster)
            self.job.n_jobs = self._workers.n_jobs
        return self._workers

    def workers_at_home(self) -> Workers:
        """Those that can write into the folder of the comparison: on this machine, whoever runs the other trials."""
        if self._cluster is None:
            return self.workers()
        if self._at_home is None:
            self._at_home = self._open()
        return self._at_home

    def close(self) -> None:
        for workers in (self._workers, self._at_home):
            if workers is not None:
                workers.close()

    def run(self) -> None:
        job = self.job
        names = [candidate.name for candidate in job.candidates]
        job.running = True
        try:
            job.tell()
            if self._needs_work(names) or self.request.tune:
                self._compare(self.workers(), names)
                self._tune(self.workers())
            self._one_at_least(names)
            job.running = False
            if self.request.ensembles and not self.stop.is_set():
                add_ensembles(job)
            self._measure_curve()
        finally:
            job.running = False
        job.tell()

    def _needs_work(self, names: list[str]) -> bool:
        done = {trial.key for trial in self.job.trials}
        return any(
            (name, FOLD, fold, len(train)) not in done
            for name in names
            if name not in self.job.given_up
            for fold, (train, _) in enumerate(self.plan.folds)
        )

    def _compare(self, workers: Workers, names: list[str]) -> None:
        """All models on all folds, or as far as the budget allows."""
        job = self.job
        keep = RESERVE + (TUNING if self.request.tune else 0.0)
        common: dict[str, Any] = {"stop": self.stop, "given_up": job.given_up, "keep": keep}
        if self.budget is not None:
            names = screening_order(names)
            common |= {"metric": self.metric, "spared": [BASELINE]}
            if rungs(len(self.plan.folds[0][0])):
                self._take(screen(workers, names, self.plan, job.trials, budget=self.budget, **common))
                self._revive(names)
        self._take(run_folds(workers, names, self.plan, job.trials, **common, budget=self.budget))
        if self.budget is not None and not self.stop.is_set():
            reason = f"not reached within {seconds_text(self.budget.seconds)}"
            scored = {trial.model for trial in job.trials if trial.stage == FOLD and not trial.error}
            failed = {trial.model for trial in job.trials if trial.error and not trial.late}
            late = {trial.model: trial.error for trial in job.trials if trial.late and trial.model not in scored}
            unseen = {name: reason for name in names if name not in scored | failed}
            job.given_up.update({**unseen, **late, **job.given_up})

    def _revive(self, names: list[str]) -> None:
        """If all were too slow in screening, the best of them get their chance nevertheless; where a busy machine let
        none be measured, those that come first."""
        job = self.job
        ranked = promising([n for n in names if n != BASELINE], job.trials, self.metric)
        if not self.stop.is_set() and all(name in job.given_up for name in ranked):
            scored = {t.model for t in job.trials if self.metric.name in t.scores}
            for name in ([name for name in ranked if name in scored] or ranked)[:LEAST_KEPT]:
                job.given_up.pop(name, None)

    def _one_at_least(self, names: list[str]) -> None:
        """Where time was up before any model had a score, one is tried all the same, and then fitted to all rows."""
        job = self.job
        if self.budget is None or self.stop.is_set() or is_measured(job.trials, self.metric):
            return
        rest, before = (self.plan, job.trials, self.metric, self.stop), len(job.trials)
        self._take(try_until_one_is_measured(self.workers(), screening_order(names), *rest))
        for trial in job.trials[before:]:
            if trial.error:  # the board says that it failed, not that it was never reached
                job.given_up.pop(trial.model, None)
            else:
                over = seconds_text(self.budget.seconds)
                job.given_up[trial.model] = f"tried on {trial.n_train:,} rows only, when {over} were over"

    def _tune(self, workers: Workers) -> None:
        """Settings for the leaders, looked for inside each fold."""
        if not self.request.tune or self.stop.is_set():
            return
        candidates = add_tuned(self.job)
        for candidate in candidates:
            workers.add(candidate)
        names = [candidate.name for candidate in candidates]
        common: dict[str, Any] = {"stop": self.stop, "given_up": self.job.given_up, "budget": self.budget}
        self._take(run_folds(workers, names, self.plan, self.job.trials, **common))

    def _measure_curve(self) -> None:
        """The winner's learning curve on a few folds, if it costs little."""
        job, found = self.job, self.job.result()
        winner = found.winning_candidate
        if winner is None or self.stop.is_set():
            return
        deadline = None if self.budget is None else self.budget.deadline(self._reserve())
        tasks = list(_curve_tasks(found, deadline))
        done = {trial.key for trial in job.trials if trial.settings == winner.settings}
        todo = [task for task in tasks if task.key not in done]
        rows = sum(len(task.train) for task in todo)
        standing = next(s for s in found.standings if s.model == winner.name)
        cost = (standing.fit_seconds + 5 * standing.predict_seconds) * rows / max(standing.n_train, 1)
        allowed = max(CURVE_SECONDS, CURVE_FRACTION * (time.monotonic() - self.started))
        if self.budget is not None:
            allowed = min(allowed, self.budget.left(self._reserve()))
        requested = cost <= allowed if self.request.curve is None else self.request.curve
        if not todo or not requested or allowed <= 0:
            return
        self.workers().add(winner)
        self._take(self.workers().run(partial(next, iter(todo), None), self.stop))
        job.setup.kept.write_curve(job.trials)

    def _reserve(self) -> float:
        assert self.budget is not None
        names = [candidate.name for candidate in self.job.candidates]
        return reserve(names, self.plan, self.job.trials, self.metric, self.budget, self.workers().n_jobs)

    def _take(self, results: Iterable[Result] | Iterator[Result]) -> None:
        job, run = self.job, self.job.setup.run
        for trial, output in results:
            job.trials.append(trial)
            job.setup.kept.add(trial, output)
            seconds = self.used_before + time.monotonic() - self.started
            run.update(comparing_seconds=seconds, cut=job.given_up, cut_budget=job.setup.budget)
            job.tell()


def _curve_tasks(found: Comparison, deadline: float | None) -> Iterator[Task]:
    for fold, (train, test) in enumerate(found.plan.folds[:CURVE_FOLDS]):
        for fraction in CURVE_PARTS:
            part = found.plan.part(train, max(round(fraction * len(train)), 2), seed=fold)
            yield Task(found.winner, fold, part, test, CURVE, measures_training=True, deadline=deadline)
