"""Averages of distributions under the Wasserstein metric: on a line by quantiles, on image grids by entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.transport.arguments import as_masses, as_points
from margin.foundations.transport.log_domain import log_sum_exp

__all__ = ["Barycenter", "barycenter", "barycenter_1d", "normal_barycenter"]

Array = NDArray[np.float64]


def barycenter_1d(
    samples: Sequence[ArrayLike], weights: ArrayLike | None = None, masses: Sequence[ArrayLike | None] | None = None
) -> tuple[Array, Array]:
    r"""The :math:`W_2` barycenter on the line: the mean of the quantile functions.

    .. math:: Q(t) = \sum_k w_k Q_k(t), \qquad \text{which minimizes } \sum_k w_k W_2^2(\mu_k, \cdot)

    Returns positions and their masses, which sum to one.

    Parameters
    ----------
    samples : sequence of array-like
        Positions of every distribution.
    weights : array-like of shape (k,), optional
        Weights of the distributions; equal by default.
    masses : sequence of array-like, optional
        Masses of the positions; equal by default.

    Examples
    --------
    >>> positions, masses = barycenter_1d([[0.0, 1.0], [10.0, 13.0]])
    >>> positions.tolist(), masses.tolist()
    ([5.0, 7.0], [0.5, 0.5])
    """
    if len(samples) == 0:
        raise ValueError("barycenter_1d: samples must hold at least one distribution.")
    w = _weights("barycenter_1d", weights, len(samples))
    given = [None] * len(samples) if masses is None else list(masses)
    quantiles = []
    for k, (sample, mass) in enumerate(zip(samples, given, strict=True)):
        x = as_points("barycenter_1d", f"samples[{k}]", sample)[:, 0]
        level = np.cumsum(as_masses("barycenter_1d", f"masses[{k}]", mass, len(x))[np.argsort(x)])
        quantiles.append((np.sort(x), level / level[-1]))
    ladder = np.unique(np.concatenate([level for _, level in quantiles]))
    steps = np.diff(ladder, prepend=0.0)
    # Levels that agree up to rounding are one level.
    ladder, steps = ladder[steps > 1e-14], steps[steps > 1e-14]
    middle = ladder - 0.5 * steps
    positions = sum(
        w_k * x[np.minimum(np.searchsorted(level, middle), len(x) - 1)] for w_k, (x, level) in zip(w, quantiles)
    )
    return np.asarray(positions), steps / steps.sum()


def normal_barycenter(means: ArrayLike, stds: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float]:
    r""":math:`N(\sum_k w_k \mu_k, (\sum_k w_k \sigma_k)^2)`: on a line normals average by mean and standard deviation.

    Parameters
    ----------
    means : array-like of shape (k,)
        Means.
    stds : array-like of shape (k,)
        Standard deviations.
    weights : array-like of shape (k,), optional
        Weights of the distributions; equal by default.

    Examples
    --------
    >>> normal_barycenter([0.0, 10.0], [1.0, 2.0])
    (5.0, 1.5)
    """
    means, stds = np.asarray(means, dtype=np.float64), np.asarray(stds, dtype=np.float64)
    w = _weights("normal_barycenter", weights, len(means))
    return float(w @ means), float(w @ stds)


@dataclass(frozen=True)
class Barycenter:
    """An average image of total mass one, the change of the last iteration (L1) and the number of iterations."""

    image: Array
    change: float
    n_iter: int


def barycenter(
    images: ArrayLike,
    reg: float,
    weights: ArrayLike | None = None,
    *,
    debiased: bool = True,
    tol: float = 1e-5,
    max_iter: int = 300,
) -> Barycenter:
    r"""Entropic :math:`W_2` barycenter of images (k, height, width) on the unit square, in the log domain.

    Iterative Bregman projections with the Gibbs kernel :math:`K = e^{-d^2/\varepsilon}`, applied one axis at a time:

    .. math:: a_k = \frac{\alpha_k}{K b_k}, \qquad \alpha = d \prod_k (K a_k)^{w_k}, \qquad
       b_k = \frac{\alpha}{K a_k}, \qquad d \leftarrow \sqrt{d \, \alpha / (K d)}

    With ``debiased`` the last update removes the blur that entropy adds (H. Janati et al., Debiased Sinkhorn
    barycenters, 2020); without it :math:`d = 1`. Each image is scaled to total mass one.

    Parameters
    ----------
    images : array-like of shape (k, height, width)
        Nonnegative images.
    reg : float
        Strength of the entropy, :math:`\varepsilon`.
    weights : array-like of shape (k,), optional
        Weights of the distributions; equal by default.
    debiased : bool
        Whether the blur of the entropy is removed.
    tol : float
        Change of the image, in L1, at which it ends.
    max_iter : int
        Most iterations.

    Examples
    --------
    >>> eye = np.eye(5)[2]
    >>> barycenter([np.outer(np.eye(5)[0], eye), np.outer(np.eye(5)[4], eye)], reg=0.02).image.argmax()
    np.int64(12)
    """
    alphas = _as_images(images)
    w = _weights("barycenter", weights, len(alphas))[:, None, None]
    if isinstance(reg, str) or not (np.isfinite(reg) and reg > 0):
        raise ValueError(f"barycenter: reg must be a positive number; got {reg!r}.")
    if max_iter < 1:
        raise ValueError(f"barycenter: max_iter must be at least 1; got {max_iter}.")
    kernels = [_log_kernel(n, max(alphas.shape[1:]), reg) for n in alphas.shape[1:]]
    with np.errstate(divide="ignore"):  # log 0 = -inf where an image is empty
        log_alphas = np.log(alphas)
    log_b, log_d = np.zeros_like(alphas), np.zeros(alphas.shape[1:])
    image, change, iteration = np.zeros(alphas.shape[1:]), np.inf, 0
    while change > tol and iteration < max_iter:
        log_a = log_alphas - _smooth(log_b, kernels)
        log_Ka = _smooth(log_a, kernels)
        log_alpha = log_d + (w * log_Ka).sum(axis=0)
        log_b = log_alpha - log_Ka
        if debiased:
            log_d = 0.5 * (log_d + log_alpha - _smooth(log_d[None], kernels)[0])
        previous, image = image, np.exp(log_alpha)
        change = float(np.abs(image - previous).sum())
        iteration += 1
    return Barycenter(image / image.sum(), change, iteration)


def _smooth(log_images: Array, kernels: list[Array]) -> Array:
    """log(K exp(.)) on the two axes of each image in turn."""
    down, across = kernels
    # (k, height, 1, width) + (height, height', 1) summed over height, then the same across.
    log_images = log_sum_exp(log_images[:, :, None, :] + down[:, :, None], axis=1)
    return log_sum_exp(log_images[:, :, :, None] + across, axis=2)


def _log_kernel(n: int, longest: int, reg: float) -> Array:
    position = np.arange(n) / max(longest - 1, 1)
    return -((position[:, None] - position) ** 2) / reg


def _as_images(images: ArrayLike) -> Array:
    alphas = np.asarray(images, dtype=np.float64)
    if alphas.ndim != 3 or alphas.size == 0:
        raise ValueError(f"barycenter: images must have shape (k, height, width); got {alphas.shape}.")
    if not np.isfinite(alphas).all() or alphas.min() < 0:
        raise ValueError("barycenter: images must be finite and not negative.")
    totals = alphas.sum(axis=(1, 2), keepdims=True)
    if not (totals > 0).all():
        raise ValueError("barycenter: every image must have positive total mass.")
    return alphas / totals


def _weights(owner: str, weights: ArrayLike | None, k: int) -> Array:
    w = as_masses(owner, "weights", weights, k)
    return w / w.sum()
