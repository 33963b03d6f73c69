"""What every model with a kernel expansion shares: its kernel, its rows, and values of the expansion for new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.stripes import over_stripes
from margin.kernels.kernel import Kernel
from margin.kernels.named import named_kernel
from margin.kernels.panels import Panel, panel_of, panel_of_matrix

__all__ = ["ROWS_DTYPES", "KernelModel", "expansion", "panel_for"]

ROWS_DTYPES = [np.float64, np.float32]  # float32 rows keep their type and halve the work
BLOCK_ENTRIES = 1 << 21  # kernel values computed at a time when new rows are judged


def expansion(kernel: Kernel, X: NDArray[Any], rows: NDArray[Any], coef: NDArray[Any]) -> NDArray[np.float64]:
    r""":math:`\sum_i c_{pi}\,k(x, x_i)` for every row x of ``X`` and every line p of ``coef``, (n, p), in blocks."""
    step = max(1, BLOCK_ENTRIES // max(1, len(rows)))
    weights = np.ascontiguousarray(coef.T)
    out = np.empty((len(X), weights.shape[1]))

    def stripe(part: slice) -> None:
        for start in range(part.start, part.stop, step):
            stop = min(start + step, part.stop)
            out[start:stop] = kernel(X[start:stop], rows) @ weights

    over_stripes(stripe, len(X), work=len(X) * rows.size)
    return out


class KernelModel:
    """Mixin of estimators with the parameters ``kernel``, ``gamma``, ``degree`` and ``coef0``."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel_for(self, X: NDArray[Any], weights: NDArray[Any] | None = None) -> Kernel | str:
        """The kernel object, or "precomputed" after a look at the shape of X."""
        if not self._precomputed:
            return named_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: a precomputed kernel must be a square matrix; got shape {X.shape}."
            )
        return "precomputed"

    def _new_rows(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=ROWS_DTYPES, order="C")

    def _expand(
        self, X: NDArray[Any], support: NDArray[np.int64], rows: Any, coef: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Values of the expansion for new rows X; of a precomputed kernel X holds k(new, training)."""
        if isinstance(self.kernel_, str):  # type: ignore[attr-defined]
            return X[:, support] @ coef.T
        return expansion(self.kernel_, X, rows, coef)  # type: ignore[attr-defined]


def panel_for(kernel: Kernel | str, X: NDArray[Any], rows: NDArray[np.int64], dtype: Any) -> Panel:
    """The panel of some rows of ``X``."""
    if isinstance(kernel, str):
        return panel_of_matrix(np.ascontiguousarray(X[np.ix_(rows, rows)], dtype=np.float64))
    return panel_of(kernel, X[rows], dtype)
