r"""Attention whose cost grows linearly with the length: a kernel that factors replaces the exponential.

With a feature map :math:`\phi` and the kernel :math:`\kappa(q, k) = \phi(q)^\top\phi(k)` the weights need never be
written down:

.. math:: \frac{\sum_m \phi(q)^\top\phi(k_m)\,v_m^\top}{\sum_m \phi(q)^\top\phi(k_m)}
          = \frac{\phi(q)^\top \left(\sum_m \phi(k_m)v_m^\top\right)}{\phi(q)^\top \sum_m \phi(k_m)}
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.attention.masks import causal_mask

__all__ = [
    "kernel_attention",
    "linear_attention",
    "positive_features",
    "random_directions",
    "random_feature_attention",
    "shifted_elu",
]

CHUNK = 64  # tokens of one piece of the causal sum: bounds memory, large enough for matrix products


def shifted_elu(x: Tensor) -> Tensor:
    r""":math:`\mathrm{elu}(x) + 1`: positive, the feature map of Katharopoulos et al., 2020."""
    return functional.elu(x) + 1


def kernel_attention(phi_q: Tensor, phi_k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """By the definition: all weights, normalized, times the values. Costs the product of both lengths."""
    weights = phi_q @ phi_k.transpose(-2, -1)
    if causal:
        weights = weights * causal_mask(phi_q.shape[-2], phi_k.shape[-2], phi_q.device)
    return weights @ v / weights.sum(dim=-1, keepdim=True)


def linear_attention(phi_q: Tensor, phi_k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """The same by sums over keys that are taken once; causal: sums over the chunks before, weights inside a chunk.

    ``phi_q`` (..., n, r) and ``phi_k`` (..., m, r) are features of queries and keys, ``v`` is (..., m, d).
    """
    counted = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)  # the last column becomes the denominator
    if not causal:
        mixed = phi_q @ (phi_k.transpose(-2, -1) @ counted)
        return mixed[..., :-1] / mixed[..., -1:]
    if phi_q.shape[-2] != phi_k.shape[-2]:
        raise ValueError(
            f"linear_attention: causal needs as many queries as keys; got {phi_q.shape[-2]} and {phi_k.shape[-2]}."
        )
    before = torch.zeros_like(phi_k.transpose(-2, -1)[..., :1] @ counted[..., :1, :])
    pieces = []
    for q, k, u in zip(*(part.split(CHUNK, dim=-2) for part in (phi_q, phi_k, counted))):
        inside = (q @ k.transpose(-2, -1)) * causal_mask(q.shape[-2], device=q.device)
        pieces.append(q @ before + inside @ u)
        before = before + k.transpose(-2, -1) @ u
    mixed = torch.cat(pieces, dim=-2)
    return mixed[..., :-1] / mixed[..., -1:]


def random_directions(n_features: int, d: int, generator: torch.Generator) -> Tensor:
    """Normal vectors (n_features, d), orthogonal within each group of d: less noise than independent ones."""
    blocks = []
    for _ in range(math.ceil(n_features / d)):
        square = torch.randn(d, d, generator=generator, dtype=torch.float64)
        factor, triangle = torch.linalg.qr(square)
        orthogonal = (factor * triangle.diagonal().sign()).T  # without the signs it is not uniform, and biased
        lengths = torch.randn(d, d, generator=generator, dtype=torch.float64).norm(dim=1, keepdim=True)
        blocks.append(orthogonal * lengths)
    return torch.cat(blocks)[:n_features]


def positive_features(x: Tensor, directions: Tensor) -> Tensor:
    r""":math:`\phi(x)_r = e^{w_r^\top x - |x|^2/2}/\sqrt R`, so that :math:`E[\phi(q)^\top\phi(k)] = e^{q^\top k}`.

    Choromanski et al., 2021: unlike sines and cosines these are positive, so no weight can change its sign.
    """
    logits = x @ directions.to(x).T - x.square().sum(dim=-1, keepdim=True) / 2
    return torch.exp(logits) / math.sqrt(len(directions))


def random_feature_attention(q: Tensor, k: Tensor, v: Tensor, directions: Tensor, causal: bool = False) -> Tensor:
    r"""Softmax attention in the mean, at linear cost; its error falls like :math:`1/\sqrt R` with R directions."""
    scale = q.shape[-1] ** -0.25  # half of 1/sqrt(d) to queries, half to keys
    phi_q, phi_k = (positive_features(part * scale, directions) for part in (q, k))
    return linear_attention(phi_q, phi_k, v, causal)
