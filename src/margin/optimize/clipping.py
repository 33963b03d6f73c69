"""What may happen to a gradient before a rule sees it: clipping by norm or value, and accumulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from margin.optimize.steps import Array

__all__ = ["accumulate", "clip_norm", "clip_value"]


def clip_norm(gradient: Array, limit: float) -> Array:
    r""":math:`g \min(1, c/\|g\|)`: short gradients stay as they are, long ones keep their direction.

    Parameters
    ----------
    gradient : ndarray
        The gradient.
    limit : float
        Largest norm, :math:`c`.

    Examples
    --------
    >>> clip_norm(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    if not limit > 0:
        raise ValueError(f"clip_norm: limit must be positive; got {limit!r}.")
    norm = float(np.linalg.norm(gradient))
    return gradient * (limit / norm) if norm > limit else gradient


def clip_value(gradient: Array, limit: float) -> Array:
    """Every entry into [-limit, limit]; unlike :func:`clip_norm` this can turn the direction.

    Parameters
    ----------
    gradient : ndarray
        The gradient.
    limit : float
        Largest absolute value of an entry.
    """
    if not limit > 0:
        raise ValueError(f"clip_value: limit must be positive; got {limit!r}.")
    return np.clip(gradient, -limit, limit)


def accumulate(gradients: Sequence[Array], sizes: Sequence[int]) -> Array:
    r"""The mean gradient of the union of micro-batches from their mean gradients.

    .. math:: g = \sum_k n_k g_k \big/ \sum_k n_k

    Parameters
    ----------
    gradients : sequence of ndarray
        Mean gradients of the micro-batches, :math:`g_k`.
    sizes : sequence of int
        Their numbers of rows, :math:`n_k`.
    """
    if len(gradients) == 0 or len(gradients) != len(sizes):
        raise ValueError(
            f"accumulate: needs as many sizes as gradients, at least one; got {len(gradients)} and {len(sizes)}."
        )
    return np.average(np.stack(gradients), axis=0, weights=np.asarray(sizes, dtype=float))
