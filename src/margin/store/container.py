"""The file: named arrays in safetensors with one JSON manifest, written atomically, read with limits.

The header is parsed here before the safetensors library sees it, because a hostile header is where tricks live:
absurd sizes, duplicate keys, deep nesting.

The manifest begins with a checksum of the whole file, taken with zeros in its own place: a flipped bit on a disk is
found before anything is built. It is no signature, so what a file holds is checked all the same. Files of
earlier versions have none and are read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.full_disk import naming, until_written

__all__ = [
    "FORMAT_VERSION",
    "NewerFormatError",
    "StoreError",
    "content_of",
    "read",
    "temporary_files",
    "write",
    "write_atomically",
]

FORMAT_VERSION = 1
MAX_HEADER_BYTES = 100 * 2**20  # safetensors' own limit
MAX_DEPTH = 100  # a column transformer in a pipeline in an ensemble needs about 40
MAX_MODELS = 10  # one inside another; scikit-learn asks three times as often for the tags of every further pipeline
KEY = "margin"
CHECKSUM = "sha256"
TEMPORARY = ".margin-"  # how the names of our temporary files begin
#: What file systems answer that cannot write the entries of a folder to the disk.
NO_FOLDER_SYNC = {errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM}
UNSEALED = "0" * 64
BEFORE_CHECKSUM = rb'"{\"sha256\":\"'  # the manifest is a string in the header's JSON, so its quotes are escaped
MANIFEST_KEYS = {CHECKSUM, "format_version", "kind", "root", "versions", "data_hash", "facts"}


class StoreError(ValueError):
    """A file cannot be read as what it should be, or a value cannot be written; the sentence says why."""


class NewerFormatError(StoreError):
    """A file is not damaged but written by a later version."""


def write(path: str | Path, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write ``arrays`` and ``manifest`` to one file, wholly or not at all."""
    return write_atomically(path, content_of({"format_version": FORMAT_VERSION, **manifest}, arrays))


def content_of(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a file with its checksum."""
    from safetensors.numpy import save

    # safetensors 0.8 writes wrong values for arrays that are not contiguous, without an error.
    contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    text = json.dumps({CHECKSUM: UNSEALED, **document}, allow_nan=False, separators=(",", ":"))
    content = save(contiguous, metadata={KEY: text})
    start = content.index(BEFORE_CHECKSUM) + len(BEFORE_CHECKSUM)
    return content[:start] + _checksum(content, start).encode() + content[start + len(UNSEALED) :]


def _checksum(content: bytes, start: int) -> str:
    """Of the whole content, with zeros where the checksum itself stands."""
    digest, view = hashlib.sha256(), memoryview(content)
    for part in (view[:start], UNSEALED.encode(), view[start + len(UNSEALED) :]):
        digest.update(part)
    return digest.hexdigest()


def write_atomically(path: str | Path, content: bytes) -> Path:
    """Temporary file in the same folder, fsync, rename, fsync of the folder: a kill leaves the old file or the new.

    On a disk that is full for a moment it is tried again.
    """
    return until_written(lambda: _write_atomically(Path(path), content))


def _write_atomically(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f"{TEMPORARY}{path.name}-{secrets.token_hex(8)}.tmp"
    try:
        # "x" creates the file with the permissions that the process gives any new file, and never opens another's.
        with naming(path), open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _rename(temporary, path, content)
    except BaseException:
        with suppress(OSError):  # what went wrong is said, not that the rest could not be removed either
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path


def _rename(temporary: Path, path: Path, content: bytes) -> None:
    """Put the new file in the place of the old one; if that is refused the error names the file that was wanted."""
    try:
        os.replace(temporary, path)
    except OSError as problem:
        # A network file system that repeats a request whose answer was lost is told that there is nothing to rename.
        if isinstance(problem, FileNotFoundError) and path.is_file() and path.read_bytes() == content:
            return
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None


def _sync_folder(folder: Path) -> None:
    """Write the folder's own entries to the disk; some network file systems refuse that, or to open it."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError as problem:
        if problem.errno not in NO_FOLDER_SYNC:
            raise
    finally:
        os.close(number)


def temporary_files(folder: Path) -> list[Path]:
    """What killed writes of ours left in ``folder`` itself; files of other programs and links are not ours."""
    ours = re.compile(re.escape(TEMPORARY) + r".+-[0-9a-f]{16}\.tmp")
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        folder / entry.name for entry in entries if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
    ]


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The manifest and arrays of a file of the given kind ("model" or "state")."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.") from None
    manifest = _manifest(path, content)
    version = manifest.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise StoreError(f"{path} has no valid format version; got {version!r}.")
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"{path} has format version {version}, this Margin reads up to {FORMAT_VERSION}: update Margin to read it."
        )
    unknown = sorted(manifest.keys() - MANIFEST_KEYS)
    if unknown:
        raise StoreError(f"{path} is damaged: its manifest has an unknown part {unknown[0][:40]!r}.")
    if manifest.get("kind") != kind:
        raise StoreError(f"{path} holds a {manifest.get('kind')!r}, not a {kind!r}.")
    return manifest, _arrays(path, content)


def _manifest(path: Path, content: bytes) -> dict[str, Any]:
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > MAX_HEADER_BYTES or size + 8 > len(content):
        raise StoreError(f"{path} is not a Margin file, or it is truncated ({len(content)} bytes).")
    header = _strict_json(path, content[8 : 8 + size])
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise StoreError(f"{path} is a safetensors file but was not written by Margin.")
    document = _strict_json(path, text)
    if not isinstance(document, dict):
        raise StoreError(f"{path} is damaged: its manifest is not an object.")
    if CHECKSUM in document:
        start = content.find(BEFORE_CHECKSUM, 0, 8 + size) + len(BEFORE_CHECKSUM)
        if document[CHECKSUM] != _checksum(content, start):
            raise StoreError(f"{path} is damaged: its bytes are not those that were written (the checksum differs).")
    return document


def _arrays(path: Path, content: bytes) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(content)
    # The library also lets KeyError (dtype unknown to NumPy) and ValueError (shape against bytes) through.
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}.") from None


def _strict_json(path: Path, text: str | bytes) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise StoreError(f"{path} is refused: its JSON repeats a key.")
        return found

    try:
        document = json.loads(text, object_pairs_hook=pairs)
    except StoreError:
        raise
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is damaged or not a Margin file: its header is not valid JSON.") from None
    if _depth(document) > MAX_DEPTH:
        raise StoreError(f"{path} is refused: its JSON is nested more than {MAX_DEPTH} levels deep.")
    return document


def _depth(document: Any) -> int:
    """Levels of nesting, counted without recursion."""
    depth, level = 0, [document]
    while level:
        depth += 1
        objects = [value.values() for value in level if isinstance(value, dict)]
        lists = [value for value in level if isinstance(value, list)]
        level = [inner for values in (*objects, *lists) for inner in values]
    return depth
