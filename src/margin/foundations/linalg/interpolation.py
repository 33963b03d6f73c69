"""Linear interpolation of a grid at warped points, and its adjoint, splatting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_array

__all__ = ["interpolate_linear", "splat_linear"]


def interpolate_linear(f: Any, phi: Any) -> Array:
    r"""Sample the grid f at the points :math:`\phi`: :math:`(f\circ\phi)_p = \sum_i w_{pi} f_i`.

    f has any number d of axes; ``phi`` has shape (d, \*points), or (points,) for d = 1, in units of grid steps, as for
    ``scipy.ndimage.map_coordinates``. The 2^d corners of the cell around a point carry the multilinear weights w;
    points outside the grid are moved to its border.

    >>> interpolate_linear([0.0, 10.0, 20.0], [0.5, 1.25])
    array([ 5. , 12.5])
    """
    f = as_array("interpolate_linear", "f", f, real=True)
    phi = _points("interpolate_linear", phi, f.shape)
    sampled = np.zeros(phi.shape[1:])
    for corner, weight in _corners(phi, f.shape):
        sampled += weight * f.ravel()[corner]
    return sampled


def splat_linear(g: Any, phi: Any, shape: tuple[int, ...]) -> Array:
    r"""Spread values g from the points :math:`\phi` onto a grid: :math:`(\phi^* g)_i = \sum_p w_{pi} g_p`.

    The weights are those of :func:`interpolate_linear`, so
    :math:`\langle f\circ\phi, g\rangle = \langle f, \phi^* g\rangle`.

    >>> splat_linear([4.0], [1.25], (3,))
    array([0., 3., 1.])
    """
    g = as_array("splat_linear", "g", g, real=True)
    shape = tuple(integer("splat_linear", "every entry of shape", n, low=1) for n in shape)
    phi = _points("splat_linear", phi, shape)
    if g.shape != phi.shape[1:]:
        raise ValueError(f"splat_linear: g must have one value per point, shape {phi.shape[1:]}; got {g.shape}.")
    grid = np.zeros(int(np.prod(shape)))
    for corner, weight in _corners(phi, shape):
        grid += np.bincount(corner.ravel(), weights=(weight * g).ravel(), minlength=grid.size)
    return grid.reshape(shape)


def _points(function: str, phi: Any, shape: tuple[int, ...]) -> Array:
    phi = as_array(function, "phi", phi, real=True)
    if len(shape) == 1 and phi.ndim == 1:
        phi = phi[None]
    if len(phi) != len(shape):
        raise ValueError(f"{function}: phi must have one row per axis of the grid, {len(shape)}; got {len(phi)}.")
    return phi


def _corners(phi: Array, shape: tuple[int, ...]) -> Iterator[tuple[Array, Array]]:
    """Flat index and weight, both of the points' shape, of each of the 2^d corners."""
    limits = np.array(shape).reshape(-1, *[1] * (phi.ndim - 1)) - 1
    inside = np.clip(phi, 0, limits)
    lower = np.minimum(np.floor(inside).astype(np.intp), np.maximum(limits - 1, 0))
    fraction = inside - lower
    for offset in product((0, 1), repeat=len(shape)):
        # On an axis with one point the upper corner has weight zero; its index must still exist.
        index = [np.minimum(low + step, limit) for low, step, limit in zip(lower, offset, limits)]
        weights = [part if step else 1.0 - part for part, step in zip(fraction, offset)]
        yield np.ravel_multi_index(index, shape), np.prod(weights, axis=0)
