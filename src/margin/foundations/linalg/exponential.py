"""Exponential and logarithm of a square matrix, and the linear differential equation that the exponential solves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np
import scipy.linalg

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_square, as_vector
from margin.foundations.linalg.solving import solve

__all__ = ["expm", "linear_ode_solution", "logm", "logm_partial_sums", "spectral_radius"]

EPS = float(np.finfo(float).eps)
# Below a spectral radius of 1 the logarithm's series converges, but as slowly as radius^i; this many terms reach
# rounding level for every radius up to 0.999.
MAX_LOG_TERMS = 40_000
# A logarithm whose exponential is farther than this from A, relative to A, is not worth returning.
LOG_RESIDUAL = 1e-8
# The 1-norm up to which the [13/13] Padé approximant of exp is exact to double precision (Higham 2005).
PADE_13_RADIUS = 5.371920351148152


def expm(A: Any, method: str = "pade") -> Array:
    r"""The matrix exponential :math:`\exp(A) = \sum_{i\ge0} A^i/i!`; ``method`` is "pade" or "series".

    Both use :math:`\exp(A) = \exp(A/2^s)^{2^s}`, so that no large terms of opposite sign cancel. "series" sums the
    definition; "pade" evaluates the [13/13] rational approximation, about seven matrix products and one solve.

    >>> expm([[0.0, 1.0], [0.0, 0.0]])
    array([[1., 1.],
           [0., 1.]])
    """
    A = as_square("expm", "A", A, real=True)
    if method not in ("pade", "series"):
        raise ValueError(f"expm: method must be 'pade' or 'series'; got {method!r}.")
    # The series is summed where its terms shrink at once, at a norm of at most 1/2.
    reach, small_exponential = (PADE_13_RADIUS, _expm_pade) if method == "pade" else (0.5, _expm_series)
    size = float(np.linalg.norm(A, 1))
    halvings = math.ceil(math.log2(size / reach)) if size > reach else 0
    E = small_exponential(A / 2.0**halvings)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(halvings):
            E = E @ E
    if not np.isfinite(E).all():
        raise OverflowError(f"expm: exp(A) exceeds the largest floating-point number; the norm of A is {size:.3g}.")
    return E


def logm(A: Any, method: str = "schur") -> Array:
    r"""The principal logarithm: the X with :math:`\exp(X) = A`; ``method`` is "schur" or "series".

    "series" sums :math:`\sum_{i\ge1} (-1)^{i+1}(A - I)^i/i` and needs the eigenvalues of :math:`A - I` inside the
    unit disc; "schur" (SciPy's) needs only that no eigenvalue of A lies on the closed negative real axis. A matrix
    outside the domain of the method is refused.
    """
    A = as_square("logm", "A", A, real=True)
    if method == "series":
        return _logm_series(A)
    if method != "schur":
        raise ValueError(f"logm: method must be 'schur' or 'series'; got {method!r}.")
    values = np.linalg.eigvals(A)
    forbidden = (values.real <= EPS * np.abs(values).max()) & (np.abs(values.imag) <= EPS * np.abs(values).max())
    if forbidden.any():
        raise np.linalg.LinAlgError(
            f"logm: A has no real principal logarithm; its eigenvalue {values[forbidden][0].real:.3g} is not positive."
        )
    with warnings.catch_warnings():
        # SciPy warns above an estimated error of a few thousand roundings; ours is measured below.
        warnings.simplefilter("ignore", RuntimeWarning)
        X = np.real(scipy.linalg.logm(A))
    error = float(np.abs(expm(X) - A).max() / np.abs(A).max())
    if error > LOG_RESIDUAL:
        raise np.linalg.LinAlgError(f"logm: A is too ill-conditioned; exp(log A) misses A by {error:.3g} relative.")
    return X


def logm_partial_sums(A: Any, terms: int) -> Array:
    """The logarithm's series after each of its first terms, (terms, n, n), whether or not it converges."""
    A = as_square("logm_partial_sums", "A", A, real=True)
    terms = integer("logm_partial_sums", "terms", terms, low=1)
    return np.cumsum(list(islice(_log_terms(A), terms)), axis=0)


def spectral_radius(A: Any) -> float:
    """The largest absolute value of an eigenvalue."""
    return float(np.abs(np.linalg.eigvals(as_square("spectral_radius", "A", A))).max())


def linear_ode_solution(A: Any, c: Any, t: float) -> Array:
    r"""The value at time t of the solution of :math:`f' = Af,\ f(0) = c`, which is :math:`f(t) = e^{At}c`.

    >>> linear_ode_solution([[0.0, -1.0], [1.0, 0.0]], [1.0, 0.0], np.pi / 2).round(12)
    array([0., 1.])
    """
    A = as_square("linear_ode_solution", "A", A, real=True)
    c = as_vector("linear_ode_solution", "c", c, size=len(A), real=True)
    return expm(A * t) @ c


def _expm_series(A: Array) -> Array:
    total = term = np.eye(len(A))
    for i in count(1):
        term = term @ A / i
        total = total + term
        if np.abs(term).max() <= EPS * np.abs(total).max():
            return total
    raise AssertionError("unreachable: the terms of the exponential series tend to zero")


def _expm_pade(A: Array) -> Array:
    r"""The quotient :math:`q(A)^{-1}p(A)` with :math:`p(x) = \sum_k b_k x^k` and :math:`q(x) = p(-x)`."""
    degree = 13
    b = [math.factorial(2 * degree - k) * math.comb(degree, k) / math.factorial(2 * degree) for k in range(degree + 1)]
    A2 = A @ A
    even, odd, power = np.zeros_like(A), np.zeros_like(A), np.eye(len(A))
    for k in range(0, degree, 2):
        even, odd = even + b[k] * power, odd + b[k + 1] * power
        power = power @ A2
    odd = A @ odd
    return solve(even - odd, even + odd)


def _logm_series(A: Array) -> Array:
    radius = spectral_radius(A - np.eye(len(A)))
    if radius >= 1:
        raise ValueError(
            f"logm: the series needs the eigenvalues of A - I inside the unit disc; the largest has size {radius:.3g}."
        )
    total = np.zeros_like(A)
    for term in islice(_log_terms(A), MAX_LOG_TERMS):
        total += term
        if np.abs(term).max() <= EPS * np.abs(total).max():
            return total
    raise ValueError(
        f"logm: {MAX_LOG_TERMS} terms do not suffice for the spectral radius {radius:.6g} of A - I; use method='schur'."
    )


def _log_terms(A: Array) -> Iterator[Array]:
    step = np.eye(len(A)) - A
    power = step
    for i in count(1):
        yield -power / i
        power = power @ step
