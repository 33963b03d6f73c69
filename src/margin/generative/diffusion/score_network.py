r"""A network for the scores of data with noise of every size, and the loss that it is trained on.

.. math:: s_\theta(x, \sigma) = \frac1\sigma f_\theta\Bigl(\frac{x}{\sqrt{1 + \sigma^2}}, \ell(\sigma)\Bigr), \qquad
          \ell(\sigma) = \frac{\log\sigma - \log\sigma_{min}}{\log\sigma_{max} - \log\sigma_{min}}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from margin.generative.diffusion.model import denoiser_network
from margin.generative.diffusion.scores import denoising_score_matching

__all__ = ["ScoreNetwork", "noise_conditional_loss"]


class ScoreNetwork(nn.Module):
    """A denoiser as a score: it sees rows of variance about 1 at every level, and gives numbers of about that size.

    Rows are flat, images too; ``smallest`` and ``largest`` are the deviations of the noise between which it learns.
    """

    def __init__(
        self,
        denoiser: str,
        n_features: int,
        shape: Sequence[int],
        hidden: Sequence[int],
        smallest: float,
        largest: float,
    ):
        super().__init__()
        self.shape, self.smallest, self.largest = tuple(shape), smallest, largest
        self.denoiser = denoiser_network(denoiser, n_features, shape, hidden, n_classes=0)

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        level = (sigma / self.smallest).log() / math.log(self.largest / self.smallest)
        column = sigma[:, None]
        seen = (x / (1 + column**2).sqrt()).reshape(-1, *(self.shape or x.shape[1:]))
        return self.denoiser(seen, level).reshape(x.shape) / column


def noise_conditional_loss(
    module: ScoreNetwork, batch: tuple[Tensor, ...], noise: torch.Generator
) -> dict[str, Tensor]:
    r"""The denoising loss of every row at a random level, per coordinate and times :math:`\sigma^2`.

    The levels are uniform on a logarithmic scale; with this weight all of them count alike, since a score has the size
    of :math:`1/\sigma`. A network that always answers 0 has the loss 1/2.
    """
    (x,) = batch
    u = torch.rand(len(x), generator=noise, dtype=x.dtype, device=x.device)
    sigma = module.smallest * (module.largest / module.smallest) ** u
    epsilon = torch.randn(x.shape, generator=noise, dtype=x.dtype, device=x.device)
    loss = denoising_score_matching(partial(_at, module, sigma), x, sigma[:, None], epsilon)
    return {"loss": sigma**2 * loss / x.shape[1]}


def _at(module: nn.Module, sigma: Tensor, x: Tensor) -> Tensor:
    return module(x, sigma)
