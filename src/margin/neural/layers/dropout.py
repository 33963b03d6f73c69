"""Dropout that draws from a generator it is given, so that a fit neither reads nor moves torch's global stream."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Dropout", "thinned_masks", "use_generator"]


class Dropout(nn.Module):
    r"""Zero each entry with probability ``p`` while training and divide the others by :math:`1-p`.

    .. math:: \tilde h = \frac{m}{1-p} \odot h, \qquad m_i \sim \mathrm{Bernoulli}(1-p),

    so that :math:`E[\tilde h] = h` and evaluation needs no correction.
    """

    def __init__(self, p: float):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"Dropout: p must be at least 0 and below 1; got {p!r}.")
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, h: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return h
        if self.generator is None:
            raise RuntimeError("Dropout: training needs a generator; give one with use_generator(module, generator).")
        keep = torch.empty_like(h).bernoulli_(1 - self.p, generator=self.generator)
        return h * keep.div_(1 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def use_generator(module: nn.Module, generator: torch.Generator) -> None:
    """Let every layer of ``module`` that draws noise (it has a ``generator``) draw it from this one."""
    for layer in module.modules():
        if hasattr(layer, "generator"):
            layer.generator = generator  # type: ignore[assignment]


def thinned_masks(n_units: int) -> Tensor:
    """The :math:`2^n` networks that dropout draws from: every mask of n units, (2^n, n), 1 where a unit is kept.

    >>> thinned_masks(2)
    tensor([[0., 0.],
            [0., 1.],
            [1., 0.],
            [1., 1.]])
    """
    if not 1 <= n_units <= 20:
        raise ValueError(f"thinned_masks: n_units must be from 1 to 20; got {n_units!r}.")
    return torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n_units).reshape(-1, n_units)
