"""Transformers: sizes of the papers, caches, masks, and what depends on what."""

import pytest
import torch

from margin.neural.attention import KeyValueCache, TransformerConfig, causal_mask, padding_mask
from margin.neural.attention.config import POSITIONS
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.nets.language_nets import (
    GPT2_SMALL,
    GPT2_VOCABULARY,
    GPT3,
    bert_base,
    component_counts,
    decoder_parameters,
    gpt2_small,
    gpt_oss_style,
)  # fmt: skip
from margin.neural.nets.transformer import EncoderDecoderTransformer, EncoderTransformer, balance
from margin.neural.nets.vision_transformer import vit_b16
from margin.neural.weights import count_parameters

DOUBLE = {"rtol": 1e-9, "atol": 1e-11}


def ids(*shape, seed=0, high=11):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def small(**options):
    return TransformerConfig(**{"d_model": 16, "n_heads": 4, "n_blocks": 2, "context": 12, **options})


def decoder(**options):
    torch.manual_seed(0)
    model = DecoderTransformer(11, small(**options)).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.mark.parametrize(
    ("model", "count"),
    [(gpt2_small, 124_439_808), (bert_base, 110_106_428), (vit_b16, 86_567_656)],
    ids=["gpt-2", "bert", "vit"],
)
def test_sizes_of_the_papers(model, count):
    assert count_parameters(model()) == count


def test_parameters_by_component_and_by_formula():
    counts = component_counts(gpt2_small())
    assert sum(counts.values()) == 2 * counts["total"]
    assert counts["total"] == decoder_parameters(GPT2_VOCABULARY, GPT2_SMALL)
    assert 174e9 < decoder_parameters(GPT2_VOCABULARY, GPT3) < 176e9
    assert count_parameters(gpt2_small(tied=False)) == counts["total"] + 768 * GPT2_VOCABULARY


@pytest.mark.parametrize("position", POSITIONS)
def test_a_cache_gives_the_full_pass(position):
    model, x, cache = decoder(position=position), ids(2, 9), KeyValueCache()
    pieces = [model(part, cache) for part in x.split([4, 1, 1, 3], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(x), **DOUBLE)


def test_a_decoder_never_sees_what_comes_later():
    model, x = decoder(), ids(1, 9)
    later = torch.cat([x[:, :5], (x[:, 5:] + 1) % 11], dim=1)
    assert torch.equal(model(x)[:, :5], model(later)[:, :5])
    assert (model(x)[:, 5:] != model(later)[:, 5:]).any()


def test_attention_maps_are_those_of_the_forward_pass():
    model, x = decoder(position="relative"), ids(2, 7)
    maps = model.attention_maps(x)
    assert [m.shape for m in maps] == [(2, 4, 7, 7)] * 2
    for weights in maps:
        assert (weights[..., ~causal_mask(7)] == 0).all()
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 4, 7, dtype=torch.float64))


def test_an_encoder_sees_everything_but_padding():
    torch.manual_seed(0)
    model = EncoderTransformer(11, small()).double()
    x = ids(2, 6)
    whole = model.embedding.tokens(x).detach().requires_grad_()
    out = model.stack(whole)
    (gradient,) = torch.autograd.grad(out[:, 2].square().sum(), whole)
    assert (gradient.abs().sum(dim=-1) > 0).all()
    mask = padding_mask(torch.tensor([4, 6]), 6)
    short = model(x[:1, :4])
    torch.testing.assert_close(model(x, mask)[0, :4], short[0], **DOUBLE)


def test_encoder_and_decoder_joined():
    torch.manual_seed(0)
    model = EncoderDecoderTransformer(11, 7, small(norm_first=False)).double()
    source, target, cache = ids(2, 6), ids(2, 5, high=7), KeyValueCache()
    mask = padding_mask(torch.tensor([4, 6]), 6)
    full = model(source, target, mask)
    memory = model.encode(source, mask)
    pieces = [model.decode(part, memory, mask, cache) for part in target.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), full, **DOUBLE)
    maps = model.alignment(source, target, mask)
    assert maps[0].shape == (2, 4, 5, 6)
    assert (maps[1][0, :, :, 4:] == 0).all()


def test_a_gpt_oss_style_decoder_has_gradients_everywhere_and_a_balance():
    torch.manual_seed(0)
    model = gpt_oss_style(11, 16, 4, 2)
    logits = model(ids(4, 12))
    (logits.square().sum() + balance(model)).backward()
    without = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    assert without == []
    assert 0.9 < float(balance(model).detach()) < 4
    assert balance(decoder()) == 0.0


def test_the_context_ends():
    model = decoder(position="learned")
    with pytest.raises(ValueError, match="there are 12 positions; got 13"):
        model(ids(1, 13))


def test_zero_initialization_starts_as_the_identity():
    torch.manual_seed(0)
    model = DecoderTransformer(11, small(zero_init=True, norm="rms"))
    x = model.embedding(ids(2, 5))
    assert torch.equal(model.stack(x), model.stack.norm(x))
