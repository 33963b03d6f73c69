"""From a request to a comparison: open the data, plan the folds, take up what a folder keeps, run what is missing."""

from __future__ import annotations

import threading
from pathlib import Path
from time import monotonic
from typing import Any

from margin.data.drift import column_summaries
from margin.metrics import Metric
from margin.runs import Run, interruptible
from margin.selection import FoldPlan, Trial, plan_folds
from margin.selection.schedule import seconds_text
from margin.service.cards import write_winners_card
from margin.service.changes import EXISTING, folder_for
from margin.service.comparison.all_rows import fit_on_all_rows
from margin.service.comparison.candidates import candidates_for, margin_of, settings_tried
from margin.service.comparison.data import OpenedData, open_data
from margin.service.comparison.deciding import (
    bounds_sentence,
    choose_metric,
    fewer_folds,
    rarest_class,
    replace_undefined_metric,
)
from margin.service.comparison.finishing import fit_winner, judge_winner
from margin.service.comparison.folder import ComparisonFolder
from margin.service.comparison.job import ComparisonJob, Oversight
from margin.service.comparison.last_fits import finish_in_time
from margin.service.comparison.leaders import BLEND, STACK, add_ensembles
from margin.service.comparison.result import Comparison
from margin.service.comparison.setup import ComparisonSetup
from margin.service.comparison.trials import JobTrials, add_tuned
from margin.service.comparison_request import AUTO, ComparisonRequest, HowToRun
from margin.service.requests import BadRequest
from margin.service.sources import picture_facts
from margin.store.models import library_versions

__all__ = ["open_comparison", "prepare", "restore", "run_comparison", "run_job"]


def run_comparison(
    data: Any,
    y: Any,
    request: ComparisonRequest,
    *,
    out: Path | None,
    existing: str = "refuse",
    how: HowToRun | None = None,
    oversight: Oversight | None = None,
) -> Comparison:
    """Prepare, run what is missing, and save the winner fitted to all rows.

    Where the folder holds another comparison, ``existing`` says what happens: "refuse", "force" or "new".
    """
    how, oversight = how or HowToRun(), oversight or Oversight()
    if existing not in EXISTING:
        raise BadRequest(f"compare: existing must be one of {', '.join(EXISTING)}; got {existing!r}.")
    # Reading the table is a part of what a budget pays for.
    job = prepare(data, y, request, out, existing, oversight.started)
    job.watch, job.halt = oversight.watch, oversight.halt
    comparison = run_job(job, how, oversight.stop)
    if comparison.status == "finished":
        write_winners_card(comparison)
    return comparison


def open_comparison(folder: str | Path) -> Comparison:
    """The comparison that a folder keeps, as far as it came; its data file is read again, nothing is fitted."""
    run = Run.existing(folder)
    kind = run.manifest["identity"].get("kind")
    if kind != "comparison":
        instead = "; its board is drawn in board.png" if kind == "generative comparison" else ""
        raise BadRequest(f"{folder} holds a {kind or 'fit'}, which has no report{instead}.")
    if run.manifest.get("given") != "spec":
        raise BadRequest(f"{folder} holds a comparison of a data frame; margin.compare with out= opens it again.")
    job = prepare(run.manifest["data"], None, ComparisonRequest(**run.manifest["request"]), Path(folder))
    restore(job)
    return job.result()


def prepare(
    data: Any,
    y: Any,
    request: ComparisonRequest,
    out: Path | None,
    existing: str = "refuse",
    started: float | None = None,
) -> ComparisonJob:
    """Everything but the trials: rows, folds, candidates, and what an earlier start has kept."""
    started = monotonic() if started is None else started
    request.check()
    opened = open_data(data, y, request)
    source, remarks = opened.source, opened.remarks
    decides = choose_metric(request, opened)
    plan = _plan(opened, request, decides)
    if len(plan.folds) < request.folds:
        remarks.append(fewer_folds(opened, plan))
    if rare := rarest_class(plan):
        remarks.append(rare)
    decides = replace_undefined_metric(decides, request, opened, plan)
    given = _describe_source(data, opened)
    identity, facts = _identity(opened, request)
    folder = None if out is None else folder_for(out, identity, facts, existing)
    candidates, left_out = candidates_for(opened, request, decides)
    kept = ComparisonFolder(folder, identity, facts, opened.classes)
    plan = kept.plan_or(plan, len(opened.source.X))
    setup = ComparisonSetup(opened, request, decides, plan, kept, given, str(folder) if folder else "")
    if request.budget == AUTO and setup.budget is not None:
        remarks.append(
            f"{len(source.X):,} rows of {source.X.shape[1]:,} columns: the comparison keeps to"
            f" {seconds_text(setup.budget)};"
            " --budget 10m gives it more time, --budget none all it takes."
        )
    if (margin := margin_of(opened)) is not None:
        remarks.append(bounds_sentence(setup.y, margin))
    job = ComparisonJob(setup, candidates, left_out, remarks, started)
    _take_up(job)
    return job


def _describe_source(data: Any, opened: OpenedData) -> str:
    """How the data came."""
    if isinstance(data, str | Path):
        return "spec"
    if opened.drawn is not None:
        return "stream"
    return "arrays" if opened.source.table is None else "frame"


def _plan(opened: OpenedData, request: ComparisonRequest, decides: Metric) -> FoldPlan:
    source = opened.source
    assert source.y is not None
    try:
        return plan_folds(
            source.y,
            source.task,
            n_folds=request.folds,
            held_out=request.held_out,
            groups=opened.groups,
            times=opened.times,
            label_name=opened.label_name,
            both_classes=decides.ranks,
            copies=opened.copies,
            seed=request.seed,
        )
    except ValueError as error:
        raise BadRequest(f"compare: {str(error).partition(': ')[2]}") from None


def _identity(opened: OpenedData, request: ComparisonRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """What makes it this comparison, and what else its folder says about it."""
    source = opened.source
    rows = {} if opened.drawn is None else {"rows_drawn": len(opened.drawn.table)}
    identity = {"kind": "comparison", "data_hash": source.hash, **rows, "target": source.target, "task": source.task}
    facts = {"data": source.name, "task": source.task, "features": list(source.features), "rows": len(source.X)}
    facts.update(picture_facts(source))
    if opened.copies is not None:
        identity["copies"] = "in one fold"
    decides = {**identity, **request.identity}
    return {**decides, **({"group": opened.found_group} if opened.found_group else {})}, facts


def _take_up(job: ComparisonJob) -> None:
    """Take up what an earlier start has kept, and write what the folder says of this one."""
    setup = job.setup
    manifest = setup.run.manifest
    if manifest.get("cut_budget") == setup.budget:  # with another budget, what was given up is tried again
        # So is who failed, as in a trial: what was in the way may be gone.
        kept = {model: reason for model, reason in manifest.get("cut", {}).items() if not reason.startswith("failed")}
        job.given_up.update(kept)
    job.passed_over.update(manifest.get("passed_over", {}))
    settings = {candidate.name: candidate.settings for candidate in job.candidates}
    trials = setup.kept.trials(settings, setup.metric, setup.plan, setup.y)
    job.trials = [t for t in trials if t.model in settings or t.model in (BLEND, STACK) or _is_tuned(t, setup.request)]
    setup.run.update(
        classes=[str(label) for label in setup.classes],
        metric=setup.metric.name,
        folds=setup.plan.sentence,
        seed=setup.seed,
        given=setup.given,
        request=setup.request.as_dict(),
        columns_seen=column_summaries(setup.X, setup.features),
    )
    setup.kept.write_plan(setup.plan)


def _is_tuned(trial: Trial, request: ComparisonRequest) -> bool:
    """Whether the trial belongs to a search that this request repeats."""
    return trial.model.startswith("tuned-") and trial.settings == settings_tried(request.tune)


def run_job(job: ComparisonJob, how: HowToRun, stop: threading.Event | None = None) -> Comparison:
    """Run what is missing; every trial is kept as soon as it is done. Ctrl-C, or ``stop`` that is set by whoever runs
    this in a thread, leaves the best so far, fitted."""
    setup, run = job.setup, job.setup.run
    job.passed_over.clear()
    with run.lock():
        run.update(status="running", versions=library_versions(), command=setup.command, call=setup.call)
        with interruptible() as interrupted:
            stopping = stop or interrupted
            trials = JobTrials(job, how, stopping)
            try:
                trials.run()
                setup.kept.write_board(job.result().standings)
                run.update(remarks=list(job.remarks), cut=job.given_up, cut_budget=setup.budget)
                if trials.budget is not None and not stopping.is_set():
                    finish_in_time(job, trials.workers_at_home, trials.budget, stopping)
            finally:
                trials.close()
            stopped = stopping.is_set()
            while trials.budget is None and not stopped and not judge_winner(job):
                pass  # who fails now is out, and the next best is judged
        while (trials.budget is None or stopped) and not fit_winner(job, stopped):
            pass
        fit_on_all_rows(job, stopped, how.cluster)
        setup.kept.write_board(job.result().standings)
        run.update(remarks=list(job.remarks), cut=job.given_up, passed_over=job.passed_over)
    return job.result()


def restore(job: ComparisonJob) -> None:
    """The candidates and rows that follow from kept trials: tuned leaders, blend and stack."""
    add_tuned(job)
    if job.setup.request.ensembles and job.setup.run.status != "running":
        add_ensembles(job)
