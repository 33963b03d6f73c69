r"""Convex quadratic programs by a primal-dual interior-point method.

.. math:: \min_x \tfrac12 x^\top P x + q^\top x \quad\text{subject to}\quad A x = b,\ G x \le h

Textbook form; the machines of :mod:`margin.kernels` solve their duals by decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from margin.optimize.steps import Array

__all__ = ["QuadraticSolution", "hard_margin_primal", "quadratic_program", "svm_dual"]


RUNAWAY = 1e12  # multipliers this large only occur where no point meets the constraints


@dataclass(frozen=True)
class QuadraticSolution:
    """The minimizer, its value, and the multipliers of the equalities and inequalities."""

    x: Array
    value: float
    equality: Array
    inequality: Array
    iterations: int


def quadratic_program(
    P: Any,
    q: Any,
    A: Any = None,
    b: Any = None,
    G: Any = None,
    h: Any = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> QuadraticSolution:
    """Mehrotra's predictor-corrector; P symmetric positive semidefinite, d up to some thousands.

    Parameters
    ----------
    P : array-like of shape (d, d)
        Symmetric positive semidefinite matrix.
    q : array-like of shape (d,)
        Linear term.
    A : array-like of shape (m, d), optional
        Matrix of the equations.
    b : array-like of shape (m,), optional
        Their right-hand sides.
    G : array-like of shape (k, d), optional
        Matrix of the inequalities.
    h : array-like of shape (k,), optional
        Their upper bounds.
    tol : float
        Relative residual and gap at which it ends.
    max_iter : int
        Most iterations.

    Examples
    --------
    >>> solution = quadratic_program(np.eye(2), [-2.0, -2.0], G=[[1.0, 1.0]], h=[1.0])
    >>> solution.x.round(6), solution.inequality.round(6)
    (array([0.5, 0.5]), array([1.5]))
    """
    P, q, A, b, G, h = _check(P, q, A, b, G, h)
    mi = len(h)
    x, y, z, s = _first_point(P, q, A, b, G, h)
    scale = 1 + max(np.abs(q).max(initial=0), np.abs(b).max(initial=0), np.abs(h).max(initial=0))
    for t in range(max_iter):
        dual = P @ x + q + A.T @ y + G.T @ z
        equality, inequality = A @ x - b, G @ x + s - h
        gap = float(s @ z) / mi if mi else 0.0
        worst = max(np.abs(dual).max(), np.abs(equality).max(initial=0), np.abs(inequality).max(initial=0))
        if worst <= tol * scale and gap <= tol * scale:
            return QuadraticSolution(x, float(0.5 * x @ P @ x + q @ x), y, z, t)
        if np.max(z, initial=0.0) > RUNAWAY * scale:  # multipliers without bound: the constraints contradict
            break
        solve = _factorize(P, A, G, z / s)
        dx, dy, dz, ds = solve(dual, equality, inequality, s * z, s, z)
        if mi:  # how much of the gap the pure Newton step would leave decides how much to center
            affine = float((s + _longest(s, ds) * ds) @ (z + _longest(z, dz) * dz)) / mi
            # Never aim far below what is asked: products that vanish early block the way of the residuals.
            center = max((affine / gap) ** 3 * gap, 0.1 * tol)
            dx, dy, dz, ds = solve(dual, equality, inequality, s * z + ds * dz - center, s, z)
        length = 0.99 * min(_longest(s, ds), _longest(z, dz)) if mi else 1.0
        x, y, z, s = x + length * dx, y + length * dy, z + length * dz, s + length * ds
    raise ValueError(
        f"quadratic_program: no solution after {t + 1} iterations (residual {worst:.3g}, gap {gap:.3g}); "
        "the constraints may contradict each other or the value may be unbounded."
    )


def _first_point(P: Array, q: Array, A: Array, b: Array, G: Array, h: Array) -> tuple[Array, Array, Array, Array]:
    """The least-squares answer to the constraints, with slacks and multipliers shifted until they are positive."""
    d = len(q)
    K = _system(P, A, G, np.ones(len(h)))
    both = np.linalg.solve(K, np.concatenate([G.T @ h - q, b]))
    slack = h - G @ both[:d]
    shift_s = 1 + max(0.0, -float(np.min(slack, initial=0.0)))
    shift_z = 1 + max(0.0, float(np.max(slack, initial=0.0)))
    return both[:d], both[d:], shift_z - slack, shift_s + slack


def _longest(v: Array, dv: Array) -> float:
    """The longest step in [0, 1] that keeps v + step dv non-negative."""
    shrinking = dv < 0
    return float(min(1.0, np.min(-v[shrinking] / dv[shrinking], initial=np.inf)))


def _system(P: Array, A: Array, G: Array, weights: Array) -> Array:
    d, me = len(P), len(A)
    K = np.zeros((d + me, d + me))
    K[:d, :d] = P + G.T @ (weights[:, None] * G)
    K[d:, :d], K[:d, d:] = A, A.T
    # Dependent equalities or a semidefinite P leave K singular by a hair; this shift is far below tol.
    K[np.arange(d), np.arange(d)] += 1e-13 * (1 + np.trace(P) / d)
    K[np.arange(d, d + me), np.arange(d, d + me)] -= 1e-13
    return K


def _factorize(P: Array, A: Array, G: Array, weights: Array) -> Any:
    """Solve the Newton system for one point, any right-hand side, by the reduced symmetric matrix."""
    d = len(P)
    K = _system(P, A, G, weights)

    def solve(dual: Array, equality: Array, inequality: Array, product: Array, s: Array, z: Array) -> tuple[Array, ...]:
        pull = (z * inequality - product) / s
        right = np.concatenate([-(dual + G.T @ pull), -equality])
        both = np.linalg.solve(K, right)
        dx, dy = both[:d], both[d:]
        ds = -inequality - G @ dx
        return dx, dy, (-product - z * ds) / s, ds

    return solve


def _check(P: Any, q: Any, A: Any, b: Any, G: Any, h: Any) -> tuple[Array, ...]:
    q = np.atleast_1d(np.asarray(q, dtype=float))
    P = np.asarray(P, dtype=float)
    d = len(q)
    if P.shape != (d, d) or not np.allclose(P, P.T):
        raise ValueError(f"quadratic_program: P must be a symmetric {d} x {d} matrix; got shape {P.shape}.")
    lowest = float(np.linalg.eigvalsh(P)[0])
    if lowest < -1e-8 * (1 + np.abs(P).max()):
        raise ValueError(f"quadratic_program: P must be positive semidefinite; its lowest eigenvalue is {lowest:.3g}.")
    return P, q, *_constraints("A", A, "b", b, d), *_constraints("G", G, "h", h, d)


def _constraints(left: str, M: Any, right: str, v: Any, d: int) -> tuple[Array, Array]:
    if (M is None) != (v is None):
        raise ValueError(f"quadratic_program: {left} and {right} must be given together.")
    if M is None:
        return np.zeros((0, d)), np.zeros(0)
    M, v = np.atleast_2d(np.asarray(M, dtype=float)), np.atleast_1d(np.asarray(v, dtype=float))
    if M.shape != (len(v), d):
        raise ValueError(f"quadratic_program: {left} must have shape ({len(v)}, {d}); got {M.shape}.")
    return M, v


def svm_dual(K: Array, y: Array, C: float) -> QuadraticSolution:
    r"""The SVM dual :math:`\min_a \tfrac12 a^\top (yy^\top \circ K) a - \sum_i a_i,\ 0 \le a \le C,\ y^\top a = 0`."""
    n = len(y)
    G = np.vstack([-np.eye(n), np.eye(n)])
    h = np.concatenate([np.zeros(n), np.full(n, C)])
    return quadratic_program(np.outer(y, y) * K, -np.ones(n), y[None, :], np.zeros(1), G, h)


def hard_margin_primal(X: Array, y: Array, *, tol: float = 1e-9) -> tuple[Array, float]:
    r"""The widest separating slab: :math:`\min \tfrac12\|w\|^2` with :math:`y_i(w^\top x_i + c) \ge 1`: (w, c)."""
    d = X.shape[1]
    P = np.zeros((d + 1, d + 1))
    P[:d, :d] = np.eye(d)
    G = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    solution = quadratic_program(P, np.zeros(d + 1), G=G, h=-np.ones(len(X)), tol=tol)
    return solution.x[:d], float(solution.x[d])
