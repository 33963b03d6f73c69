"""Paths between distributions: moving the mass (Wasserstein geodesic) against fading it (mixture)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.transport.arguments import as_masses, as_points, check_equal_mass, cost_matrix
from margin.foundations.transport.exact import solve
from margin.foundations.transport.one_dimension import monotone_plan

__all__ = ["geodesic", "mixture_path"]

Array = NDArray[np.float64]


def geodesic(
    x: ArrayLike, y: ArrayLike, t: float, a: ArrayLike | None = None, b: ArrayLike | None = None
) -> tuple[Array, Array]:
    r"""The point at time ``t`` of the :math:`W_2` geodesic from :math:`P_0` (``x``, ``a``) to :math:`P_1` (``y``,
    ``b``).

    .. math:: P_t = \sum_{ij} T_{ij} \, \delta_{(1 - t) x_i + t y_j}, \qquad W_2(P_0, P_t) = t \, W_2(P_0, P_1)

    with the optimal plan :math:`T`. Returns points of shape (k, d) and their masses; at :math:`t = 0` and
    :math:`t = 1` these are the points of ``x`` and of ``y``, some of them split in several parts.

    >>> points, masses = geodesic([0.0, 1.0], [10.0, 11.0], 0.5)
    >>> points.ravel().tolist(), masses.tolist()
    ([5.0, 6.0], [0.5, 0.5])
    """
    t = _as_time("geodesic", t)
    x, y = as_points("geodesic", "x", x), as_points("geodesic", "y", y)
    a, b = as_masses("geodesic", "a", a, len(x)), as_masses("geodesic", "b", b, len(y))
    check_equal_mass("geodesic", a, b)
    if x.shape[1] == 1 and y.shape[1] == 1:
        source, target, mass = monotone_plan(x, y, a, b)
    else:
        plan = solve(a, b, cost_matrix(x, y, 2)).plan
        source, target = np.nonzero(plan)
        mass = plan[source, target]
    return (1.0 - t) * x[source] + t * y[target], mass


def mixture_path(p0: ArrayLike, p1: ArrayLike, t: float) -> Array:
    r"""The straight (Euclidean) path :math:`P_t = (1 - t) P_0 + t P_1` between two densities on the same points.

    Parameters
    ----------
    p0 : array-like of shape (n,)
        Density at time 0.
    p1 : array-like of shape (n,)
        Density at time 1.
    t : float in [0, 1]
        The time.

    Examples
    --------
    >>> mixture_path([1.0, 0.0], [0.0, 1.0], 0.25).tolist()
    [0.75, 0.25]
    """
    t = _as_time("mixture_path", t)
    p0, p1 = np.asarray(p0, dtype=np.float64), np.asarray(p1, dtype=np.float64)
    if p0.shape != p1.shape:
        raise ValueError(f"mixture_path: p0 and p1 must have the same shape; got {p0.shape} and {p1.shape}.")
    return (1.0 - t) * p0 + t * p1


def _as_time(owner: str, t: float) -> float:
    if isinstance(t, str) or not 0 <= t <= 1:
        raise ValueError(f"{owner}: t must lie in [0, 1]; got {t!r}.")
    return float(t)
