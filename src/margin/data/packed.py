"""Packed files: gzip, bzip2 and xz hold one file, a zip archive may hold several, of which one must be the table."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePosixPath

from margin.data.unpacking import BROKEN, Allowance, unpack

__all__ = ["PACKED", "packing_of", "unpack_bytes"]

#: How a file was packed, by its suffix.
PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}
_BEGINNINGS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip"}
_SPREADSHEET = "[Content_Types].xml"  # every workbook, which is a zip archive, has it


def packing_of(data: bytes) -> str:
    """How ``data`` is packed, by its first bytes; "" if it is not, as a spreadsheet is not."""
    found = next((kind for beginning, kind in _BEGINNINGS.items() if data.startswith(beginning)), "")
    return "" if found == "zip" and _is_spreadsheet(data) else found


def unpack_bytes(data: bytes, kind: str, allowance: Allowance) -> tuple[bytes, str]:
    """What is packed as ``kind`` in ``data``, and the suffix of its name where an archive tells it."""
    try:
        if kind != "zip":
            return unpack(data, kind, allowance), ""
        archive = zipfile.ZipFile(io.BytesIO(data))
        member = _only_member(archive)
        with archive.open(member) as file:
            return allowance.read(file), PurePosixPath(member.filename).suffix.lower()
    except (*BROKEN, zipfile.BadZipFile, KeyError) as problem:
        raise ValueError(f"is not a complete {kind} file ({problem})") from None
    except (NotImplementedError, RuntimeError):
        raise ValueError("the archive is packed in a way that is not known here; unpack it") from None


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [member for member in archive.infolist() if not member.is_dir() and _is_content(member.filename)]
    if len(members) != 1:
        named = ", ".join(member.filename for member in members[:3]) + (", ..." if len(members) > 3 else "")
        raise ValueError(
            f"the archive holds {len(members) or 'no'} files{named and f' ({named})'}; unpack it and name one"
        )
    if members[0].flag_bits & 1:
        raise ValueError(f"{members[0].filename} in the archive is locked with a password; unpack it")
    return members[0]


def _is_content(name: str) -> bool:
    """Not what macOS adds about a file, nor a hidden file."""
    path = PurePosixPath(name)
    return bool(path.name) and path.parts[0] != "__MACOSX" and not path.name.startswith(".")


def _is_spreadsheet(data: bytes) -> bool:
    try:
        return _SPREADSHEET in zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return False
