"""The run folders below one folder: a list that stays fast with a thousand, the page of one, several side by side.

A run is named by its folder's name, never by a path: what comes from a page can name nothing outside.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from margin.core.file_locks import take_lock
from margin.core.strict_json import strict
from margin.runs import Run, RunError
from margin.service.cards import CARD
from margin.service.requests import BadRequest

__all__ = ["find_run", "list_runs", "model_file", "run_page", "run_records", "run_status", "runs_side_by_side"]

MOST_POINTS = 1000  # of a curve: more than a screen has pixels for
MOST_RUNS = 12  # side by side
TAIL = 65_536  # bytes in which the last record of a fit lies
FACTS = ("data", "task", "rows", "seed", "seconds", "metric")


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Every run below ``folder``, newest first; what is damaged is listed with its sentence."""
    return sorted((_entry(path) for path in _run_folders(folder)), key=lambda entry: -entry["changed"])


def _run_folders(folder: Path) -> list[Path]:
    try:
        entries = [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [path for path in entries if (path / "manifest.json").is_file()]


def _entry(path: Path) -> dict[str, Any]:
    changed = max(_time(path / name) for name in ("manifest.json", "metrics.jsonl"))
    try:
        run = Run.existing(path)
    except RunError as problem:
        return {"id": path.name, "kind": "", "status": "damaged", "changed": changed, "problem": str(problem)}
    manifest = run.manifest
    return strict(
        {
            "id": path.name,
            "kind": manifest["identity"].get("kind", "fit"),
            "model": _model_name(manifest),
            "status": run_status(run),
            "changed": changed,
            **{key: manifest[key] for key in FACTS if isinstance(manifest.get(key), str | int | float)},
            "last": _last_record(path / "metrics.jsonl"),
            "problem": "",
        }
    )


def _model_name(manifest: dict[str, Any]) -> str:
    """The model of a fit, or the winner of a comparison."""
    winner = manifest.get("winner")
    chosen = winner.get("model") if isinstance(winner, dict) else winner
    return str(manifest["identity"].get("model") or chosen or "")


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def run_status(run: Run) -> str:
    """As the manifest has it; a run that was killed did not live to say so."""
    return "interrupted" if run.status == "running" and not _is_locked(run.folder / ".lock") else run.status


def _is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a run, or nobody can tell."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return take_lock(number, shared=True) is not True
    finally:
        os.close(number)


def _last_record(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().split(b"\n")[:-1]  # what follows the last line break is not a whole line
        record = json.loads(lines[-1]) if lines else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def find_run(folder: Path, id: str) -> Run:
    """The run of this name below ``folder``; a KeyError if there is none."""
    if id not in {path.name for path in _run_folders(folder)}:
        raise KeyError(f"There is no run {id!r} here.")
    try:
        return Run.existing(Path(folder, id))
    except RunError as problem:
        raise BadRequest(str(problem)) from None


def run_page(folder: Path, id: str) -> dict[str, Any]:
    """A run with its settings, curves, model card, files, and how to use it elsewhere."""
    run = find_run(folder, id)
    manifest = run.manifest
    path = str(Path(folder, id))
    card = run.folder / CARD
    return {
        **_entry(run.folder),
        "target": manifest["identity"].get("target", ""),
        "settings": _settings(manifest),
        "features": manifest.get("features", []),
        "classes": manifest.get("classes", []),
        "remarks": manifest.get("remarks", []),
        "has_model": run.model_path.is_file(),
        "card": card.read_text(encoding="utf-8") if card.is_file() else "",
        "records": run_records(folder, id),
        "command": str(manifest.get("command") or _command(manifest, path)),
        "python": f"import margin\n\nrun = margin.Run.existing({path!r})\nmodel = run.model()\nrecords = run.metrics()",
    }


def _settings(manifest: dict[str, Any]) -> dict[str, str]:
    """What was chosen, as text."""
    params = manifest.get("params", {})
    given = manifest.get("request", {})
    chosen = {**(params if isinstance(params, dict) else {}), **(given if isinstance(given, dict) else {})}
    facts = {key: manifest[key] for key in ("data", "rows", "seed") if key in manifest}
    return {str(key): str(value) for key, value in {**facts, **chosen}.items()}


def _command(manifest: dict[str, Any], path: str) -> str:
    """How the fit is continued or repeated, where it was begun by a command."""
    if not isinstance(manifest.get("data"), str) or manifest["identity"].get("kind", "fit") != "fit":
        return ""
    from margin.service.fit_commands import fit_command

    return fit_command(manifest, path)


def run_records(folder: Path, id: str) -> dict[str, Any]:
    """The curves of a run: iterations, and a list of numbers for each name that its records have."""
    run = find_run(folder, id)
    try:
        records = run.metrics()
    except RunError as problem:
        return {"n_records": 0, "iteration": [], "series": {}, "problem": str(problem), "status": run_status(run)}
    step = max(1, -(-len(records) // MOST_POINTS))
    shown = records[::step]
    if records and shown[-1] is not records[-1]:
        shown = [*shown, records[-1]]
    names = {name: None for record in shown for name, value in record.items() if _is_number(value)}
    names.pop("iteration", None)
    return strict(
        {
            "n_records": len(records),
            "iteration": [record.get("iteration", i) for i, record in enumerate(shown)],
            "series": {name: [_number(record.get(name)) for record in shown] for name in names},
            "problem": "",
            "status": run_status(run),
        }
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    return value if _is_number(value) else None


def runs_side_by_side(folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """Several runs: their curves, and the settings in which they differ."""
    chosen = list(dict.fromkeys(ids))
    if not 1 <= len(chosen) <= MOST_RUNS:
        raise BadRequest(f"Side by side are 1 to {MOST_RUNS} runs; got {len(chosen)}.")
    entries = [_entry(find_run(folder, id).folder) for id in chosen]
    settings = [
        {"model": entry.get("model", ""), **_settings(find_run(folder, entry["id"]).manifest)} for entry in entries
    ]
    names = list(dict.fromkeys(name for each in settings for name in each))
    differing = [name for name in names if len({each.get(name) for each in settings}) > 1]
    return {
        "folder": str(folder),
        "runs": [{**entry, "records": run_records(folder, entry["id"])} for entry in entries],
        "differing": {name: [each.get(name, "") for each in settings] for name in differing},
    }


def model_file(folder: Path, id: str) -> Path:
    """The model of a run, to be taken elsewhere."""
    run = find_run(folder, id)
    if run.model_path.is_symlink() or not run.model_path.is_file():
        raise KeyError(f"The run {id!r} has no model yet: its status is {run.status!r}.")
    return run.model_path
