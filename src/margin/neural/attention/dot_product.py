r"""Scaled dot-product attention: a softmax over keys weighs values.

.. math:: A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + B\right), \qquad \mathrm{attention}(Q, K, V) = AV

Tokens are rows here; the softmax runs along each row, so the weights of every query sum to 1. Written with tokens as
columns the same thing is :math:`V\,\mathrm{softmax}[K^\top Q/\sqrt{d_k}]` with the softmax along columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from margin.neural.attention.masks import causal_mask

__all__ = [
    "Attended",
    "Projections",
    "attention",
    "attention_scores",
    "attention_weights",
    "column_attention",
    "masked_softmax",
    "qkv",
]


class Projections(NamedTuple):
    """Queries, keys and values of a sequence, (..., n, d) each."""

    queries: Tensor
    keys: Tensor
    values: Tensor


class Attended(NamedTuple):
    """The mixed values (..., queries, d_v) and the weights (..., queries, keys) that mixed them."""

    output: Tensor
    weights: Tensor


def qkv(
    x: Tensor, weights: tuple[Tensor, Tensor, Tensor], biases: tuple[Tensor, Tensor, Tensor] | None = None
) -> Projections:
    r""":math:`q_n = \beta_q + \Omega_q x_n,\; k_m = \beta_k + \Omega_k x_m,\; v_m = \beta_v + \Omega_v x_m`.

    ``x`` is (..., n, d); each weight is (d_out, d). The query of token n is made from token n, what it asks; key and
    value of token m from token m, what it offers and what it passes on.
    """
    parts = [x @ weight.T for weight in weights]
    return Projections(*parts) if biases is None else Projections(*(p + b for p, b in zip(parts, biases)))


def attention_scores(q: Tensor, k: Tensor, scale: float | None = None) -> Tensor:
    r""":math:`q_n^\top k_m/\sqrt{d_k}` before the softmax, (..., queries, keys).

    The product of two vectors with independent entries of variance 1 has variance :math:`d_k`; divided by its root the
    scores keep variance 1 and the softmax does not saturate as :math:`d_k` grows.
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return (q * scale) @ k.transpose(-2, -1)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax along the last axis over the entries where ``mask`` is True; the others get exactly 0.

    Where a row allows nothing, as for a query that is itself padding, all its weights are 0.

    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    top = scores.detach().amax(dim=-1, keepdim=True)
    grown = torch.exp(scores - torch.where(top.isfinite(), top, torch.zeros_like(top)))
    total = grown.sum(dim=-1, keepdim=True)
    return grown / torch.where(total > 0, total, torch.ones_like(total))


def attention_weights(
    q: Tensor,
    k: Tensor,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """How much each query takes from each key: non-negative, of sum 1 over the keys, (..., queries, keys)."""
    scores = attention_scores(q, k, scale)
    if bias is not None:
        scores = scores + bias
    if causal:
        past = causal_mask(q.shape[-2], k.shape[-2], q.device)
        mask = past if mask is None else mask & past
    return masked_softmax(scores, mask)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Attended:
    r"""Each query's mean of the values under its weights, and the weights.

    ``q`` is (..., n, d_k), ``k`` (..., m, d_k), ``v`` (..., m, d_v). ``mask`` is True where a query may look;
    ``causal`` hides what comes later; ``bias`` is added to the scores, for relative positions. ``scale`` is
    :math:`1/\sqrt{d_k}` by default.

    >>> keys = torch.eye(3) * 30.0  # a lookup: the query equals the second key
    >>> output, weights = attention(keys[1:2], keys, torch.tensor([[1.0], [2.0], [3.0]]))
    >>> output, weights.argmax().item()
    (tensor([[2.]]), 1)
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"attention: q and k must be equally wide; got {q.shape[-1]} and {k.shape[-1]}.")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"attention: every key needs a value; got {k.shape[-2]} keys and {v.shape[-2]} values.")
    weights = attention_weights(q, k, causal=causal, mask=mask, bias=bias, scale=scale)
    return Attended(weights @ v, weights)


def column_attention(q: Tensor, k: Tensor, v: Tensor) -> Attended:
    r""":math:`V\,\mathrm{softmax}[K^\top Q/\sqrt{d_q}]` with tokens as columns: ``q`` is (d, n), columns sum to 1."""
    scores = k.transpose(-2, -1) @ q / math.sqrt(q.shape[-2])  # (keys, queries)
    weights = masked_softmax(scores.transpose(-2, -1)).transpose(-2, -1)
    return Attended(v @ weights, weights)
