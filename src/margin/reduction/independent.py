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
from functools import partial
from typing import Any

import numpy as np

__all__ = ["CONTRASTS", "contrast_of", "deflation_step", "fast_ica_step", "orthonormal_rows"]

Contrast = Callable[..., tuple[np.ndarray, np.ndarray]]


def _logcosh(u: np.ndarray, alpha: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    t = np.tanh(alpha * u)
    return t, alpha * (1 - np.mean(t * t, axis=1))


def _exp(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = u * u
    bell = np.exp(-square / 2)
    return u * bell, np.mean((1 - square) * bell, axis=1)


def _cube(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = u * u
    return square * u, 3 * np.mean(square, axis=1)


# g(u) and the mean of g'(u) over the rows, for u (k, n).
CONTRASTS: dict[str, Contrast] = {"logcosh": _logcosh, "exp": _exp, "cube": _cube}


def contrast_of(fun: Any, arguments: dict[str, Any] | None = None) -> Contrast:
    """The contrast called ``fun``, or made from a function that gives g(u) and g'(u) of every entry."""
    options = arguments or {}
    if isinstance(fun, str):
        return partial(CONTRASTS[fun], **options)

    def contrast(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, slope = fun(u, **options)
        slope = np.asarray(slope)
        return g, slope.mean(axis=1) if slope.ndim == 2 else slope

    return contrast


def orthonormal_rows(W: np.ndarray) -> np.ndarray:
    r""":math:`(W W^\top)^{-1/2} W`, the orthogonal matrix nearest to ``W`` (k, k).

    >>> orthonormal_rows(np.array([[2.0, 0.0], [0.0, 5.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(W)
    return U @ Vt


def fast_ica_step(W: np.ndarray, Z: np.ndarray, contrast: str | Contrast = "logcosh") -> np.ndarray:
    """One step for all components: ``W`` (k, k) with orthonormal rows, ``Z`` (k, n) white."""
    return orthonormal_rows(_newton(W, Z, contrast))


def deflation_step(
    w: np.ndarray, others: np.ndarray, Z: np.ndarray, contrast: str | Contrast = "logcosh"
) -> np.ndarray:
    """One step for one component ``w`` (k,), kept orthogonal to the rows of ``others`` (j, k) found before."""
    moved = _newton(w[None], Z, contrast)[0]
    moved = moved - others.T @ (others @ moved)
    return moved / np.linalg.norm(moved)


def _newton(W: np.ndarray, Z: np.ndarray, contrast: str | Contrast) -> np.ndarray:
    g, slope = (CONTRASTS[contrast] if isinstance(contrast, str) else contrast)(W @ Z)
    return g @ Z.T / Z.shape[1] - slope[:, None] * W
