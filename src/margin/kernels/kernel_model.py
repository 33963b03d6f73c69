"""What every model with a kernel expansion shares: its kernel, its rows, and values of the expansion for new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import MatrixLike
from margin.core.chunks import map_row_chunks
from margin.core.new_rows import require_fitted
from margin.core.number_range import validate_squarable
from margin.core.parameters import Declared, attribute, check_parameters, parameter
from margin.kernels.dot_product import LinearKernel, PolynomialKernel
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_columns import KernelColumns, columns_of, columns_of_matrix
from margin.kernels.kernel_names import (
    COEF0,
    COEF0_SENTENCE,
    DEGREE,
    DEGREE_SENTENCE,
    GAMMA,
    GAMMA_SENTENCE,
    KERNEL,
    KERNEL_SENTENCE,
    named_kernel,
)
from margin.kernels.known_rows import values_with
from margin.kernels.sparse_rows import kernel_values
from margin.kernels.stored import FITTED_KERNEL

__all__ = ["ROWS_DTYPES", "KernelModel", "as_rows", "columns_for", "dense", "expansion", "kept_rows", "linear_weights"]

ROWS_DTYPES = [np.float64, np.float32]  # float32 rows keep their type and halve the work
BLOCK_ENTRIES = 1 << 21  # kernel values computed at a time when new rows are judged
MOST_DIGITS = 200  # of kernel values: their products with coefficients and with each other stay below 1e308


def expansion(kernel: Kernel, X: MatrixLike, rows: Any, coef: NDArray[Any]) -> NDArray[np.float64]:
    r""":math:`\sum_i c_{pi}\,k(x, x_i)` for every row x of ``X`` and every line p of ``coef``, (n, p), in blocks."""
    weights = np.ascontiguousarray(coef.T)
    return values_in_blocks(
        lambda part: kernel_values(kernel, part, rows), X, rows, lambda values: values @ weights, len(coef)
    )


def values_in_blocks(
    values: Callable[[Any], NDArray[Any]], X: Any, rows: Any, judge: Callable[[NDArray[Any]], NDArray[Any]], width: int
) -> NDArray[np.float64]:
    """What ``judge`` makes, (n, width), of the kernel ``values`` of new rows X with known rows, a block at a time."""
    if rows.shape[0] == 0:
        return np.zeros((X.shape[0], width))
    step = max(1, BLOCK_ENTRIES // rows.shape[0])
    out = np.empty((X.shape[0], width))

    def chunk(part: slice) -> None:
        for start in range(part.start, part.stop, step):
            stop = min(start + step, part.stop)
            out[start:stop] = judge(values(X[start:stop]))

    map_row_chunks(chunk, X.shape[0], work=X.shape[0] * rows.size)
    return out


class KernelModel(Declared):
    """Mixin of estimators that predict by a kernel expansion."""

    takes_sparse: ClassVar[bool] = False

    _: KW_ONLY
    kernel: Any = parameter("rbf", KERNEL, KERNEL_SENTENCE)
    degree: int = parameter(3, DEGREE, DEGREE_SENTENCE)
    gamma: Any = parameter("scale", GAMMA, GAMMA_SENTENCE)
    coef0: float = parameter(0.0, COEF0, COEF0_SENTENCE)

    kernel_: Kernel | str = attribute(FITTED_KERNEL, "The kernel object, or 'precomputed'.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = self._accepts_sparse
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _accepts_sparse(self) -> bool:
        return self.takes_sparse and not self._precomputed

    def _check(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Rows (and y) as scikit-learn checks them; a sparse table of any kind becomes a CSR array."""
        sparse = {"accept_sparse": "csr"} if self._accepts_sparse else {}
        validate = validate_data if self._precomputed else validate_squarable
        validated = validate(self, X, y, dtype=ROWS_DTYPES, order="C", **sparse, **options)
        if isinstance(y, str):
            return sp.csr_array(validated) if sp.issparse(validated) else validated
        X, y = validated
        return sp.csr_array(X) if sp.issparse(X) else X, y

    def _kernel_for(self, X: Any, weights: NDArray[Any] | None = None) -> Kernel | str:
        """The kernel object, or "precomputed" after a look at the shape of X."""
        if not self._precomputed:
            try:
                kernel = named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}: {error}") from None
            check_parameters(kernel)
            return kernel
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: a precomputed kernel must be a square matrix; got shape {X.shape}."
            )
        return "precomputed"

    def _refuse_huge_values(self, kernel: Kernel | str, X: Any) -> None:
        """Refuse rows whose products, or powers of them, leave no room for the steps of a solver."""
        if not isinstance(kernel, LinearKernel | PolynomialKernel):
            return
        with np.errstate(over="ignore"):
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        digits = np.log10(max(float(np.max(squares)), np.finfo(float).tiny))  # powers of logarithms do not overflow
        remedy = "scale X first"
        if isinstance(kernel, PolynomialKernel):
            digits = kernel.degree * max(digits + np.log10(kernel.gamma), np.log10(max(kernel.coef0, 1.0)))
            remedy = "scale X first, or take a smaller degree or coef0"
        if digits > MOST_DIGITS:
            raise ValueError(
                f"{type(self).__name__}: kernel values of these rows are too large for a number; {remedy}."
            )

    def _new_rows(self, X: Any) -> Any:
        require_fitted(self)
        rows = self._check(X, reset=False)
        if isinstance(self.kernel_, PolynomialKernel):
            self._refuse_huge_values(self.kernel_, rows)
        return rows

    def _expand(self, X: Any, support: NDArray[np.int64], rows: Any, coef: NDArray[Any]) -> NDArray[np.float64]:
        """Values of the expansion for new rows X; of a precomputed kernel X holds k(new, training)."""
        weights = np.ascontiguousarray(coef.T)
        return self._judge_values(X, support, rows, lambda values: values @ weights, len(coef))

    def _judge_values(
        self,
        X: Any,
        support: NDArray[np.int64],
        rows: Any,
        judge: Callable[[NDArray[Any]], NDArray[Any]],
        width: int,
    ) -> NDArray[np.float64]:
        """What ``judge`` makes, (n, width), of the kernel values of new rows X with the support vectors."""
        if isinstance(self.kernel_, str):
            return judge(X[:, support])
        if sp.issparse(X) != sp.issparse(rows):  # new rows take the form of the known ones
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        return values_in_blocks(values_with(self, self.kernel_, X, rows), X, rows, judge, width)


def kept_rows(kernel: Kernel | str, X: Any, rows: NDArray[np.int64]) -> Any:
    """The rows that an expansion needs: none of a precomputed kernel."""
    if isinstance(kernel, str):
        return np.zeros((0, 0))
    return X[rows] if sp.issparse(X) else np.ascontiguousarray(X[rows])


def as_rows(coef: NDArray[np.float64], rows: Any) -> Any:
    """Coefficients in the form of the rows they belong to: sparse for sparse ones, as scikit-learn gives them.

    Every entry is stored, zeros too, so that ``data`` is the array and a file as large as what is made of it.
    """
    if not sp.issparse(rows):
        return coef
    lines, n = coef.shape
    return sp.csr_array((coef.ravel(), np.tile(np.arange(n), lines), n * np.arange(lines + 1)), shape=coef.shape)


def dense(coef: Any) -> NDArray[np.float64]:
    """The array behind coefficients of either form."""
    return coef.toarray() if sp.issparse(coef) else coef


def columns_for(kernel: Kernel | str, X: Any, rows: NDArray[np.int64], dtype: Any) -> KernelColumns:
    """The columns of some rows of ``X``."""
    if isinstance(kernel, str):
        return columns_of_matrix(np.ascontiguousarray(X[np.ix_(rows, rows)], dtype=np.float64))
    return columns_of(kernel, X[rows], dtype)


def linear_weights(model: Any, coef: NDArray[np.float64]) -> Any:
    """The weights of the columns behind an expansion with the linear kernel, (p, d), read-only; others have none.

    They are sparse for sparse rows: the columns of a text model that no support vector has are most of them.
    """
    check_is_fitted(model)
    if not isinstance(model.kernel_, LinearKernel):
        raise AttributeError(f"{type(model).__name__}: coef_ exists for kernel='linear' only; got {model.kernel!r}.")
    weights = as_rows(coef, model.support_vectors_) @ model.support_vectors_
    # Predictions come from the coefficients: a change here would say nothing.
    (weights.data if sp.issparse(weights) else weights).flags.writeable = False
    return weights
