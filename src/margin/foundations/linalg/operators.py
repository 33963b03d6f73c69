"""Linear operators on grids, each with the operator that is its adjoint: differences, the Laplacian, Fourier.

Everything here is a matrix that is never written down (except the Laplacian, which is sparse). Whether two of them
are adjoint depends on the boundary: integration by parts leaves a surface term, and only a periodic or vanishing
boundary removes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_array, as_vector

__all__ = [
    "IntegrationByParts",
    "divergence",
    "fourier",
    "gradient",
    "integration_by_parts",
    "inverse_fourier",
    "laplacian",
]

FIELD_BOUNDARIES = ("periodic", "zero")
LAPLACIAN_BOUNDARIES = ("dirichlet", "neumann", "periodic", "none")
NORMALIZATIONS = ("ortho", "backward")


class IntegrationByParts(NamedTuple):
    r"""The three terms of :math:`\int f'g = -\int fg' + [fg]`."""

    gradient_side: float
    divergence_side: float
    surface: float


def gradient(f: Any, boundary: str = "periodic") -> Array:
    r"""Forward differences :math:`(\nabla f)_{a,i} = f_{i+e_a} - f_i` along every axis a.

    f has any shape S, the result shape (ndim, \*S). Beyond the last point f continues periodically or is zero.

    >>> gradient([1.0, 4.0, 9.0])
    array([[ 3.,  5., -8.]])
    """
    f = as_array("gradient", "f", f)
    _choose("gradient", boundary, FIELD_BOUNDARIES)
    return np.stack([_shift(f, axis, -1, boundary) - f for axis in range(f.ndim)])


def divergence(g: Any, boundary: str = "periodic") -> Array:
    r"""Backward differences :math:`(\nabla\cdot g)_i = \sum_a g_{a,i} - g_{a,i-e_a}`.

    g has shape (ndim, \*S). With these differences :math:`\langle\nabla f, g\rangle = \langle f, -\nabla\cdot g\rangle`
    holds exactly, for both boundaries.
    """
    g = as_array("divergence", "g", g)
    _choose("divergence", boundary, FIELD_BOUNDARIES)
    if g.ndim < 2 or len(g) != g.ndim - 1:
        raise ValueError(f"divergence: g must have one component per axis, shape (ndim, *grid); got shape {g.shape}.")
    parts = [component - _shift(component, axis, 1, boundary) for axis, component in enumerate(g)]
    return np.sum(parts, axis=0)


def integration_by_parts(f: Any, g: Any) -> IntegrationByParts:
    r"""The summation by parts that keeps the boundary: :math:`\sum \Delta f\,\bar g = -\sum \bar f\,\Delta g + [fg]`.

    f and g are sampled at the same points of an interval; bars are means over a cell, so the identity is exact and
    each sum tends to the integral as the cells shrink.
    """
    f = as_vector("integration_by_parts", "f", f, real=True)
    g = as_vector("integration_by_parts", "g", g, size=len(f), real=True)
    cell_means = [(h[1:] + h[:-1]) / 2 for h in (f, g)]
    return IntegrationByParts(
        gradient_side=float(np.diff(f) @ cell_means[1]),
        divergence_side=float(-cell_means[0] @ np.diff(g)),
        surface=float(f[-1] * g[-1] - f[0] * g[0]),
    )


def laplacian(shape: tuple[int, ...], boundary: str = "dirichlet") -> sparse.csr_array:
    r"""The second-difference matrix :math:`\Delta = \sum_a D_a`, acting on ``f.ravel()`` for f of the given shape.

    "dirichlet" takes f as zero outside the grid, "neumann" reflects it, "periodic" wraps it: these three are
    symmetric. "none" imposes no condition and reuses the nearest inner stencil at the ends: it is not.

    >>> laplacian((3,)).toarray()
    array([[-2.,  1.,  0.],
           [ 1., -2.,  1.],
           [ 0.,  1., -2.]])
    """
    _choose("laplacian", boundary, LAPLACIAN_BOUNDARIES)
    sizes = [integer("laplacian", "every entry of shape", n, low=3) for n in shape]
    if not sizes:
        raise ValueError("laplacian: shape must name at least one axis; got ().")
    total = sparse.csr_array((1, 1))
    for n in sizes:
        # The Kronecker sum: D acts along the new axis, what was built so far along the others.
        along = _second_difference(n, boundary)
        total = sparse.kron(total, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(total.shape[0]), along)
    return sparse.csr_array(total)


def fourier(f: Any, normalization: str = "ortho") -> Array:
    r"""The discrete Fourier transform over all axes.

    :math:`\hat f_k = c\sum_j f_j e^{-2\pi i jk/n}` with :math:`c = n^{-1/2}` for "ortho", which makes the transform
    unitary (adjoint = inverse), and :math:`c = 1` for "backward", whose adjoint is n times the inverse.
    """
    _choose("fourier", normalization, NORMALIZATIONS)
    return np.fft.fftn(as_array("fourier", "f", f), norm="ortho" if normalization == "ortho" else "backward")


def inverse_fourier(f: Any, normalization: str = "ortho") -> Array:
    """The inverse of :func:`fourier` with the same normalization."""
    _choose("inverse_fourier", normalization, NORMALIZATIONS)
    return np.fft.ifftn(as_array("inverse_fourier", "f", f), norm="ortho" if normalization == "ortho" else "backward")


def _shift(f: Array, axis: int, by: int, boundary: str) -> Array:
    shifted = np.roll(f, by, axis=axis)
    if boundary == "zero":
        entered = [slice(None)] * f.ndim
        entered[axis] = slice(0, 1) if by > 0 else slice(-1, None)
        shifted[tuple(entered)] = 0.0
    return shifted


def _second_difference(n: int, boundary: str) -> sparse.csr_array:
    D = sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    if boundary == "neumann":
        D[0, 0] = D[n - 1, n - 1] = -1.0
    elif boundary == "periodic":
        D[0, n - 1] = D[n - 1, 0] = 1.0
    elif boundary == "none":
        D[0, :3] = D[n - 1, n - 3 :] = [1.0, -2.0, 1.0]
    return sparse.csr_array(D)


def _choose(function: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{function}: choose one of {', '.join(allowed)}; got {value!r}.")
