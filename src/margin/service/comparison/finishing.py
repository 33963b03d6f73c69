"""After the trials: held-out rows judge the winner, and it is fitted to all rows; who fails makes way for the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.metrics import Metric, metrics_of
from margin.runs import fingerprint, interruptible
from margin.selection import Candidate, Output, Task, Trial, TrialData
from margin.selection.trial import HELD_OUT, run_trial, sentence_of
from margin.service.comparison.result import Comparison
from margin.store.models import save

__all__ = ["Watch", "add_judgement", "announce", "fitted", "is_judged", "judged", "metrics_for", "settings_found"]

Watch = Callable[[Comparison], None]


def metrics_for(comparison: Comparison) -> list[Metric]:
    """All metrics of the task, and the one that decides if its options make it another."""
    entries = list(metrics_of(comparison.task))
    return entries if comparison.metric in entries else [comparison.metric, *entries]


def announce(comparison: Comparison, stage: str, watch: Watch) -> None:
    """Show what is done now."""
    comparison.stage = stage
    watch(comparison)


def judged(comparison: Comparison, watch: Watch) -> bool:
    """Fit the winner to the development rows and let the held-out ones judge it, once; False if it fails at that."""
    plan, winner = comparison.plan, comparison.winning_candidate
    if winner is None or not len(plan.held_out) or is_judged(comparison, winner):
        return True
    task = Task(winner.name, -1, plan.development, plan.held_out, HELD_OUT)
    announce(comparison, f"{winner.name} is judged on {len(plan.held_out):,} rows held out", watch)
    made: list[Any] = []
    data = TrialData(comparison.X, comparison.y, metrics_for(comparison), comparison.classes)
    trial, output = run_trial(_keeping(winner, made), data, task)
    if trial.error:
        comparison.given_up[winner.name] = f"failed on all development rows: {trial.error}"
        return False
    save(getattr(made[0], "best_", made[0]), comparison.kept.judged_path)
    add_judgement(comparison, trial, output)
    return True


def is_judged(comparison: Comparison, winner: Candidate) -> bool:
    """Whether the held-out rows have judged this winner before, and what was fitted for it is kept."""
    known = any(t.stage == HELD_OUT and _same(t, winner) for t in comparison.trials)
    facts = {"model": winner.name, "settings": winner.settings}
    return known and comparison.run.manifest.get("judged") == facts and comparison.kept.judged_path.exists()


def add_judgement(comparison: Comparison, trial: Trial, output: Output | None) -> None:
    """Keep the score on the held-out rows, in place of an earlier one of the same model."""
    comparison.trials = [
        t for t in comparison.trials if t.stage != HELD_OUT or (t.model, t.settings) != (trial.model, trial.settings)
    ]
    comparison.trials.append(trial)
    comparison.kept.add(trial, output)
    comparison.run.update(judged={"model": trial.model, "settings": trial.settings})


def _same(trial: Trial, candidate: Candidate) -> bool:
    return (trial.model, trial.settings) == (candidate.name, candidate.settings) and not trial.error


def _keeping(candidate: Candidate, made: list[Any]) -> Candidate:
    """The same candidate; what it makes is kept in ``made``."""

    def make_for(rows: np.ndarray) -> Any:
        made.append(candidate.make() if candidate.make_for is None else candidate.make_for(rows))
        return made[-1]

    return Candidate(candidate.name, candidate.make, candidate.settings, make_for)


def fitted(comparison: Comparison, stopped: bool, watch: Watch) -> bool:
    """Fit the winner to all rows, as ``margin fit`` would: continued after a kill, trained once; False if it fails."""
    run, winner = comparison.run, comparison.winning_candidate
    if winner is None:
        run.update(status="interrupted" if stopped else "failed")
        return True
    stage = f"{winner.name} is fitted on all rows"
    announce(comparison, f"stopped; the best so far, {stage}; Ctrl-C ends that too" if stopped else stage, watch)
    try:
        _fit(comparison, winner, stopped)
    except OSError:  # a full disk is no fault of the model
        raise
    except Exception as error:
        comparison.given_up[winner.name] = f"failed on all rows: {sentence_of(error)}"
        return False
    return True


def _fit(comparison: Comparison, winner: Candidate, stopped: bool) -> None:
    run = comparison.run
    known = run.manifest.get("winner", {})
    is_complete = known.get("finished") and run.model_path.exists()
    if (
        is_complete
        and winner.make_for is not None
        and (known["model"], known["settings"]) == (winner.name, winner.settings)
    ):
        run.update(status="interrupted" if stopped else "finished")  # a search that has ended is not begun again
        return
    model = _final_model(comparison, winner)
    facts = {"model": winner.name, "settings": winner.settings, "fingerprint": fingerprint(model)}
    if known != {**facts, "finished": True} or not run.model_path.exists():
        if known.get("fingerprint") != facts["fingerprint"]:  # more models or another metric: another one wins
            run.forget_fit()
        run.update(winner={**facts, "finished": False})
        with interruptible() as stop:
            run.fit(model, comparison.X, comparison.y, stop=stop)
        if run.status == "interrupted":
            return
    run.update(winner={**facts, "finished": True}, status="interrupted" if stopped else "finished")


def _final_model(comparison: Comparison, winner: Candidate) -> Any:
    """The winner, unfitted; a tuned one with the settings that a search over all rows finds."""
    if winner.make_for is None:
        return winner.make()
    from sklearn.base import clone

    tuned = winner.make_for(np.arange(len(comparison.y)))
    tuned.fit(comparison.X, comparison.y)
    comparison.remarks.append(f"{winner.name} {settings_found(tuned)}.")
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
