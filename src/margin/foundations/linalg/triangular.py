"""Triangular systems, solved row by row: downwards for lower, upwards for upper triangular matrices.

Row i needs only the unknowns already found, so n unknowns cost n^2 operations per right-hand side. The rows are
taken in blocks: what earlier blocks contribute is one matrix product (BLAS speed), and only the rows of the block
itself are walked one at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.foundations.linalg.arguments import Array, as_array, as_square

__all__ = ["BLOCK", "backward_substitution", "forward_substitution"]

# Large enough that most work is in matrix products, small enough that a block stays in the first-level cache.
BLOCK = 64


def forward_substitution(L: Any, b: Any, *, unit_diagonal: bool = False) -> Array:
    r"""Solve :math:`Lx = b` for lower-triangular L: :math:`x_i = (b_i - \sum_{j<i} L_{ij}x_j) / L_{ii}`.

    L is (n, n); only its lower triangle is read. b is (n,) or (n, k). ``unit_diagonal`` takes the diagonal as ones.

    >>> forward_substitution([[2, 0], [1, 4]], [2, 9])
    array([1., 2.])
    """
    L, b = _system("forward_substitution", "L", L, b)
    if not unit_diagonal:
        _refuse_zero_diagonal("forward_substitution", "L", L)
    x = np.array(b, dtype=np.result_type(L, b))
    n = len(L)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        x[start:stop] -= L[start:stop, :start] @ x[:start]
        for i in range(start, stop):
            x[i] -= L[i, start:i] @ x[start:i]
            if not unit_diagonal:
                x[i] /= L[i, i]
    return x


def backward_substitution(U: Any, b: Any) -> Array:
    r"""Solve :math:`Ux = b` for upper-triangular U: :math:`x_i = (b_i - \sum_{j>i} U_{ij}x_j) / U_{ii}`.

    U is (n, n); only its upper triangle is read. b is (n,) or (n, k).

    >>> backward_substitution([[4, 1], [0, 2]], [9, 2])
    array([2., 1.])
    """
    U, b = _system("backward_substitution", "U", U, b)
    _refuse_zero_diagonal("backward_substitution", "U", U)
    # Reading rows and columns from the end turns an upper into a lower triangular matrix.
    return forward_substitution(U[::-1, ::-1], b[::-1])[::-1]


def _system(function: str, name: str, matrix: Any, b: Any) -> tuple[Array, Array]:
    matrix, b = as_square(function, name, matrix), as_array(function, "b", b)
    if b.ndim not in (1, 2) or len(b) != len(matrix):
        raise ValueError(f"{function}: b must have {len(matrix)} rows; got shape {b.shape}.")
    return matrix, b


def _refuse_zero_diagonal(function: str, name: str, matrix: Array) -> None:
    zero = np.flatnonzero(np.diag(matrix) == 0)
    if zero.size:
        raise np.linalg.LinAlgError(f"{function}: {name} is singular; diagonal entry {zero[0]} is zero.")
