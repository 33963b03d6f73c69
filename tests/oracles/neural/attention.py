"""Attention head by head and token by token, with every option, and the blocks made of it."""

from __future__ import annotations

import math
from typing import Any

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, every
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import MultiHeadAttention, TransformerBlock, TransformerStack
from margin.neural.weights import build


def spread(make: Any, seed: int) -> Any:
    """A module whose weights are all drawn anew: where they begin at 0 or 1, mistakes would hide."""
    module = build(make, seed, torch.float64).requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        weight.add_(0.4 * torch.randn(weight.shape, generator=generator, dtype=weight.dtype))
    return module.eval()


def turned(x: Tensor, base: float) -> Tensor:
    """Row m of ``x`` (n, d) as d/2 complex numbers, times exp(i m theta)."""
    n, d = x.shape
    theta = torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * theta
    z = torch.complex(x[:, : d // 2], x[:, d // 2 :]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], dim=1)


def looked_at(layer: Any, x: Tensor, source: Tensor, seen: Any, bias: Tensor | None = None) -> Tensor:
    """Weights (heads, n, keys) of one sequence (n, d): loops over heads, queries and the keys that ``seen`` allows."""
    weights = torch.zeros(layer.n_heads, len(x), len(source), dtype=torch.float64)
    for h in range(layer.n_heads):
        own, shared = _columns(layer, h)
        q, k = layer.query(x)[:, own], layer.key(source)[:, shared]
        if layer.query_norm is not None:
            q, k = (
                part / (part.square().mean(dim=1, keepdim=True) + norm.eps).sqrt() * norm.weight
                for part, norm in ((q, layer.query_norm), (k, layer.key_norm))
            )
        if layer.rotary_base is not None and source is x:
            q, k = turned(q, layer.rotary_base), turned(k, layer.rotary_base)
        for i in range(len(x)):
            keys = [j for j in range(len(source)) if seen(i, j)]
            scores = k[keys] @ q[i] / math.sqrt(layer.d_head)
            scores = scores if bias is None else scores + bias[h, i, keys]
            weights[h, i, keys] = torch.softmax(scores, dim=0)
    return weights


def attended(layer: Any, x: Tensor, source: Tensor, seen: Any, bias: Tensor | None = None) -> Tensor:
    """One sequence (n, d) after attention: every head mixes the values of its own columns."""
    weights, values = looked_at(layer, x, source, seen, bias), layer.value(source)
    return layer.out(torch.cat([weights[h] @ values[:, _columns(layer, h)[1]] for h in range(layer.n_heads)], dim=1))


def _columns(layer: Any, h: int) -> tuple[slice, slice]:
    """The columns of a head among the queries, and among keys and values, which heads may share."""
    group = h // (layer.n_heads // layer.n_kv_heads)
    return slice(h * layer.d_head, (h + 1) * layer.d_head), slice(group * layer.d_head, (group + 1) * layer.d_head)


@oracle(
    "margin.neural.attention.rotary.rotary",
    "margin.neural.attention.decoder.split_heads",
    "margin.neural.attention.decoder.join_heads",
    f"{PATH}.attention.decoder.MultiHeadAttention",
)
def attention_in_heads(seed: int) -> Verdict:
    """Also in pieces with a cache, among them as many tokens as there are heads."""
    plain = spread(lambda: MultiHeadAttention(6, 3), seed)
    turning = spread(lambda: MultiHeadAttention(12, 3, rotary_base=50.0, qk_norm=True), seed)
    grouped = spread(lambda: MultiHeadAttention(8, 4, n_kv_heads=2, window=2, bias=False), seed)
    x, context, wide = normal(seed, 5, 6), normal(seed + 1, 4, 6), normal(seed, 5, 12)
    small, bias = normal(seed, 5, 8), normal(seed + 2, 3, 5, 5)
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[1, 0] = mask[4, 2] = False
    past, anything = (lambda i, j: j <= i), (lambda _i, _j: True)
    expected = attended(turning, wide, wide, past)
    parts = {
        "context": same(plain(x[None], context[None])[0], attended(plain, x, context, anything)),
        "causal": same(plain(x[None], causal=True)[0], attended(plain, x, x, past)),
        "masked": same(
            plain(x[None], causal=True, mask=mask, bias=bias)[0],
            attended(plain, x, x, lambda i, j: j <= i and mask[i, j], bias),
        ),
        "by_equation": same(
            plain.attend(x[None], mask=mask, bias=bias).output[0], attended(plain, x, x, lambda i, j: mask[i, j], bias)
        ),
        "turned": same(turning(wide[None], causal=True)[0], expected),
        "both_ways": same(grouped(small[None])[0], attended(grouped, small, small, lambda i, j: abs(i - j) < 2)),
        "behind": same(
            grouped(small[None], causal=True)[0], attended(grouped, small, small, lambda i, j: 0 <= i - j < 2)
        ),
    }
    for sizes in ((2, 3), (3, 1, 1), (1, 1, 1, 1, 1)):
        for inference in (False, True):
            cache = KeyValueCache()
            with torch.inference_mode(inference):
                pieces = [turning(piece[None], causal=True, cache=cache)[0] for piece in wide.split(list(sizes))]
            parts[f"in_pieces_{len(sizes)}_{inference}"] = same(torch.cat(pieces).clone(), expected)
    cache = KeyValueCache()
    for name in ("read", "remembered"):
        output = plain(x[None], context[None], cache=cache)[0]
        parts[name] = same(output, attended(plain, x, context, anything))
    return every(**parts)


@oracle(
    "margin.neural.attention.masks.causal_mask",
    f"{PATH}.attention.decoder.TransformerBlock",
    f"{PATH}.attention.decoder.FeedForward",
)
def blocks_by_hand(seed: int) -> Verdict:
    x, memory = normal(seed, 5, 8), normal(seed + 1, 4, 8)
    parts = {}
    for name, cross, options in (
        ("norms_before", False, {"position": "relative", "context": 9}),
        ("norms_after", True, {"norm_first": False, "activation": "relu", "position": "none"}),
        ("alibi", True, {"norm": "rms", "position": "alibi", "activation": "silu"}),
    ):
        config = TransformerConfig(8, 2, d_ff=11, norm_eps=0.1, **options)
        block = spread(lambda c=config, k=cross: TransformerBlock(c, causal=True, cross=k), seed)
        arguments = {"memory": memory[None]} if cross else {}
        parts[name] = same(block(x[None], **arguments)[0], _block(block, x, memory))
        cache, pieces = KeyValueCache(), x.split([2, 3])
        outputs = [block(piece[None], cache=cache, **arguments)[0] for piece in pieces]
        parts[f"{name}_in_pieces"] = same(torch.cat(outputs), _block(block, x, memory))
    return every(**parts)


def maps_by_hand(stack: Any, x: Tensor) -> list[Tensor]:
    """The weights (heads, n, n) of every block that looks back, for one sequence (n, d) that enters the first."""
    maps = []
    for block in stack.blocks:
        h = _normed(block, block.attention_norm, x) if block.config.norm_first else x
        maps.append(looked_at(block.attention, h, h, lambda i, j: j <= i, _position_bias(block, len(x))))
        x = _block(block, x, x)
    return maps


@oracle(f"{PATH}.attention.decoder.TransformerStack.attention_maps")
def maps_of_a_stack(seed: int) -> Verdict:
    """Two sequences of five tokens: as many as there are heads, fewer than there are tokens."""
    batch, parts = normal(seed, 2, 5, 8), {}
    for name, options in (
        ("alibi", {"position": "alibi"}),
        ("relative", {"position": "relative", "context": 9, "norm_first": False}),
        ("turned", {"position": "rope", "qk_norm": True, "norm": "rms"}),
    ):
        config = TransformerConfig(8, 2, n_blocks=2, d_ff=11, norm_eps=0.1, activation="relu", **options)
        stack = spread(lambda c=config: TransformerStack(c, causal=True), seed)
        expected = [torch.stack(maps) for maps in zip(*(maps_by_hand(stack, x) for x in batch))]
        parts[name] = same(torch.stack(stack.attention_maps(batch)), torch.stack(expected))
    both_ways = spread(lambda: TransformerStack(TransformerConfig(8, 2, n_blocks=2, d_ff=11, position="none")), seed)
    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    mask[1, :, 3:] = False  # the second sequence has three tokens and two of padding
    hidden, short = both_ways.attention_maps(batch, mask=mask[:, None]), both_ways.attention_maps(batch[1:, :3])
    parts["padded"] = same(torch.stack([h[1, :, :3, :3] for h in hidden]), torch.stack([s[0] for s in short]))
    return every(**parts)


def _position_bias(block: Any, n: int) -> Tensor | None:
    apart = torch.arange(n)[:, None] - torch.arange(n)
    if block.config.position == "alibi":  # two heads: slopes 2^-4 and 2^-8
        return -torch.stack([apart.abs() / 16, apart.abs() / 256]).double()
    return block.relative.table[:, apart + block.config.context - 1] if block.config.position == "relative" else None


def _block(block: Any, x: Tensor, memory: Tensor) -> Tensor:
    config, activate = block.config, getattr(functional, block.config.activation)
    bias = _position_bias(block, len(x))
    seen = [lambda h: attended(block.attention, h, h, lambda i, j: j <= i, bias)]
    seen += [lambda h: attended(block.cross, h, memory, lambda _i, _j: True)] if block.cross is not None else []
    seen += [lambda h: activate(h @ block.feed.up.weight.T + block.feed.up.bias) @ block.feed.down.weight.T
             + block.feed.down.bias]  # fmt: skip
    norms = [block.attention_norm, *([block.cross_norm] if block.cross is not None else []), block.feed_norm]
    for part, norm in zip(seen, norms, strict=True):
        x = x + part(_normed(block, norm, x)) if config.norm_first else _normed(block, norm, x + part(x))
    return x


def _normed(block: Any, norm: Any, x: Tensor) -> Tensor:
    """Each token less its mean, over its deviation; without the mean where there is no shift."""
    centered = x - x.mean(dim=1, keepdim=True) if isinstance(norm, nn.LayerNorm) else x
    scaled = centered / (centered.square().mean(dim=1, keepdim=True) + block.config.norm_eps).sqrt() * norm.weight
    return scaled + norm.bias if isinstance(norm, nn.LayerNorm) else scaled
