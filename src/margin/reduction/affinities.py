r"""Neighbor probabilities: the quantities of t-distributed stochastic neighbor embedding, as functions of arrays.

.. math::
    p_{j|i} = \frac{\exp(-\lVert x_i - x_j \rVert^2 / 2\sigma_i^2)}{\sum_{l \ne i} \exp(-\lVert x_i - x_l \rVert^2 /
    2\sigma_i^2)}, \quad p_{ij} = \frac{p_{j|i} + p_{i|j}}{2n}, \qquad
    q_{ij} = \frac{(1 + \lVert y_i - y_j \rVert^2)^{-1}}{\sum_{k \ne l} (1 + \lVert y_k - y_l \rVert^2)^{-1}}

with every :math:`\sigma_i` such that the entropy of :math:`p_{\cdot|i}` is the logarithm of the perplexity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.arguments import finite, real
from margin.core.array_types import MatrixLike
from margin.foundations.probability.kernels import squared_distances
from margin.reduction.dimension import intrinsic_dimensions

__all__ = [
    "bandwidths",
    "conditional_affinities",
    "joint_affinities",
    "kl_divergence",
    "kl_gradient",
    "powered_squares",
    "precisions_for",
    "row_affinities",
    "student_similarities",
]

# Entropies are met to this many nats; Newton's steps inside the bracket get there in about ten, bisection in fifty.
ENTROPY_TOLERANCE = 1e-8
MOST_STEPS = 200


def row_affinities(squares: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    r"""Rows proportional to :math:`e^{-\beta_i d_{ij}^2}` summing to one, for squared distances (n, m)."""
    weights = np.exp(-(squares - squares.min(axis=1, keepdims=True)) * precisions[:, None])
    return weights / weights.sum(axis=1, keepdims=True)


def precisions_for(squares: np.ndarray, perplexity: float) -> np.ndarray:
    r"""The :math:`\beta_i = 1/2\sigma_i^2` (n,) at which every row has the entropy log(perplexity).

    The entropy falls as :math:`\beta` grows, :math:`dH/d\beta = -\beta \mathrm{Var}_p(d^2)`: a bracket is halved, or
    cut by Newton's step in :math:`\log\beta` where that stays inside it and the step before has halved the gap:
    between two bends of the entropy Newton's steps may go to and fro for ever. Rows whose distances are all equal have
    only one entropy; they get the precision of the bracket's middle.
    """
    log_perplexity = np.log(perplexity)
    shifted = squares - squares.min(axis=1, keepdims=True)
    scale = shifted.mean(axis=1)
    scale[scale == 0] = 1.0
    low, high = np.full(len(squares), -60.0), np.full(len(squares), 60.0)  # logarithms of beta times the scale
    log_beta = np.zeros(len(squares))
    active, before = np.arange(len(squares)), np.full(len(squares), np.inf)
    for _ in range(MOST_STEPS):
        d = shifted[active] / scale[active, None]
        beta = np.exp(log_beta[active])
        p = np.exp(-d * beta[:, None])
        total = p.sum(axis=1)
        mean = np.einsum("ij,ij->i", p, d) / total
        gap = np.log(total) + beta * mean - log_perplexity
        variance = np.einsum("ij,ij,ij->i", p, d, d) / total - mean**2
        low[active] = np.where(gap > 0, log_beta[active], low[active])
        high[active] = np.where(gap > 0, high[active], log_beta[active])
        slope = beta**2 * variance  # of the entropy in log beta, with a minus sign
        with np.errstate(over="ignore"):  # a level entropy sends the step to infinity, outside the bracket
            step = log_beta[active] + np.divide(gap, slope, out=np.full_like(gap, np.inf), where=slope > 0)
        inside = (step > low[active]) & (step < high[active]) & (np.abs(gap) <= before[active] / 2)
        before[active] = np.abs(gap)
        keep = (np.abs(gap) > ENTROPY_TOLERANCE) & (high[active] - low[active] > 1e-12)
        log_beta[active] = np.where(keep, np.where(inside, step, (low[active] + high[active]) / 2), log_beta[active])
        active = active[keep]
        if not len(active):
            break
    return np.exp(log_beta) / scale


def bandwidths(X: MatrixLike, perplexity: float = 30.0) -> np.ndarray:
    r"""The :math:`\sigma_i` (n,) whose conditional distributions have the entropy log(perplexity); small where dense.

    >>> sigma = bandwidths([0.0, 0.1, 0.2, 0.3, 10.0, 12.0, 14.0, 16.0], perplexity=2.0)
    >>> bool(sigma[:4].max() < sigma[4:].min())
    True
    """
    squares = _others(_squares("bandwidths", X, perplexity, None))
    return 1 / np.sqrt(2 * precisions_for(squares, perplexity))


def conditional_affinities(X: MatrixLike, perplexity: float = 30.0, power: str | None = None) -> np.ndarray:
    r"""The matrix of :math:`p_{j|i}` (n, n): zero diagonal, rows that sum to one.

    With ``power`` "intrinsic" distances are first raised to the local dimension of the rows that they join (the mean of
    the two estimates, over two): in many dimensions distances are all alike, their powers are not.
    """
    squares = _squares("conditional_affinities", X, perplexity, power)
    n = len(squares)
    others = _others(squares)
    P = np.zeros((n, n))
    P[~np.eye(n, dtype=bool)] = row_affinities(others, precisions_for(others, perplexity)).ravel()
    return P


def powered_squares(X: Any) -> np.ndarray:
    r"""Squared distances (n, n), over their mean, to the power of half the mean local dimension of the two rows."""
    squares = squared_distances(X)
    local = intrinsic_dimensions(X, k=min(20, len(squares) - 1))
    exponent = np.maximum((local + local[:, None]) / 4, 1.0)
    return (squares / squares.mean()) ** exponent


def joint_affinities(P: Any) -> np.ndarray:
    r""":math:`p_{ij} = (p_{j|i} + p_{i|j}) / 2n`: symmetric, zero diagonal, total one.

    >>> joint_affinities([[0.0, 1.0], [1.0, 0.0]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    conditional = finite("joint_affinities", "P", P)
    if conditional.ndim != 2 or conditional.shape[0] != conditional.shape[1]:
        raise ValueError(f"joint_affinities: P must be a square matrix; got shape {conditional.shape}.")
    return (conditional + conditional.T) / (2 * len(conditional))


def student_similarities(Y: Any) -> np.ndarray:
    r"""The matrix of :math:`q_{ij} \propto (1 + \lVert y_i - y_j \rVert^2)^{-1}`: zero diagonal, total one.

    >>> student_similarities([[0.0], [1.0]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    weights = _student_weights(finite("student_similarities", "Y", Y))
    return weights / weights.sum()


def kl_divergence(P: np.ndarray, Y: np.ndarray) -> float:
    r""":math:`D_{KL}(P \| Q) = \sum_{i \ne j} p_{ij} \log(p_{ij} / q_{ij})` of a map ``Y`` (n, d), exactly."""
    Q = student_similarities(Y)
    some = P > 0
    return float(np.sum(P[some] * np.log(P[some] / Q[some])))


def kl_gradient(P: np.ndarray, Y: np.ndarray) -> np.ndarray:
    r"""The gradient of :func:`kl_divergence` in the positions, (n, d).

    .. math:: \partial D / \partial y_i = 4 \sum_j (p_{ij} - q_{ij}) (1 + \lVert y_i - y_j \rVert^2)^{-1} (y_i - y_j)
    """
    weights = _student_weights(Y)
    pulls = (P - weights / weights.sum()) * weights
    return 4 * (pulls.sum(axis=1, keepdims=True) * Y - pulls @ Y)


def _student_weights(Y: np.ndarray) -> np.ndarray:
    weights = 1 / (1 + squared_distances(Y))
    np.fill_diagonal(weights, 0.0)
    return weights


def _squares(owner: str, X: Any, perplexity: Any, power: str | None) -> np.ndarray:
    rows = finite(owner, "X", X)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) < 3:
        raise ValueError(f"{owner}: X must have at least 3 rows; got shape {rows.shape}.")
    if not 1 <= real(owner, "perplexity", perplexity) < len(rows) - 1:
        raise ValueError(f"{owner}: perplexity must be from 1 to below rows - 1 = {len(rows) - 1}; got {perplexity!r}.")
    if power is None:
        return squared_distances(rows)
    if power != "intrinsic":
        raise ValueError(f"{owner}: power must be None or 'intrinsic'; got {power!r}.")
    return powered_squares(rows)


def _others(squares: np.ndarray) -> np.ndarray:
    """The matrix without its diagonal, (n, n - 1)."""
    n = len(squares)
    return squares[~np.eye(n, dtype=bool)].reshape(n, n - 1)
