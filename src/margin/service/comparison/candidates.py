"""From the catalog to candidates: every model suited to the task, behind preprocessing, with what was set on it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import parameters_of, parse_settings, search_space
from margin.metrics import Metric
from margin.selection import Candidate, FoldPlan
from margin.selection.bounded import MARGIN, MARGIN_IN_TIME
from margin.selection.chance import guess_text, make_guess
from margin.service.comparison.data import OpenedData
from margin.service.comparison.other_libraries import NOT_SAVED, candidates_of_others, installed_libraries
from margin.service.comparison.rows import BoardRow, Preparations, board_rows
from margin.service.comparison_request import ComparisonRequest
from margin.service.nearest import entry_of
from margin.service.preparation import behind, on_log_target, on_standard_target
from margin.service.requests import BadRequest

__all__ = ["BASELINE", "candidates_for", "margin_of", "names_of", "settings_of", "settings_tried", "tuned_candidate"]

BASELINE = "baseline"
INNER_FOLDS = 3


def candidates_for(
    opened: OpenedData, request: ComparisonRequest, metric: Metric
) -> tuple[list[Candidate], dict[str, str]]:
    """The best guess by ``metric``, the catalog's models for the task, and those left out with the reason.

    ``request.models`` picks some, and what is picked is tried however many rows there are.
    """
    source = opened.source
    known = board_rows(source, opened.profile)
    others = _of_other_libraries(opened, request)
    picked = names_of([name for name in request.models if name not in installed_libraries()], known, source.task)
    excluded = names_of([name for name in request.exclude if name not in installed_libraries()], known, source.task)
    if request.models and not picked:
        raise BadRequest(f"compare: {', '.join(request.models)}: {NOT_SAVED}; name a model of the catalog beside them.")
    rows = (
        [known[name] for name in known if name in picked] if picked else [r for r in known.values() if r.entry.compared]
    )
    rows = [row for row in rows if row.name not in excluded]
    if not rows:
        raise BadRequest(f"compare: no model for {source.task} is left; those asked for are excluded.")
    n_rows = len(source.X)
    left_out = {} if picked else {r.name: _reason(r.entry) for r in rows if n_rows > (r.entry.max_rows or n_rows)}
    settings = settings_of(request.settings, known, source.task)
    prepared = Preparations(source, opened.profile, request.seed)
    candidates = []
    for row in rows:
        if row.name in left_out:
            continue
        given = settings.get(row.name, {})
        # A model of images takes the pixels as they are, and their shape as a parameter.
        shape = {"image_shape": source.image_shape} if row.entry.data == "images" else {}
        own = {**row.settings, **shape, **given}
        bounds = margin_of(opened)
        make = partial(_make, row.entry.name, prepared.of(row), request.seed, own, bounds, row.log_target)
        settings_text = ", ".join(f"{name}={value}" for name, value in given.items())
        candidates.append(Candidate(row.name, make, settings_text, catalog_name=row.entry.name))
    candidates += candidates_of_others(others, source.task, prepared, request.seed, margin_of(opened))
    baseline = Candidate(BASELINE, partial(make_guess, source.task, metric, request.seed), guess_text(metric))
    return [baseline, *candidates], left_out


def _of_other_libraries(opened: OpenedData, request: ComparisonRequest) -> list[str]:
    """Installed libraries whose boosting joins: those that are named, or all unless models are; not for pictures."""
    if opened.source.image_shape is not None:
        return []
    wanted = request.models or installed_libraries()
    return [name for name in installed_libraries() if name in wanted and name not in request.exclude]


def margin_of(opened: OpenedData) -> float | None:
    """Standard deviations by which a regression may leave the range of the training targets; None for classes."""
    if opened.source.task != "regression":
        return None
    return MARGIN if opened.times is None else MARGIN_IN_TIME


def tuned_candidate(
    candidate: Candidate, plan: FoldPlan, metric: Metric, n_settings: int, seed: int, folder: Path
) -> Candidate | None:
    """The same model, looking for its settings inside the rows it is fitted to; None if nothing can be searched.

    What a search has tried is kept below ``folder``.
    """
    if not candidate.catalog_name:
        return None
    space = search_space(catalog.class_of(candidate.catalog_name))
    space = {name: draw for name, draw in space.items() if f"{name}=" not in candidate.settings}
    if not space:
        return None
    make_for = partial(_make_tuned, candidate.make, space, plan, metric, n_settings, seed, folder / candidate.name)
    return Candidate(f"tuned-{candidate.name}", candidate.make, settings_tried(n_settings), make_for)


def settings_tried(n_settings: int) -> str:
    return f"{n_settings} settings tried"


def names_of(requested: Sequence[str], known: Mapping[str, Any], task: str) -> set[str]:
    """Rows of the board that the user named: by their own name, or all rows of a model by its catalog or class name.

    ``known`` maps names to rows, or to catalog entries where every model has one row.
    """
    names: set[str] = set()
    for text in requested:
        if text == BASELINE:
            continue
        if text in known and text not in {_entry(row).name for row in known.values()}:
            names.add(text)
            continue
        name = entry_of(text).name
        matching = {row for row in known if _entry(known[row]).name == name}
        if not matching:
            kind = {"images": " on a table: it takes images", "text": " on this table: it takes texts"}
            raise BadRequest(f"{name} is not a model for {task}{kind.get(catalog.entry(name).data, '')}.")
        names |= matching
    return names


def settings_of(settings: Any, known: Mapping[str, Any], task: str) -> dict[str, dict[str, Any]]:
    """Row -> parameters, from ``model.param=value`` texts or from nested mappings; a model's go to all its rows."""
    by_model: dict[str, dict[str, Any]] = {}
    if isinstance(settings, Mapping):
        for model, values in settings.items():
            for row in sorted(names_of([model], known, task)):
                unknown = sorted(set(values) - set(parameters_of(_class(known[row]))))
                if unknown:
                    raise BadRequest(f"{model} has no parameter {unknown[0]!r}.")
                by_model.setdefault(row, {}).update(values)
        return by_model
    texts: dict[str, list[str]] = {}
    for text in settings:
        model, dot, setting = text.partition(".")
        if not dot or "=" not in setting:
            raise BadRequest(f"compare: a setting is written model.parameter=value; got {text!r}.")
        for row in sorted(names_of([model], known, task)):
            texts.setdefault(row, []).append(setting)
    try:
        return {row: parse_settings(_class(known[row]), own, catalog.create) for row, own in texts.items()}
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _entry(row: BoardRow | catalog.Entry) -> catalog.Entry:
    return row.entry if isinstance(row, BoardRow) else row


def _class(row: BoardRow | catalog.Entry) -> type:
    return catalog.class_of(_entry(row).name)


def _reason(entry: catalog.Entry) -> str:
    return f"left out above {entry.max_rows:,} rows; --model {entry.name} tries it all the same"


def _make(
    name: str, prepare: Any, seed: int, settings: Mapping[str, Any], margin: float | None, log_target: bool = False
) -> Any:
    cls: Any = catalog.class_of(name)
    entry = catalog.entry(name)
    seeded = {"random_state": seed} if "random_state" in parameters_of(cls) else {}
    model = behind(prepare, cls(**{**seeded, **settings}), margin)
    if log_target:
        return on_log_target(model)
    return on_standard_target(model) if entry.standard_target else model


def _make_tuned(
    make: Any,
    space: Mapping[str, Any],
    plan: FoldPlan,
    metric: Metric,
    n_settings: int,
    seed: int,
    folder: Path,
    rows: np.ndarray,
) -> Any:
    """The model with a search in front; the inner folds divide ``rows`` as the outer ones divide all."""
    from margin.selection.tuning import TunedModel

    model = make()
    path = "regressor__model__" if hasattr(model, "regressor") else "model__" if hasattr(model, "steps") else ""
    nested = {path + name: draw for name, draw in space.items()}
    # A search with another metric, seed or number of settings, or on other rows, is another search.
    search_key = f"{metric.name} {n_settings} {seed} {sorted(nested)}".encode()
    digest = hashlib.blake2b(search_key + np.ascontiguousarray(rows).tobytes(), digest_size=12).hexdigest()
    inner = plan.within(rows, INNER_FOLDS, seed)
    return TunedModel(model, nested, metric, inner, n_settings, seed, folder / f"{digest}.jsonl")
