"""Plain text: a whole file, or its lines, in whatever encoding it was written, plain or gzip."""

from __future__ import annotations

import os
from pathlib import Path

from margin.data.dialect import decode
from margin.data.unpacking import BROKEN, gunzip

__all__ = ["read_lines", "read_text"]


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, line ends as ``\\n``; the encoding is found out as for tables."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; name one file in it.")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    data = path.read_bytes()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gunzip(data)
        text = decode(data)
    except (*BROKEN, ValueError) as problem:
        raise ValueError(f"{path}: cannot be read as text ({problem}).") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a text file, without their ends; a last empty line is no line."""
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines
