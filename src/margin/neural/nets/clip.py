r"""CLIP of two transformers (Radford et al., 2021): an image and a text as vectors of one space.

.. math:: u = W_v\,\mathrm{LN}(h_{\mathrm{class}}), \qquad v = W_t\,\mathrm{LN}(h_{\mathrm{end}})
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import TokenEmbedding, TransformerStack, initialize_transformer
from margin.neural.attention.patches import patchify
from margin.neural.normalization.layers import LayerNorm

__all__ = ["FIRST_SCALE", "LARGEST_SCALE", "CLIPNetwork", "ImageTower", "TextTower"]

FIRST_SCALE, LARGEST_SCALE = 1 / 0.07, 100.0  # the paper's


class ImageTower(nn.Module):
    """Patches and a token in front of them, normalized, through the blocks; that token, projected.

    >>> config = TransformerConfig(d_model=16, n_heads=2, position="none")
    >>> ImageTower((3, 8, 8), 4, 5, config)(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    def __init__(self, shape: tuple[int, int, int], patch: int, n_outputs: int, config: TransformerConfig):
        super().__init__()
        channels, height, width = shape
        d = config.d_model
        self.shape, self.patch, self.config = shape, patch, config
        self.project = nn.Linear(channels * patch**2, d, bias=False)
        self.first = nn.Parameter(torch.empty(d))
        self.positions = nn.Parameter(torch.empty((height // patch) * (width // patch) + 1, d))
        self.norm = LayerNorm(d, eps=config.norm_eps)
        self.stack = TransformerStack(config)
        self.last = nn.Linear(d, n_outputs, bias=False)
        initialize_transformer(self, config)
        nn.init.normal_(self.first, std=config.init_std)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.project(patchify(images, self.patch))
        first = self.first.expand(len(patches), 1, -1)
        h = self.stack(self.norm(torch.cat([first, patches], dim=1) + self.positions))
        out: Tensor = self.last(h[:, 0])
        return out


class TextTower(nn.Module):
    """Tokens through causal blocks; the first one that ends the text, projected.

    ``end`` is its id; None: the largest id of the row, as the first files have it.
    """

    def __init__(self, vocabulary: int, n_outputs: int, config: TransformerConfig, end: int | None = None):
        super().__init__()
        self.config, self.end = config, end
        self.embedding = TokenEmbedding(vocabulary, config)
        self.stack = TransformerStack(config, causal=True)
        self.last = nn.Linear(config.d_model, n_outputs, bias=False)
        initialize_transformer(self, config)

    def forward(self, ids: Tensor) -> Tensor:
        h = self.stack(self.embedding(ids))
        ends = ids if self.end is None else (ids == self.end).int()
        out: Tensor = self.last(h[torch.arange(len(ids), device=ids.device), ends.argmax(dim=1)])
        return out


class CLIPNetwork(nn.Module):
    """Encoders of images and of texts, and the scale of their similarities."""

    def __init__(self, images: nn.Module, texts: nn.Module):
        super().__init__()
        self.images, self.texts = images, texts
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE)))

    @property
    def scale(self) -> Tensor:
        return self.log_scale.exp().clip(max=LARGEST_SCALE)

    def forward(self, images: Tensor, texts: Tensor) -> Tensor:
        """Cosine similarity of every image and every text times the scale, (images, texts)."""
        u, v = functional.normalize(self.images(images), dim=1), functional.normalize(self.texts(texts), dim=1)
        return self.scale * u @ v.T
