"""The end of a comparison with a budget: held-out rows judge the winner while it is fitted to all rows, both in time.

A winner whose last fits would outlast the budget makes way for the best one whose fits do not, and a remark says so. If
time was short even for that, the cheapest model is fitted: there is a model in the folder in any case.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from margin.selection import Budget, Candidate, Standing, Task
from margin.selection.comparison import Workers
from margin.selection.schedule import START_SECONDS, last_fits_seconds, seconds_text
from margin.selection.trial import HELD_OUT, LAST, Trial
from margin.service.comparison.finishing import add_judgement, is_judged, settings_found
from margin.service.comparison.job import ComparisonJob
from margin.service.comparison.result import Comparison
from margin.store.models import library_versions, save

__all__ = ["finish_in_time", "finishing_seconds"]

FOR_THE_REPORT = 0.06  # of a budget, what is left to whoever writes the report
#: What the last fit may take, as part of the budget, even if none is left: a worse model to save a second helps nobody.
OVERRUN = 0.05
MUCH_MORE = 4.0  # a last fit that takes so many times what was expected will take who knows how long
NO_MATTER = 1.0  # seconds by which the last fits of a better model may take longer than the quickest ones


def finish_in_time(job: ComparisonJob, workers: Any, budget: Budget, stop: threading.Event) -> None:
    """Judge and fit the best model that can be; ``workers()`` opens the processes in which that happens."""
    run = job.setup.run
    while not stop.is_set():
        _pass_over_the_dear(job, budget)
        winner = job.result().winning_candidate
        if winner is None:
            run.update(status="failed")
            return
        if _is_fitted(job, winner) or _fit(job, winner, workers(), budget, stop):
            if not stop.is_set():
                run.update(status="finished")
            return


def finishing_seconds(comparison: Comparison, standing: Standing) -> float:
    """About how long the last fit takes, by what the folds took; held-out rows judge it if time is left."""
    rows = len(comparison.y) / max(standing.n_train, 1)
    return last_fits_seconds(standing.fit_seconds, rows, comparison.n_jobs, judged=False)


def _affordable(budget: Budget) -> float:
    """Seconds that the last fit may be expected to take: what is left, and a little in any case."""
    return max(budget.left(FOR_THE_REPORT), 0.0) + _in_any_case(budget)


def _limit(comparison: Comparison, model: str) -> float:
    """Seconds of work after which a last fit is given up: many times what it was expected to take.

    That is no matter of the clock: on a busy machine the same model must win.
    """
    return MUCH_MORE * finishing_seconds(comparison, next(s for s in comparison.standings if s.model == model))


def _time_to_judge(comparison: Comparison, model: str, budget: Budget) -> dict[str, Any]:
    """Until when held-out rows may judge a model: the end of the budget, unless that is hardly any work.

    A machine that is busy with something else must not leave a winner of a few milliseconds without a judgement.
    """
    standing = next(s for s in comparison.standings if s.model == model)
    if finishing_seconds(comparison, standing) - START_SECONDS + standing.predict_seconds <= NO_MATTER:
        return {"limit": _limit(comparison, model)}
    return {"deadline": max(budget.deadline(FOR_THE_REPORT), budget.clock() + _in_any_case(budget))}


def _in_any_case(budget: Budget) -> float:
    return START_SECONDS + OVERRUN * budget.seconds


def _pass_over_the_dear(job: ComparisonJob, budget: Budget) -> None:
    """Mark leaders whose last fits would outlast the budget; if all are too dear, the best of the cheapest is left."""
    left = _affordable(budget)
    while (found := job.result()).winner and not _is_fitted(job, found.winning_candidate):
        ranked = [s for s in found.standings if s.model in found.eligible]
        costs = {s.model: finishing_seconds(found, s) for s in ranked}
        if costs[found.winner] <= left or len(costs) == 1:
            return
        if min(costs.values()) > left:
            quick = next(model for model in costs if costs[model] <= min(costs.values()) + NO_MATTER)
            dearer = [model for model in costs if model != quick]
        else:
            dearer = [found.winner]
        for model in dearer:
            job.passed_over[model] = f"its last fit would take about {seconds_text(costs[model])}"


def _is_fitted(job: ComparisonJob, winner: Candidate | None) -> bool:
    run = job.setup.run
    known = run.manifest.get("winner", {})
    if winner is None or not known.get("finished") or not run.model_path.exists():
        return False
    return (known["model"], known["settings"]) == (winner.name, winner.settings)


def _fit(job: ComparisonJob, winner: Candidate, workers: Workers, budget: Budget, stop: threading.Event) -> bool:
    """Both fits side by side; False if the model is not there at the end, and then another one must be."""
    found, run, plan = job.result(), job.setup.run, job.setup.plan
    run.forget_fit()
    run.update(winner=_facts(winner, finished=False), status="running", versions=library_versions())
    # The only one left is fitted even if that takes longer: it is the cheapest of all.
    limit = _limit(found, winner.name) if len(found.eligible) > 1 else None
    everything, nothing = np.arange(len(found.y)), np.arange(0)
    data_hash = str(run.manifest["identity"].get("data_hash", ""))
    tasks = [Task(winner.name, -1, everything, nothing, LAST, limit, keep=_keep(run.model_path, data_hash))]
    if len(plan.held_out) and not is_judged(job, winner):
        keep = _keep(found.kept.judged_path, data_hash)
        until = _time_to_judge(found, winner.name, budget)
        tasks.append(Task(winner.name, -1, plan.development, plan.held_out, HELD_OUT, **until, keep=keep))
    judging = f" and judged on {len(plan.held_out):,} rows held out" if len(tasks) > 1 else ""
    job.announce(f"{winner.name} is fitted on {'all rows' if job.setup.drawn is None else 'the rows drawn'}{judging}")
    workers.add(winner)
    by_stage: dict[str, Trial] = {}
    for trial, output in workers.run(partial(next, iter(tasks), None), stop):
        by_stage[trial.stage] = trial
        if trial.stage == HELD_OUT and not trial.error:
            add_judgement(job, trial, output)
    return stop.is_set() or _settle(job, winner, by_stage)


def _settle(job: ComparisonJob, winner: Candidate, by_stage: dict[str, Trial]) -> bool:
    """Take note of what the last fits gave."""
    last, judgement = by_stage.get(LAST), by_stage.get(HELD_OUT)
    failed = next((t.error for t in (last, judgement) if t is not None and t.error and not t.late), "")
    if failed:
        job.given_up[winner.name] = f"failed on all rows: {failed}"
        return False
    if last is None or last.late:
        job.passed_over[winner.name] = f"its last fit {'was not done' if last is None else last.error}"
        return False
    if judgement is not None and judgement.late:
        job.remarks.append("The budget ended before the held-out rows had judged the winner.")
    if last.note:
        job.remarks.append(f"{winner.name} {last.note}.")
    job.setup.run.update(winner=_facts(winner, finished=True), seconds=last.fit_seconds)
    return True


def _facts(winner: Candidate, finished: bool) -> dict[str, Any]:
    """What ``finishing`` writes too, without the fingerprint: to make the model here would import all it needs."""
    return {"model": winner.name, "settings": winner.settings, "finished": finished}


def _keep(path: Path, data_hash: str) -> Any:
    return partial(_save, path, data_hash)


def _save(path: Path, data_hash: str, model: Any) -> str:
    """Write a fitted model; of one that searched, the best estimator with a remark on its settings."""
    save(getattr(model, "best_", model), path, data_hash=data_hash)
    return settings_found(model)
