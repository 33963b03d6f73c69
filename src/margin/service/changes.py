"""What differs between a run that is in a folder and the one that is asked for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from margin.runs import Run, RunError

__all__ = ["EXISTING", "differences", "folder_for"]

#: What to do with a folder that holds another run: refuse it, start it over, or leave it and take a new one.
EXISTING = ("refuse", "force", "new")


def folder_for(folder: Path, identity: Mapping[str, Any], facts: Mapping[str, Any], existing: str) -> Path:
    """The folder to train in; one that holds another run is refused with what differs, emptied, or passed over."""
    if existing == "new":
        return next(free for free in _numbered(folder) if not _changed(free, identity, facts))
    changed = _changed(folder, identity, facts)
    if not changed:
        return folder
    if existing == "force":
        _clear(folder)
        return folder
    raise RunError(
        f"{folder} holds another run: {'; '.join(changed)}. Add --new to keep it and train beside it,"
        " or --force to start it over."
    )


def differences(manifest: Mapping[str, Any], identity: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Each difference as a few words, the model and its data first."""
    known = manifest["identity"]
    found = []
    if known.get("kind") != identity.get("kind"):
        return [f"its kind is {known.get('kind')!r}, this one's is {identity.get('kind')!r}"]
    if known.get("model") != identity.get("model"):
        found.append(f"it trains {known.get('model')}, not {identity.get('model')}")
    if known.get("target", "") != identity.get("target", ""):
        found.append(f"its target is {known.get('target') or 'none'}, not {identity.get('target') or 'none'}")
    elif known.get("data_hash") != identity.get("data_hash"):
        found.append(_data_words(manifest, facts))
    if known.get("fingerprint") != identity.get("fingerprint") and known.get("model") == identity.get("model"):
        found += _parameter_words(manifest.get("params", {}), facts.get("params", {}))
    # Other data may have other kinds of columns, and then other preprocessing: one reason is enough.
    return found or (["its columns were prepared otherwise"] if dict(known) != dict(identity) else [])


def _data_words(manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    before, now = manifest.get("data"), facts.get("data")
    if before != now:
        return f"it was trained on {before}, not on {now}"
    rows, now_rows = manifest.get("rows"), facts.get("rows")
    columns, now_columns = manifest.get("features", []), facts.get("features", [])
    if columns != now_columns:
        gone, new = [c for c in columns if c not in now_columns], [c for c in now_columns if c not in columns]
        said = [f"without {gone[0]!r}"] if gone else []
        said += [f"with {new[0]!r}"] if new else []
        return f"the columns of {now} have changed ({' and '.join(said) or 'their order'})"
    if rows is not None and rows != now_rows:
        return f"{now} has changed: it had {rows:,} rows and has {now_rows:,}"
    return f"values in {now} have changed"


def _parameter_words(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"{name} was {before.get(name)} and is {now.get(name)} now" for name in names]


def _changed(folder: Path, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    if not (folder / "manifest.json").exists():
        return []
    return differences(Run.existing(folder).manifest, identity, facts)


def _clear(folder: Path) -> None:
    """Forget the run; files that are not of a run stay."""
    run = Run.existing(folder)
    with run.locked():
        run.forget_fit()
        for name in ("manifest.json", "model_card.md", "report.html"):
            (folder / name).unlink(missing_ok=True)


def _numbered(folder: Path) -> Any:
    yield folder
    number = 2
    while True:
        yield folder.with_name(f"{folder.name}-{number}")
        number += 1
