"""The experiments of the notes as a gallery: what each shows, its code, and its picture, drawn when somebody looks.

Pictures lie in the user's cache folder, under a key that changes with every file of this package.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from margin.core.cache_folder import user_cache_folder
from margin.core.strict_json import strict
from margin.notes import atlas, experiments
from margin.report.mathml import mathml
from margin.service.model_facts import package_key
from margin.service.row_checks import check_seed
from margin.service.source_code import find_source

__all__ = ["draw_experiment", "experiment_page", "kept_experiment", "list_experiments", "picture_of"]

LONGEST_ABOUT = 220  # characters below the title of an experiment that a list shows
#: What an experiment leaves that a browser shows.
SHOWN = {".png": "image/png", ".gif": "image/gif"}


@cache
def list_experiments() -> tuple[dict[str, Any], ...]:
    """Every experiment: name, title, areas and kinds of the rows it serves."""
    rows: dict[str, list[atlas.Row]] = {}
    for row in atlas.rows().values():
        if row.experiment:
            rows.setdefault(row.experiment, []).append(row)
    return tuple(_entry(name, rows.get(name, [])) for name in experiments.names())


def _entry(name: str, rows: list[atlas.Row]) -> dict[str, Any]:
    return {
        "name": name,
        "title": _docstring(name).strip().splitlines()[0],
        "about": _first_sentence(name),
        "areas": sorted({row.area for row in rows}),
        "kinds": sorted({row.kind for row in rows}),
        "rows": [row.id for row in rows],
        "corrected": any(row.slips for row in rows),
    }


@cache
def _docstring(name: str) -> str:
    """From the file: to import two hundred experiments takes long."""
    file = Path(experiments.__path__[0], f"{name.replace('-', '_')}.py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or name


def _first_sentence(name: str) -> str:
    """What the text says below its title, where that is words alone."""
    said = " ".join(_docstring(name).strip().partition("\n")[2].split())
    sentence = re.split(r"(?<=\.) ", said.replace("``", ""))[0]
    return "" if "`" in sentence or len(sentence) > LONGEST_ABOUT else sentence


def _equations(name: str) -> list[str]:
    """What stands as an equation in the text of an experiment."""
    return re.findall(r":math:`([^`]+)`", _docstring(name))


def experiment_page(name: str) -> dict[str, Any]:
    """One experiment with its docstring, source, rows, and how to run it elsewhere."""
    entry = next((entry for entry in list_experiments() if entry["name"] == name), None)
    if entry is None:
        raise KeyError(f"There is no experiment {name!r}.")
    rows = [atlas.row(id) for id in entry["rows"]]
    names = [each["name"] for each in list_experiments()]
    position = names.index(name)
    return {
        **entry,
        "text": _docstring(name),
        "equations": {tex: mathml(tex, display=False) for tex in _equations(name)},
        "rows": [{"id": row.id, "title": row.title, "statement": row.statement} for row in rows],
        "code": find_source(f"margin.notes.experiments.{name.replace('-', '_')}").as_dict(),
        "previous": names[position - 1] if position else "",
        "next": names[position + 1] if position + 1 < len(names) else "",
    }


def draw_experiment(name: str, seed: int, fast: bool, folder: str = "") -> dict[str, Any]:
    """Run an experiment and draw it; what it leaves is kept, and what it found is returned."""
    from margin.service.evidence import run_experiment
    from margin.service.finding_words import finding_words

    out = _folder(name, check_seed(seed), fast, folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=out.parent, prefix=".unfinished-"))
    try:
        outcome = run_experiment(name, unfinished, seed=seed, fast=fast)
        shown = [file for file in unfinished.iterdir() if file.suffix in SHOWN]
        pictures = sorted(file.suffix[1:] for file in shown)
        # Of the data only the verdict is looked at again; arrays would fill the cache.
        for file in unfinished.iterdir():
            if file not in shown:
                file.unlink()
        findings = [
            {"words": finding_words(finding), "is_counterexample": finding.is_counterexample}
            for finding in outcome.findings()
        ]
        facts = strict(
            {
                "name": name, "seed": seed, "fast": fast, "verdict": outcome.verdict, "findings": findings,
                "seconds": outcome.seconds, "pictures": pictures,
            }
        )  # fmt: skip
        (unfinished / "outcome.json").write_text(json.dumps(facts), encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        os.replace(unfinished, out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return facts


def kept_experiment(name: str, seed: int, fast: bool, folder: str = "") -> dict[str, Any] | None:
    """What :func:`draw_experiment` found before, or None."""
    path = _folder(name, check_seed(seed), fast, folder) / "outcome.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("name") == name else None


def picture_of(name: str, seed: int, fast: bool, suffix: str, folder: str = "") -> tuple[Path, str]:
    """The file of a picture that was drawn, and its media type."""
    known = f".{suffix}" in SHOWN and name in experiments.names()
    file = _folder(name, check_seed(seed), fast, folder) / f"{name}.{suffix}" if known else None
    if file is None or not file.is_file():
        raise KeyError(f"The experiment {name!r} has no picture .{suffix} with seed {seed} yet.")
    return file, SHOWN[f".{suffix}"]


def _folder(name: str, seed: int, fast: bool, folder: str) -> Path:
    if name not in experiments.names():
        raise KeyError(f"There is no experiment {name!r}.")
    base = Path(folder) if folder else user_cache_folder() / "margin" / "pictures" / package_key()
    return base / f"{name}.{seed}{'' if fast else '.full'}"
