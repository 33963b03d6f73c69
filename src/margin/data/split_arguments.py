"""What splits and folds ask of their arguments: numbers of rows and parts, labels, times and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from margin.core.classes import encode_classes
from margin.core.missing import any_missing

__all__ = [
    "Seed",
    "TrainTest",
    "check_parts",
    "checked_rows",
    "class_codes",
    "each_part_once",
    "generator_of",
    "moment_start",
    "shuffle_by_class",
    "size_of_test",
    "time_order",
]

Seed = int | np.random.Generator
TrainTest = tuple[np.ndarray, np.ndarray]


def each_part_once(part: np.ndarray, k: int) -> Iterator[TrainTest]:
    """Every one of the ``k`` parts as the test rows once; ``part`` (n,) is the part of every row."""
    return ((np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(k))


def shuffle_by_class(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions sorted by class and in random order within each."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]


def moment_start(moments: np.ndarray, position: int) -> int:
    """The first position that has the same time as ``position``."""
    return int(np.searchsorted(moments, moments[position], side="left"))


def time_order(where: str, times: Any) -> TrainTest:
    """Positions in order of time, and the ordered times."""
    moments = np.asarray(times)
    if moments.ndim != 1 or len(moments) < 2 or moments.dtype.kind not in "iufM":
        raise ValueError(f"{where}: times must be a list of at least two numbers or dates; got {moments.dtype}.")
    if np.any(np.isnat(moments)) if moments.dtype.kind == "M" else np.any(np.isnan(moments)):
        raise ValueError(f"{where}: times must not be missing.")
    order = np.argsort(moments, kind="stable")
    return order, moments[order]


def class_codes(where: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each row's class as a code, and the count of each code; labels may be of mixed types."""
    labels = np.asarray(values)
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError(f"{where}: labels must be a list of at least two; got shape {labels.shape}.")
    if any_missing(labels.tolist()):
        raise ValueError(f"{where}: labels must not be missing.")
    if labels.dtype == object:
        labels = np.array([f"{type(value).__name__} {value}" for value in labels.tolist()])
    codes = encode_classes(labels)[1]
    return codes, np.bincount(codes)


def checked_rows(where: str, n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"{where}: n must be a number of rows of at least 2; got {n!r}.")
    return int(n)


def size_of_test(where: str, n: int, size: float, argument: str = "test_size") -> int:
    """Rows in the test part: at least one, and at least one left."""
    if isinstance(size, bool) or not isinstance(size, int | float | np.number) or not np.isfinite(size):
        raise ValueError(f"{where}: {argument} must be a number; got {size!r}.")
    is_count = isinstance(size, int | np.integer)
    if not (1 <= size < n if is_count else 0 < size < 1):
        raise ValueError(f"{where}: {argument} must be a fraction between 0 and 1 or 1 to {n - 1} rows; got {size!r}.")
    return int(size) if is_count else min(max(round(float(size) * n), 1), n - 1)


def check_parts(where: str, k: int, n: int, what: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= n:
        raise ValueError(f"{where}: k must be between 2 and the {n} {what}; got {k!r}.")


def generator_of(where: str, seed: Seed) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"{where}: seed must be an integer of at least 0 or a generator; got {seed!r}.")
    return np.random.default_rng(seed)
