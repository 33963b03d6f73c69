r"""Sampling by following the score with noise.

.. math:: x \leftarrow x + \eta\,s(x) + \sqrt{2\eta}\,z, \qquad z \sim N(0, I)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from margin.generative.diffusion.scores import Score

__all__ = ["annealed_langevin", "denoise_step", "geometric_levels", "langevin"]


def denoise_step(x: Tensor, score: Score, step: float) -> Tensor:
    """A step along the score, which raises the density if it is short enough; along its negative, lowers it."""
    return x + step * score(x)


def langevin(score: Score, x: Tensor, step: float, n_steps: int, generator: torch.Generator) -> Tensor:
    """The state after ``n_steps``; for small ``step`` and many of them a draw from the density of the score."""
    if not step > 0:
        raise ValueError(f"langevin: step must be above 0; got {step!r}.")
    for _ in range(n_steps):
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        x = denoise_step(x, score, step) + (2 * step) ** 0.5 * noise
    return x


def geometric_levels(largest: float, smallest: float, n: int) -> list[float]:
    """Noise levels from ``largest`` to ``smallest`` with a constant ratio.

    >>> geometric_levels(4.0, 1.0, 3)
    [4.0, 2.0, 1.0]
    """
    if not largest >= smallest > 0 or n < 2:
        raise ValueError("geometric_levels: largest must be at least smallest, smallest above 0 and n at least 2.")
    return [largest * (smallest / largest) ** (k / (n - 1)) for k in range(n)]


def annealed_langevin(
    score: Callable[[Tensor, float], Tensor],
    x: Tensor,
    levels: Sequence[float],
    generator: torch.Generator,
    *,
    step: float = 0.05,
    steps_per_level: int = 20,
) -> Iterator[Tensor]:
    r"""Langevin dynamics at one noise level after the other, with steps :math:`\eta_i = \mathrm{step}\cdot\sigma_i^2`.

    The wide levels carry rows between modes in the right proportion, the narrow ones sharpen them. ``score`` takes
    rows and the level; the rows are given after every level.
    """
    for sigma in levels:
        x = langevin(partial(_at_level, score, sigma), x, step * sigma**2, steps_per_level, generator)
        yield x


def _at_level(score: Callable[[Tensor, float], Tensor], sigma: float, x: Tensor) -> Tensor:
    return score(x, sigma)
