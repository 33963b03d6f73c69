r"""The game on known densities: the best discriminator, and what the generator then minimizes.

.. math:: D^* = \frac{p}{p + q}, \qquad V(D^*) = 2\,\mathrm{JS}(p, q) - 2\log 2
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["gan_value_of", "optimal_discriminator"]


def optimal_discriminator(p: Any, q: Any) -> np.ndarray:
    """p / (p + q) point by point; 1/2 where both densities are 0 and nothing is seen.

    >>> optimal_discriminator([0.2, 0.5], [0.6, 0.5])
    array([0.25, 0.5 ])
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    if p.shape != q.shape or (p < 0).any() or (q < 0).any():
        raise ValueError("optimal_discriminator: p and q must be non-negative and of one shape.")
    total = p + q
    return np.divide(p, total, out=np.full(p.shape, 0.5), where=total > 0)


def gan_value_of(discriminator: Any, p: Any, q: Any) -> float:
    r""":math:`V = \sum_x p(x)\log D(x) + q(x)\log(1 - D(x))` for discrete distributions of data and generator."""
    d, p, q = (np.asarray(values, dtype=float) for values in (discriminator, p, q))
    if (d < 0).any() or (d > 1).any():
        raise ValueError(f"gan_value_of: discriminator must have values from 0 to 1; got {d.min():g} to {d.max():g}.")
    with np.errstate(divide="ignore"):
        terms = np.where(p > 0, p * np.log(d), 0.0) + np.where(q > 0, q * np.log1p(-d), 0.0)
    return float(terms.sum())
