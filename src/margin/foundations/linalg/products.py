"""Three readings of a matrix: its columns as images, its products as inner and as outer products."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.foundations.linalg.arguments import Array, as_matrix

__all__ = ["OuterProducts", "column_images", "matmul_inner", "matmul_outer"]


class OuterProducts(NamedTuple):
    """A product and the rank-one terms it is the sum of, one per inner index."""

    total: Array  # (m, n)
    terms: Array  # (inner, m, n)


def column_images(A: Any) -> list[Array]:
    r"""The images :math:`A e_1, \dots, A e_n` of the basis vectors, which are the columns of A.

    >>> column_images([[3, 1], [1, 2]])
    [array([3., 1.]), array([1., 2.])]
    """
    A = as_matrix("column_images", "A", A)
    return [A @ e for e in np.eye(A.shape[1])]


def matmul_inner(A: Any, B: Any) -> Array:
    r"""The product entry by entry: :math:`(AB)_{ij} = \langle A_{i,:}, B_{:,j} \rangle`.

    A is (m, k), B is (k, n); nothing is conjugated. Costs 2mkn operations, one Python step per entry: a definition
    to read, not a replacement for ``A @ B``.
    """
    A, B = _conforming("matmul_inner", A, B)
    product = np.empty((A.shape[0], B.shape[1]), dtype=np.result_type(A, B))
    for i, row in enumerate(A):
        for j, column in enumerate(B.T):
            product[i, j] = np.sum(row * column)
    return product


def matmul_outer(A: Any, B: Any) -> OuterProducts:
    r"""The product as a sum of rank-one matrices: :math:`AB = \sum_i A_{:,i} B_{i,:}^\top`.

    >>> total, terms = matmul_outer([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    >>> total
    array([[19., 22.],
           [43., 50.]])
    >>> terms[0]
    array([[ 5.,  6.],
           [15., 18.]])
    """
    A, B = _conforming("matmul_outer", A, B)
    terms = A.T[:, :, None] * B[:, None, :]  # (k, m, 1) * (k, 1, n)
    return OuterProducts(terms.sum(axis=0), terms)


def _conforming(function: str, A: Any, B: Any) -> tuple[Array, Array]:
    A, B = as_matrix(function, "A", A), as_matrix(function, "B", B)
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"{function}: A and B must share their inner size; got shapes {A.shape} and {B.shape}.")
    return A, B
