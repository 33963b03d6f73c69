r"""Gaussian random fields on grids of any dimension.

Every finite set of values is jointly normal (normal single values are not enough). On a torus a stationary
covariance is diagonal in the Fourier basis, with eigenvalues :math:`\lambda = \mathrm{FFT}(c)`, so

.. math:: f = \operatorname{Re} \mathrm{FFT}\big(\sqrt{\lambda / N}\,(a + ib)\big), \qquad a, b \sim N(0, I),

has covariance exactly :math:`c`. A field on a plain grid is cut out of a torus large enough that the wrapped
covariance has no negative eigenvalue (circulant embedding).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from margin.foundations.probability.kernels import is_stationary
from margin.foundations.statistics.arguments import Floats, integer, positive
from margin.foundations.statistics.covariance_functions import CovarianceFunction

__all__ = ["field_from_kernel", "field_from_spectrum"]

NEGLIGIBLE = 1e-10  # negative eigenvalues below this fraction of the largest are rounding
MAX_PADDING = 16


def field_from_kernel(
    shape: tuple[int, ...], kernel: CovarianceFunction, rng: np.random.Generator, n: int = 1, spacing: float = 1.0
) -> Floats:
    """``n`` fields (n, *shape) on a grid with this spacing, with the covariance of a stationary ``kernel``.

    Parameters
    ----------
    shape : tuple of int
        Shape of the grid.
    kernel : CovarianceFunction
        A stationary covariance.
    rng : numpy.random.Generator
        Source of randomness.
    n : int
        Number of fields.
    spacing : float
        Distance of neighboring grid points.
    """
    sides = _sides("field_from_kernel", shape)
    step = positive("field_from_kernel", "spacing", spacing)
    if not is_stationary(kernel, len(sides), np.random.default_rng(0)):
        raise ValueError("field_from_kernel: kernel must be stationary; got one that depends on absolute position.")
    padding = 2
    while padding <= MAX_PADDING:
        torus = tuple(padding * side for side in sides)
        eigenvalues = np.fft.fftn(_wrapped_covariance(torus, kernel, step)).real
        if eigenvalues.min() >= -NEGLIGIBLE * eigenvalues.max():
            fields = _torus_fields(np.maximum(eigenvalues, 0.0), n, rng)
            return fields[(slice(None), *(slice(side) for side in sides))]
        padding *= 2
    raise ValueError(f"field_from_kernel: kernel must decay within {MAX_PADDING} times the grid {sides}.")


def field_from_spectrum(
    shape: tuple[int, ...], spectrum: Callable[[Floats], Floats], rng: np.random.Generator, n: int = 1
) -> Floats:
    """``n`` periodic fields (n, *shape) of unit variance whose power follows ``spectrum(|frequency|)``.

    The frequency is in cycles per grid step; the field has mean zero, so the power at frequency zero is dropped.

    Parameters
    ----------
    shape : tuple of int
        Shape of the grid.
    spectrum : callable
        Power by frequency.
    rng : numpy.random.Generator
        Source of randomness.
    n : int
        Number of fields.
    """
    sides = _sides("field_from_spectrum", shape)
    axes = np.meshgrid(*(np.fft.fftfreq(side) for side in sides), indexing="ij")
    frequency = np.sqrt(sum(axis**2 for axis in axes))
    power = np.zeros(sides)
    power[frequency > 0] = spectrum(frequency[frequency > 0])
    if not (np.isfinite(power).all() and (power >= 0).all() and power.sum() > 0):
        raise ValueError("field_from_spectrum: spectrum must be finite, nowhere negative and not zero everywhere.")
    return _torus_fields(power * power.size / power.sum(), n, rng)


def _torus_fields(eigenvalues: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Real and imaginary parts are two independent fields, so ``n`` fields need half as many transforms."""
    pairs = (integer("random field", "n", n, low=1) + 1) // 2
    noise = rng.normal(size=(2, pairs, *eigenvalues.shape))
    amplitude = np.sqrt(eigenvalues / eigenvalues.size)
    axes = tuple(range(1, 1 + eigenvalues.ndim))
    fields = np.fft.fftn(amplitude * (noise[0] + 1j * noise[1]), axes=axes)
    return np.concatenate([fields.real, fields.imag])[:n]


def _wrapped_covariance(torus: tuple[int, ...], kernel: CovarianceFunction, spacing: float) -> Floats:
    """Covariance of every grid point with the origin, going around the torus the shorter way."""
    offsets = [np.minimum(np.arange(side), side - np.arange(side)) * spacing for side in torus]
    grid = np.stack(np.meshgrid(*offsets, indexing="ij"), axis=-1).reshape(-1, len(torus))
    return kernel(grid, np.zeros((1, len(torus)))).reshape(torus)


def _sides(caller: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) == 0:
        raise ValueError(f"{caller}: shape must name at least one side; got {shape!r}.")
    return tuple(integer(caller, "shape", side, low=1) for side in shape)
