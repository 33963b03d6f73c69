"""Blocks against torch's layers and autograd; feed-forward parts; attention at linear cost; patches."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from margin.neural.attention import (
    FeedForward,
    KeyValueCache,
    MixtureOfExperts,
    SwiGLU,
    TransformerBlock,
    TransformerConfig,
    attention,
    block_backward,
    kernel_attention,
    linear_attention,
    load_balancing_loss,
    patchify,
    random_feature_attention,
    unpatchify,
)  # fmt: skip
from margin.neural.attention.config import POSITIONS
from margin.neural.attention.subquadratic import positive_features, random_directions, shifted_elu

DOUBLE = {"rtol": 1e-9, "atol": 1e-11}


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def block(seed=0, *, cross=False, causal=False, **options):
    torch.manual_seed(seed)
    built = TransformerBlock(TransformerConfig(16, 4, **options), cross=cross, causal=causal).double()
    for parameter in built.parameters():  # norms and biases too, so that none of them is trivial
        nn.init.normal_(parameter, std=0.3)
    return built


def _copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.load_state_dict(ours.out.state_dict())


@torch.no_grad()
def _copy_rest(ours, theirs, last):
    _copy_attention(ours.attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed.up.state_dict())
    theirs.linear2.load_state_dict(ours.feed.down.state_dict())
    theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
    getattr(theirs, last).load_state_dict(ours.feed_norm.state_dict())


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_block_is_torchs(norm_first):
    ours = block(norm_first=norm_first)
    theirs = nn.TransformerEncoderLayer(
        16, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
    ).double()
    _copy_rest(ours, theirs, "norm2")
    x = draw(2, 5, 16)
    torch.testing.assert_close(ours(x), theirs(x), **DOUBLE)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_block_is_torchs(norm_first):
    ours = block(norm_first=norm_first, cross=True, causal=True)
    theirs = nn.TransformerDecoderLayer(
        16, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
    ).double()
    _copy_rest(ours, theirs, "norm3")
    with torch.no_grad():
        _copy_attention(ours.cross, theirs.multihead_attn)
        theirs.norm2.load_state_dict(ours.cross_norm.state_dict())
    x, memory = draw(2, 5, 16), draw(2, 7, 16, seed=2)
    hidden = torch.ones(5, 5).triu(1).bool()
    torch.testing.assert_close(ours(x, memory=memory), theirs(x, memory, tgt_mask=hidden), **DOUBLE)


@pytest.mark.parametrize("causal", [False, True])
def test_the_backward_pass_by_hand_is_autograds(causal):
    ours, x, gradient = block(causal=causal), draw(2, 5, 16).requires_grad_(), draw(2, 5, 16, seed=2)
    ours(x).backward(gradient)
    at_x, found = block_backward(ours, x.detach(), gradient)
    torch.testing.assert_close(at_x, x.grad, **DOUBLE)
    assert found.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, **DOUBLE)


def test_only_the_written_block_is_differentiated_by_hand():
    with pytest.raises(ValueError, match="layer norms first"):
        block_backward(block(norm="rms"), draw(1, 2, 16), draw(1, 2, 16))


def test_gradients_agree_with_differences():
    torch.manual_seed(0)
    ours = TransformerBlock(TransformerConfig(4, 2, d_ff=6), causal=True).double()
    assert torch.autograd.gradcheck(ours, draw(1, 3, 4).requires_grad_())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("feed", ["swiglu", "experts"])
def test_a_cache_gives_the_full_pass(position, feed):
    ours = block(position=position, feed_forward=feed, norm="rms", qk_norm=True, n_kv_heads=2, causal=True)
    x, cache = draw(2, 8, 16), KeyValueCache()
    pieces = [ours(part, cache=cache) for part in x.split([3, 1, 4], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), ours(x), **DOUBLE)


def test_cross_attention_reads_its_memory_once():
    ours, x, memory, cache = block(cross=True, causal=True), draw(2, 5, 16), draw(2, 7, 16, seed=2), KeyValueCache()
    pieces = [ours(part, memory=memory, cache=cache) for part in x.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), ours(x, memory=memory), **DOUBLE)
    with pytest.raises(ValueError, match="needs a memory"):
        ours(x)


def test_the_feed_forward_part_acts_on_each_token():
    torch.manual_seed(0)
    x = draw(2, 5, 8)
    for part in (FeedForward(8, 12, "relu_squared"), SwiGLU(8, 12), MixtureOfExperts(8, 12, 4, 2)):
        part = part.double()
        whole = part(x)
        torch.testing.assert_close(part(x[:, 2:3]), whole[:, 2:3], **DOUBLE)


def test_experts_are_the_weighted_sum_of_the_best():
    torch.manual_seed(0)
    layer, x = MixtureOfExperts(6, 10, 4, 2).double(), draw(7, 6)
    for token, out in zip(x, layer(x[None])[0]):
        logits = layer.router(token)
        best = logits.argsort(descending=True)[:2]
        weights = functional.softmax(logits[best], dim=0)
        torch.testing.assert_close(out, sum(w * layer.experts[i](token) for w, i in zip(weights, best)), **DOUBLE)
    counts = torch.bincount(layer.routes.experts.flatten(), minlength=4).double() / 14
    expected = 4 * counts @ layer.router(x).softmax(dim=1).mean(dim=0)
    torch.testing.assert_close(load_balancing_loss(layer.routes), expected, **DOUBLE)
    with pytest.raises(ValueError, match="top_k must be from 1 to n_experts 4; got 5"):
        MixtureOfExperts(6, 10, 4, 5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 64, 150])
def test_linear_attention_is_its_definition(causal, n):
    q, k = (shifted_elu(draw(2, n, 5, seed=s)) for s in (1, 2))
    v = draw(2, n, 3, seed=3)
    torch.testing.assert_close(linear_attention(q, k, v, causal), kernel_attention(q, k, v, causal), **DOUBLE)


def test_random_features_are_unbiased_and_their_error_falls():
    q, k, v = draw(40, 8) / 2, draw(40, 8, seed=2) / 2, draw(40, 4, seed=3)
    exact = attention(q, k, v).output
    errors = []
    for n_features in (64, 4096):
        squares = []
        for seed in range(4):
            directions = random_directions(n_features, 8, torch.Generator().manual_seed(seed))
            squares.append((random_feature_attention(q, k, v, directions) - exact).square().mean())
        errors.append(float(torch.stack(squares).mean()) ** 0.5)
    assert errors[1] < errors[0] / 4  # 8 by the square root law
    assert errors[1] < 0.1
    directions = random_directions(200_000, 8, torch.Generator().manual_seed(9))
    kernel = positive_features(q[:3], directions) @ positive_features(k[:3], directions).T
    torch.testing.assert_close(kernel, torch.exp(q[:3] @ k[:3].T), rtol=0.15, atol=0)


def test_patches_are_cut_and_put_back():
    images = torch.arange(2 * 3 * 8 * 12).view(2, 3, 8, 12)
    patches = patchify(images, 4)
    assert patches.shape == (2, 6, 48)
    assert torch.equal(patches[1, 4].view(4, 4, 3), images[1, :, 4:8, 4:8].permute(1, 2, 0))
    assert torch.equal(unpatchify(patches, 8, 12, 4), images)
    with pytest.raises(ValueError, match="size must divide height 8 and width 12; got 5"):
        patchify(images, 5)
    with pytest.raises(ValueError, match="must be 6 vectors"):
        unpatchify(patches[:, :5], 8, 12, 4)


@pytest.mark.parametrize(
    "options,sentence",
    [
        ({"position": "gps"}, "position must be one of learned, .*; got 'gps'"),
        ({"norm": "batch"}, "norm must be one of layer, rms; got 'batch'"),
        ({"n_heads": 3}, "n_heads must divide d_model 16; got 3"),
        ({"n_blocks": 0}, "n_blocks must be at least 1; got 0"),
    ],
)
def test_bad_configurations_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        TransformerConfig(**{"d_model": 16, "n_heads": 4, **options})
