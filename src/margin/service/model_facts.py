"""Facts about a model (from its class and from the rows of the notes), kept between commands.

To ask the class, its package must be imported, and with it scikit-learn or torch: seconds for a command that
prints a page. So what was found once is kept in the user's cache folder, under a key that changes with every file of
this package.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import re
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import margin
from margin import catalog
from margin.core.cache_folder import user_cache_folder
from margin.core.parameters import attributes_of, parameter_table
from margin.core.strict_json import strict_text
from margin.core.summaries import stream_sentence
from margin.notes import atlas

__all__ = ["facts_folder", "keep", "model_facts", "package_key", "row_facts", "rows_of"]

#: Facts of a package that has changed are removed when they are so many seconds old.
OLD = 30 * 24 * 3600.0


def model_facts(entry: catalog.Entry, folder: Path | None = None) -> dict[str, Any]:
    """Summary, parameters, learned attributes, source file and rows of a model, as JSON has them.

    A default stands there as JSON and, under ``shown``, as Python writes it.
    """
    path = (folder or facts_folder()) / f"{entry.name}.json"
    with contextlib.suppress(OSError, ValueError):  # not kept yet, or damaged
        kept = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.get("path") == entry.path:
            return kept
    facts = _collected_facts(entry)
    keep(path, facts)
    return facts


def _collected_facts(entry: catalog.Entry) -> dict[str, Any]:
    """From the class itself, and from the atlas."""
    cls = catalog.class_of(entry.name)
    rows = rows_of(entry)
    parameters = [{**row, "shown": repr(row["default"])} for row in parameter_table(cls)]
    facts = {
        "what": "model",
        "name": entry.name,
        "path": entry.path,
        "family": entry.family,
        "task": entry.task,
        "summary": _before_sections(inspect.getdoc(cls) or ""),
        "streams": stream_sentence(cls),
        "parameters": parameters,
        "attributes": [{"name": a.name, "sentence": a.sentence} for a in attributes_of(cls).values()],
        "source": _source(cls),
        "equations": [row.equation for row in rows if row.equation],
        "rows": [row_facts(row) for row in rows],
    }
    return json.loads(strict_text(facts))


def rows_of(entry: catalog.Entry) -> list[atlas.Row]:
    """The rows of the notes whose code names the model's class."""
    package = entry.path.split(".")[:2]

    def names_it(path: str) -> bool:
        parts = path.split(".")
        return parts[:2] == package and entry.class_name in parts

    return [row for row in atlas.rows().values() if any(map(names_it, row.code))]


def row_facts(row: atlas.Row) -> dict[str, Any]:
    """What a row has, as a plain object."""
    facts = {**vars(row), "erratum": row.erratum}
    return {name: value for name, value in facts.items() if value not in ("", (), {})}


def keep(path: Path, facts: dict[str, Any]) -> None:
    """Write facts for the next command, and remove those of a package that has long changed."""
    with contextlib.suppress(OSError):  # a home that cannot be written costs the next command time, not this one
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(facts, file)
            os.replace(unfinished, path)
        except OSError:
            os.unlink(unfinished)
            raise
        for other in path.parent.parent.iterdir():
            if other != path.parent and other.stat().st_mtime < time.time() - OLD:
                shutil.rmtree(other, ignore_errors=True)


def facts_folder() -> Path:
    return user_cache_folder() / "margin" / "facts" / package_key()


@cache
def package_key() -> str:
    """A digest of the names, sizes and times of the files of this package: an edit anywhere changes it."""
    root, files = Path(margin.__file__).parent, []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".toml")):
                facts = os.stat(os.path.join(folder, name))
                files.append((os.path.relpath(folder, root), name, facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(repr((margin.__version__, str(root), sorted(files))).encode()).hexdigest()[:16]


def _before_sections(docstring: str) -> str:
    """A docstring without its numpydoc sections, which have a table of their own here."""
    first_section = re.search(r"^(Parameters|Attributes|Examples)\n-+$", docstring, flags=re.MULTILINE)
    return docstring[: first_section.start()].strip() if first_section else docstring


def _source(cls: type) -> str:
    """The file a reader opens, from the package folder on."""
    path = Path(inspect.getsourcefile(cls) or "")
    return str(Path(*path.parts[path.parts.index("margin") :])) if "margin" in path.parts else str(path)
