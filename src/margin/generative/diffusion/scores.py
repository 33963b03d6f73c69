r"""Losses that fit a score network :math:`s(x)` to :math:`\nabla \log p(x)`, from data alone where p is not known.

The Fisher divergence needs the true score; the implicit, sliced and denoising losses differ from half of it by a
constant that does not depend on the network, the last one for the density of the data with noise added.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from margin.neural.losses.regression import squared_error

__all__ = [
    "Score",
    "denoise_by_score",
    "denoising_score_matching",
    "fisher_divergence",
    "implicit_score_matching",
    "jacobian_trace",
    "sliced_score_matching",
]

Score = Callable[[Tensor], Tensor]


def fisher_divergence(score: Score, x: Tensor, true_score: Tensor) -> Tensor:
    r""":math:`\|\nabla \log p(x) - s(x)\|^2` of every row; its mean over draws of p is the Fisher divergence."""
    return squared_error(true_score, score(x)).sum(dim=1)


def jacobian_trace(score: Score, x: Tensor) -> tuple[Tensor, Tensor]:
    r"""The score and the trace of its Jacobian, one backward pass per coordinate."""
    x = x.detach().requires_grad_(True)
    values = score(x)
    trace = torch.zeros(len(x), dtype=x.dtype)
    for j in range(x.shape[1]):
        (row,) = torch.autograd.grad(values[:, j].sum(), x, create_graph=True, materialize_grads=True)
        trace = trace + row[:, j]
    return values, trace


def implicit_score_matching(score: Score, x: Tensor) -> Tensor:
    r""":math:`\frac12\|s(x)\|^2 + \mathrm{tr}\,\nabla s(x)` of every row (Hyvarinen): integration by parts."""
    values, trace = jacobian_trace(score, x)
    return 0.5 * values.square().sum(dim=1) + trace


def sliced_score_matching(score: Score, x: Tensor, directions: Tensor) -> Tensor:
    r""":math:`\frac12\|s(x)\|^2 + v^\top \nabla s(x)\,v` of every row, with :math:`E[v v^\top] = I`.

    One backward pass whatever the number of coordinates; the mean over directions is the implicit loss.
    """
    x = x.detach().requires_grad_(True)
    values = score(x)
    (product,) = torch.autograd.grad((values * directions).sum(), x, create_graph=True, materialize_grads=True)
    return 0.5 * values.square().sum(dim=1) + (product * directions).sum(dim=1)


def denoising_score_matching(score: Score, x: Tensor, sigma: Tensor | float, noise: Tensor) -> Tensor:
    r""":math:`\frac12\bigl\|s(x + \sigma\epsilon) + \epsilon/\sigma\bigr\|^2` of every row.

    Its minimizer is the score of the data with noise of deviation :math:`\sigma` added.
    """
    return 0.5 * (score(x + sigma * noise) + noise / sigma).square().sum(dim=1)


def denoise_by_score(y: Tensor, score: Tensor, sigma: float) -> Tensor:
    r"""Tweedie's formula :math:`E[x | y] = y + \sigma^2\,\nabla \log p(y)` for :math:`y = x + \sigma\epsilon`."""
    return y + sigma**2 * score
