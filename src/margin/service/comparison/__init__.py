"""Every suitable model of the catalog on one table, with evidence, surviving a kill.

To read it in order: ``request`` (what is asked for), ``data`` (rows and remarks), ``copies`` (rows that repeat),
``deciding`` (the metric), ``candidates`` (models), ``folder`` (what is kept), ``result`` (what a user gets),
``leaders`` (blend and stack), ``finishing`` (judgement and last fit) and ``last_fits`` (the same within a budget),
``one_model`` (where none was measured), ``job`` (all the work), ``showing``. ``generative`` compares models that draw
new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from margin.runs import Run
from margin.selection import Trial, plan_folds
from margin.selection.schedule import seconds_text
from margin.service.cards import write_winners_card
from margin.service.changes import EXISTING, folder_for
from margin.service.comparison.candidates import BASELINE, candidates_for, settings_tried
from margin.service.comparison.data import OpenedData, open_data
from margin.service.comparison.deciding import PRIMARY, asked_metric, defined_metric, fewer_folds
from margin.service.comparison.job import Watch, restore, run_job
from margin.service.comparison.request import AUTO, ComparisonRequest, budget_seconds
from margin.service.comparison.result import Comparison
from margin.service.requests import BadRequest
from margin.service.sources import picture_facts

if TYPE_CHECKING:
    from margin.service.comparison.generative import GenerativeComparison

__all__ = ["BASELINE", "PRIMARY", "Comparison", "ComparisonRequest", "compare", "open_comparison", "run_comparison"]


@overload
def compare(
    data: Any,
    *,
    generative: Literal[True],
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    held_out: float | None = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    budget: str | float | None = AUTO,
    seed: int = 0,
    out: str | Path | None = None,
    watch: Callable[[GenerativeComparison], None] | None = None,
) -> GenerativeComparison: ...
@overload
def compare(
    data: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    folds: int = 5,
    held_out: float | None = None,
    group: Any = None,
    time: Any = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
    budget: str | float | None = AUTO,
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    generative: Literal[False] = False,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Watch | None = None,
) -> Comparison: ...
def compare(
    data: Any,
    y: Any = None,
    *,
    target: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    models: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    folds: int = 5,
    held_out: float | None = None,
    group: Any = None,
    time: Any = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
    budget: str | float | None = AUTO,
    tune: int = 0,
    ensembles: bool = True,
    curve: bool | None = None,
    seed: int = 0,
    generative: bool = False,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    existing: str = "refuse",
    watch: Any = None,
) -> Comparison | GenerativeComparison:
    """Compare every suitable model on a table: cross-validated scores with intervals, costs, failures as rows.

    Parameters
    ----------
    data : data frame, path, name of a set, or array
        The table; a data frame of pandas or polars, a file, a bundled set such as "iris", or X with ``y``.
    y : array, optional
        The target where it is not a column of ``data``.
    target : str, optional
        The column to predict.
    task : {"classification", "regression"}, optional
        By default found from the target.
    metric : str, optional
        What decides, by default accuracy (roc_auc or balanced_accuracy where a class is rare) or rmse. Any name of
        ``margin.metrics.REGISTRY``, with options as in "fbeta:beta=2".
    models, exclude : list of str
        Only these models of the catalog; all but these.
    settings : mapping or list of str
        ``{"svc": {"C": 10}}`` or ``["svc.C=10"]``.
    folds : int
        Folds of the cross-validation.
    held_out : float, optional
        Fraction of the rows that judge the winner once; by default a fifth from 500 rows on. 0 for none.
    group, time : str or array, optional
        Column (or labels) of rows that belong together, or by which rows are ordered: folds respect it.
    ignore : list of str
        Columns to leave out.
    kinds : mapping, optional
        Column -> "number", "flag", "category", "text" or "date", where it was read otherwise.
    missing_target : {"drop", "class", "error"}
        What happens to rows without a target.
    budget : str or float, optional
        Time for all of it, such as "5m" or seconds; "auto" is three minutes above 5,000 rows or two million cells;
        None is no limit.
    tune : int
        Number of settings to try for each of the three leaders, inside each fold.
    ensembles : bool
        Whether the leaders are also put together as a blend and a stack.
    curve : bool, optional
        Whether the winner's learning curve is measured; by default if that costs little.
    seed, n_jobs : int
        Seed of folds and models; processes, by default one per core.
    generative : bool
        Whether models that draw new rows are compared, by the density of rows they have not seen and by their samples.
        All columns are described and none is predicted, so only ``models``, ``exclude``, ``settings``, ``held_out`` (a
        quarter by default), ``ignore``, ``kinds``, ``budget``, ``seed``, ``out`` and ``watch`` act.
    out : path, optional
        Folder that keeps everything: killed, the same call continues. A temporary one by default.
    existing : {"refuse", "new", "force"}
        What happens if ``out`` holds another comparison (other data, folds or seed): refuse it with what differs, keep
        it and take a folder beside it, or start it over.
    watch : function, optional
        Called with the comparison after every trial.

    Examples
    --------
    >>> found = compare("iris", models=["gaussian-nb", "k-neighbors-classifier"], folds=3, n_jobs=1)
    >>> found.winner in list(found.board["model"]), found.best_.predict(found.X[:2]).tolist()
    (True, [0, 0])
    """
    request = ComparisonRequest(
        None if target is None else str(target), task, metric, _names("models", models), _names("exclude", exclude),
        (settings,) if isinstance(settings, str) else settings, folds, held_out, group, time, _names("ignore", ignore),
        dict(kinds or {}), missing_target, budget, tune, ensembles, curve,
        int(seed) if isinstance(seed, np.integer) else seed, generative,
    )  # fmt: skip
    folder = None if out is None else Path(out)
    if generative:
        idle = {"y": y is not None, "n_jobs": n_jobs is not None, "existing": existing != "refuse"}
        if any(idle.values()):
            raise BadRequest(f"compare: {next(name for name in idle if idle[name])} does not act on generative models.")
        from margin.service.comparison.generative import run_generative

        return run_generative(data, request, out=folder, watch=watch)
    return run_comparison(data, y, request, out=folder, n_jobs=n_jobs, watch=watch, existing=existing)


def _names(argument: str, given: str | Sequence[Any]) -> tuple[str, ...]:
    """Names as they may be given: one alone, or several; columns of a frame may be called by numbers."""
    names = (given,) if isinstance(given, str) else tuple(given)
    unnamed = next((name for name in names if hasattr(name, "get_params")), None)
    if unnamed is not None:
        cls = type(unnamed).__name__ if not isinstance(unnamed, type) else unnamed.__name__
        raise BadRequest(
            f"compare: {argument} must be names of the catalog, such as 'gaussian-nb'; got a {cls}. settings= sets"
            " parameters."
        )
    return tuple(map(str, names))


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
    decides = asked_metric(request, opened)
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
    comparison.candidates, comparison.left_out = candidates_for(opened, request)
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
        comparison.given_up.update(manifest.get("cut", {}))
    comparison.passed_over.update(manifest.get("passed_over", {}))
    settings = {candidate.name: candidate.settings for candidate in comparison.candidates}
    kept = comparison.kept.trials(settings, comparison.metric, comparison.plan, comparison.y)
    comparison.trials = [t for t in kept if t.model in settings or t.model in ("blend", "stack") or _tuned(t, request)]
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
    """Whether the trial is of a search that is asked for again."""
    return trial.model.startswith("tuned-") and trial.settings == settings_tried(request.tune)
