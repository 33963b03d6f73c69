r"""Classifier-free guidance: how strongly a condition steers the denoiser.

.. math:: \hat\epsilon = \epsilon(x_t, \varnothing) + s\,\bigl(\epsilon(x_t, c) - \epsilon(x_t, \varnothing)\bigr)
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["drop_condition", "guide"]


def guide(unconditional: Tensor, conditional: Tensor, scale: float) -> Tensor:
    """Scale 0 ignores the condition, 1 obeys it, more exaggerates what sets the conditional prediction apart."""
    return unconditional + scale * (conditional - unconditional)


def drop_condition(labels: Tensor, none: int, probability: float, generator: torch.Generator) -> Tensor:
    """``labels`` with each one replaced by ``none`` with the given probability, so that one network learns both."""
    dropped = torch.rand(labels.shape, generator=generator, device=generator.device) < probability
    return torch.where(dropped, torch.full_like(labels, none), labels)
