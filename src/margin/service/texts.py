"""Sources of models on text: a file of plain text is one text, a column of a table one text per row.

A language model also takes several files of plain text, and one too large to be read at once: their tokens are written
to a temporary file first, and the model is the one that the texts in memory would give.
"""

from __future__ import annotations

import glob
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog, data
from margin.data.file_formats import table_suffixes
from margin.runs import data_hash
from margin.service.requests import BadRequest
from margin.service.sources import Source, open_source

__all__ = ["open_for", "open_tokens", "read_text", "takes_target"]

#: Endings of files that are tables whatever the model.
TABLES = {".gz", *table_suffixes()} - {".txt", ".data"}
#: A file of so many bytes of text is no longer read at once.
LARGE_TEXT = 2**24


def takes_target(entry: catalog.Entry) -> bool:
    """Whether a model learns from pairs of rows and targets."""
    learns_pairs = entry.task in ("classification", "regression", "tagging", "translation", "detection")
    return learns_pairs or (entry.task == "forecasting" and entry.data == "table")


def open_for(entry: catalog.Entry, spec: str, target: str | None = None, untargeted: str = "refuse") -> Source:
    """The source ``spec`` as the model ``entry`` takes it; ``untargeted`` rows as in :func:`open_source`."""
    if entry.data != "text":
        return open_source(spec, target, untargeted=untargeted)
    path = Path(spec)
    plain = path.is_file() and path.suffix.lower() not in TABLES and spec not in data.names()
    if plain and target is None and not takes_target(entry):
        text = read_text(path)
        return Source(spec, [text], None, (), "", entry.task, data_hash(np.array([text])))
    return _column_of_texts(entry, open_source(spec, target, untargeted=untargeted))


def open_tokens(entry: catalog.Entry, estimator: Any, spec: str) -> Source | None:
    """What a language model learns from where ``spec`` is a folder of tokens, a large text, or a folder or pattern of
    texts, each of which is one; None for anything else."""
    from margin.text import LanguageModel, TokenFile

    if not isinstance(estimator, LanguageModel):
        return None
    if Path(spec, "tokens.json").is_file():
        file = TokenFile(spec)
    else:
        paths = _text_files(spec)
        if not paths or (len(paths) == 1 and paths[0].stat().st_size < LARGE_TEXT):
            return None
        place = tempfile.TemporaryDirectory(prefix="margin-tokens-")
        file = TokenFile.write(Path(place.name, "tokens"), paths, estimator.tokens, estimator.vocab_size)
        weakref.finalize(file, place.cleanup)
    facts = np.array([file.sha256, file.codes.kind, str(file.vocab_size)])
    return Source(spec, file, None, (), "", entry.task, data_hash(facts))


def _text_files(spec: str) -> list[Path]:
    """The files of plain text that ``spec`` names: one, those of a pattern, or those of a folder, in order."""
    path = Path(spec)
    if path.is_dir():
        found = [file for file in path.rglob("*.txt") if not file.name.startswith((".", "_"))]
    elif glob.has_magic(spec) and not path.exists():
        found = [file for file in map(Path, glob.glob(spec, recursive=True)) if file.suffix.lower() not in TABLES]
    else:
        found = [path] if path.suffix.lower() not in TABLES and spec not in data.names() else []
    return sorted(file for file in found if file.is_file())


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; where it is none, the sentence says at which byte."""
    content = path.read_bytes()
    try:
        text = content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRequest(
            f"{path}: the file must be UTF-8 text; byte {error.start} (line {line}) is 0x{content[error.start]:02x}, "
            "which is not."
        ) from None
    if not text.strip():
        raise BadRequest(f"{path}: the file must have text; got only blanks or nothing.")
    return text


def _column_of_texts(entry: catalog.Entry, source: Source) -> Source:
    """The one column of a table as a list of strings; for taggers each is split at blanks into its tokens."""
    if source.table is None:
        return source
    if len(source.table.names) != 1:
        if takes_target(entry) and source.y is None:
            raise BadRequest(f"{entry.name} needs a target: name its column with --target.")
        raise BadRequest(
            f"{entry.name} takes one column of texts; {source.name} has {len(source.table.names)} besides the target."
        )
    texts = ["" if value is None else str(value) for value in source.X.iloc[:, 0].tolist()]
    y = source.y
    if entry.task == "tagging":
        tags: Any = None if y is None else [str(row).split() for row in y]  # of unequal lengths, so no array
        return replace(source, given=[text.split() for text in texts], y=tags, table=None)
    return replace(source, given=texts, y=y, table=None)
