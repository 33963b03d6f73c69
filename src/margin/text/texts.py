"""Texts as they come from a user: checked strings, and files read with the place of what is no UTF-8."""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["check_text", "check_unicode", "read_text", "text_items", "text_rows"]


def text_items(owner: str, X: Any, name: str = "X", *, words_in_columns: bool = False) -> list[Any]:
    """What ``X`` holds, an item for each text: a sequence, a generator, a column, or a table of one column.

    A set has no order that another process would repeat, and a dictionary or a table would give its names. Where an
    array may have the words of a text in its columns, ``words_in_columns`` keeps its rows.

    >>> text_items("Model", np.array([["to be"], ["or not"]], dtype=object))
    ['to be', 'or not']
    """
    ndim = getattr(X, "ndim", 1)
    if isinstance(X, Mapping | Set) or ndim == 0 or not hasattr(X, "__iter__"):
        kind = "an array without axes" if ndim == 0 else type(X).__name__
        raise ValueError(f"{owner}: {name} must be a sequence of texts; got {kind}.")
    if ndim == 2 and (X.shape[1] == 1 or not (words_in_columns and isinstance(X, np.ndarray))):
        if X.shape[1] != 1:
            raise ValueError(f"{owner}: {name} must be one column of strings; got {X.shape[1]} columns.")
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    items = list(X)
    if not items:
        raise ValueError(f"{owner}: {name} must have at least one text; got none.")
    return items


def text_rows(owner: str, X: Any) -> list[str]:
    """The strings of ``X``, one per row: a sequence, an array, a column, or a table of one column.

    >>> text_rows("Model", ["to be", "or not"])
    ['to be', 'or not']
    """
    if isinstance(X, str | bytes):
        raise ValueError(f"{owner}: X must be a sequence of strings, one for each text; got a single one.")
    return [check_text(owner, i, text) for i, text in enumerate(text_items(owner, X))]


def check_text(owner: str, i: int, text: Any) -> str:
    """Text number ``i`` if it is a string of valid characters; it may be empty."""
    if not isinstance(text, str):
        raise ValueError(f"{owner}: X must be strings only; text {i} is {type(text).__name__}.")
    return check_unicode(owner, "X", i, str(text))


def check_unicode(owner: str, name: str, i: int, text: str) -> str:
    """Text number ``i`` of argument ``name`` if all of it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"{owner}: {name} must be valid Unicode; text {i} has a lone surrogate at position {problem.start}."
        ) from None
    return text


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file; what is none is refused with its place, and a byte-order mark is left out."""
    data = Path(path).read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(
            f"read_text: {os.fspath(path)} must be UTF-8; byte {data[problem.start]:#04x} at position {problem.start} "
            f"(line {line}) is not."
        ) from None
