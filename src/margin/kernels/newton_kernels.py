"""Newton's step of a linear machine on a small table, in one call: there twenty calls of NumPy cost more."""

from __future__ import annotations

from math import sqrt

import cython

from margin.core.kernel_source import ConstMatrix, ConstVector, Matrix, Vector, inner, kernel

__all__ = ["newton_step"]

INFINITE = float("inf")


@kernel
def newton_step(
    X: ConstMatrix,
    y: ConstVector,
    bounds: ConstVector,
    most: cython.Py_ssize_t,
    flatter: cython.double,
    theta: Vector,
    slack: Vector,
    fall: Vector,
    system: Matrix,
    direction: Vector,
    told: Vector,
) -> cython.bint:
    """One step on |w|^2 / 2 + sum_i bounds_i (1 - y_i f_i)_+^2; False, and no step, where the Hessian is singular.

    ``theta`` (d,) is w and, if it has one entry more than X has columns, b. ``most`` and ``flatter`` limit the search
    along the step. ``slack`` and ``fall`` (n,), ``system`` (d, d) and ``direction`` (d,) are memory to work in.
    ``told`` (3,) gets the objective, by how much it fell, and the length of its gradient.
    """
    n = X.shape[0]
    p = X.shape[1]
    before = _linearize(X, y, bounds, theta, slack, system, direction)
    if not _solve(system, direction):
        return False
    slope: cython.double = 0.0
    curvature: cython.double = 0.0
    for j in range(p):
        slope += direction[j] * theta[j]
        curvature += direction[j] * direction[j]
    for i in range(n):
        fall[i] = y[i] * _value(X, i, direction)
    t = _exact_step(slope, curvature, slack, fall, bounds, most, flatter)
    for j in range(theta.shape[0]):
        theta[j] += t * direction[j]
    for i in range(n):
        slack[i] -= t * fall[i]
    after = _slope(X, y, bounds, theta, slack, direction)
    length: cython.double = 0.0
    for j in range(theta.shape[0]):
        length += direction[j] * direction[j]
    told[0] = after
    told[1] = before - after
    told[2] = sqrt(length)
    return True


@inner
def _value(X: ConstMatrix, i: cython.Py_ssize_t, theta: Vector) -> cython.double:
    p = X.shape[1]
    value: cython.double = theta[p] if theta.shape[0] > p else 0.0
    for j in range(p):
        value += X[i, j] * theta[j]
    return value


@inner
def _slope(
    X: ConstMatrix, y: ConstVector, bounds: ConstVector, theta: Vector, slack: Vector, gradient: Vector
) -> cython.double:
    """The objective; its gradient into ``gradient``."""
    p = X.shape[1]
    objective: cython.double = 0.0
    for j in range(theta.shape[0]):
        gradient[j] = theta[j] if j < p else 0.0
        objective += 0.5 * gradient[j] * gradient[j]
    for i in range(X.shape[0]):
        if slack[i] > 0.0 and bounds[i] > 0.0:
            objective += bounds[i] * slack[i] * slack[i]
            pull = 2.0 * bounds[i] * slack[i] * y[i]
            for j in range(p):
                gradient[j] -= pull * X[i, j]
            if theta.shape[0] > p:
                gradient[p] -= pull
    return objective


@inner
def _linearize(
    X: ConstMatrix, y: ConstVector, bounds: ConstVector, theta: Vector, slack: Vector, system: Matrix, gradient: Vector
) -> cython.double:
    """The objective; gradient and the lower triangle of the Hessian into their arrays."""
    p = X.shape[1]
    d = theta.shape[0]
    for i in range(X.shape[0]):
        slack[i] = 1.0 - y[i] * _value(X, i, theta)
    objective = _slope(X, y, bounds, theta, slack, gradient)
    for j in range(d):
        for k in range(d):
            system[j, k] = 0.0
        system[j, j] = 1.0 if j < p else 0.0  # b has no penalty
    for i in range(X.shape[0]):
        if slack[i] > 0.0 and bounds[i] > 0.0:
            weight = 2.0 * bounds[i]
            for j in range(p):
                scaled = weight * X[i, j]
                for k in range(j + 1):
                    system[j, k] += scaled * X[i, k]
            if d > p:
                for k in range(p):
                    system[p, k] += weight * X[i, k]
                system[p, p] += weight
    if d > p and system[p, p] == 0.0:
        system[p, p] = 1.0  # no active row: b is free and stays
    return objective


@inner
def _solve(system: Matrix, right: Vector) -> cython.bint:
    """``right`` becomes the solution for minus itself, by Cholesky's factor in the lower triangle of ``system``."""
    total: cython.double
    d = right.shape[0]
    for j in range(d):
        for k in range(j + 1):
            total = system[j, k]
            for m in range(k):
                total -= system[j, m] * system[k, m]
            if k < j:
                system[j, k] = total / system[k, k]
            elif total > 0.0 and total < INFINITE:
                system[j, j] = sqrt(total)
            else:
                return False
    for j in range(d):
        total = -right[j]
        for m in range(j):
            total -= system[j, m] * right[m]
        right[j] = total / system[j, j]
    for back in range(d):
        j = d - 1 - back
        total = right[j]
        for m in range(j + 1, d):
            total -= system[m, j] * right[m]
        right[j] = total / system[j, j]
    return True


@inner
def _exact_step(
    slope: cython.double,
    curvature: cython.double,
    slack: Vector,
    fall: Vector,
    bounds: ConstVector,
    most: cython.Py_ssize_t,
    flatter: cython.double,
) -> cython.double:
    """See :func:`margin.kernels.squared_hinge.exact_step`."""
    t: cython.double = 1.0
    low: cython.double = 0.0
    high: cython.double = INFINITE  # none yet
    start: cython.double = slope
    derivative: cython.double
    steepness: cython.double
    n = slack.shape[0]
    for i in range(n):
        if slack[i] > 0.0:
            start -= 2.0 * bounds[i] * slack[i] * fall[i]
    for _ in range(most):
        derivative = slope + curvature * t
        steepness = curvature
        for i in range(n):
            left = slack[i] - t * fall[i]
            if left > 0.0:
                pull = 2.0 * bounds[i] * fall[i]
                derivative -= pull * left
                steepness += pull * fall[i]
        if abs(derivative) <= flatter * abs(start):
            break
        if derivative < 0.0:
            low = t
        else:
            high = t
        if steepness == 0.0:  # costs so small that squares underflow: t changes nothing
            break
        t -= derivative / steepness
        if not (low < t and t < high):
            t = 2.0 * low if high == INFINITE else 0.5 * (low + high)
    return t
