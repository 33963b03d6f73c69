"""Kernel values with the rows that a fitted model knows, which are centered and measured once and not at every call.

What is made of them is kept beside the model and not in it: predicting changes nothing of a model, and files, pickles
and copies hold what was learned alone. It is used as long as the model has the same rows and kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from margin.core.array_types import MatrixLike
from margin.core.parameters import check_parameters
from margin.kernels.kernel import Kernel
from margin.kernels.sparse_rows import kernel_values
from margin.kernels.stationary import RBF, DistanceKernel, LaplaceKernel

__all__ = ["values_with"]

MOST_KEPT = 1 << 22  # numbers of a model's rows (32 MB); of more a call is long anyway, and they would be held twice
Values = Callable[[Any], NDArray[Any]]


@dataclass(frozen=True)
class _Known:
    """``values`` of new rows with ``rows``, by a kernel of this type and length scale."""

    rows: Any
    kind: type
    length_scale: float
    values: Values


# Reading and writing an entry are one step each: threads that predict at once make the same one at worst twice.
_beside: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()


def values_with(model: Any, kernel: Kernel, X: MatrixLike, rows: Any) -> Values:
    """The function that gives the kernel values, (n, m), of rows like X with the ``rows`` of ``model``."""
    if not (type(kernel) in (RBF, LaplaceKernel) and isinstance(X, np.ndarray) and _fits(kernel, X, rows)):
        return lambda part: kernel_values(kernel, part, rows)
    known = _beside.get(model)
    if known is None or known.rows is not rows or (known.kind, known.length_scale) != _of(kernel):
        check_parameters(kernel)
        known = _Known(rows, *_of(kernel), kernel.of_known(rows))
        _beside[model] = known
    return known.values


def _fits(kernel: DistanceKernel, X: NDArray[Any], rows: Any) -> bool:
    # A vector of length scales may be changed in place, unseen.
    return X.dtype == rows.dtype and 0 < rows.size <= MOST_KEPT and isinstance(kernel.length_scale, float | int)


def _of(kernel: DistanceKernel) -> tuple[type, float]:
    return type(kernel), kernel.length_scale
