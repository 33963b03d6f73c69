r"""Embeddings: a row of learned numbers for every symbol, and a model of ratings made of two of them.

An embedding of symbol i is row i of a matrix, :math:`e_i^\top W` with the one-hot vector :math:`e_i`. A factor model
predicts the rating of item v by user u as :math:`\langle p_u, q_v\rangle + b_u + c_v`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["FactorModel", "embed"]


def embed(weight: Tensor, index: Tensor) -> Tensor:
    """Rows of ``weight`` (n, d) numbered ``index``: a one-hot product without the zeros.

    >>> embed(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1, 0])).tolist()
    [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
    """
    return weight.index_select(0, index)


class FactorModel(nn.Module):
    """Embeddings of users and items whose product is the rating."""

    def __init__(self, n_users: int, n_items: int, n_factors: int, seed: int = 0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.users = nn.Parameter(0.3 * torch.randn(n_users, n_factors, generator=generator))
        self.items = nn.Parameter(0.3 * torch.randn(n_items, n_factors, generator=generator))
        self.user_bias = nn.Parameter(torch.zeros(n_users))
        self.item_bias = nn.Parameter(torch.zeros(n_items))

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        product = (embed(self.users, user) * embed(self.items, item)).sum(dim=1)
        return product + self.user_bias[user] + self.item_bias[item]
