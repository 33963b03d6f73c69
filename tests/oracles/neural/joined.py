"""Blocks that add to or stand beside what they got, and the styles of a generator, channel by channel."""

from __future__ import annotations

from typing import Any

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every
from margin.neural.layers.residual import Residual
from margin.neural.nets.densenet import DenseBlock
from margin.neural.weights import build


@oracle(f"{PATH}.layers.residual.Residual", f"{PATH}.nets.densenet.DenseBlock")
def kept_and_added(seed: int) -> Verdict:
    linear = build(lambda: nn.Linear(4, 4), seed, torch.float64).requires_grad_(False)
    x, image = normal(seed, 5, 4), normal(seed, 2, 3, 5, 5)
    block: Any = build(lambda: DenseBlock(3, growth=2, n_layers=3, bottleneck=False), seed, torch.float64)
    block = block.requires_grad_(False).eval()
    h = image
    for layer in block:
        *_, convolution = layer.new
        # Before training the norm of a block divides by the root of 1 + epsilon.
        scaled = h / (1 + layer.new[0].eps) ** 0.5
        new = functional.conv2d(torch.relu(scaled), convolution.weight, padding=1)
        h = torch.cat([h, new], dim=1)
    return every(
        added=same(Residual(linear)(x), x + x @ linear.weight.T + linear.bias),
        beside=same(block(image), h),
        channels=equal((block.out_channels, h.shape[1]), (9, 9)),
    )
