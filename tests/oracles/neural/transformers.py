"""Whole transformers against torch's own layers with the same weights, on padded batches and in pieces with a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.attention import spread
from tests.oracles.neural.convolution import PATH, same
from torch import Tensor, nn

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.attention.positions import LearnedPositions, binary_positions, fraction_positions
from margin.neural.nets.language_nets import component_counts, gpt2_small
from margin.neural.nets.transformer import EncoderDecoderTransformer, EncoderTransformer

#: Five tokens of which the second sequence has three; both sequences begin differently.
IDS = torch.tensor([[3, 1, 6, 6, 2], [5, 4, 0, 0, 0]])
KNOWN = torch.tensor([[True] * 5, [True, True, True, False, False]])
FUTURE = torch.ones(5, 5, dtype=torch.bool).triu(1)


def _torch_attention(ours: Any, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key.weight, ours.value.weight])
    theirs.in_proj_bias.data = torch.cat([ours.query.bias, ours.key.bias, ours.value.bias])
    theirs.out_proj.load_state_dict(ours.out.state_dict())


def torch_stack(stack: Any, config: TransformerConfig, *, cross: bool = False) -> list[Any]:
    """torch's layers with the weights of ours."""
    kind: Any = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    layers = []
    for block in stack.blocks:
        layer: Any = kind(
            config.d_model, config.n_heads, config.d_ff, 0.0, config.activation, config.norm_eps,
            batch_first=True, norm_first=config.norm_first, dtype=torch.float64,
        ).eval()  # fmt: skip
        _torch_attention(block.attention, layer.self_attn)
        norms = [block.attention_norm, block.feed_norm]
        if cross:
            _torch_attention(block.cross, layer.multihead_attn)
            norms.insert(1, block.cross_norm)
        for k, norm in enumerate(norms, 1):
            getattr(layer, f"norm{k}").load_state_dict(norm.state_dict())
        layer.linear1.load_state_dict(block.feed.up.state_dict())
        layer.linear2.load_state_dict(block.feed.down.state_dict())
        layers.append(layer.requires_grad_(False))
    return layers


def _embedded(embedding: Any, ids: Tensor) -> Tensor:
    places = torch.stack([embedding.positions.weight[k] for k in range(ids.shape[1])])
    return embedding.tokens.weight[ids] + places


@oracle(f"{PATH}.nets.transformer.EncoderTransformer")
def encoders_of_padded_batches(seed: int) -> Verdict:
    parts = {}
    for first in (True, False):
        config = TransformerConfig(6, 3, n_blocks=2, d_ff=7, activation="relu", norm_first=first, context=9)
        net = spread(lambda c=config: EncoderTransformer(7, c), seed)
        x, maps = _embedded(net.embedding, IDS), []
        for layer in torch_stack(net.stack, config):
            looking = layer.norm1(x) if first else x
            masked = {"key_padding_mask": ~KNOWN, "average_attn_weights": False}
            maps.append(layer.self_attn(looking, looking, looking, **masked)[1])
            x = layer(x, src_key_padding_mask=~KNOWN)
        x = net.stack.norm(x) if first else x
        found_maps = net.attention_maps(IDS, KNOWN[:, None, None, :])
        for k, (ours, theirs) in enumerate(zip(found_maps, maps)):  # what tokens that are there look at
            parts[f"map_{first}_{k}"] = same(ours.transpose(1, 2)[KNOWN], theirs.transpose(1, 2)[KNOWN])
        found = net(IDS, KNOWN[:, None, None, :])
        parts[f"norms_first_{first}"] = same(found[KNOWN], x[KNOWN])
    return every(**parts)


@oracle(f"{PATH}.attention.decoder.DecoderTransformer", f"{PATH}.attention.cache.KeyValueCache")
def decoders_at_once_and_in_pieces(seed: int) -> Verdict:
    parts = {}
    for tied in (True, False):
        config = TransformerConfig(6, 3, n_blocks=2, d_ff=7, activation="gelu", context=9)
        net = spread(lambda c=config, t=tied: DecoderTransformer(7, c, tied=t), seed)
        x = _embedded(net.embedding, IDS)
        for layer in torch_stack(net.stack, config):
            x = layer(x, src_mask=FUTURE)
        expected = net.stack.norm(x) @ (net.embedding.tokens.weight if tied else net.head.weight).T
        cache = KeyValueCache()
        pieces = [net(IDS[:, :2], cache), net(IDS[:, 2:3], cache)]
        cache.select(torch.tensor([1, 0]))  # the sequences change places
        pieces = [torch.cat(pieces, dim=1), net(IDS[[1, 0], 3:], cache)[[1, 0]]]
        parts[f"tied_{tied}"] = same(net(IDS), expected, 1e-9)
        parts[f"in_pieces_{tied}"] = same(torch.cat(pieces, dim=1), expected, 1e-9)
    return every(**parts, length=equal(cache.length(), 5))


@oracle(f"{PATH}.nets.transformer.EncoderDecoderTransformer")
def translators_of_unequal_lengths(seed: int) -> Verdict:
    config = TransformerConfig(6, 3, n_blocks=2, d_ff=7, activation="relu", norm_first=False, context=9)
    net = spread(lambda: EncoderDecoderTransformer(7, 5, config), seed)
    target = torch.tensor([[1, 4, 4], [2, 0, 3]])
    x, y = _embedded(net.source, IDS), _embedded(net.target, target)
    for layer in torch_stack(net.encoder, config):
        x = layer(x, src_key_padding_mask=~KNOWN)
    for layer in torch_stack(net.decoder, config, cross=True):
        y = layer(y, x, tgt_mask=FUTURE[:3, :3], memory_key_padding_mask=~KNOWN)
    mask = KNOWN[:, None, None, :]
    memory, cache = net.encode(IDS, mask), KeyValueCache()
    pieces = [net.decode(target[:, k : k + 1], memory, mask, cache) for k in range(3)]
    expected = y @ net.target.tokens.weight.T
    return every(
        at_once=same(net(IDS, target, mask), expected, 1e-9),
        in_pieces=same(torch.cat(pieces, dim=1), expected, 1e-9),
    )


@oracle(
    "margin.neural.attention.positions.index_positions",
    *(f"{PATH}.attention.positions.{name}" for name in ("LearnedPositions", "fraction_positions", "binary_positions")),
)
def places_written_out(seed: int) -> Verdict:
    learned = spread(lambda: LearnedPositions(9, 4), seed)
    digits = [[float(c) for c in format(k, "05b")[::-1]] for k in range(19)]
    return every(
        learned=same(learned(3, 2, torch.empty(0)), torch.stack([learned.weight[k] for k in (2, 3, 4)])),
        fractions=near(fraction_positions(4, 2).numpy(), [[k / 3] * 2 for k in range(4)], tolerance=1e-12),
        digits=near(binary_positions(19, 5).numpy(), digits, tolerance=0.0),
    )


@oracle(f"{PATH}.nets.language_nets.gpt2_small", f"{PATH}.nets.language_nets.component_counts")
def numbers_of_a_decoder(seed: int) -> Verdict:
    """The formula of every matrix, with a vocabulary drawn; and heads, places and order of the norms of GPT-2."""
    vocabulary = int(np.random.default_rng(seed).integers(100, 50_000))
    d, blocks, context = 768, 12, 1024
    wanted = {"embedding": vocabulary * d, "positions": context * d, "up": blocks * d * 4 * d, "head": vocabulary * d}
    wanted |= dict.fromkeys(("query", "key", "value", "out"), blocks * d * d) | {"down": blocks * 4 * d * d}
    wanted["biases and norms"] = blocks * (4 * d + 4 * d + d + 4 * d) + 2 * d
    model = gpt2_small(vocabulary=vocabulary, tied=False)
    tied = component_counts(gpt2_small(vocabulary=vocabulary))
    block: Any = model.stack.blocks[0]
    return every(
        counts=equal(component_counts(model), wanted | {"total": sum(wanted.values())}),
        shared=equal(tied["total"], sum(wanted.values()) - vocabulary * d),
        heads=equal((block.attention.n_heads, block.attention.d_head), (12, 64)),
        norms_first=equal(block.config.norm_first and block.causal, True),
    )
