"""Jacobi's method: rotate pairs of coordinates until nothing is left to rotate.

A rotation of coordinates p and q can make one off-diagonal entry of a symmetric matrix vanish, or two columns of any
matrix orthogonal. Repeating it over all pairs converges quadratically, usually within ten sweeps. The pairs of a sweep
are arranged like the rounds of a tournament, so n/2 disjoint pairs turn at once as whole-row array operations.
A sweep costs O(n^3). The small eigenvalues and singular values come out with high relative accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from margin.foundations.linalg.arguments import Array

__all__ = ["jacobi_eigh", "jacobi_svd", "tournament"]

EPS = float(np.finfo(float).eps)
MAX_SWEEPS = 60


def jacobi_eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and orthonormal eigenvectors (columns) of a symmetric matrix."""
    A = (A + A.T) / 2
    n = len(A)
    Vt = np.eye(n)
    size = np.linalg.norm(A)
    for _ in range(MAX_SWEEPS):
        if np.linalg.norm(A - np.diag(np.diag(A))) <= n * EPS * size:
            break
        for p, q in tournament(n):
            c, s = _rotation(A[p, p], A[q, q], A[p, q])
            _rotate_rows(A, p, q, c, s)
            _rotate_rows(A.T, p, q, c, s)
            A[p, q] = A[q, p] = 0.0  # what the rotation makes of them, without its rounding
            _rotate_rows(Vt, p, q, c, s)
    else:
        raise np.linalg.LinAlgError(f"eigh: Jacobi's method did not converge in {MAX_SWEEPS} sweeps.")
    order = np.argsort(np.diag(A))
    return np.diag(A)[order], Vt[order].T


def jacobi_svd(A: Array) -> tuple[Array, Array, Array]:
    """Thin U, singular values (descending) and thin V of any real matrix, by rotating its columns (one-sided)."""
    m, n = A.shape
    if m < n:
        U, s, V = jacobi_svd(A.T)
        return V, s, U
    Q, R = np.linalg.qr(A)  # the rotations then work on n x n only
    columns = R.T.copy()  # row j is column j of R: contiguous
    Vt = np.eye(n)
    negligible = EPS * float(np.linalg.norm(R))
    for _ in range(MAX_SWEEPS):
        turned = False
        for p, q in tournament(n):
            turned |= _orthogonalize(columns, Vt, p, q, negligible)
        if not turned:
            break
    else:
        raise np.linalg.LinAlgError(f"svd: Jacobi's method did not converge in {MAX_SWEEPS} sweeps.")
    lengths = np.linalg.norm(columns, axis=1)
    order = np.argsort(-lengths)
    s = lengths[order]
    return Q @ _unit_columns(columns[order], s), s, Vt[order].T


def tournament(n: int) -> Iterator[tuple[Array, Array]]:
    """Rounds of disjoint pairs (p, q), p < q, that together meet every pair of ``range(n)`` once.

    >>> [list(zip(p.tolist(), q.tolist())) for p, q in tournament(4)]
    [[(0, 3), (1, 2)], [(0, 2), (1, 3)], [(0, 1), (2, 3)]]
    """
    seats = list(range(n + n % 2))  # an odd player rests against the extra seat
    for _ in range(len(seats) - 1):
        pairs = [sorted(pair) for pair in zip(seats[: len(seats) // 2], reversed(seats)) if max(pair) < n]
        if pairs:
            p, q = np.array(sorted(pairs)).T
            yield p, q
        seats = [seats[0], seats[-1], *seats[1:-1]]


def _rotation(a_pp: Array, a_qq: Array, a_pq: Array) -> tuple[Array, Array]:
    r"""Cosine and sine of the smaller angle that diagonalizes each 2 x 2 block.

    :math:`t = \mathrm{sgn}(\tau) / (|\tau| + \sqrt{1 + \tau^2})` with :math:`\tau = (a_{qq} - a_{pp}) / 2a_{pq}`.
    """
    needed = a_pq != 0
    with np.errstate(over="ignore"):
        tau = (a_qq - a_pp) / np.where(needed, 2 * a_pq, 1.0)
        t = np.where(needed, np.where(tau < 0, -1.0, 1.0) / (np.abs(tau) + np.hypot(1.0, tau)), 0.0)
    c = 1 / np.hypot(1.0, t)
    return c, c * t


def _rotate_rows(M: Array, p: Array, q: Array, c: Array, s: Array) -> None:
    upper, lower = M[p], M[q]
    M[p] = c[:, None] * upper - s[:, None] * lower
    M[q] = s[:, None] * upper + c[:, None] * lower


def _orthogonalize(columns: Array, Vt: Array, p: Array, q: Array, negligible: float) -> bool:
    """Turn each pair of columns (stored as rows) until orthogonal; whether any pair needed it."""
    squared_p = np.einsum("ij,ij->i", columns[p], columns[p])
    squared_q = np.einsum("ij,ij->i", columns[q], columns[q])
    inner = np.einsum("ij,ij->i", columns[p], columns[q])
    lengths = np.sqrt(squared_p), np.sqrt(squared_q)
    # Columns at rounding level stand for singular values of zero: their direction is noise and never settles.
    real = np.minimum(*lengths) > negligible
    skewed = real & (np.abs(inner) > len(columns) * EPS * lengths[0] * lengths[1])
    c, s = _rotation(squared_p, squared_q, np.where(skewed, inner, 0.0))
    _rotate_rows(columns, p, q, c, s)
    _rotate_rows(Vt, p, q, c, s)
    return bool(skewed.any())


def _unit_columns(rows: Array, lengths: Array) -> Array:
    """``rows / lengths`` as columns; rows of length (nearly) zero become any directions orthogonal to the rest."""
    rank = int(np.sum(lengths > len(rows) * EPS * lengths[0])) if lengths[0] > 0 else 0
    units = rows[:rank].T / lengths[:rank]
    completed = np.linalg.qr(units, mode="complete")[0] if rank else np.eye(len(rows))
    return np.hstack([units, completed[:, rank:]])
