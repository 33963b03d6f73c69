"""Tables that a page sent: kept as files in one folder, named by what they hold, and profiled.

An id is a digest of the bytes, so a table that is sent twice is kept once, and no name that came from outside becomes
a path: of the name only letters, digits and its suffix remain.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from margin.core.strict_json import strict
from margin.data.file_formats import table_suffixes
from margin.data.packed import PACKED
from margin.service.describing import describe
from margin.service.requests import BadRequest

__all__ = ["UploadedTables", "profile_table"]

ID = re.compile(r"[0-9a-f]{16}")
#: What can be read; anything else is refused before it is written.
SUFFIXES = table_suffixes()
MOST_TABLES = 200


class UploadedTables:
    """The tables in ``folder``."""

    def __init__(self, folder: Path):
        self.folder = folder

    def begin(self) -> Path:
        """A file to write the bytes to that come; :meth:`keep` makes a table of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(dir=self.folder, prefix=".unfinished-")
        os.close(handle)
        return Path(path)

    def keep(self, unfinished: Path, name: str) -> dict[str, Any]:
        """The table of a file that has been written; ``name`` is what the user calls it."""
        if unfinished.stat().st_size == 0:
            raise BadRequest("The file is empty.")
        file_name = safe_name(name)
        if len(self.list()) >= MOST_TABLES:
            raise BadRequest(f"{MOST_TABLES} tables are kept already; remove some first.")
        with open(unfinished, "rb") as file:
            id = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        home = self.folder / id
        home.mkdir(exist_ok=True)
        for other in home.iterdir():  # the same bytes under another name
            other.unlink()
        os.replace(unfinished, home / file_name)
        return self._facts(home / file_name)

    def list(self) -> list[dict[str, Any]]:
        """All tables, newest first."""
        try:
            homes = [Path(entry) for entry in os.scandir(self.folder) if ID.fullmatch(entry.name)]
        except OSError:
            return []
        files = [file for home in homes for file in home.iterdir() if file.is_file()]
        return sorted(map(self._facts, files), key=lambda facts: -facts["changed"])

    def path(self, id: str) -> Path:
        """The file of a table; a KeyError if there is none of this id."""
        home = self.folder / id if ID.fullmatch(id) else None
        file = next((file for file in home.iterdir() if file.is_file()), None) if home and home.is_dir() else None
        if file is None:
            raise KeyError(f"There is no table {id!r} here; send its file again.")
        return file

    def remove(self, id: str) -> None:
        """Forget a table."""
        shutil.rmtree(self.path(id).parent)

    def _facts(self, file: Path) -> dict[str, Any]:
        facts = file.stat()
        return {"id": file.parent.name, "name": file.name, "bytes": facts.st_size, "changed": facts.st_mtime}


def safe_name(name: str) -> str:
    """A file name without anything that a path or a shell would read.

    >>> safe_name("../../My data (1).CSV"), safe_name("x.csv.gz")
    ('My-data-1.csv', 'x.csv.gz')
    """
    stem, suffixes = name.replace("\\", "/").rpartition("/")[2], ""
    for allowed in (PACKED, SUFFIXES):
        found = next((suffix for suffix in allowed if stem.lower().endswith(suffix)), "")
        stem, suffixes = stem[: len(stem) - len(found)], found + suffixes
    if not any(suffixes.startswith(suffix) for suffix in SUFFIXES):
        raise BadRequest(f"{name!r} is no table that can be read; there are {', '.join(SUFFIXES)}, also packed.")
    return ("-".join(re.findall(r"[\w]+", stem, flags=re.ASCII))[:80] or "table") + suffixes


def profile_table(
    path: str, target: str | None = None, kinds: Mapping[str, str] | None = None, ignore: Sequence[str] = ()
) -> dict[str, Any]:
    """What a table holds and what would become of each column, as plain values."""
    return strict(describe(path, target=target, kinds=kinds or {}, ignore=ignore).as_dict())
