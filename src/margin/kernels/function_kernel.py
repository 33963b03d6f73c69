"""A kernel given as a plain function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.domains import Domain, Flag, Optional
from margin.core.parameters import parameter
from margin.kernels.kernel import Floats, Kernel, rows_of

__all__ = ["FunctionKernel", "KeywordArguments"]


class Function(Domain):
    """Something that can be called."""

    description = "a function"

    def accepts(self, value: Any) -> bool:
        return callable(value)

    def wrong(self) -> list[Any]:
        return ["a string", 3]


class KeywordArguments(Domain):
    """Keyword arguments of a function."""

    description = "a dict of keyword arguments"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)

    def wrong(self) -> list[Any]:
        return ["a string", 3]


class FunctionKernel(Kernel):
    """Values of a function of two arrays of rows, or of two rows; it has no parameters to learn.

    >>> FunctionKernel(lambda x, z: float(x @ z), by_rows=True)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    function: Callable[..., Any] = parameter(None, Function(), "Gives the (n, m) values of rows (n, d) and (m, d).")
    arguments: dict[str, Any] | None = parameter(None, Optional(KeywordArguments()), "Further arguments of it.")
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
