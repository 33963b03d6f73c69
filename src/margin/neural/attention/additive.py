"""Additive attention: a small network, not a product, says how well a query and a key match."""

from __future__ import annotations

import torch
from torch import Tensor

from margin.neural.attention.dot_product import Attended, masked_softmax

__all__ = ["additive_attention", "additive_scores"]


def additive_scores(q: Tensor, k: Tensor, query_weight: Tensor, key_weight: Tensor, v: Tensor) -> Tensor:
    r""":math:`e_{nm} = v^\top \tanh(W_q q_n + W_k k_m)`, (..., queries, keys); Bahdanau, Cho and Bengio, 2015.

    Queries and keys may differ in width: ``query_weight`` is (hidden, d_q), ``key_weight`` (hidden, d_k).
    """
    joined = (q @ query_weight.T).unsqueeze(-2) + (k @ key_weight.T).unsqueeze(-3)  # (..., queries, keys, hidden)
    return torch.tanh(joined) @ v


def additive_attention(
    q: Tensor,
    k: Tensor,
    values: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> Attended:
    """Each query's mean of ``values`` under the softmax of its additive scores, and the weights."""
    weights = masked_softmax(additive_scores(q, k, query_weight, key_weight, v), mask)
    return Attended(weights @ values, weights)
