"""Networks on pixels and patches, put together by hand from their parts."""

from __future__ import annotations

from typing import Any

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every
from margin.neural.attention.config import TransformerConfig
from margin.neural.nets.pixels import Hourglass, HourglassStack
from margin.neural.nets.vision_transformer import ViT
from margin.neural.weights import build


@oracle(f"{PATH}.nets.pixels.Hourglass", f"{PATH}.nets.pixels.HourglassStack", f"{PATH}.nets.vision_transformer.ViT")
def patches_and_glasses(seed: int) -> Verdict:
    """Images with odd sides that patches do not divide; what the next hourglass gets is the sum of three parts."""
    stack: Any = build(lambda: HourglassStack(1, 2, depth=2, channels=4, stacks=3), seed, torch.float64)
    glass: Any = build(lambda: Hourglass(3, 1), seed, torch.float64)
    x, y = normal(seed, 2, 1, 9, 8), normal(seed, 2, 3, 7, 6)
    stack.eval(), glass.eval()
    h, maps = stack.stem(x), []
    for k in range(3):
        features = stack.glasses[k](h)
        maps.append(stack.heads[k](features))
        h = h + features + stack.returns[k](maps[-1]) if k < 2 else h
    small = glass.after(glass.inner(glass.before(functional.max_pool2d(y, 2, ceil_mode=True))))
    config = TransformerConfig(d_model=6, n_heads=2, n_blocks=1, position="none")
    vit: Any = build(lambda: ViT((2, 5, 7), 3, 4, config), seed, torch.float64).eval()
    with torch.no_grad():
        vit.positions.copy_(normal(seed, *vit.positions.shape))
        vit.first.copy_(normal(seed, 1, 1, 6))
    images = normal(seed, 2, 2, 5, 7)
    padded = functional.pad(images, (0, 2, 0, 1))
    cut = padded.reshape(2, 2, 2, 3, 3, 3).permute(0, 2, 4, 3, 5, 1).reshape(2, 6, 18)
    tokens = (
        torch.cat([vit.first.expand(2, 1, 6), cut @ vit.project.weight.T + vit.project.bias], dim=1) + vit.positions
    )
    return every(
        maps=same(torch.stack(stack.predictions(x)).detach(), torch.stack(maps).detach()),
        last=same(stack(x).detach(), maps[-1].detach()),
        count=equal((len(stack.glasses), len(stack.returns)), (3, 2)),
        glass=same(glass(y).detach(), (glass.beside(y) + functional.interpolate(small, size=(7, 6))).detach()),
        tokens=same(vit.tokens(images).detach(), tokens.detach()),
        scores=same(vit(images).detach(), vit.head(vit.stack(tokens)[:, 0]).detach()),
        weights=equal([tuple(m.shape) for m in vit.attention_maps(images)], [(2, 2, 7, 7)]),
    )
