"""From the catalog to candidates: every model suited to the task, behind preprocessing, with what was set on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import parameters_of, parse_settings, search_space
from margin.metrics import Metric
from margin.selection import Candidate, FoldPlan
from margin.service.comparison.data import OpenedData
from margin.service.comparison.request import ComparisonRequest
from margin.service.preparation import behind, on_standard_target, preparation
from margin.service.requests import BadRequest

__all__ = ["BASELINE", "candidates_for", "names_of", "settings_of", "settings_tried", "tuned_candidate"]

BASELINE = "baseline"
INNER_FOLDS = 3


def candidates_for(opened: OpenedData, request: ComparisonRequest) -> tuple[list[Candidate], dict[str, str]]:
    """The catalog's models for the task, and those left out with the reason.

    ``request.models`` picks some, and what is picked is tried however many rows there are.
    """
    source = opened.source
    kinds = {"table"} if source.image_shape is None else {"table", "images"}
    known = {entry.name: entry for entry in catalog.ENTRIES if entry.task == source.task and entry.data in kinds}
    picked = names_of(request.models, known, source.task)
    excluded = names_of(request.exclude, known, source.task)
    entries = [known[name] for name in known if name in picked] if picked else [e for e in known.values() if e.compared]
    entries = [entry for entry in entries if entry.name not in excluded]
    n_rows = len(source.X)
    left_out = {} if picked else {e.name: _reason(e) for e in entries if e.max_rows and n_rows > e.max_rows}
    settings = settings_of(request.settings, known, source.task)
    prepared = {
        takes: preparation(source, takes, opened.profile)
        for takes in dict.fromkeys(e.takes for e in entries if e.data != "images")
    }
    shape = source.image_shape
    found = [
        Candidate(
            entry.name,
            # A model of images takes the pixels as they are, and is told their shape.
            partial(_make, entry.name, None, request.seed, {"image_shape": shape, **settings.get(entry.name, {})})
            if entry.data == "images"
            else partial(_make, entry.name, prepared[entry.takes], request.seed, settings.get(entry.name, {})),
            ", ".join(f"{name}={value}" for name, value in settings.get(entry.name, {}).items()),
        )
        for entry in entries
        if entry.name not in left_out
    ]
    return [Candidate(BASELINE, partial(_make_baseline, source.task)), *found], left_out


def tuned_candidate(
    candidate: Candidate, plan: FoldPlan, metric: Metric, n_settings: int, seed: int
) -> Candidate | None:
    """The same model, looking for its settings inside the rows it is fitted to; None if nothing can be searched."""
    space = search_space(catalog.class_of(candidate.name))
    space = {name: draw for name, draw in space.items() if f"{name}=" not in candidate.settings}
    if not space:
        return None
    make_for = partial(_make_tuned, candidate.make, space, plan, metric, n_settings, seed)
    return Candidate(f"tuned-{candidate.name}", candidate.make, settings_tried(n_settings), make_for)


def settings_tried(n_settings: int) -> str:
    return f"{n_settings} settings tried"


def names_of(wanted: Sequence[str], known: Mapping[str, catalog.Entry], task: str) -> set[str]:
    """Catalog names of what was asked for, by catalog or class name."""
    names = set()
    for text in wanted:
        if text == BASELINE:
            continue
        try:
            name = catalog.entry(text).name
        except KeyError as error:
            raise BadRequest(error.args[0]) from None
        if name not in known:
            images = " on a table: it takes images" if catalog.entry(name).data == "images" else ""
            raise BadRequest(f"{name} is not a model for {task}{images}.")
        names.add(name)
    return names


def settings_of(settings: Any, known: Mapping[str, catalog.Entry], task: str) -> dict[str, dict[str, Any]]:
    """Model -> parameters, from ``model.param=value`` texts or from nested mappings."""
    if isinstance(settings, Mapping):
        given = {_one(model, known, task): dict(values) for model, values in settings.items()}
        for model, values in given.items():
            unknown = sorted(set(values) - set(parameters_of(catalog.class_of(model))))
            if unknown:
                raise BadRequest(f"{model} has no parameter {unknown[0]!r}.")
        return given
    texts: dict[str, list[str]] = {}
    for text in settings:
        model, dot, setting = text.partition(".")
        if not dot or "=" not in setting:
            raise BadRequest(f"compare: a setting is written model.parameter=value; got {text!r}.")
        texts.setdefault(_one(model, known, task), []).append(setting)
    try:
        return {model: parse_settings(catalog.class_of(model), own, catalog.create) for model, own in texts.items()}
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _one(model: str, known: Mapping[str, catalog.Entry], task: str) -> str:
    return next(iter(names_of([model], known, task)))


def _reason(entry: catalog.Entry) -> str:
    return f"left out above {entry.max_rows:,} rows; --model {entry.name} tries it all the same"


def _make(name: str, prepare: Any, seed: int, settings: Mapping[str, Any]) -> Any:
    cls: Any = catalog.class_of(name)
    entry = catalog.entry(name)
    seeded = {"random_state": seed} if "random_state" in parameters_of(cls) else {}
    model = behind(prepare, cls(**{**entry.settings, **seeded, **settings}))
    return on_standard_target(model) if entry.standard_target else model


def _make_tuned(
    make: Any, space: Mapping[str, Any], plan: FoldPlan, metric: Metric, n_settings: int, seed: int, rows: np.ndarray
) -> Any:
    """The model with a search in front; the inner folds divide ``rows`` as the outer ones divide all."""
    from margin.selection.tuning import TunedModel

    model = make()
    path = "regressor__model__" if hasattr(model, "regressor") else "model__" if hasattr(model, "steps") else ""
    nested = {path + name: draw for name, draw in space.items()}
    return TunedModel(model, nested, metric, plan.within(rows, INNER_FOLDS, seed), n_settings, seed)


def _make_baseline(task: str) -> Any:
    """What any model must beat: the most frequent class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
