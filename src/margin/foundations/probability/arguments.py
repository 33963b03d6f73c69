"""What a distribution accepts: each function turns one argument into its plain form or says what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.core.arguments import integer, numbers, positive, real

__all__ = [
    "Array",
    "fraction",
    "freeze",
    "generator",
    "integer",
    "numbers",
    "observations",
    "positive",
    "real",
    "rows",
    "simplex",
]

Array = NDArray[np.float64]

# A probability vector typed in with six digits is meant to sum to one; a larger gap is a mistake worth reporting.
SIMPLEX_TOLERANCE = 1e-6


def fraction(owner: str, name: str, value: Any, *, zero: bool = True) -> float:
    """A probability; ``zero=False`` excludes the value 0."""
    number = real(owner, name, value)
    if not (0 <= number <= 1) or (number == 0 and not zero):
        raise ValueError(f"{owner}: {name} must lie in {'[' if zero else '('}0, 1]; got {value!r}.")
    return number


def simplex(owner: str, name: str, value: ArrayLike) -> Array:
    """A non-empty vector of probabilities; rounding within 1e-6 of a sum of one is divided out."""
    p = numbers(owner, name, value)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"{owner}: {name} must be a non-empty vector; got shape {p.shape}.")
    if not np.all(p >= 0):
        raise ValueError(f"{owner}: {name} must be non-negative; got {p.tolist()}.")
    total = p.sum()
    if not abs(total - 1) <= SIMPLEX_TOLERANCE:
        raise ValueError(f"{owner}: {name} must sum to 1; got a sum of {total:.6g}.")
    return freeze(p / total)


def observations(owner: str, value: ArrayLike, *, integers: bool = False, low: float = -np.inf) -> Array:
    """A sample to learn from: one-dimensional, non-empty, finite, within its support."""
    data = numbers(owner, "data", value)
    if data.ndim != 1 or data.size == 0:
        raise ValueError(f"{owner}: data must be a non-empty vector; got shape {data.shape}.")
    if not np.all(np.isfinite(data)):
        raise ValueError(f"{owner}: data must be finite; got {data[~np.isfinite(data)][0]} among them.")
    if integers and np.any(data != np.floor(data)):
        raise ValueError(f"{owner}: data must be integers; got {data[data != np.floor(data)][0]} among them.")
    if np.any(data < low):
        raise ValueError(f"{owner}: data must be at least {low:g}; got {data.min():g}.")
    return data


def rows(owner: str, name: str, value: ArrayLike) -> Array:
    """A non-empty, finite matrix with one point per row; a vector is read as points on a line."""
    X = numbers(owner, name, value)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"{owner}: {name} must be a non-empty matrix of rows; got shape {X.shape}.")
    if not np.all(np.isfinite(X)):
        raise ValueError(f"{owner}: {name} must be finite; got {X[~np.isfinite(X)][0]} among its entries.")
    return X


def generator(owner: str, rng: Any) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"{owner}: rng must be a numpy.random.Generator; got {rng!r}.")
    return rng


def freeze(array: Array) -> Array:
    """A private, read-only copy: what a frozen object may hold."""
    array = np.array(array, dtype=np.float64)
    array.flags.writeable = False
    return array
