"""The exponential and the logarithm of a number, term by term."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array

__all__ = ["PartialSums", "exp_series", "log_partial_sums", "log_series"]


# exp(710) exceeds the largest double, and so would the largest term for a = -710.
EXP_RANGE = 700


class PartialSums(NamedTuple):
    """The value of a series after each term, and its distance from the function."""

    sums: Array  # (terms,)
    errors: Array  # (terms,)


def exp_series(a: float, terms: int) -> PartialSums:
    r"""Partial sums of :math:`\exp(a) = \sum_{i\ge0} a^i/i!`, which converge for every a.

    In doubles, for \|a\| up to 700; a large negative a loses all its digits to cancellation.

    >>> exp_series(1.0, 4).sums
    array([1.        , 2.        , 2.5       , 2.66666667])
    """
    terms = integer("exp_series", "terms", terms, low=1)
    _require("exp_series", abs(a) <= EXP_RANGE, f"a must be between -{EXP_RANGE} and {EXP_RANGE}", a)
    ratios = np.concatenate([[1.0], a / np.arange(1, terms)])
    sums = np.cumsum(np.cumprod(ratios))
    return PartialSums(sums, np.abs(sums - math.exp(a)))


def log_series(a: float, terms: int) -> PartialSums:
    r"""Partial sums of :math:`\ln a = \sum_{i\ge1} (-1)^{i+1}(a-1)^i/i`, for :math:`0 < a \le 2`.

    Beyond 2 the terms grow without bound, and at or below 0 there is no real logarithm: both are refused.

    >>> log_series(2.0, 3).sums
    array([1.        , 0.5       , 0.83333333])
    """
    _require("log_series", 0 < a <= 2, "a must be in (0, 2], where the series converges", a)
    sums = log_partial_sums(a, terms)
    return PartialSums(sums, np.abs(sums - math.log(a)))


def log_partial_sums(a: float, terms: int) -> Array:
    """The sums of :func:`log_series` for any a, whether or not they converge."""
    terms = integer("log_partial_sums", "terms", terms, low=1)
    _require("log_partial_sums", math.isfinite(a), "a must be finite", a)
    i = np.arange(1, terms + 1)
    return np.cumsum(-((1.0 - a) ** i) / i)


def _require(function: str, holds: bool, condition: str, value: float) -> None:
    if not holds:
        raise ValueError(f"{function}: {condition}; got {value}.")
