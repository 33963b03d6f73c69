"""A kernel given as a plain function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.array_types import MatrixLike
from margin.core.domains import Flag, Function, Optional, Options
from margin.core.parameters import parameter
from margin.kernels.kernel import Floats, Kernel, rows_of

__all__ = ["FunctionKernel"]


class FunctionKernel(Kernel):
    """Values of a function of two arrays of rows, or of two rows; it has no parameters to learn.

    >>> FunctionKernel(lambda x, z: float(x @ z), by_rows=True)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    function: Callable[..., Any] = parameter(
        None, Function("two arrays of rows"), "Gives the (n, m) values of rows (n, d) and (m, d)."
    )
    arguments: dict[str, Any] | None = parameter(None, Optional(Options()), "Further arguments of it.")
    by_rows: bool = parameter(False, Flag(), "Whether it takes two rows and gives one number instead.")

    def _matrix(self, X: Any, Z: Any) -> Floats:
        X = rows_of(X)
        Z = X if Z is None else rows_of(Z)
        options = self.arguments or {}
        if self.by_rows:
            return np.array([[float(self.function(x, z, **options)) for z in Z] for x in X])
        return self._values(self.function(X, Z, **options), (len(X), len(Z)))

    def of_sparse(self, X: Any, Z: Any) -> Floats:
        """The values of sparse rows, which the function is given as they are; a sparse result becomes an array."""
        if self.by_rows:
            return self._matrix(X.toarray(), Z.toarray())
        return self._values(self.function(X, Z, **(self.arguments or {})), (X.shape[0], Z.shape[0]))

    @staticmethod
    def _values(values: Any, shape: tuple[int, int]) -> Floats:
        dense = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
        if dense.shape != shape:
            raise ValueError(f"kernel: the function must give shape {shape}; got {dense.shape}.")
        return dense

    def diag(self, X: MatrixLike) -> Floats:
        return np.array([self._matrix(row[None], row[None])[0, 0] for row in rows_of(X)])

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)
