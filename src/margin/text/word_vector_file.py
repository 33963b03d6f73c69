"""Files of word vectors as text: the format of the word2vec program, which gensim, fastText and others read and write.

The first line has the number of words and the length of a vector; each further one a word and its numbers. GloVe's own
files lack the first line, and are read as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

__all__ = ["read_word_vectors", "write_word_vectors"]

LONGEST_LINE = 1_000_000  # characters: more than any word with thousands of numbers has


def write_word_vectors(path: str | os.PathLike[str], words: Sequence[str], vectors: np.ndarray) -> Path:
    """Write ``vectors`` (n, d) of ``words``; the numbers are written so that reading them gives the same bits."""
    path = Path(path)
    for word in words:
        if not word or any(sign.isspace() for sign in word):
            raise ValueError(
                f"write_word_vectors: words must be strings without white space, which ends them; got {word!r}."
            )
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n")
        for word, row in zip(words, vectors.tolist(), strict=True):
            file.write(f"{word} {' '.join(map(repr, row))}\n")
    return path


def read_word_vectors(path: str | os.PathLike[str]) -> tuple[list[str], np.ndarray]:
    """The words of a file and their vectors (n, d), in the order of the file; of equal words the first counts."""
    rows: dict[str, np.ndarray] = {}
    size: int | None = None
    promised: int | None = None
    count = 0
    with Path(path).open(encoding="utf-8", errors="strict", newline="\n") as file:
        for number, line in enumerate(_lines(path, file), start=1):
            parts = line.split()
            if number == 1 and len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts):
                promised, size = int(parts[0]), int(parts[1])
                continue
            size = len(parts) - 1 if size is None else size
            if size < 1 or len(parts) != size + 1:
                raise ValueError(
                    f"read_word_vectors: line {number} of {path} must have a word and {max(size, 1)} numbers; "
                    f"got {len(parts)} parts."
                )
            rows.setdefault(parts[0], _numbers(path, number, parts[1:]))
            count += 1
    if not rows or (promised is not None and promised != count):
        wanted = "some" if promised is None else promised
        raise ValueError(f"read_word_vectors: {path} must have {wanted} words; it has {count}.")
    vectors = np.stack(list(rows.values()))
    single = vectors.astype(np.float32)
    return list(rows), single if np.array_equal(single, vectors) else vectors  # single precision stays so


def _lines(path: object, file: TextIO) -> Iterator[str]:
    while True:
        try:
            line = file.readline(LONGEST_LINE)
        except UnicodeDecodeError:
            raise ValueError(f"read_word_vectors: {path} must be text in UTF-8; the binary form is not read.") from None
        if not line:
            return
        if len(line) == LONGEST_LINE:
            raise ValueError(f"read_word_vectors: {path} must have lines below {LONGEST_LINE:,} characters.")
        if line.strip():
            yield line


def _numbers(path: object, number: int, parts: Sequence[str]) -> np.ndarray:
    try:
        row = np.array(parts, dtype=np.float64)
    except ValueError:
        row = np.array([np.nan])
    if not np.isfinite(row).all():
        raise ValueError(f"read_word_vectors: line {number} of {path} must have finite numbers behind the word.")
    return row
