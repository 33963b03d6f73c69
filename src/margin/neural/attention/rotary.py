"""Rotary positions: queries and keys are turned by angles that grow with the position (Su et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.neural.attention.positions import BASE, sinusoidal_frequencies
from margin.neural.written_gradients import turn

__all__ = ["rotary", "rotary_angles"]


def rotary_angles(n: int, d: int, *, start: int = 0, base: float = BASE) -> tuple[Tensor, Tensor]:
    r"""Cosines and sines of :math:`m\theta_i` with :math:`\theta_i = 10000^{-2i/d}`, (n, d/2) each, double."""
    positions = torch.arange(start, start + n, dtype=torch.float64)
    angles = positions[:, None] * sinusoidal_frequencies(d, base)
    return angles.cos(), angles.sin()


def rotary(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    r"""Turn coordinate i and i + d/2 of row m of ``x`` (..., n, d) by :math:`m\theta_i`.

    .. math:: (x_i, x_{i+d/2}) \mapsto (x_i\cos m\theta_i - x_{i+d/2}\sin m\theta_i,\;
              x_i\sin m\theta_i + x_{i+d/2}\cos m\theta_i)

    Rotations keep norms, and :math:`\langle R_m q, R_n k\rangle = \langle q, R_{n-m} k\rangle` depends on the
    difference of positions alone. Pairs are the two halves, as in GPT-NeoX and Llama: an order of coordinates.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotary(x, rotary_angles(2, 2))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    cos, sin = (part.to(x) for part in angles)
    return turn(x, cos, sin)
