r"""The common covariance of Gaussian processes, computed in place: :math:`v\,\rho(r) + \sigma^2 I`.

:math:`r^2 = \sum_j (x_j-z_j)^2/\ell_j^2` and :math:`\rho` is Gaussian or Matérn. For such kernels one (n, n) array
holds all that learning needs, the values :math:`v\rho` in its lower triangle and the slopes :math:`g=-v\rho'(r)/r` in
the upper one, because :math:`\partial k/\partial\log\ell_j = g\,(x_j-z_j)^2/\ell_j^2`: the derivatives of all length
scales are contracted in one pass, and no (n, n, d) array exists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margin.kernels.algebra import Product, Sum
from margin.kernels.kernel import ConstantKernel, Kernel
from margin.kernels.matern import Matern, matern_profile
from margin.kernels.stationary import RBF, RadialKernel, WhiteKernel

__all__ = ["TILE", "RadialForm", "noise_variance", "radial_form", "signal_of", "terms_of"]

Floats = NDArray[np.float64]

TILE = 64  # sides of a tile of a contraction: three of float64 fit the first-level cache with room for the sums
ROWS = 128  # of a block: product, exponential and both writes happen while it is in the second-level cache


@dataclass(frozen=True)
class RadialForm:
    """One amplitude, one radial profile, white noise; ``leaves`` in the order of ``theta``."""

    leaves: tuple[Kernel, ...]

    @property
    def amplitude(self) -> float:
        return float(np.prod([leaf.constant_value for leaf in self.leaves if isinstance(leaf, ConstantKernel)]))

    @property
    def noise(self) -> float:
        return float(sum(leaf.noise_level for leaf in self.leaves if isinstance(leaf, WhiteKernel)))

    @property
    def scaled(self) -> RadialKernel:
        return next(leaf for leaf in self.leaves if isinstance(leaf, RadialKernel))

    def profile(self, squared: Floats) -> tuple[Floats, Floats]:
        """Values and slopes, both times the amplitude; may overwrite ``squared``."""
        radial, amplitude = self.scaled, self.amplitude
        if isinstance(radial, RBF):
            squared *= -0.5
            values = np.exp(squared, out=squared)
            values *= amplitude
            return values, values
        values, slopes = matern_profile(radial.nu if isinstance(radial, Matern) else 0.5, squared)
        values *= amplitude
        slopes *= amplitude
        return values, slopes

    def fill(self, X: Floats, gram: Floats, factor: Floats) -> None:
        """Values into the lower triangles of both arrays, slopes into the upper one of ``gram``."""
        left, right = distance_factors(self.scaled.scaled(X))
        for start in range(0, len(X), ROWS):
            stop = min(start + ROWS, len(X))
            block = left[start:stop] @ right[:stop].T
            np.maximum(block, 0, out=block)
            np.fill_diagonal(block[:, start:], 0)
            values, slopes = self.profile(block)
            corner = np.tril(values[:, start:])
            factor[start:stop, :start] = gram[start:stop, :start] = values[:, :start]
            factor[start:stop, start:stop] = corner
            gram[:start, start:stop] = slopes[:, :start].T
            gram[start:stop, start:stop] = corner + np.tril(slopes[:, start:], -1).T

    def gradient(self, total: float, per_column: Floats, trace: float) -> Floats:
        r"""With respect to theta: ``total`` is :math:`\sum W\circ v\rho`, ``trace`` is :math:`\mathrm{tr}\,W`."""
        parts = [np.zeros(0)]
        for leaf in self.leaves:
            if not leaf.free:
                continue
            if isinstance(leaf, ConstantKernel):
                parts.append(np.array([total]))
            elif isinstance(leaf, WhiteKernel):
                parts.append(np.array([leaf.noise_level * trace]))
            else:
                parts.append(per_column if np.ndim(leaf.length_scale) else np.array([per_column.sum()]))
        return np.concatenate(parts)


def radial_form(kernel: Kernel) -> RadialForm | None:
    """The form of ``kernel`` if it has one: constants times one radial kernel, plus white noise."""
    leaves: list[Kernel] = []
    signals = 0
    for term in terms_of(kernel):
        if isinstance(term, WhiteKernel):
            leaves.append(term)
            continue
        factors = _factors(term)
        signals += 1
        if sum(isinstance(part, RadialKernel) for part in factors) != 1 or not all(
            isinstance(part, RadialKernel | ConstantKernel) for part in factors
        ):
            return None
        leaves.extend(factors)
    return RadialForm(tuple(leaves)) if signals == 1 else None


def terms_of(kernel: Kernel) -> list[Kernel]:
    """What a sum adds up, from left to right."""
    return [*terms_of(kernel.k1), *terms_of(kernel.k2)] if isinstance(kernel, Sum) else [kernel]


def signal_of(kernel: Kernel) -> Kernel | None:
    """The kernel of the function alone: without white noise added to it; None if nothing else is there."""
    if isinstance(kernel, WhiteKernel):
        return None
    if not isinstance(kernel, Sum):
        return kernel
    left, right = signal_of(kernel.k1), signal_of(kernel.k2)
    if left is None or right is None:
        return left if right is None else right
    return Sum(left, right)


def noise_variance(kernel: Kernel) -> float:
    """The variance of the white noise added to the function."""
    return float(sum(term.noise_level for term in terms_of(kernel) if isinstance(term, WhiteKernel)))


def distance_factors(X: Floats, Z: Floats | None = None) -> tuple[Floats, Floats]:
    """Two arrays whose product is the squared distance of all pairs; centered, so that an offset costs no digits."""
    center = X.mean(axis=0)
    x = X - center
    z = x if Z is None else Z - center
    x_norms, z_norms = (np.einsum("ij,ij->i", rows, rows)[:, None] for rows in (x, z))
    left = np.concatenate([-2 * x, x_norms, np.ones_like(x_norms)], axis=1)
    right = np.concatenate([z, np.ones_like(z_norms), z_norms], axis=1)
    return left, right


def _factors(kernel: Kernel) -> list[Kernel]:
    return [*_factors(kernel.k1), *_factors(kernel.k2)] if isinstance(kernel, Product) else [kernel]
