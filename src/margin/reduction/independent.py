r"""Independent components: directions in which white rows are as far from normal as they can be.

A sum of independent signals is closer to normal than each of them. With white rows z (mean zero, covariance I) FastICA
looks for orthonormal rows w of W at which :math:`E[G(w^\top z)]` is stationary, by Newton's step on all of them and a
return to orthonormal rows:

.. math::
    W \leftarrow E[g(Wz) z^\top] - \mathrm{diag}\bigl(E[g'(Wz)]\bigr) W, \qquad W \leftarrow (W W^\top)^{-1/2} W,
    \qquad g = G' .
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["CONTRASTS", "fast_ica_step", "orthonormal_rows"]

Contrast = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _logcosh(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(u)
    return t, 1 - np.mean(t * t, axis=1)


def _exp(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = u * u
    bell = np.exp(-square / 2)
    return u * bell, np.mean((1 - square) * bell, axis=1)


def _cube(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = u * u
    return square * u, 3 * np.mean(square, axis=1)


# g(u) and the mean of g'(u) over the rows, for u (k, n).
CONTRASTS: dict[str, Contrast] = {"logcosh": _logcosh, "exp": _exp, "cube": _cube}


def orthonormal_rows(W: np.ndarray) -> np.ndarray:
    r""":math:`(W W^\top)^{-1/2} W`, the orthogonal matrix nearest to ``W`` (k, k).

    >>> orthonormal_rows(np.array([[2.0, 0.0], [0.0, 5.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(W)
    return U @ Vt


def fast_ica_step(W: np.ndarray, Z: np.ndarray, contrast: str = "logcosh") -> np.ndarray:
    """One step for all components: ``W`` (k, k) with orthonormal rows, ``Z`` (k, n) white."""
    g, slope = CONTRASTS[contrast](W @ Z)
    return orthonormal_rows(g @ Z.T / Z.shape[1] - slope[:, None] * W)
