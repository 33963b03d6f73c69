"""What the functions of this package accept: finite numbers of the right shape, or one sentence saying why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "as_array", "as_matrix", "as_square", "as_symmetric", "as_vector"]

Array = NDArray[Any]

# Forming X^T X or averaging a matrix with its transpose leaves asymmetries of a few rounding errors; a matrix that
# is asymmetric by more than this fraction of its largest entry was not meant to be symmetric.
SYMMETRY_TOLERANCE = 1e-10


def as_array(function: str, name: str, value: Any, *, real: bool = False) -> Array:
    """``value`` as a non-empty array of finite float64 (or complex128) numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{function}: {name} must be a rectangular array of numbers; got ragged rows.") from None
    if array.dtype.kind not in "buifc":
        raise ValueError(f"{function}: {name} must hold numbers; got {type(value).__name__} of {array.dtype}.")
    if real and array.dtype.kind == "c":
        raise ValueError(f"{function}: {name} must be real; got complex numbers.")
    if array.size == 0:
        raise ValueError(f"{function}: {name} must not be empty; got shape {array.shape}.")
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{function}: {name} must be finite; got NaN or infinity.")
    return array


def as_matrix(function: str, name: str, value: Any, *, real: bool = False) -> Array:
    array = as_array(function, name, value, real=real)
    if array.ndim != 2:
        raise ValueError(f"{function}: {name} must be a matrix; got shape {array.shape}.")
    return array


def as_square(function: str, name: str, value: Any, *, real: bool = False) -> Array:
    array = as_matrix(function, name, value, real=real)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{function}: {name} must be square; got shape {array.shape}.")
    return array


def as_symmetric(function: str, name: str, value: Any) -> Array:
    array = as_square(function, name, value, real=True)
    gap = np.abs(array - array.T).max()
    if gap > SYMMETRY_TOLERANCE * np.abs(array).max():
        raise ValueError(f"{function}: {name} must be symmetric; it differs from its transpose by {gap:.3g}.")
    return array


def as_vector(function: str, name: str, value: Any, *, size: int | None = None, real: bool = False) -> Array:
    array = as_array(function, name, value, real=real)
    if array.ndim != 1 or (size is not None and len(array) != size):
        wanted = "a vector" if size is None else f"a vector of {size} numbers"
        raise ValueError(f"{function}: {name} must be {wanted}; got shape {array.shape}.")
    return array
