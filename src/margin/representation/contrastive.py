r"""Losses that compare: two views of one image, an image and its caption, an anchor with a like and an unlike row.

NT-Xent (Chen et al. 2020) over 2N rows, of which i and j(i) are views of one image:

.. math:: \ell_i = -\log\frac{\exp(\mathrm{sim}(z_i, z_{j(i)})/\tau)}{\sum_{k \ne i}\exp(\mathrm{sim}(z_i, z_k)/\tau)},
          \qquad \mathrm{sim}(u, v) = \frac{\langle u, v\rangle}{\|u\|\,\|v\|},

averaged over all 2N rows; :math:`\log(2N - 1)` where all embeddings coincide. CLIP's loss (Radford et al. 2021) is the
cross-entropy of the N x N similarities with the diagonal as target, averaged over rows and columns; :math:`\log N`
where all coincide.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from margin.neural.losses.fused import fused_cross_entropy

__all__ = ["clip_loss", "cosine_similarity", "nt_xent"]


def cosine_similarity(a: Tensor, b: Tensor) -> Tensor:
    """Pairwise matrix (n, m): 1 for parallel rows, 0 for orthogonal, -1 for opposite ones.

    >>> cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]))
    tensor([[ 1.,  0., -1.]])
    """
    return functional.normalize(a, dim=1) @ functional.normalize(b, dim=1).T


def nt_xent(z: Tensor, temperature: float = 0.5) -> Tensor:
    """Loss (2N,) of every row of ``z``, whose rows k and N + k are the two views of image k; its mean is the loss.

    >>> round(float(nt_xent(torch.ones(8, 3)).mean()), 5)
    1.94591
    """
    if len(z) < 2 or len(z) % 2:
        raise ValueError(f"nt_xent: z must have an even number of rows, two per image; got {len(z)}.")
    if not temperature > 0:
        raise ValueError(f"nt_xent: temperature must be above 0; got {temperature!r}.")
    n = len(z) // 2
    similarity = cosine_similarity(z, z) / temperature
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    similarity = similarity.masked_fill(itself, -torch.inf)
    partner = torch.arange(len(z), device=z.device).roll(n)
    return fused_cross_entropy(similarity, partner, reduction="none")


def clip_loss(images: Tensor, texts: Tensor, scale: Tensor | float = 1.0) -> Tensor:
    """Symmetric cross-entropy (N,) of every pair: the image must find its text and the text its image.

    >>> round(float(clip_loss(torch.ones(5, 3), torch.ones(5, 3)).mean()), 5)
    1.60944
    """
    if images.shape != texts.shape:
        raise ValueError(
            f"clip_loss: images and texts must have one shape; got {tuple(images.shape)} and {tuple(texts.shape)}."
        )
    logits = scale * cosine_similarity(images, texts)
    target = torch.arange(len(images), device=images.device)
    image_loss = fused_cross_entropy(logits, target, reduction="none")
    return (image_loss + fused_cross_entropy(logits.T, target, reduction="none")) / 2
