"""Types of what a caller may pass as rows, targets and weights."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike

__all__ = ["ArrayLike", "MatrixLike", "SparseLike", "TableLike"]


class SparseLike(Protocol):
    """A sparse matrix or array of SciPy, which has no types of its own."""

    @property
    def nnz(self) -> int:
        """Stored values."""

    def tocsr(self, copy: bool = ...) -> Any:
        """The same in compressed rows."""


class TableLike(Protocol):
    """A table of Margin, Arrow or Polars."""

    def to_pandas(self) -> Any:
        """The same as a data frame of pandas."""


#: Rows of columns: an array, a data frame, a table, lists of lists or, where a model takes them, a sparse matrix.
MatrixLike: TypeAlias = ArrayLike | SparseLike | TableLike
