"""Numbers that leave the range of a float, or whose squares do: refused in one sentence, or computed in other units.

Squares of numbers beyond 1e154 are infinite and those below 1e-162 are zero. Where a method needs such squares as they
are, :func:`validate_squarable` refuses the rows; where only ratios matter, as in a standard deviation by which a column
is divided, :func:`in_safe_units` computes in powers of two, which round nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite

from margin.core.new_rows import validate_new_rows
from margin.core.training_rows import validate_training_rows

__all__ = [
    "TARGET_ROOM",
    "check_magnitude",
    "finite_values",
    "in_safe_units",
    "power_of_two",
    "require_squares",
    "require_variance",
    "safe_units",
    "validate_squarable",
    "within_float32",
]

# Sums of squares up to here leave room for what is made of them: squared distances are at most four times as large,
# and sums of those over rows or products with weights a few more powers of ten.
LARGEST_SQUARES = {np.dtype(np.float64): 1e300, np.dtype(np.float32): 1e37}
TARGET_ROOM = 1e7  # times this for targets, of which squares are only summed
# Between these, squares (and their sums) neither overflow nor lose digits to underflow.
SAFE = (1e-140, 1e140)
LARGEST_DEVIATION = 1e154  # whose square is still a number
# Sums of a hundred million products with weights of about one stay below float32's limit of 3.4e38.
LARGEST_INPUT = 1e30
NO_TARGETS = "no_validation"  # what scikit-learn's validate_data calls rows that come without y


def validate_squarable(estimator: Any, X: Any, y: Any = NO_TARGETS, **rules: Any) -> Any:
    """scikit-learn's ``validate_data`` of rows whose squares will be summed: those too large for that are refused.

    The sum of squares also finds NaN and infinity, so it takes the place of the pass that looks for them.
    """
    without_targets = isinstance(y, str) and y == NO_TARGETS
    if without_targets and not rules.pop("reset", True):
        checked: Any = validate_new_rows(estimator, X, ensure_all_finite=False, **rules)
    else:
        checked = validate_training_rows(estimator, X, y, ensure_all_finite=False, **rules)
    require_squares(type(estimator).__name__, "X", checked if without_targets else checked[0])
    return checked


def require_squares(owner: str, argument: str, values: Any, *, room: float = 1.0) -> None:
    """Refuse an array (or the entries of a sparse one) that is not finite or whose squares are too large to be summed.

    ``room`` times as large a sum is allowed where nothing larger is made of it.

    >>> require_squares("KMeans", "X", np.array([[1.0, 1e200]]))
    Traceback (most recent call last):
    ValueError: KMeans: X must hold numbers whose squares add up to at most 1e+300; got 1e+200; scale it first.
    """
    entries = values.data if sp.issparse(values) else values
    largest = LARGEST_SQUARES.get(getattr(entries, "dtype", None))
    if largest is None:  # integers, or objects that only a kernel function understands
        return
    limit = largest * room
    flat = entries.ravel(order="K")  # a view of arrays in C or Fortran order
    with np.errstate(over="ignore", invalid="ignore"):
        total = flat @ flat
    if total <= limit:
        return
    assert_all_finite(values, estimator_name=owner, input_name=argument)
    raise ValueError(
        f"{owner}: {argument} must hold numbers whose squares add up to at most {limit:.0e}; got "
        f"{np.abs(flat).max():.3g}; scale it first."
    )


def finite_values(owner: str, argument: str, given: Any, values: Callable[[], Any]) -> Any:
    """What ``values()`` computes of the ``given`` argument, if a float can hold it; otherwise that is refused.

    >>> rows = np.array([1e200])
    >>> finite_values("PCA", "X", rows, lambda: rows**2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: PCA: X must hold numbers neither so large nor so small that what is computed of them overflows; got ...
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = values()
    if not np.isfinite(found).all():
        raise ValueError(
            f"{owner}: {argument} must hold numbers neither so large nor so small that what is computed of them "
            f"overflows; got numbers up to {_largest(given):.3g}; scale it first."
        )
    return found


def _largest(given: Any) -> float:
    return float(abs(given if sp.issparse(given) else np.asarray(given, dtype=np.float64)).max())


def require_variance(owner: str, argument: str, deviation: Any) -> None:
    """Refuse standard deviations whose squares, which a model predicts too, are infinite.

    >>> require_variance("GaussianProcessRegressor", "y", 1e200)
    Traceback (most recent call last):
    ValueError: GaussianProcessRegressor: y must have a standard deviation below 1e+154, the root of the largest \
number; got 1e+200; scale it first.
    """
    if np.max(deviation) >= LARGEST_DEVIATION:
        raise ValueError(
            f"{owner}: {argument} must have a standard deviation below {LARGEST_DEVIATION:g}, the root of the largest "
            f"number; got {np.max(deviation):.3g}; scale it first."
        )


def within_float32(owner: str, argument: str, values: np.ndarray) -> np.ndarray:
    """``values`` as float32, refused if some are beyond its range of 3.4e38.

    >>> within_float32("HOG", "X", np.array([1.0, 1e100]))
    Traceback (most recent call last):
    ValueError: HOG: X must hold numbers within the range of float32, at most 3.4e+38; got 1e+100; scale it first.
    """
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    if not np.isfinite(found).all():
        assert_all_finite(values, estimator_name=owner, input_name=argument)
        raise ValueError(
            f"{owner}: {argument} must hold numbers within the range of float32, at most "
            f"{np.finfo(np.float32).max:.1e}; got {np.abs(values).max():.3g}; scale it first."
        )
    return found


def check_magnitude(owner: str, name: str, values: np.ndarray, largest: float = LARGEST_INPUT) -> None:
    """Refuse finite ``values`` with which a computation in float32 would overflow and end in NaN.

    >>> check_magnitude("Model", "X", np.array([1.0, -1e200]))
    Traceback (most recent call last):
    ValueError: Model: X must lie between -1e+30 and 1e+30, since it is computed in float32; got -1e+200.
    """
    if values.size == 0 or values.dtype.kind != "f":
        return
    low, high = values.min(), values.max()
    if -largest <= low and high <= largest:
        return
    raise ValueError(
        f"{owner}: {name} must lie between {-largest:g} and {largest:g}, since it is computed in float32; "
        f"got {low if low < -largest else high:g}."
    )


def power_of_two(largest: Any) -> Any:
    """For numbers up to ``largest`` a unit in which they are about 1, or 1 where their squares are safe as they are.

    >>> power_of_two(np.array([0.0, 3.0, 1e200])) == [1.0, 1.0, 2.0**665]
    array([ True,  True,  True])
    """
    largest = np.asarray(largest, dtype=np.float64)
    safe = (largest == 0) | ((largest >= SAFE[0]) & (largest <= SAFE[1]))
    return np.where(safe, 1.0, np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1022, 1023)))


def safe_units(X: Any) -> np.ndarray:
    """A power of two per column of ``X`` (n, p; dense or sparse), or one for all of ``X`` (n,): see power_of_two."""
    largest = abs(X).max(axis=0)
    return power_of_two(largest.toarray().ravel() if sp.issparse(largest) else largest)


def in_safe_units(rule: Callable[[Any], tuple[np.ndarray, np.ndarray]], X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Center and spread of every column, as ``rule`` computes them of ``X``, even where the squares on the way there
    overflow or vanish. The ordinary case has the bits of ``rule`` itself.

    >>> in_safe_units(lambda X: (X.mean(axis=0), X.std(axis=0)), np.array([[1.0, 1e200], [3.0, 3e200]]))[1]
    array([1.e+000, 1.e+200])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center, spread = rule(X)
    known = np.asarray(spread, dtype=np.float64)
    if ((known >= SAFE[0]) & (known <= SAFE[1])).all():
        return center, spread
    unit = safe_units(X)
    if (unit == 1).all():
        return center, spread
    center, spread = rule(X.multiply(1 / unit).tocsr() if sp.issparse(X) else X / unit)
    return center * unit, spread * unit
