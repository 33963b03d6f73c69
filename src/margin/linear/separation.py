r"""Can a hyperplane part the classes? Then the likelihood of logistic regression has no maximum.

If some direction :math:`\beta` has :math:`(\beta_{y_i} - \beta_k)^\top x_i \ge 0` for all rows i and classes k, and not
always equality, the likelihood grows for ever along :math:`\beta`. A linear program finds such a direction or proves
that there is none (Konis 2007): maximize the sum of these margins with :math:`|\beta_j| \le 1`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["separating_direction"]

# A smaller sum of margins, relative to the largest possible one, is the solver's feasibility tolerance, no separation.
TOLERANCE = 1e-6


def separating_direction(X: Any, y: np.ndarray, n_classes: int = 2, *, intercept: bool = True) -> np.ndarray | None:
    """A direction (p + 1, K - 1; last row intercepts; class 0 has score 0) that separates, or None if none does.

    ``y`` (n,) are class positions 0..K-1. Separation may be complete, or leave rows of several classes on the plane.

    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> separating_direction(x, np.array([0, 0, 1, 1])) is not None, separating_direction(x, np.array([0, 1, 0, 1]))
    (True, None)
    """
    from scipy.optimize import linprog

    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    size = np.abs(dense).max(axis=0, initial=0.0)
    unit = dense / np.where(size > 0, size, 1.0)
    rows = sp.csr_array(np.column_stack([unit, np.ones(len(unit))]) if intercept else unit)
    wide = rows.shape[1]
    signs = []  # for class k and label c: the margin (beta_c - beta_k) x in the columns of beta_1 .. beta_(K-1)
    for k in range(n_classes):
        other = np.flatnonzero(y != k)
        toward = sp.csr_array((np.ones(len(other)), (np.arange(len(other)), y[other])), shape=(len(other), n_classes))
        away = sp.csr_array((np.ones(len(other)), (np.arange(len(other)), np.full(len(other), k))), shape=toward.shape)
        signs.append(_row_products((toward - away)[:, 1:], rows[other]))
    margins = sp.vstack(signs).tocsr()
    goal = np.asarray(margins.sum(axis=0)).ravel()
    program = linprog(-goal, A_ub=-margins, b_ub=np.zeros(margins.shape[0]), bounds=(-1, 1), method="highs")
    if not program.success or -program.fun <= TOLERANCE * max(float(np.abs(goal).sum()), 1.0):
        return None
    beta = program.x.reshape(n_classes - 1, wide).T
    beta = beta if intercept else np.vstack([beta, np.zeros(n_classes - 1)])
    beta[:-1] /= np.where(size > 0, size, 1.0)[:, None]
    return beta


def _row_products(A: sp.csr_array, B: sp.csr_array) -> sp.csr_array:
    """Row by row Kronecker product: (n, a) and (n, b) to (n, a b)."""
    left = A[:, np.repeat(np.arange(A.shape[1]), B.shape[1])]
    right = sp.hstack([B] * A.shape[1]).tocsr()
    return left.multiply(right).tocsr()
