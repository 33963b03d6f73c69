r"""Kernels that scikit-learn knows by name beside those of :mod:`margin.kernels.kernel`, without parameters to learn.

==============================  ==============================================================
``SigmoidKernel``               :math:`\tanh(\gamma\,x^\top z + c)`
``LaplacianKernel``             :math:`\exp(-\gamma\sum_j|x_j-z_j|)`
``CosineKernel``                :math:`x^\top z/(\|x\|\,\|z\|)`
``AdditiveChiSquaredKernel``    :math:`-\sum_j (x_j-z_j)^2/(x_j+z_j)`
``ChiSquaredKernel``            :math:`\exp(-\gamma\sum_j (x_j-z_j)^2/(x_j+z_j))`
==============================  ==============================================================

The sigmoid is not positive semi-definite, and the additive one only so among coefficients of sum zero; machines whose
coefficients sum to zero find a local optimum with both, as they do in scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.array_types import MatrixLike
from margin.core.domains import Number
from margin.core.parameters import parameter
from margin.foundations.probability.kernels import linear_kernel
from margin.kernels.kernel import POSITIVE, Floats, Kernel, rows_of

__all__ = ["AdditiveChiSquaredKernel", "ChiSquaredKernel", "CosineKernel", "LaplacianKernel", "SigmoidKernel"]

BLOCK_ENTRIES = 1 << 20  # differences of rows made at a time


class SigmoidKernel(Kernel):
    r"""The hyperbolic tangent of :math:`\gamma\,x^\top z + c`, as in a network of one layer.

    >>> SigmoidKernel(0.5, -1.0)([[1.0, 2.0]], [[3.0, 0.0]]).round(6).tolist()
    [[0.462117]]
    """

    gamma: float = parameter(1.0, POSITIVE, "Factor of the inner product.")
    coef0: float = parameter(0.0, Number(), "The constant c.")

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return np.tanh(self.gamma * linear_kernel(X, Z) + self.coef0)

    def diag(self, X: MatrixLike) -> Floats:
        rows = rows_of(X)
        return np.asarray(np.tanh(self.gamma * np.einsum("ij,ij->i", rows, rows) + self.coef0))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)


class CosineKernel(Kernel):
    """The cosine of the angle between two rows, zero for a row of zeros.

    >>> CosineKernel()([[3.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]]).round(3).tolist()
    [[0.6, 0.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return linear_kernel(unit_rows(rows_of(X)), None if Z is None else unit_rows(rows_of(Z)))

    def diag(self, X: MatrixLike) -> Floats:
        return np.asarray(rows_of(X).any(axis=1), dtype=np.float64)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)


class _SumOverColumns(Kernel):
    """A function of a sum over the columns of two rows."""

    def _matrix(self, X: Any, Z: Any) -> Floats:
        X = self._rows(X)
        Z = X if Z is None else self._rows(Z)
        gram = np.empty((len(X), len(Z)), dtype=np.result_type(X, Z))
        step = max(1, BLOCK_ENTRIES // max(1, Z.size))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            gram[part] = self._of_sum(self._terms(X[part, None, :], Z[None, :, :]).sum(axis=2))
        return gram

    def diag(self, X: MatrixLike) -> Floats:
        return self._of_sum(np.zeros(len(self._rows(X))))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)

    def _rows(self, X: Any) -> Floats:
        return rows_of(X)

    @abstractmethod
    def _terms(self, x: Floats, z: Floats) -> Floats:
        """What every column of two rows adds."""

    @abstractmethod
    def _of_sum(self, total: Floats) -> Floats:
        """The kernel from the sum."""


class LaplacianKernel(_SumOverColumns):
    r"""The exponential of the city-block distance (:class:`~margin.kernels.LaplaceKernel` has the Euclidean one).

    >>> LaplacianKernel(0.5)([[0.0, 0.0]], [[1.0, 3.0]]).round(6).tolist()
    [[0.135335]]
    """

    stationary = True

    gamma: float = parameter(1.0, POSITIVE, "Inverse width.")

    def _terms(self, x: Floats, z: Floats) -> Floats:
        return np.abs(x - z)

    def _of_sum(self, total: Floats) -> Floats:
        return np.exp(-self.gamma * total)


class AdditiveChiSquaredKernel(_SumOverColumns):
    r"""Minus the chi-squared distance of histograms.

    >>> AdditiveChiSquaredKernel()([[1.0, 0.0]], [[3.0, 0.0]]).tolist()
    [[-1.0]]
    """

    def _rows(self, X: Any) -> Floats:
        rows = rows_of(X)
        if rows.size and rows.min() < 0:
            raise ValueError(f"{type(self).__name__}: X must hold numbers at least 0; got {rows.min():g}.")
        return rows

    def _terms(self, x: Floats, z: Floats) -> Floats:
        both = x + z
        return np.divide((x - z) ** 2, both, out=np.zeros_like(both), where=both > 0)

    def _of_sum(self, total: Floats) -> Floats:
        return -total


class ChiSquaredKernel(AdditiveChiSquaredKernel):
    r"""The exponential of minus the chi-squared distance of histograms.

    >>> ChiSquaredKernel(1.0)([[1.0, 0.0]], [[3.0, 0.0]]).round(6).tolist()
    [[0.367879]]
    """

    gamma: float = parameter(1.0, POSITIVE, "Inverse width.")

    def _of_sum(self, total: Floats) -> Floats:
        return np.exp(-self.gamma * total)


def unit_rows(X: Any) -> Any:
    """Rows divided by their lengths; a row of zeros stays one. Sparse rows stay sparse."""
    sparse = sp.issparse(X)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse else np.einsum("ij,ij->i", X, X))
    inverse = np.divide(1.0, norms, out=np.ones_like(norms), where=norms > 0)
    return sp.diags_array(inverse) @ X if sparse else X * inverse[:, None]
