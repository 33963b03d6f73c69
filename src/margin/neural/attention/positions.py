r"""Where a token stands: codes that are added to its embedding, :math:`X' = X + P`.

Attention treats its inputs as a set, so their order must be encoded. The sinusoidal code is the one without parameters;
the raw index, the index divided by the length and the binary digits are here to show what it avoids.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = [
    "LearnedPositions",
    "SinusoidalPositions",
    "binary_positions",
    "fraction_positions",
    "index_positions",
    "shift_matrix",
    "sinusoidal",
    "sinusoidal_frequencies",
]

BASE = 10_000.0


def sinusoidal_frequencies(d: int, base: float = BASE) -> Tensor:
    r""":math:`\omega_i = 10000^{-2i/d}` for :math:`i = 0, \dots, d/2 - 1`: radians per position, falling.

    >>> sinusoidal_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    if d < 2 or d % 2:
        raise ValueError(f"sinusoidal_frequencies: d must be even and at least 2; got {d!r}.")
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def sinusoidal(n: int, d: int, *, base: float = BASE, start: int = 0) -> Tensor:
    r""":math:`P_{k,2i} = \sin(k\,\omega_i),\; P_{k,2i+1} = \cos(k\,\omega_i)`, (n, d) in double precision.

    Every row has norm :math:`\sqrt{d/2}`, and :math:`P_k^\top P_{k+s} = \sum_i \cos(s\,\omega_i)` depends on s alone.

    >>> sinusoidal(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 1.0000]], dtype=torch.float64)
    """
    angles = torch.arange(start, start + n, dtype=torch.float64)[:, None] * sinusoidal_frequencies(d, base)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def shift_matrix(steps: float, d: int, base: float = BASE) -> Tensor:
    r"""The (d, d) matrix of rotations with :math:`P_{k+s} = P_k M_s` for every k: moving on is a linear map."""
    angles = steps * sinusoidal_frequencies(d, base)
    blocks = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], dim=-1).view(-1, 2, 2)
    return torch.block_diag(*blocks)


def index_positions(n: int, d: int) -> Tensor:
    """The position itself in every coordinate: it grows without bound and soon exceeds any embedding."""
    return torch.arange(n, dtype=torch.float64)[:, None].expand(n, d)


def fraction_positions(n: int, d: int) -> Tensor:
    """The position divided by the last one: bounded, but the same position differs between lengths."""
    return index_positions(n, d) / max(n - 1, 1)


def binary_positions(n: int, d: int) -> Tensor:
    """The binary digits of the position, lowest first: neighbors can differ in all of them.

    >>> binary_positions(3, 2)
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]], dtype=torch.float64)
    """
    if n > 2**d:
        raise ValueError(f"binary_positions: {d} digits write {2**d} positions; got {n}.")
    return (torch.arange(n)[:, None] >> torch.arange(d) & 1).double()


class SinusoidalPositions(nn.Module):
    """The sinusoidal code, for any length; nothing is learned."""

    def __init__(self, d: int):
        super().__init__()
        sinusoidal_frequencies(d)  # d is checked before the first sequence comes
        self.d = d

    def forward(self, n: int, start: int, like: Tensor) -> Tensor:
        """The codes of positions ``start`` to ``start + n``, with the precision of ``like``."""
        return sinusoidal(n, self.d, start=start).to(like)


class LearnedPositions(nn.Module):
    """One learned vector per position up to ``context``, (context, d), from a narrow normal law as in GPT-2."""

    embeds = True

    def __init__(self, context: int, d: int, deviation: float = 0.02):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context, d).normal_(std=deviation))

    def forward(self, n: int, start: int, like: Tensor) -> Tensor:
        """The codes of positions ``start`` to ``start + n``."""
        if start + n > len(self.weight):
            raise ValueError(f"LearnedPositions: there are {len(self.weight)} positions; got {start + n} tokens.")
        return self.weight[start : start + n]


def sine_only_product(n: int, shift: int, wavelengths: tuple[float, ...]) -> float:
    r"""The product of the codes of n and n + shift where only :math:`\sin(2\pi n/\lambda)` is used: it depends on n.

    >>> [round(sine_only_product(n, 3, (4, 8, 16, 32)), 2) for n in (0, 1, 5, 9)]
    [0.0, 0.52, 0.83, 1.08]
    """
    return sum(
        math.sin(2 * math.pi * n / length) * math.sin(2 * math.pi * (n + shift) / length) for length in wavelengths
    )
