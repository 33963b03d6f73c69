"""After the trials: held-out rows judge the winner, and it is fitted to all rows; who fails makes way for the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.runs import fingerprint, interruptible
from margin.selection import Candidate, Output, Task, Trial
from margin.selection.trial import HELD_OUT, run_trial, sentence_of
from margin.service.comparison.job import ComparisonJob
from margin.store.models import save

__all__ = ["add_judgement", "fit_winner", "is_judged", "judge_winner", "settings_found"]


def judge_winner(job: ComparisonJob) -> bool:
    """Fit the winner to the development rows and let the held-out ones judge it, once; False if it fails at that."""
    plan, winner = job.setup.plan, job.result().winning_candidate
    if winner is None or not len(plan.held_out) or is_judged(job, winner):
        return True
    task = Task(winner.name, -1, plan.development, plan.held_out, HELD_OUT)
    job.announce(f"{winner.name} is judged on {len(plan.held_out):,} rows held out")
    made: list[Any] = []
    trial, output = run_trial(_that_remembers(winner, made), job.trial_data, task)
    if trial.error:
        job.given_up[winner.name] = f"failed on all development rows: {trial.error}"
        return False
    save(getattr(made[0], "best_", made[0]), job.setup.kept.judged_path)
    add_judgement(job, trial, output)
    return True


def is_judged(job: ComparisonJob, winner: Candidate) -> bool:
    """Whether the held-out rows have judged this winner before, and what was fitted for it is kept."""
    known = any(t.stage == HELD_OUT and _is_of(t, winner) for t in job.trials)
    facts = {"model": winner.name, "settings": winner.settings}
    return known and job.setup.run.manifest.get("judged") == facts and job.setup.kept.judged_path.exists()


def add_judgement(job: ComparisonJob, trial: Trial, output: Output | None) -> None:
    """Keep the score on the held-out rows, in place of an earlier one of the same model."""
    job.trials = [
        t for t in job.trials if t.stage != HELD_OUT or (t.model, t.settings) != (trial.model, trial.settings)
    ]
    job.trials.append(trial)
    job.setup.kept.add(trial, output)
    job.setup.run.update(judged={"model": trial.model, "settings": trial.settings})


def _is_of(trial: Trial, candidate: Candidate) -> bool:
    return (trial.model, trial.settings) == (candidate.name, candidate.settings) and not trial.error


def _that_remembers(candidate: Candidate, made: list[Any]) -> Candidate:
    """The same candidate; what it makes is kept in ``made``."""

    def make_for(rows: np.ndarray) -> Any:
        made.append(candidate.make() if candidate.make_for is None else candidate.make_for(rows))
        return made[-1]

    return Candidate(candidate.name, candidate.make, candidate.settings, make_for)


def fit_winner(job: ComparisonJob, stopped: bool) -> bool:
    """Fit the winner to all rows, as ``margin fit`` would: continued after a kill, trained once; False if it fails."""
    run, winner = job.setup.run, job.result().winning_candidate
    if winner is None:
        run.update(status="interrupted" if stopped else "failed")
        return True
    stage = f"{winner.name} is fitted on {'all rows' if job.setup.drawn is None else 'the rows drawn'}"
    job.announce(f"stopped; the best so far, {stage}; Ctrl-C ends that too" if stopped else stage)
    try:
        _fit(job, winner, stopped)
    except OSError:  # a full disk is no fault of the model
        raise
    except Exception as error:
        job.given_up[winner.name] = f"failed on all rows: {sentence_of(error)}"
        return False
    return True


def _fit(job: ComparisonJob, winner: Candidate, stopped: bool) -> None:
    run = job.setup.run
    known = run.manifest.get("winner", {})
    is_complete = known.get("finished") and run.model_path.exists()
    if (
        is_complete
        and winner.make_for is not None
        and (known["model"], known["settings"]) == (winner.name, winner.settings)
    ):
        run.update(status="interrupted" if stopped else "finished")  # a search that has ended is not begun again
        return
    model = _final_model(job, winner)
    facts = {"model": winner.name, "settings": winner.settings, "fingerprint": fingerprint(model)}
    if is_complete and {**known, **facts} == known:  # more may be known, of a fit on all rows of a stream
        run.update(status="interrupted" if stopped else "finished")
        return
    if known.get("fingerprint") != facts["fingerprint"]:  # more models or another metric: another one wins
        run.forget_fit()
    run.update(winner={**facts, "finished": False})
    with interruptible() as stop:
        run.fit(model, job.setup.X, job.setup.y, stop=job.halt or stop)
    if run.status != "interrupted":
        run.update(winner={**facts, "finished": True}, status="interrupted" if stopped else "finished")


def _final_model(job: ComparisonJob, winner: Candidate) -> Any:
    """The winner, unfitted; a tuned one with the settings that a search over all rows finds."""
    if winner.make_for is None:
        return winner.make()
    from sklearn.base import clone

    tuned = winner.make_for(np.arange(len(job.setup.y)))
    tuned.fit(job.setup.X, job.setup.y)
    job.remarks.append(f"{winner.name} {settings_found(tuned)}.")
    return clone(tuned.model).set_params(**tuned.setting_)


def settings_found(model: Any) -> str:
    """The settings that a search over all rows has found, as text; empty for a model that does not search."""
    if not hasattr(model, "setting_"):
        return ""
    setting = {name.rpartition("__")[2]: value for name, value in model.setting_.items()}
    settings = ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )
    return f"searched over all rows: {settings or 'its defaults are best'}"
