"""What differs between a run that is in a folder and the one that is requested, as sentences."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from margin.runs import Run, RunError

__all__ = ["ALL_ROWS", "EXISTING", "differences", "folder_for"]

#: What to do with a folder that holds another run: refuse it, start it over, or leave it and take a new one.
EXISTING = ("refuse", "force", "new")
#: What a comparison leaves in its folder besides what a fit does.
COMPARISON_FILES = ("trials.jsonl", "folds.npz", "board.json", "curve.json", "judged.safetensors")
COMPARISON_OUTPUTS = "outputs"
ALL_ROWS = "all_rows"  # the run of the winner's fit on all rows, where it was compared on some


def folder_for(folder: Path, identity: Mapping[str, Any], facts: Mapping[str, Any], existing: str) -> Path:
    """The folder to train in; one that holds another run is refused with what differs, emptied, or passed over."""
    if existing == "new":
        return next(free for free in _number_folders(folder) if not _list_changes(free, identity, facts))
    changed = _list_changes(folder, identity, facts)
    if not changed:
        return folder
    if existing == "force":
        _clear(folder)
        return folder
    compares = identity.get("kind") == "comparison"
    what, work = ("comparison", "compare") if compares else ("run", "train")
    python = ' (in Python existing="new" or "force")' if compares else ""
    raise RunError(
        f"{folder} holds another {what}: {'; '.join(changed)}. Add --new to keep it and {work} beside it,"
        f" or --force to start it over{python}."
    )


def differences(manifest: Mapping[str, Any], identity: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Each difference as a short phrase, the model and its data first."""
    known = manifest["identity"]
    changes = []
    if known.get("kind") != identity.get("kind"):
        return [f"it is a {known.get('kind')}, not a {identity.get('kind')}"]
    if known.get("model") != identity.get("model"):
        changes.append(f"it trains {known.get('model')}, not {identity.get('model')}")
    if known.get("target", "") != identity.get("target", ""):
        changes.append(f"its target is {known.get('target') or 'none'}, not {identity.get('target') or 'none'}")
    elif known.get("data_hash") != identity.get("data_hash"):
        changes.append(_data_difference(manifest, facts))
    if known.get("fingerprint") != identity.get("fingerprint") and known.get("model") == identity.get("model"):
        changes += _parameter_differences(manifest.get("params", {}), facts.get("params", {}))
    if identity.get("kind") == "comparison":
        options = [name for name in {**known, **identity} if name not in ("kind", "target", "data_hash", "rows_drawn")]
        changed = [name for name in options if known.get(name) != identity.get(name)]
        changes += [_option_difference(name, known.get(name), identity.get(name)) for name in changed]
    # Other data may have other kinds of columns, and then other preprocessing: one reason is enough.
    return changes or (["its columns were prepared otherwise"] if dict(known) != dict(identity) else [])


def _data_difference(manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    before, now = manifest.get("data"), facts.get("data")
    if before != now:
        return f"its data is {before}, not {now}"
    rows, now_rows = manifest.get("rows"), facts.get("rows")
    columns, now_columns = manifest.get("features", []), facts.get("features", [])
    if columns != now_columns:
        gone, new = [c for c in columns if c not in now_columns], [c for c in now_columns if c not in columns]
        differences = [f"without {gone[0]!r}"] if gone else []
        differences += [f"with {new[0]!r}"] if new else []
        return f"the columns of {now} have changed ({' and '.join(differences) or 'their order'})"
    if rows is not None and rows != now_rows:
        return f"{now} has changed: it had {rows:,} rows and has {now_rows:,}"
    return f"values in {now} have changed"


def _parameter_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"{name} was {before.get(name)} and is {now.get(name)} now" for name in names]


def _option_difference(name: str, before: Any, now: Any) -> str:
    """An option of a comparison that differs; one that was not given is called unset."""
    option = {"n_folds": "folds", "kinds": "kinds of columns", "ignore": "columns to ignore"}.get(name, name)
    shown = ("unset" if value in (None, "", [], {}) else _show(value) for value in (before, now))
    return "{} was {} and is {} now".format(option.replace("_", " "), *shown)


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _list_changes(folder: Path, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    if not (folder / "manifest.json").exists():
        return []
    return differences(Run.existing(folder).manifest, identity, facts)


def _clear(folder: Path) -> None:
    """Forget the run; files that are not of a run stay."""
    run = Run.existing(folder)
    with run.lock():
        run.forget_fit()
        for name in ("manifest.json", "model_card.md", "report.html", *COMPARISON_FILES):
            (folder / name).unlink(missing_ok=True)
        for name in (COMPARISON_OUTPUTS, ALL_ROWS):
            shutil.rmtree(folder / name, ignore_errors=True)


def _number_folders(folder: Path) -> Any:
    yield folder
    number = 2
    while True:
        yield folder.with_name(f"{folder.name}-{number}")
        number += 1
