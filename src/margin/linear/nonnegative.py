r"""Least squares with coefficients that are not negative, with or without an L2 penalty.

.. math::
    \min_{\theta \ge 0,\, \theta_0} \; \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2
    + \alpha \lVert\theta\rVert_2^2

The rows enter only through the triangle R of their QR factorization, so Lawson and Hanson's active-set method runs on
p rows instead of n.
"""

from __future__ import annotations

import numpy as np

from margin.core.array_types import MatrixLike
from margin.linear.least_squares import Solution, triangular_rows

__all__ = ["nonnegative_least_squares"]


def nonnegative_least_squares(
    X: MatrixLike, Y: np.ndarray, weights: np.ndarray | None = None, *, intercept: bool = True, alpha: float = 0.0
) -> Solution:
    """The minimizer for ``X`` (n, p; dense or CSR) and every column of ``Y`` (n, q).

    >>> X, Y = np.array([[-1.0], [0.0], [1.0]]), np.array([[2.0, -2.0], [0.0, 0.0], [-2.0, 2.0]])
    >>> nonnegative_least_squares(X, Y).coef
    array([[0., 2.]])
    """
    from scipy.optimize import nnls

    rows = triangular_rows(X, Y, weights, intercept=intercept)
    p = rows.x.shape[1]
    # Scales are positive, so a scaled coefficient has the sign of the coefficient.
    matrix = np.vstack([rows.x, np.diag(np.sqrt(alpha) / rows.scale_x)]) if alpha else rows.x
    targets = np.vstack([rows.y, np.zeros((len(matrix) - len(rows.x), rows.y.shape[1]))])
    scaled = np.column_stack([nnls(matrix, target)[0] for target in targets.T])
    rss = ((rows.y - rows.x @ scaled) ** 2).sum(axis=0) * rows.scale_y**2
    constant = (rows.mean[p:] - rows.mean[:p] @ scaled) * rows.scale_y
    coef = scaled / rows.scale_x[:, None] * rows.scale_y
    return Solution(coef, constant, int(np.count_nonzero(scaled.any(axis=1))), rss)
