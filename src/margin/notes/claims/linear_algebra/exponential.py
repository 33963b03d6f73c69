"""Exponential and logarithm of numbers and of matrices."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

from margin.core.verdict import Verdict, below, corrected, equal, every, near, raises
from margin.foundations.linalg import (
    exp_series,
    expm,
    linear_ode_solution,
    log_partial_sums,
    log_series,
    logm,
    logm_partial_sums,
)
from margin.notes.claims import claim
from margin.notes.claims.linear_algebra.identities import is_defined


@claim("real-exponential-series")
def the_exponential_series_converges() -> Verdict:
    errors = exp_series(2.5, 30).errors
    return every(
        limit=near(exp_series(2.5, 30).sums[-1], math.exp(2.5), tolerance=1e-13),
        after_10_terms=below(errors[9], 1e-2),
        shrinking=equal(bool(np.all(np.diff(errors[:15]) < 0)), True),
    )


@claim("matrix-exponential")
def the_matrix_series_is_the_exponential(seed: int) -> Verdict:
    A = np.random.default_rng(seed).standard_normal((4, 4))
    t, expected = 0.7, scipy.linalg.expm(A)

    def derivative_term(i: int) -> np.ndarray:
        return t ** (i - 1) * A @ np.linalg.matrix_power(A, i - 1) / math.factorial(i - 1)

    derivative = sum(derivative_term(i) for i in range(1, 40))
    return corrected(
        every(
            series=near(expm(A, method="series"), expected, tolerance=1e-10),
            pade=near(expm(A, method="pade"), expected, tolerance=1e-10),
            derivative=near(derivative, A @ expm(A * t), tolerance=1e-10),
        ),
        # The printed sum starts at i = 0, whose term divides by (-1)!.
        printed=equal(is_defined(lambda: derivative_term(0)), True),
    )


@claim("claim-matrix-exponential-solves-linear-ode")
def the_exponential_solves_the_linear_equation(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    A, c, t, step = rng.standard_normal((3, 3)), rng.standard_normal(3), 1.2, 1e-5
    integrated = solve_ivp(lambda _, f: A @ f, (0, t), c, rtol=1e-10, atol=1e-12).y[:, -1]
    slope = (linear_ode_solution(A, c, t + step) - linear_ode_solution(A, c, t - step)) / (2 * step)
    f = linear_ode_solution(A, c, t)
    return every(
        runge_kutta=near(f, integrated, tolerance=1e-6),
        derivative=near(slope, A @ f, tolerance=1e-6),
        start=near(linear_ode_solution(A, c, 0.0), c, tolerance=1e-12),
    )


@claim("real-logarithm-series")
def the_logarithm_series_has_a_domain() -> Verdict:
    return corrected(
        every(
            inside=near(log_series(1.5, 60).sums[-1], math.log(1.5), tolerance=1e-12),
            at_two=near(log_series(2.0, 20_000).sums[-1], math.log(2), tolerance=1e-4),
            refuses_three=raises(ValueError, lambda: log_series(3.0, 10), match="(0, 2]"),
            refuses_negative=raises(ValueError, lambda: log_series(-1.0, 10), match="(0, 2]"),
        ),
        printed=near(log_partial_sums(3.0, 60)[-1], math.log(3), tolerance=1.0),
    )


@claim("matrix-logarithm")
def the_matrix_logarithm_series_has_a_domain(seed: int) -> Verdict:
    M = np.random.default_rng(seed).standard_normal((4, 4))
    inside = np.eye(4) + 0.6 * M / np.abs(np.linalg.eigvals(M)).max()
    outside = np.array([[3.0, 0.1], [0.1, 0.9]])
    diverged = logm_partial_sums(outside, 50)[-1]
    return corrected(
        every(
            series=near(logm(inside, method="series"), np.real(scipy.linalg.logm(inside)), tolerance=1e-10),
            inverse_of_exp=near(expm(logm(inside, method="series")), inside, tolerance=1e-10),
            refuses=raises(ValueError, lambda: logm(outside, method="series"), match="unit disc"),
            the_logarithm_exists=near(expm(logm(outside)), outside, tolerance=1e-12),
            partial_sum=near(np.abs(diverged).max() / 1e13, 1.7, tolerance=0.05),
        ),
        printed=near(diverged, logm(outside), tolerance=1.0),
    )
