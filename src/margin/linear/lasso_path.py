r"""Regularization paths: the coefficients of a lasso or elastic net for a falling sequence of penalties.

The last two solutions predict the next one and the columns that can matter for it, so a hundred penalties cost little
more than the smallest one alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.notices import warn_user
from margin.core.threads import blas_threads, threads_for
from margin.linear.path_descent import follow
from margin.linear.sparse_problem import columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Path", "alpha_grid", "draw_path", "elastic_net_path", "lasso_path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Column k of ``coefs`` (p, k) and ``intercepts`` (k,) belong to ``alphas[k]``, solved to the gap ``gaps[k]``."""

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    gaps: np.ndarray
    sweeps: np.ndarray


def lasso_path(X: MatrixLike, y: ArrayLike, **options: Any) -> Path:
    r"""The path of :math:`\tfrac1{2n}\lVert y - b - Xw\rVert^2 + \alpha\lVert w\rVert_1`; options as for
    :func:`elastic_net_path`.

    >>> X = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> path = lasso_path(X, [3.0, -3.0, 1.0, -1.0], alphas=[1.0, 0.25])
    >>> path.coefs.T
    array([[1. , 0. ],
           [2.5, 0.5]])
    """
    return elastic_net_path(X, y, l1_ratio=1.0, **options)


def elastic_net_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    alphas: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-4,
) -> Path:
    r"""Solutions of :math:`\tfrac1{2n}\lVert y - b - Xw\rVert^2 + \alpha\rho\lVert w\rVert_1 +
    \tfrac{\alpha(1-\rho)}2\lVert w\rVert_2^2` for ``X`` (n, p), ``y`` (n,) and :math:`\rho` = ``l1_ratio``.

    ``alphas`` are sorted to fall; by default ``n_alphas`` on a logarithmic grid from the smallest that gives w = 0
    down to ``eps`` times it. Each is solved to a duality gap of at most ``tol`` times the mean square of y.
    """
    X, y, weights = _check(X, y, sample_weight, l1_ratio)
    with blas_threads(threads_for(X.size)):
        try:
            columns = columns_of(X, y, weights, intercept=fit_intercept)
            largest = float(np.abs(columns.q).max(initial=0.0)) / l1_ratio
        except FloatingPointError as error:
            raise ValueError(f"elastic_net_path: {error}") from None
        chosen = alpha_grid(largest, n_alphas, eps) if alphas is None else _falling(alphas)
        penalties = np.outer(chosen, [l1_ratio, 1 - l1_ratio])
        solutions = follow(columns, penalties, tol * columns.square)
    _warn_of_gaps(solutions.gaps, tol * columns.square)
    intercepts = columns.mean_y - solutions.coefs @ columns.mean_x if fit_intercept else np.zeros(len(chosen))
    return Path(chosen, solutions.coefs.T, intercepts, solutions.gaps, solutions.sweeps)


def _warn_of_gaps(gaps: np.ndarray, bound: float) -> None:
    above = int(np.count_nonzero(gaps > bound))
    if above:
        warn_user(
            f"elastic_net_path: at {above} of {len(gaps)} penalties the duality gap stays above tol (at most "
            f"{gaps.max():.3g}, wanted {bound:.3g}); raise tol or drop the smallest alphas.",
            ConvergenceWarning,
        )


def alpha_grid(largest: float, n_alphas: int = 100, eps: float = 1e-3) -> np.ndarray:
    """``n_alphas`` penalties from ``largest`` down to ``eps`` times it, evenly on a logarithmic scale."""
    if not largest > 0:  # y is constant, or no column correlates with it: every penalty gives zeros
        largest = 1.0
    return largest * np.logspace(0, np.log10(eps), n_alphas)


def draw_path(path: Path, axes: Axes, names: Any = None, most: int = 8) -> None:
    """Coefficients against the penalty (falling to the right); the ``most`` largest at the end are named."""
    end = np.argsort(-np.abs(path.coefs[:, -1]))
    for rank, j in enumerate(end):
        label = (str(names[j]) if names is not None else f"x{j}") if rank < most else None
        axes.plot(
            path.alphas, path.coefs[j], lw=1.6 if rank < most else 0.8, label=label, alpha=1 if rank < most else 0.5
        )
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.axhline(0, color="black", lw=0.6)
    axes.set_xlabel(r"penalty $\alpha$")
    axes.set_ylabel("coefficient")
    axes.legend(fontsize=8)


def _check(X: Any, y: Any, sample_weight: Any, l1_ratio: float) -> tuple[Any, ...]:
    X, y = np.asarray(X), np.asarray(y, dtype=np.float64)
    X = X if X.dtype in (np.float64, np.float32) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or y.shape != X.shape[:1] or not len(y):
        raise ValueError(f"elastic_net_path: X must be (n, p) and y (n,); got {X.shape} and {y.shape}.")
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"elastic_net_path: l1_ratio must be above 0 and at most 1; got {l1_ratio!r}.")
    if not np.isfinite(y).all():  # of X, the inner products tell
        raise ValueError("elastic_net_path: y must hold finite numbers; got NaN or infinity.")
    if sample_weight is None:
        return X, y, None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != y.shape or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError("elastic_net_path: sample_weight must hold one number per row, not negative, not all zero.")
    return X, y, weights


def _falling(alphas: Any) -> np.ndarray:
    chosen = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if not len(chosen) or not (chosen > 0).all() or not np.isfinite(chosen).all():
        raise ValueError(f"elastic_net_path: alphas must be numbers above 0; got {alphas!r}.")
    return chosen
