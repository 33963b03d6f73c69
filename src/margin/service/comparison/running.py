"""From a request to a comparison: open the data, plan the folds, take up what a folder keeps, run what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from margin.runs import Run
from margin.selection import Trial, plan_folds
from margin.selection.schedule import seconds_text
from margin.service.cards import write_winners_card
from margin.service.changes import EXISTING, folder_for
from margin.service.comparison.candidates import candidates_for, margin_of, settings_tried
from margin.service.comparison.data import OpenedData, open_data
from margin.service.comparison.deciding import bounds_sentence, defined_metric, fewer_folds, requested_metric
from margin.service.comparison.job import Watch, restore, run_job
from margin.service.comparison.request import AUTO, ComparisonRequest, budget_seconds
from margin.service.comparison.result import Comparison
from margin.service.requests import BadRequest
from margin.service.sources import picture_facts

__all__ = ["open_comparison", "prepare", "run_comparison"]


def run_comparison(
    data: Any,
    y: Any,
    request: ComparisonRequest,
    *,
    out: Path | None,
    n_jobs: int | None = None,
    watch: Watch | None = None,
    started: float | None = None,
    existing: str = "refuse",
) -> Comparison:
    """Prepare, run what is missing, and save the winner fitted to all rows.

    A budget counts from ``started`` (of ``time.monotonic``), by default from now. Where the folder holds another
    comparison, ``existing`` says what happens: "refuse", "force" or "new".
    """
    if existing not in EXISTING:
        raise BadRequest(f"compare: existing must be one of {', '.join(EXISTING)}; got {existing!r}.")
    started = monotonic() if started is None else started
    comparison = prepare(data, y, request, out, existing)
    comparison.started = started  # reading the table is a part of what a budget pays for
    run_job(comparison, n_jobs, watch or (lambda _: None))
    if comparison.run.status == "finished":
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
    request = ComparisonRequest(**run.manifest["request"])
    comparison = prepare(run.manifest["data"], None, request, Path(folder))
    restore(comparison)
    return comparison


def prepare(data: Any, y: Any, request: ComparisonRequest, out: Path | None, existing: str = "refuse") -> Comparison:
    """Everything but the trials: rows, folds, candidates, and what an earlier start has kept."""
    request.check()
    opened = open_data(data, y, request)
    source, remarks = opened.source, opened.remarks
    decides = requested_metric(request, opened)
    assert source.y is not None
    try:
        plan = plan_folds(
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
    if len(plan.folds) < request.folds:
        remarks.append(fewer_folds(opened, plan))
    decides = defined_metric(decides, request, opened, plan)
    given = "spec" if isinstance(data, str | Path) else "arrays" if opened.source.table is None else "frame"
    identity, facts = _identity(opened, request)
    folder = None if out is None else folder_for(out, identity, facts, existing)
    comparison = Comparison(opened, request, decides, plan, folder, given)
    comparison.budget = budget_seconds(request.budget, *source.X.shape)
    if request.budget == AUTO and comparison.budget is not None:
        comparison.remarks.append(
            f"{len(source.X):,} rows of {source.X.shape[1]:,} columns: the comparison keeps to"
            f" {seconds_text(comparison.budget)};"
            " --budget 10m gives it more time, --budget none all it takes."
        )
    comparison.candidates, comparison.left_out = candidates_for(opened, request, decides)
    if (margin := margin_of(opened)) is not None:
        comparison.remarks.append(bounds_sentence(source.y, margin))
    _take_up(comparison, identity, facts)
    return comparison


def _identity(opened: OpenedData, request: ComparisonRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """What makes it this comparison, and what else its folder says about it."""
    source = opened.source
    identity = {"kind": "comparison", "data_hash": source.hash, "target": source.target, "task": source.task}
    facts = {"data": source.name, "task": source.task, "features": list(source.features), "rows": len(source.X)}
    facts.update(picture_facts(source))
    if opened.copies is not None:
        identity["copies"] = "in one fold"
    return {**identity, **request.identity}, facts


def _take_up(comparison: Comparison, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Create the folder or take it up again."""
    request = comparison.request
    comparison.run = Run.open(comparison.folder, identity, **facts)
    comparison.kept.run = comparison.run
    manifest = comparison.run.manifest
    if manifest.get("cut_budget") == comparison.budget:  # with another budget, what was given up is tried again
        # So is who failed, as in a trial: what was in the way may be gone.
        kept = {model: reason for model, reason in manifest.get("cut", {}).items() if not reason.startswith("failed")}
        comparison.given_up.update(kept)
    comparison.passed_over.update(manifest.get("passed_over", {}))
    settings = {candidate.name: candidate.settings for candidate in comparison.candidates}
    trials = comparison.kept.trials(settings, comparison.metric, comparison.plan, comparison.y)
    comparison.trials = [
        t for t in trials if t.model in settings or t.model in ("blend", "stack") or _tuned(t, request)
    ]
    comparison.run.update(
        classes=[str(label) for label in comparison.classes],
        metric=comparison.metric.name,
        folds=comparison.plan.sentence,
        seed=comparison.seed,
        given=comparison.given,
        request=request.as_dict(),
    )
    comparison.kept.write_plan(comparison.plan)


def _tuned(trial: Trial, request: ComparisonRequest) -> bool:
    """Whether the trial belongs to a search that this request repeats."""
    return trial.model.startswith("tuned-") and trial.settings == settings_tried(request.tune)
