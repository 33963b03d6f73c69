r"""A sparse matrix whose products with dense ones are fast both ways: forward by its rows, backward by its columns.

.. math:: C = S B, \qquad \frac{\partial L}{\partial B} = S^\top \frac{\partial L}{\partial C}

Torch derives the backward product from a copy of S that it transposes at every step; here both orders of the entries
are kept, and only the values move between them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from margin.neural.layers.dropout import Dropout

__all__ = ["SparseMatrix", "is_fast"]


def is_fast() -> bool:
    """Whether torch has compiled products of rows of sparse matrices here."""
    return torch.backends.mkl.is_available()


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """Entries by rows: row i has the columns ``columns[starts[i]:starts[i + 1]]``; and the same of the transpose.

    >>> S = SparseMatrix.of(torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    >>> (S @ torch.eye(3)).tolist()
    [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]
    """

    starts: Tensor
    columns: Tensor
    values: Tensor
    starts_by_column: Tensor
    rows_by_column: Tensor
    by_column: Tensor  # numbers of the entries in the order of the columns
    shape: tuple[int, int]

    is_sparse = True

    @classmethod
    def from_entries(cls, rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> SparseMatrix:
        """Entries in any order; those of the same row and column are added up in products."""
        order = torch.argsort(rows * shape[1] + columns)
        rows, columns, values = rows[order], columns[order], values[order]
        by_column = torch.argsort(columns * shape[0] + rows)
        starts, starts_by_column = _starts(rows, shape[0]), _starts(columns, shape[1])
        with warnings.catch_warnings():  # torch says once per process that this format is young
            warnings.simplefilter("ignore", UserWarning)
            _csr(starts, columns, values, shape)
        return cls(starts, columns, values, starts_by_column, rows[by_column], by_column, shape)

    @classmethod
    def of(cls, dense: Tensor) -> SparseMatrix:
        """The entries of ``dense`` other than 0."""
        rows, columns = torch.nonzero(dense, as_tuple=True)
        return cls.from_entries(rows, columns, dense[rows, columns], (dense.shape[0], dense.shape[1]))

    def drop(self, dropout: Dropout) -> SparseMatrix:
        """Dropout of the entries: what is 0 stays 0 whether dropped or not."""
        return replace(self, values=dropout(self.values))

    def numel(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        return self.values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, dense: Tensor) -> Tensor:
        product: Tensor = _Product.apply(dense, self)
        return product


class _Product(torch.autograd.Function):
    """S B, with the gradient of B."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return _csr(matrix.starts, matrix.columns, matrix.values, matrix.shape) @ dense

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        matrix, (n, m) = ctx.matrix, ctx.matrix.shape
        values = matrix.values[matrix.by_column]
        return _csr(matrix.starts_by_column, matrix.rows_by_column, values, (m, n)) @ gradients[0], None


def _csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    # The positions were made above, so they need no check at every step.
    return torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)


def _starts(numbers: Tensor, n: int) -> Tensor:
    counts = torch.bincount(numbers, minlength=n)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
