"""Vision transformer: an encoder whose tokens are patches of an image (Dosovitskiy et al., 2021)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import TransformerStack, initialize_transformer
from margin.neural.attention.patches import patchify
from margin.neural.layers.dropout import Dropout

__all__ = ["VIT_B16", "ViT", "vit_b16"]

VIT_B16 = TransformerConfig(d_model=768, n_heads=12, n_blocks=12, norm_eps=1e-6, position="none")


class ViT(nn.Module):
    """Patches, projected; a class token in front; learned positions; encoder blocks; the class token's scores.

    ``shape`` is (channels, height, width). Where patches do not fit, the image is padded with 0 to the right and below.

    >>> model = ViT((1, 8, 8), 4, 10, TransformerConfig(d_model=16, n_heads=2, position="none"))
    >>> model(torch.zeros(3, 1, 8, 8)).shape
    torch.Size([3, 10])
    """

    def __init__(self, shape: tuple[int, int, int], patch: int, n_outputs: int, config: TransformerConfig):
        super().__init__()
        channels, height, width = shape
        if patch < 1:
            raise ValueError(f"ViT: patch must be at least 1; got {patch}.")
        self.shape, self.patch, self.padding = shape, patch, (0, -width % patch, 0, -height % patch)
        n_patches = math.ceil(height / patch) * math.ceil(width / patch)
        self.project = nn.Linear(channels * patch**2, config.d_model)
        self.first = nn.Parameter(torch.zeros(1, 1, config.d_model))
        self.positions = nn.Parameter(torch.empty(1, n_patches + 1, config.d_model))
        self.dropout = Dropout(config.dropout)
        self.stack = TransformerStack(config)
        self.head = nn.Linear(config.d_model, n_outputs)
        initialize_transformer(self, config)
        nn.init.normal_(self.positions, std=config.init_std)

    def tokens(self, images: Tensor) -> Tensor:
        """What enters the first block, (batch, 1 + patches, d)."""
        padded = functional.pad(images, self.padding) if any(self.padding) else images
        patches = self.project(patchify(padded, self.patch))
        x = torch.cat([self.first.expand(patches.shape[0], -1, -1), patches], dim=1) + self.positions
        out: Tensor = self.dropout(x)
        return out

    def forward(self, images: Tensor) -> Tensor:
        out: Tensor = self.head(self.stack(self.tokens(images))[:, 0])
        return out

    def attention_maps(self, images: Tensor) -> list[Tensor]:
        """The weights of every block and head, (batch, heads, 1 + patches, 1 + patches) each."""
        return self.stack.attention_maps(self.tokens(images))


def vit_b16(n_outputs: int = 1000, *, device: str = "meta") -> ViT:
    """ViT-B/16 for images of 224 by 224: 86,567,656 parameters.

    >>> sum(p.numel() for p in vit_b16().parameters())
    86567656
    """
    with torch.device(device):
        return ViT((3, 224, 224), 16, n_outputs, VIT_B16)
