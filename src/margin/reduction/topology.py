r"""Pieces and loops of a cloud of points, seen at a given scale.

Points nearer than the scale are joined by an edge, and three edges that close fill a triangle (the Vietoris-Rips
complex). The Betti numbers count what no deformation changes: connected pieces, and loops that nothing fills,

.. math:: \beta_0 = n - \operatorname{rank}\partial_1,\qquad
          \beta_1 = |E| - \operatorname{rank}\partial_1 - \operatorname{rank}\partial_2,

with ranks of the boundary maps over the field of two elements. A cup with a handle and a doughnut have the same ones:
they are homotopy equivalent *spaces*. A homotopy between two *maps* f and g is a continuous family with f at one end
and g at the other; :func:`straight_homotopy` is the simplest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from margin.core.arguments import finite, positive
from margin.foundations.probability.kernels import squared_distances

__all__ = ["Betti", "betti", "straight_homotopy"]


class Betti(NamedTuple):
    """Connected pieces and loops."""

    pieces: int
    loops: int


def betti(X: Any, scale: float) -> Betti:
    """The Betti numbers of the points ``X`` (n, d) joined up to ``scale``; cost grows with the number of triangles.

    >>> angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    >>> betti(np.column_stack([np.cos(angle), np.sin(angle)]), 0.6)
    Betti(pieces=1, loops=1)
    """
    rows, scale = finite("betti", "X", X), positive("betti", "scale", scale)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"betti: X must be rows of points; got shape {rows.shape}.")
    joined = squared_distances(rows, rows) <= scale**2
    first, second = np.nonzero(np.triu(joined, 1))
    edges = {(int(i), int(j)): bit for bit, (i, j) in enumerate(zip(first, second))}
    spanning = _rank([(1 << i) | (1 << j) for i, j in edges], most=len(rows) - 1)
    cycles = len(edges) - spanning
    return Betti(len(rows) - spanning, cycles - _rank(_triangles(edges, joined), most=cycles))


def straight_homotopy(f: Callable[[Any], Any], g: Callable[[Any], Any]) -> Callable[[Any, float], Any]:
    r"""The family :math:`H(x, t) = (1 - t) f(x) + t\,g(x)` that deforms ``f`` into ``g`` where values may be mixed.

    >>> H = straight_homotopy(np.sin, np.cos)
    >>> float(H(0.0, 0.0)), float(H(0.0, 0.25)), float(H(0.0, 1.0))
    (0.0, 0.25, 1.0)
    """
    return lambda x, t: (1 - t) * np.asarray(f(x)) + t * np.asarray(g(x))


def _triangles(edges: dict[tuple[int, int], int], joined: np.ndarray) -> list[int]:
    """The boundary of every filled triangle: the set of its edges as bits."""
    return [
        (1 << bit) | (1 << edges[i, int(k)]) | (1 << edges[j, int(k)])
        for (i, j), bit in edges.items()
        for k in np.flatnonzero(joined[i, j + 1 :] & joined[j, j + 1 :]) + j + 1
    ]


def _rank(columns: list[int], most: int) -> int:
    """Rank over the field of two elements of columns given as bits; elimination ends when ``most`` is reached."""
    pivots: dict[int, int] = {}
    for column in columns:
        if len(pivots) == most:
            break
        while column:
            top = column.bit_length()
            if top not in pivots:
                pivots[top] = column
                break
            column ^= pivots[top]
    return len(pivots)
