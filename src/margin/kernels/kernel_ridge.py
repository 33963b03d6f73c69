r"""Ridge regression in the feature space of a kernel.

.. math::
    \min_{f}\; \sum_i w_i\bigl(y_i - f(x_i)\bigr)^2 + \alpha\|f\|^2
    \quad\Longrightarrow\quad
    f(x) = \sum_i a_i k(x_i, x),\qquad (K + \alpha W^{-1})\,a = y .
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from margin.core.array_types import MatrixLike
from margin.core.domains import Number, Optional, Options
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, OneOf
from margin.core.parameters import attribute, default, parameter
from margin.core.targets import numeric_target
from margin.foundations.linalg.minimum_norm import DEPENDENT
from margin.kernels.function_kernel import FunctionKernel
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_model import KernelModel
from margin.kernels.kernel_names import GAMMA
from margin.kernels.sparse_rows import kernel_values
from margin.kernels.stored import FITTED_ROWS

__all__ = ["KernelRidge", "dual_weights"]


def dual_weights(K: NDArray[Any], y: NDArray[Any], alpha: float, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    r"""The a with :math:`(K + \alpha W^{-1})a = y`, as :math:`W^{1/2}(W^{1/2}KW^{1/2}+\alpha I)^{-1}W^{1/2}y`: rows of
    weight zero get zero. A Cholesky factor, or the least-squares solution where K + alpha W^{-1} is singular.

    >>> dual_weights(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([3.0, 6.0]), alpha=1.0).round(12).tolist()
    [1.0, 2.0]
    """
    root = np.ones(len(K)) if weights is None else np.sqrt(weights)

    def system() -> NDArray[Any]:
        # In Fortran's order, so that the factor takes its place instead of a copy. K is symmetric, and its transpose
        # lies in this order, so that copying takes a quarter of the time.
        matrix = np.array(K.T, order="F")
        if weights is not None:
            matrix *= root[:, None]
            matrix *= root
        matrix[np.diag_indices(len(K))] += alpha
        return matrix

    right = root * y if y.ndim == 1 else root[:, None] * y
    # K holds inner products, whose eigenvalues are squares of what rows and columns have as singular values.
    least = max(len(K) * float(np.finfo(np.float64).eps), DEPENDENT**2)
    try:
        # A singular matrix often passes by rounding and gives noise: then its condition tells.
        matrix = system()
        pocon, lange = sla.get_lapack_funcs(("pocon", "lange"), (matrix,))
        norm = lange("1", matrix)
        factor, lower = sla.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        if pocon(factor, norm, uplo="L")[0] <= least:
            raise np.linalg.LinAlgError
        solution = sla.cho_solve((factor, lower), right, check_finite=False)
    except np.linalg.LinAlgError:
        solution = sla.lstsq(system(), right, cond=least, check_finite=False)[0]
    return root * solution if y.ndim == 1 else root[:, None] * solution


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelModel, Estimator):
    """Least squares with a penalty on the norm of the function; no intercept, ``kernel + 1.0`` gives one.

    Time n^3 / 3, memory n^2. X may be sparse with the kernels that :class:`~margin.kernels.SVC` takes it with.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> KernelRidge(alpha=1e-9, kernel="rbf", gamma=1.0).fit(X, [1.0, 3.0, 2.0]).predict(X).round(4).tolist()
    [1.0, 3.0, 2.0]
    """

    takes_sparse = True

    alpha: float = parameter(1, Number(low=0, search=(1e-6, 1e2), log=True), "Strength of the penalty.")
    _: KW_ONLY
    kernel: Any = default(
        "linear", "Name of the kernel, 'precomputed' (X holds its values), a kernel object or a function of two rows."
    )
    gamma: Any = parameter(
        None, Optional(GAMMA), "Inverse width of the named kernels; None and 'auto' are 1 / columns, 'scale' as in SVC."
    )
    coef0: float = default(1)
    kernel_params: dict[str, Any] | None = parameter(
        None, Optional(Options()), "Further arguments of a kernel given as a function."
    )

    dual_coef_: NDArray[np.float64] = attribute(
        OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", None)),
        "Coefficients of the training rows, (n,) or (n, targets).",
    )
    X_fit_: NDArray[Any] = attribute(FITTED_ROWS, "The training rows, empty for a precomputed kernel.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Learn from rows X and numbers y, one column or several."""
        self._check_parameters()
        X, y = self._check(X, numeric_target(self, y), y_numeric=True, multi_output=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kernel = self._kernel_for(X, weights)
        self._refuse_huge_values(kernel, X)
        if isinstance(kernel, FunctionKernel):
            kernel = FunctionKernel(kernel.function, self.kernel_params, by_rows=True)
        with np.errstate(over="ignore", invalid="ignore"):
            K = X if isinstance(kernel, str) else kernel_values(kernel, X, X) if sp.issparse(X) else kernel(X)
        if not np.isfinite(K).all():
            raise ValueError("KernelRidge: kernel values of these rows are too large for a number; scale X first.")
        self.dual_coef_ = dual_weights(K.astype(np.float64, copy=False), np.asarray(y, float), self.alpha, weights)
        self.kernel_ = kernel
        # A copy: BLAS takes another routine for X @ X.T when both are one array, and rounds otherwise.
        self.X_fit_ = X.copy() if isinstance(kernel, Kernel) else np.zeros((0, 0))
        return self

    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """f(x) for every row."""
        X = self._new_rows(X)
        coef = np.atleast_2d(self.dual_coef_.T)
        values = self._expand(X, np.arange(coef.shape[1]), self.X_fit_, coef)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values
