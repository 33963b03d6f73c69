r"""How likely a density makes rows it has not seen. Log-densities are in nats, as ``score_samples`` returns them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.metrics.arguments import finite, weights

__all__ = ["bits_per_dimension", "mean_log_likelihood", "perplexity"]


def mean_log_likelihood(log_density: ArrayLike, sample_weight: Any = None) -> float:
    r"""Mean log-density per row, :math:`\frac1n\sum_i \log p(x_i)`; minus infinity if one row is impossible.

    Parameters
    ----------
    log_density : array-like of shape (n,)
        Log-density of every row in nats.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; 1 each by default.

    Examples
    --------
    >>> mean_log_likelihood([-1.0, -3.0])
    -2.0
    """
    values = _log_density("mean_log_likelihood", log_density)
    w = weights("mean_log_likelihood", sample_weight, len(values))
    used = w > 0
    return float(np.average(values[used], weights=w[used]))


def bits_per_dimension(log_density: ArrayLike, n_dimensions: int, levels: int = 1) -> float:
    r"""Mean code length per dimension in bits, :math:`-\frac{1}{nD\ln 2}\sum_i\log p(x_i) + \log_2 L`.

    ``levels`` is :math:`L` when each dimension had :math:`L` gray levels and was divided by :math:`L` before the
    density was fitted (256 for images in [0, 1]): the density of the original values is smaller by :math:`L^{-D}`.

    Parameters
    ----------
    log_density : array-like of shape (n,)
        Log-density of every row in nats.
    n_dimensions : int
        Dimensions of a row, :math:`D`.
    levels : int
        Gray levels of a dimension, :math:`L`; 1 for data that were not rescaled.

    Examples
    --------
    >>> bits_per_dimension([0.0, 0.0], n_dimensions=784, levels=256)
    8.0
    """
    for name, value in (("n_dimensions", n_dimensions), ("levels", levels)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"bits_per_dimension: {name} must be an integer of at least 1; got {value!r}.")
    nats = -float(np.mean(_log_density("bits_per_dimension", log_density)))
    return nats / (n_dimensions * float(np.log(2))) + float(np.log2(levels))


def perplexity(log_probability: ArrayLike) -> float:
    r"""Number of equally likely outcomes that would be as hard to guess, :math:`\exp(-\frac1n\sum_i\log p_i)`.

    Parameters
    ----------
    log_probability : array-like of shape (n,)
        Log-probability of every outcome in nats.
    """
    return float(np.exp(-np.mean(_log_density("perplexity", log_probability))))


def _log_density(where: str, values: Any) -> np.ndarray:
    """Numbers or minus infinity: a density may be zero, never infinite."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.ndim == 1 and np.any(np.isneginf(array)):
        finite(where, "log_density", np.where(np.isneginf(array), 0.0, array))
        return array.astype(np.float64)
    return finite(where, "log_density", values)
