r"""Jensen's inequality: a convex function of the mean is at most the mean of the function.

.. math:: f(E[X]) \le E[f(X)] \ \text{ for convex } f \text{ and } E|X|<\infty; \quad \text{reversed for concave } f.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, observations, simplex

__all__ = ["jensen_gap"]


def jensen_gap(f: Callable[[Array], Array], data: ArrayLike, weights: ArrayLike | None = None) -> float:
    """E[f(X)] - f(E[X]) for a sample or (with ``weights``) a finite law: >= 0 for convex f, <= 0 for concave f.

    Parameters
    ----------
    f : callable
        A function of arrays.
    data : array-like of shape (n,)
        Values.
    weights : array-like of shape (n,), optional
        Their probabilities; equal by default.

    Examples
    --------
    >>> round(jensen_gap(np.log, [1, 3]), 6)
    -0.143841
    """
    x = observations("jensen_gap", data)
    w = np.full(x.size, 1 / x.size) if weights is None else simplex("jensen_gap", "weights", weights)
    if w.size != x.size:
        raise ValueError(f"jensen_gap: weights must be as many as data; got {w.size} and {x.size}.")
    return float(w @ f(x) - f(w @ x))
