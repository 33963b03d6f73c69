"""Positions inside attention: biases of the scores that depend only on how far key and query are apart."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["RelativeBias", "alibi_bias", "alibi_slopes", "relative_bias"]


def relative_bias(table: Tensor, n_queries: int, n_keys: int | None = None) -> Tensor:
    r""":math:`B_{ba} = \pi_{b-a}` from a table (..., 2N - 1) whose middle belongs to distance 0: constant on diagonals.

    With more keys than queries the queries are the last ones.

    >>> relative_bias(torch.arange(5.0), 3)
    tensor([[2., 1., 0.],
            [3., 2., 1.],
            [4., 3., 2.]])
    """
    n_keys = n_queries if n_keys is None else n_keys
    reach = table.shape[-1] // 2
    if n_keys > reach + 1:
        raise ValueError(f"relative_bias: the table reaches {reach} positions away; got {n_keys} keys.")
    queries = torch.arange(n_keys - n_queries, n_keys, device=table.device)
    distance = queries[:, None] - torch.arange(n_keys, device=table.device)
    return table[..., distance + reach]


class RelativeBias(nn.Module):
    """A learned bias for every head and every distance up to ``context`` - 1: heads times (2 context - 1) numbers."""

    def __init__(self, n_heads: int, context: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(n_heads, 2 * context - 1))

    def forward(self, n_queries: int, n_keys: int) -> Tensor:
        return relative_bias(self.table, n_queries, n_keys)


def alibi_slopes(n_heads: int) -> Tensor:
    r"""A slope for every head: :math:`2^{-8h/H}` for H a power of 2; else every other one of the next power fills up.

    Press, Smith and Lewis, 2022.

    >>> alibi_slopes(4)
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)][: n_heads - power]
    return torch.tensor(slopes)


def alibi_bias(n_heads: int, n_queries: int, n_keys: int | None = None, device: torch.device | None = None) -> Tensor:
    r""":math:`-m_h\,|b - a|`: every head looks less at what is farther away, (heads, queries, keys).

    >>> alibi_bias(4, 3)[0]
    tensor([[-0.0000, -0.2500, -0.5000],
            [-0.2500, -0.0000, -0.2500],
            [-0.5000, -0.2500, -0.0000]])
    """
    n_keys = n_queries if n_keys is None else n_keys
    queries = torch.arange(n_keys - n_queries, n_keys, device=device)
    distance = (queries[:, None] - torch.arange(n_keys, device=device)).abs()
    return -alibi_slopes(n_heads).to(distance.device)[:, None, None] * distance
