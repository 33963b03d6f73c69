"""The work of a comparison, in order: screen, folds, tune, put leaders together, learning curve, judge, last fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from margin.metrics import metrics_of
from margin.runs import fingerprint, interruptible
from margin.selection import Budget, Candidate, Task, TrialData, open_workers, run_folds, screen
from margin.selection.comparison import RESERVE, Workers
from margin.selection.schedule import rungs, seconds_text
from margin.selection.trial import CURVE, FOLD, HELD_OUT, run_trial
from margin.selection.workers import Result
from margin.service.comparison.candidates import BASELINE, tuned_candidate
from margin.service.comparison.leaders import put_together
from margin.service.comparison.result import Comparison
from margin.store.models import library_versions, save

__all__ = ["Watch", "restore", "run_job"]

Watch = Callable[[Comparison], None]

#: Of a budget, what is kept for tuning when it is asked for; how many leaders are tuned.
TUNING, TUNED = 0.4, 3
#: Parts of a fold's training rows, and folds, of the learning curve; the seconds or the part of the rest it may cost.
CURVE_PARTS, CURVE_FOLDS, CURVE_SECONDS, CURVE_FRACTION = (0.125, 0.25, 0.5, 1.0), 3, 10.0, 0.25


def run_job(comparison: Comparison, n_jobs: int | None, watch: Watch) -> None:
    """Run what is missing; every trial is kept as soon as it is done. Ctrl-C leaves the best so far, fitted."""
    run = comparison.run
    with run.locked():
        run.update(status="running", versions=library_versions(), command=comparison.command, call=comparison.call)
        with interruptible() as stop:
            _Job(comparison, n_jobs, watch, stop).trials()
            comparison.kept.write_board(comparison.standings)
            run.update(remarks=comparison.remarks, cut=comparison.given_up, cut_budget=comparison.budget)
            stopped = stop.is_set()
            if not stopped:
                _judge(comparison)
                watch(comparison)
        _fit_winner(comparison, stopped)


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
    found: list[Candidate] = []
    for name in (name for name in ranked if name != BASELINE):
        settings = comparison.request.tune, comparison.seed
        tuned = tuned_candidate(by_name[name], comparison.plan, comparison.metric, *settings)
        if tuned is not None and len(found) < TUNED:
            found.append(tuned)
    names = [candidate.name for candidate in found]
    comparison.trials[:] = [t for t in comparison.trials if t.model in names or not t.model.startswith("tuned-")]
    comparison.candidates += found
    return found


class _Job:
    """The trials of one start of a comparison."""

    def __init__(self, comparison: Comparison, n_jobs: int | None, watch: Watch, stop: threading.Event):
        self.of, self.stop, self.watch = comparison, stop, watch
        self.used_before = comparison.seconds
        self.started = time.monotonic()
        self.budget = None if comparison.budget is None else Budget(comparison.budget, self.used_before)
        data = TrialData(comparison.X, comparison.y, _metrics(comparison), comparison.classes)
        self.open: Callable[[], Workers] = partial(
            open_workers, comparison.candidates, data, n_jobs, limited=self.budget is not None
        )

    def trials(self) -> None:
        comparison = self.of
        names = [candidate.name for candidate in comparison.candidates]
        comparison.running = True
        workers: Workers | None = None
        try:
            self.watch(comparison)
            if self._needs_work(names) or comparison.request.tune:
                workers = self.open()
                comparison.n_jobs = workers.n_jobs
                self._compare(workers, names)
                self._tune(workers)
            comparison.running = False
            if comparison.request.ensembles and not self.stop.is_set():
                put_together(comparison)
            workers = self._curve(workers)
        finally:
            comparison.running = False
            if workers is not None:
                workers.close()
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
        common = {"stop": self.stop, "given_up": comparison.given_up, "keep": keep, "budget": self.budget}
        if self.budget is not None and rungs(len(comparison.plan.folds[0][0])):
            rest = (comparison.plan, comparison.trials, comparison.metric)
            self._take(screen(workers, names, *rest, **common, spared=[BASELINE]))
        self._take(run_folds(workers, names, comparison.plan, comparison.trials, **common))
        if self.budget is not None and not self.stop.is_set():
            said = f"not reached within {seconds_text(self.budget.seconds)}"
            tried = {trial.model for trial in comparison.trials}
            scored = {trial.model for trial in comparison.trials if trial.stage == FOLD and not trial.error}
            late = {trial.model: trial.error for trial in comparison.trials if trial.late and trial.model not in scored}
            comparison.given_up.update(late)
            comparison.given_up.update({name: said for name in names if name not in tried | set(comparison.given_up)})

    def _tune(self, workers: Workers) -> None:
        """Settings for the leaders, looked for inside each fold."""
        comparison = self.of
        if not comparison.request.tune or self.stop.is_set():
            return
        found = _add_tuned(comparison)
        for candidate in found:
            workers.add(candidate)
        names = [candidate.name for candidate in found]
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

    def _curve(self, workers: Workers | None) -> Workers | None:
        """The winner's learning curve on a few folds, if it costs little."""
        comparison = self.of
        winner = comparison.winning_candidate
        if winner is None or self.stop.is_set():
            return workers
        tasks = list(_curve_tasks(comparison))
        done = {trial.key for trial in comparison.trials if trial.settings == winner.settings}
        todo = [task for task in tasks if task.key not in done]
        rows = sum(len(task.train) for task in todo)
        standing = next(s for s in comparison.standings if s.model == winner.name)
        cost = (standing.fit_seconds + 5 * standing.predict_seconds) * rows / max(standing.n_train, 1)
        allowed = max(CURVE_SECONDS, CURVE_FRACTION * (time.monotonic() - self.started))
        if self.budget is not None:
            allowed = min(allowed, self.budget.left(RESERVE))
        if not todo or cost > allowed or len(comparison.plan.folds) < 2:
            return workers
        workers = workers or self.open()
        workers.add(winner)
        queue = iter(todo)
        self._take(workers.run(lambda: next(queue, None), self.stop))
        comparison.kept.write_curve(comparison.trials)
        return workers

    def _take(self, results: Iterable[Result] | Iterator[Result]) -> None:
        comparison = self.of
        for trial, output in results:
            comparison.trials.append(trial)
            comparison.kept.add(trial, output)
            seconds = self.used_before + time.monotonic() - self.started
            comparison.run.update(comparing_seconds=seconds, cut=comparison.given_up, cut_budget=comparison.budget)
            self.watch(comparison)


def _metrics(comparison: Comparison) -> list:
    """All metrics of the task, and the one that decides if its options make it another."""
    entries = list(metrics_of(comparison.task))
    return entries if comparison.metric in entries else [comparison.metric, *entries]


def _curve_tasks(comparison: Comparison) -> Iterator[Task]:
    plan, winner = comparison.plan, comparison.winner
    for fold, (train, test) in enumerate(plan.folds[:CURVE_FOLDS]):
        for fraction in CURVE_PARTS:
            part = plan.part(train, max(round(fraction * len(train)), 2), seed=fold)
            yield Task(winner, fold, part, test, CURVE, measures_training=True)


def _judge(comparison: Comparison) -> None:
    """Fit the winner to the development rows and let the held-out ones judge it, once."""
    plan, winner = comparison.plan, comparison.winning_candidate
    if winner is None or not len(plan.held_out):
        return
    task = Task(winner.name, -1, plan.development, plan.held_out, HELD_OUT)
    known = any(t.key == task.key and t.settings == winner.settings for t in comparison.trials)
    if known and comparison.kept.judged_path.exists():
        return
    fitted: list = []
    data = TrialData(comparison.X, comparison.y, _metrics(comparison), comparison.classes)
    trial, output = run_trial(_keeping(winner, fitted), data, task)
    comparison.trials = [t for t in comparison.trials if t.key != task.key]
    comparison.trials.append(trial)
    if not trial.error:
        save(getattr(fitted[0], "best_", fitted[0]), comparison.kept.judged_path)
    comparison.kept.add(trial, output)


def _keeping(candidate: Candidate, made: list) -> Candidate:
    """The same candidate; what it makes is kept in ``made``."""

    def make_for(rows: object) -> object:
        made.append(candidate.make() if candidate.make_for is None else candidate.make_for(rows))  # type: ignore[arg-type]
        return made[-1]

    return Candidate(candidate.name, candidate.make, candidate.settings, make_for)


def _fit_winner(comparison: Comparison, stopped: bool) -> None:
    """Fit the winner to all rows, as ``margin fit`` would: continued after a kill, trained once."""
    run, winner = comparison.run, comparison.winning_candidate
    if winner is None:
        run.update(status="interrupted" if stopped else "failed")
        return
    model = _final_model(comparison, winner)
    facts = {"model": winner.name, "fingerprint": fingerprint(model)}
    known = run.manifest.get("winner", {})
    if known != {**facts, "finished": True} or not run.model_path.exists():
        if known.get("fingerprint") != facts["fingerprint"]:  # more models or another metric: another one wins
            run.forget_fit()
        run.update(winner={**facts, "finished": False})
        with interruptible() as stop:
            run.fit(model, comparison.X, comparison.y, stop=stop)
        if run.status == "interrupted":
            return
    run.update(winner={**facts, "finished": True}, status="interrupted" if stopped else "finished")


def _final_model(comparison: Comparison, winner: Candidate) -> object:
    """The winner, unfitted; a tuned one with the settings that a search over all rows finds."""
    if winner.make_for is None:
        return winner.make()
    import numpy as np
    from sklearn.base import clone

    tuned = winner.make_for(np.arange(len(comparison.y)))
    tuned.fit(comparison.X, comparison.y)
    setting = {name.rpartition("__")[2]: value for name, value in tuned.setting_.items()}
    found = ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )
    comparison.remarks.append(f"{winner.name} searched over all rows: {found or 'its defaults are best'}.")
    return clone(tuned.model).set_params(**tuned.setting_)
