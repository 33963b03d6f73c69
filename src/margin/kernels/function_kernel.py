"""A kernel given as a plain function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
        values = np.asarray(self.function(X, Z, **options), dtype=np.float64)
        if values.shape != (len(X), len(Z)):
            raise ValueError(f"kernel: the function must give shape {(len(X), len(Z))}; got {values.shape}.")
        return values

    def diag(self, X: Any) -> Floats:
        return np.array([self._matrix(row[None], row[None])[0, 0] for row in rows_of(X)])

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)
