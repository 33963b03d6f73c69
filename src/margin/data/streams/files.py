"""Which files a stream is made of, and what each holds."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from margin.data.table import close_names

__all__ = ["FORMATS", "constants_of", "file_hash", "format_of", "packing", "stream_files", "suffix_of"]

#: Formats that are read block by block, by suffix.
FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow"),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".psv", ".txt"), "text"),
}
PACKED = (".gz", ".bz2")  # of text files; Parquet and Arrow pack by themselves
HASHED_BYTES = 2**20


def stream_files(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[list[Path], Path | None]:
    """The files that a path, a pattern or a list of paths names, in order, and the folder if it is one.

    Names that begin with a dot or an underscore are left out of folders and patterns: other programs keep notes there.
    """
    if not isinstance(source, str | os.PathLike):
        files, folder = [Path(path) for path in source], None
    elif glob.has_magic(str(source)) and not Path(source).exists():
        files, folder = sorted(_matches(str(source))), None
    elif Path(source).is_dir():
        folder = Path(source)
        found = (path for path in folder.rglob("*") if suffix_of(path) in FORMATS)
        files = sorted(path for path in found if _is_rows(path) and not _is_note(path.relative_to(folder)))
    else:
        files, folder = [Path(source)], None
    if not files:
        raise ValueError(f"stream: {str(source)!r} names no file of {' '.join(FORMATS)}.")
    for path in files:
        if any("\ud800" <= sign <= "\udfff" for sign in str(path)):  # how Python writes bytes that are no UTF-8
            raise ValueError(f"stream: the name of the file {os.fsencode(path)!r} is not UTF-8; rename it.")
        if path.is_symlink() and not path.exists():
            raise FileNotFoundError(f"stream: {str(path)!r} is a link to {os.readlink(path)!r}, which is not there.")
        if not path.exists():
            beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
            raise FileNotFoundError(f"stream: there is no file {str(path)!r}; {close_names(path.name, beside)}.")
    kinds = {format_of(path): path for path in reversed(files)}
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise ValueError(f"stream: files must be of one format; got {str(one)!r} and {str(other)!r}.")
    return files, folder


def format_of(path: Path) -> str:
    """The format of a file by its suffix: "Parquet", "Arrow" or "text"."""
    suffix = suffix_of(path)
    if suffix not in FORMATS:
        raise ValueError(
            f"stream: {str(path)!r} must be a file of {' '.join(FORMATS)}; others are read by margin.data.read."
        )
    return FORMATS[suffix]


def constants_of(path: Path, folder: Path | None) -> dict[str, str]:
    """Columns that folders such as ``year=2025`` between ``folder`` and the file stand for."""
    between = () if folder is None else path.relative_to(folder).parts[:-1]
    pairs = [part.partition("=") for part in between]
    return {name: value for name, sign, value in pairs if sign and name}


def file_hash(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(HASHED_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _matches(pattern: str) -> Iterator[Path]:
    """Files that a pattern names; a folder reached again through a link to one above it counts once."""
    given = Path(glob.escape(pattern)).parts  # escaping changes exactly the parts that are patterns
    fixed = next(i for i, (part, escaped) in enumerate(zip(Path(pattern).parts, given)) if part != escaped)
    seen: set[tuple[str, str]] = set()
    for path in map(Path, sorted(glob.glob(pattern, recursive=True), key=lambda name: (name.count(os.sep), name))):
        place = (os.path.realpath(path.parent), path.name)
        if place not in seen and _is_rows(path) and not _is_note(Path(*path.parts[fixed:])):
            seen.add(place)
            yield path


def _is_rows(path: Path) -> bool:
    """Whether rows can be meant by a name: a file, or a link that leads nowhere and must not be passed over."""
    return path.is_file() or (path.is_symlink() and not path.exists() and suffix_of(path) in FORMATS)


def packing(path: Path) -> str | None:
    """How a text file is packed, by its suffix, as PyArrow calls it."""
    return {".gz": "gzip", ".bz2": "bz2"}.get(path.suffix.lower())


def suffix_of(path: Path) -> str:
    """The suffix that says what a file holds, of a packed text the one before."""
    *_, inner, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    return inner if last in PACKED and FORMATS.get(inner) == "text" else last


def _is_note(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts if part not in (".", ".."))
