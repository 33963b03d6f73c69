"""Every generative model of the catalog on one table: by held-out density where it has one, by its samples otherwise.

To read it in order: ``columns`` (one measure for all densities), ``data`` (rows), ``measuring`` (one model),
``budget`` (its time), ``standings`` (the order), ``keeping`` (the winner in the folder), ``result`` (what a user gets),
``showing``; here is the work.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from margin import catalog
from margin.runs import Run, interruptible
from margin.selection.schedule import seconds_text
from margin.service.comparison.candidates import names_of, settings_of
from margin.service.comparison.generative.budget import TimeShares, TooDear
from margin.service.comparison.generative.data import open_rows
from margin.service.comparison.generative.measuring import Measured, measure, measure_copies, settings_text
from margin.service.comparison.generative.result import COPIES, GenerativeComparison
from margin.service.comparison_request import ComparisonRequest, budget_seconds
from margin.service.requests import BadRequest

__all__ = ["GenerativeComparison", "generators", "run_generative"]

Watch = Callable[[GenerativeComparison], None]
ACTS = ("generative", "models", "exclude", "settings", "held_out", "ignore", "kinds", "budget", "seed")
HELD_OUT = 0.25
LEAST_HELD_OUT = 10  # rows by which anything can be judged
TRIALS = "generators.jsonl"


def generators(data: str = "table") -> dict[str, catalog.Entry]:
    """The catalog's models that draw new rows: all whose class has ``sample``."""
    kinds = {"table", data}
    return {
        e.name: e
        for e in catalog.ENTRIES
        if e.data in kinds and callable(getattr(catalog.class_of(e.name), "sample", None))
    }


def run_generative(
    data: Any,
    request: ComparisonRequest,
    *,
    out: Path | None = None,
    watch: Watch | None = None,
    started: float | None = None,
) -> GenerativeComparison:
    """Measure every generative model that is not measured yet; the board, a picture and new rows end in the folder.

    A budget counts from ``started`` (of ``time.monotonic``), by default from now.
    """
    started = monotonic() if started is None else started
    comparison = prepare(data, request, out)
    comparison.budget = TimeShares(budget_seconds(request.budget, comparison.data.n_rows), started)
    watch = watch or (lambda _: None)
    run = comparison.run
    with run.lock():
        run.update(status="running", command=comparison.command)
        with interruptible() as stop:
            _measure_all(comparison, stop.is_set, watch)
            status = "interrupted" if stop.is_set() else "finished" if comparison.winner else "failed"
        if status != "interrupted":
            comparison.write()
        run.update(status=status, remarks=comparison.remarks)
    return comparison


def prepare(data: Any, request: ComparisonRequest, out: Path | None) -> GenerativeComparison:
    """Rows, candidates, and what an earlier start has measured."""
    request.check()
    idle = [name for name in request.given if name not in ACTS]
    if idle:
        raise BadRequest(
            f"compare: {idle[0]} does not act on generative models, which describe all columns; these do:"
            f" {', '.join(ACTS[1:])}."
        )
    fraction = HELD_OUT if request.held_out is None else request.held_out
    if not fraction:
        raise BadRequest("compare: held_out must be above 0 for generative models: rows they have not seen judge them.")
    opened = open_rows(data, held_out=fraction, ignore=request.ignore, kinds=request.kinds, seed=request.seed)
    if len(opened.held_out) < LEAST_HELD_OUT:
        raise BadRequest(
            f"compare: generative models are judged by at least {LEAST_HELD_OUT} held-out rows;"
            f" held_out={fraction:g} of {opened.n_rows} leaves {len(opened.held_out)}."
        )
    comparison = GenerativeComparison(opened, request, out)
    _choose(comparison)
    identity = {
        "kind": "generative comparison",
        "data_hash": opened.hash,
        "held_out": fraction,
        "seed": request.seed,
        "ignore": list(request.ignore),
        "kinds": dict(request.kinds),
    }
    comparison.run = Run.open(comparison.run.folder, identity, data=opened.name)
    comparison.measured = _load_measured(comparison)
    return comparison


def _choose(comparison: GenerativeComparison) -> None:
    """Candidates with their settings, and those left out with the reason."""
    request, n_rows = comparison.request, comparison.data.n_rows
    known = generators("table" if comparison.data.image_shape is None else "images")
    picked, excluded = (names_of(texts, known, "generating rows") for texts in (request.models, request.exclude))
    settings = settings_of(request.settings, known, "generating rows")
    for name, entry in known.items():
        if name in excluded or (picked and name not in picked) or not (picked or entry.compared):
            continue
        if not picked and entry.max_rows and n_rows > entry.max_rows:
            comparison.left_out[name] = f"left out above {entry.max_rows:,} rows; --model {name} tries it all the same"
            continue
        comparison.candidates[name] = settings.get(name, {})


def _measure_all(comparison: GenerativeComparison, stopped: Callable[[], bool], watch: Watch) -> None:
    seed = comparison.request.seed
    budget = comparison.budget
    if all(m.model != COPIES for m in comparison.measured):
        _add(comparison, measure_copies(comparison.data, seed))
    done = {m.model for m in comparison.measured}
    waiting = [name for name in comparison.candidates if name not in done]
    for place, name in enumerate(waiting):
        if stopped():
            return
        if budget.seconds is not None and budget.left < comparison.seconds_for_the_winner:
            comparison.cut[name] = f"not reached within {seconds_text(budget.seconds)}"
            continue
        waits = len(waiting) - place, comparison.seconds_for_the_winner
        try:
            shares = budget.share(*waits), budget.for_asking(*waits)
            _add(comparison, measure(name, comparison.candidates[name], comparison.data, seed, *shares))
        except TooDear as reason:
            comparison.cut[name] = f"{reason}, more than its part of {seconds_text(budget.seconds or 0.0)}"
            continue
        watch(comparison)


def _add(comparison: GenerativeComparison, measured: Measured) -> None:
    comparison.measured.append(measured)
    with open(comparison.run.folder / TRIALS, "a") as file:
        file.write(json.dumps(asdict(measured)) + "\n")


def _load_measured(comparison: GenerativeComparison) -> list[Measured]:
    """What an earlier start measured with the same settings; what failed or was cut short runs again."""
    path = comparison.run.folder / TRIALS
    by_model: dict[str, Measured] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            measured = Measured(**json.loads(line))
        except (TypeError, ValueError):
            continue
        candidate = comparison.candidates.get(measured.model)
        same = candidate is not None and settings_text(measured.model, candidate) == measured.settings
        if not measured.error and not measured.ended and (same or measured.model == COPIES):
            by_model[measured.model] = measured
    return list(by_model.values())
