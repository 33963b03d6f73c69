r"""Variables in which a function is round: :math:`u = L^\top D\,\theta` for a curvature :math:`D L L^\top D`.

In the variables u the curvature is near the identity, so quasi-Newton steps have length one and few are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrsm

__all__ = ["Preconditioner", "from_diagonal", "from_matrix", "from_sample"]

# A column carried by fewer rows of a sample says nothing about its relation to other columns.
FEWEST_CARRIERS = 30

# Added to the unit diagonal when the matrix is singular to rounding: the variables need only be roughly round.
JITTER = 1e-10


@dataclass(frozen=True)
class Preconditioner:
    """``scale`` (m,) the diagonal D, ``lower`` (m, m) the triangle L, or None for the identity."""

    scale: np.ndarray
    lower: np.ndarray | None

    def gradient(self, g: np.ndarray) -> np.ndarray:
        r"""The gradient in u, :math:`L^{-1} D^{-1} g`, for every column of ``g`` (m, k)."""
        scaled = g / self.scale[:, None]
        return scaled if self.lower is None else dtrsm(1.0, self.lower, scaled, lower=1)

    def step(self, d: np.ndarray) -> np.ndarray:
        r"""The step in the parameters that is ``d`` in u: :math:`D^{-1} L^{-\top} d`."""
        turned = d if self.lower is None else dtrsm(1.0, self.lower, d, lower=1, trans_a=1)
        return turned / self.scale[:, None]

    def solve(self, g: np.ndarray) -> np.ndarray:
        """The curvature's inverse times ``g``."""
        return self.step(self.gradient(g))


def from_matrix(M: np.ndarray) -> Preconditioner:
    """Of a symmetric matrix, positive semi-definite to rounding.

    >>> M = np.array([[4.0, 2.0], [2.0, 9.0]])
    >>> from_matrix(M).solve(M).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    scale = _positive(np.sqrt(np.maximum(M.diagonal(), 0.0)))
    unit = M / np.outer(scale, scale)
    jitter = 0.0
    while True:
        lower, failed = lapack.dpotrf(unit + jitter * np.eye(len(M)), lower=1, clean=1)
        if not failed:
            return Preconditioner(scale, np.asfortranarray(lower))
        jitter = max(JITTER, 100 * jitter)


def from_sample(M: np.ndarray, diagonal: np.ndarray, carriers: np.ndarray) -> Preconditioner:
    """Of a curvature estimated from a sample of the rows whose exact ``diagonal`` is known.

    Correlations come from the sample, sizes from all rows. Columns that too few sampled rows carry (``carriers``, as in
    rare indicators) are taken for unrelated to the others: a correlation of one or two rows is always near one.
    """
    sampled = M.diagonal()
    factor = np.sqrt(np.maximum(diagonal, 0.0) / np.where(sampled > 0, sampled, 1.0))
    factor = np.where((carriers >= FEWEST_CARRIERS) & (sampled > 0), factor, 0.0)
    factor[-1] = factor[-1] or 1.0
    corrected = M * np.outer(factor, factor)
    corrected.flat[:: len(M) + 1] = diagonal
    return from_matrix(corrected)


def from_diagonal(diagonal: np.ndarray) -> Preconditioner:
    """Of a curvature of which only the diagonal is known."""
    return Preconditioner(_positive(np.sqrt(np.maximum(diagonal, 0.0))), None)


def _positive(scale: np.ndarray) -> np.ndarray:
    return np.where(scale > 0, scale, 1.0)  # a direction without curvature has no scale of its own
