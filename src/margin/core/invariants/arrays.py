"""Arrays and sparse matrices: dtype, shape, range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.core.invariants.sizes import Sizes, Stored, Violation

__all__ = ["ArrayOf", "SparseOf"]

# What "f" and friends allow. Exact dtypes are written as such ("int32"): kernels are compiled for them.
KINDS: Mapping[str, Callable[[np.dtype], bool]] = {
    "f": lambda dtype: dtype in (np.dtype(np.float32), np.dtype(np.float64)),
    "i": lambda dtype: dtype in (np.dtype(np.int32), np.dtype(np.int64)),
    "b": lambda dtype: dtype.kind == "b",
    "labels": lambda dtype: dtype.kind in "biufUO",
    "names": lambda dtype: dtype.kind in "UO",
}


@dataclass(frozen=True)
class ArrayOf(Stored):
    """An array: ``dims`` are sizes, names of sizes, or None for any size; ``ArrayOf(...)`` has any shape.

    Values lie from ``low`` to ``high``; ``below`` names a size that all of them, being indices, are less than.
    """

    dims: tuple[Any, ...] = ()
    kind: str = "f"
    low: float | None = None
    high: float | None = None
    below: str = ""
    finite: bool = True
    any_shape: bool = False

    def __init__(
        self,
        *dims: Any,
        kind: str = "f",
        low: float | None = None,
        high: float | None = None,
        below: str = "",
        finite: bool = True,
    ):
        values = {"dims": dims, "kind": kind, "low": low, "high": high, "below": below, "finite": finite}
        for name, value in {**values, "any_shape": dims == (...,)}.items():
            object.__setattr__(self, name, value)

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray):
            raise Violation(f"{where} must be an array; got {type(value).__name__}")
        allowed = KINDS.get(self.kind)
        if not (allowed(value.dtype) if allowed else value.dtype == np.dtype(self.kind)):
            raise Violation(f"{where} must have dtype {self.kind}; got {value.dtype}")
        if not self.any_shape:
            self._check_shape(value, where, sizes)
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Violation(f"{where} must be finite")
        if self.low is not None and value.size and not value.min() >= self.low:
            raise Violation(f"{where} must be at least {self.low}; got {value.min()}")
        if self.high is not None and value.size and not value.max() <= self.high:
            raise Violation(f"{where} must be at most {self.high}; got {value.max()}")
        if self.below and value.size:
            largest = int(value.max())
            sizes.later.append(lambda all_sizes: _check_below(largest, self.below, where, all_sizes))

    def _check_shape(self, value: np.ndarray, where: str, sizes: Sizes) -> None:
        if value.ndim != len(self.dims):
            raise Violation(f"{where} has shape {value.shape}, not {len(self.dims)} dimensions")
        _check_dims(self.dims, value.shape, where, sizes)


def _check_dims(dims: tuple[Any, ...], shape: tuple[int, ...], where: str, sizes: Sizes) -> None:
    context = f"{where} has shape {shape}"
    for dim, size in zip(dims, shape):
        if isinstance(dim, str):
            sizes.agree(dim, size, context)
        elif dim is not None and dim != size:
            raise Violation(f"{context}: {size} should be {dim}")


def _check_below(largest: int, name: str, where: str, sizes: Sizes) -> None:
    if largest >= sizes[name]:
        raise Violation(f"{where} must be less than {name} ({sizes[name]}); got {largest}")


@dataclass(frozen=True)
class SparseOf(Stored):
    """A sparse matrix whose indices were checked when it was read."""

    rows: str | int
    columns: str | int

    def check(self, value: Any, where: str, sizes: Sizes) -> None:
        if not hasattr(value, "indptr"):
            raise Violation(f"{where} must be a sparse matrix; got {type(value).__name__}")
        ArrayOf(...).check(value.data, where, sizes)
        _check_dims((self.rows, self.columns), value.shape, where, sizes)
