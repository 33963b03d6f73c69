"""Claims about whole transformers: blocks, encoders, decoders, their sizes, and what they learn."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.transformer.attention import draw, gap
from margin.notes.claims.transformer.positions import decoder


def sentences(seed: int, n: int) -> list[str]:
    """Sentences of a small grammar: who does what to whom."""
    rng = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird", "fish"), ("sees", "hears", "likes")
    return [f"the {rng.choice(nouns)} {rng.choice(verbs)} the {rng.choice(nouns)}." for _ in range(n)]


@cache
def small_language_model(seed: int) -> Any:
    from margin.text.language_model import LanguageModel

    model = LanguageModel(d_model=32, n_heads=2, n_blocks=1, context=24, batch_size=16, max_iter=12)
    return model.set_params(learning_rate_init=0.01, random_state=seed).fit(sentences(seed, 150))


def unigram_loss(texts: list[str]) -> float:
    """Mean loss of the best model that knows only how common characters are, in nats."""
    counts = np.array(list(Counter("".join(texts)).values()), dtype=float)
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum())


@claim("transformer-requirements")
def one_network_reads_any_length(seed: int) -> Verdict:
    import torch

    from margin.neural.weights import count_parameters

    model = decoder(seed, "rope")
    shapes = [tuple(model(torch.zeros(1, n, dtype=torch.int64)).shape) for n in (3, 50, 500)]
    flattened = [(n * 16) ** 2 for n in (50, 500)]  # weights of a dense layer from N vectors of width D to as many
    first = torch.arange(20)[None] % 7
    other = first.clone()
    other[0, 0] = 5
    return every(
        lengths=equal(shapes, [(1, 3, 7), (1, 50, 7), (1, 500, 7)]),
        same_parameters=equal(count_parameters(model), count_parameters(decoder(seed, "rope", context=500))),
        a_dense_layer_grows=near(flattened[1] / flattened[0], 100.0, tolerance=1e-9),
        earlier_parts_count=above(gap(model(first)[0, -1], model(other)[0, -1]), 0.0),
    )


@claim("transformer-block")
def a_block_is_torchs_layer(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.attention import TransformerBlock, TransformerConfig
    from margin.neural.weights import build

    def compare(norm_first: bool) -> float:
        config = TransformerConfig(16, 4, norm_first=norm_first, activation="relu", position="none")
        ours = build(lambda: TransformerBlock(config), seed, torch.float64)
        theirs = build(
            lambda: nn.TransformerEncoderLayer(16, 4, 64, dropout=0.0, batch_first=True, norm_first=norm_first),
            seed,
            torch.float64,
        )
        with torch.no_grad():
            attention = ours.attention
            theirs.self_attn.in_proj_weight.copy_(
                torch.cat([attention.query.weight, attention.key.weight, attention.value.weight])
            )
            theirs.self_attn.in_proj_bias.copy_(
                torch.cat([attention.query.bias, attention.key.bias, attention.value.bias])
            )
        feed: Any = ours.feed
        for mine, its in (
            (attention.out, theirs.self_attn.out_proj),
            (feed.up, theirs.linear1),
            (feed.down, theirs.linear2),
        ):
            its.load_state_dict(mine.state_dict())
        x = draw(seed, 2, 5, 16)
        return gap(ours(x), theirs(x))

    tiny = build(lambda: TransformerBlock(TransformerConfig(4, 2, d_ff=6, norm="rms")), seed, torch.float64)
    free = build(lambda: TransformerBlock(TransformerConfig(8, 2, position="none")), seed, torch.float64)
    x, order = draw(seed, 1, 6, 8), torch.tensor([5, 3, 1, 0, 2, 4])
    notes = atlas.row("transformer-block").values
    return every(
        post_norm=below(compare(False), 1e-12),
        pre_norm=below(compare(True), 1e-12),
        shape=equal(tuple(free(x).shape), (1, 6, 8)),
        permutes=below(gap(free(x[:, order]), free(x)[:, order]), 1e-12),
        each_token_by_itself=below(gap(free.feed(x[:, 2:3]), free.feed(x)[:, 2:3]), 1e-12),
        differences=equal(torch.autograd.gradcheck(tiny, draw(seed, 1, 3, 4).requires_grad_()), True),
        hidden=equal(TransformerConfig(notes["width"], 12).hidden, notes["hidden"]),
    )


@claim("output-projection")
def tied_weights_cost_nothing() -> Verdict:
    from margin.neural.nets.language_nets import gpt2_small
    from margin.neural.weights import count_parameters

    notes = atlas.row("output-projection").values
    tied, untied = (count_parameters(gpt2_small(vocabulary=notes["vocabulary"], tied=tied)) for tied in (True, False))
    return equal(untied - tied, notes["untied"])


@claim("transformer-encoder")
def an_encoder_looks_both_ways(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import TransformerConfig
    from margin.neural.nets.transformer import EncoderTransformer
    from margin.neural.weights import build

    config = TransformerConfig(d_model=16, n_heads=2, n_blocks=2, context=8)
    model = build(lambda: EncoderTransformer(7, config), seed, torch.float64)
    ids = torch.arange(6)[None]
    x = model.embedding(ids).detach().requires_grad_()
    reach = [torch.autograd.grad(model.stack(x)[0, n].square().sum(), x)[0][0].abs().sum(dim=1) for n in range(6)]
    return every(shape=equal(tuple(model(ids).shape), (1, 6, 16)), sees_all=above(float(torch.stack(reach).min()), 0.0))


@claim("transformer-decoder")
def a_decoder_learns_to_continue_text(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import attention
    from margin.neural.training.work import WorkCounter

    model, new = small_language_model(seed), sentences(seed + 100, 20)
    module = model._ready_module()
    ids = torch.from_numpy(model._codes().join_texts(new[:1], "")[None])
    with torch.inference_mode():
        p = module(ids[:, :20]).double().softmax(dim=-1).sum(dim=-1)
    text = model.generate("the cat ", max_tokens=40, random_state=seed)

    def work_per_token(n: int) -> float:
        q = torch.ones(n, 8)
        with WorkCounter() as counter:
            attention(q, q, q)
        return counter.multiply_adds / n

    truth = every(
        below_uniform=below(-model.score(new), 0.5 * math.log(model.network_["vocabulary"])),
        below_unigrams=below(-model.score(new), 0.5 * unigram_loss(new)),
        sums=near(p.numpy(), np.ones((1, 20)), tolerance=1e-6),
        continues=above(len(text), 0),
    )
    ratio = work_per_token(2000) / work_per_token(1000)
    return corrected(truth, length_is_no_bottleneck=near(ratio, 1.0, tolerance=0.1))


@claim("gpt-decoder")
def gpt3_has_175_billion_parameters(seed: int) -> Verdict:
    import torch

    from margin.neural.attention.decoder import DecoderTransformer
    from margin.neural.nets.language_nets import GPT2_VOCABULARY, GPT3, decoder_parameters
    from margin.neural.weights import count_parameters

    with torch.device("meta"):
        full = count_parameters(DecoderTransformer(GPT2_VOCABULARY, GPT3))
    model = small_language_model(seed)
    text = model.generate("the ", max_tokens=30, temperature=0.5, random_state=seed)
    known = set("".join(sentences(seed, 150)))
    return every(
        published=within(full / 1e9, 174.0, 176.0),
        formula=equal(decoder_parameters(GPT2_VOCABULARY, GPT3), full),
        loss_falls=below(model.loss_curve_[-1], 0.5 * model.loss_curve_[0]),
        generates=equal(set(text) <= known and len(text) > 0, True),
    )


@claim("gpt2-small")
def gpt2_small_is_counted() -> Verdict:
    from margin.neural.nets.language_nets import component_counts, gpt2_small

    notes = atlas.row("gpt2-small").values
    counts, real = component_counts(gpt2_small(vocabulary=notes["printed_vocabulary"])), component_counts(gpt2_small())
    rounded = {name: round(counts[name] / 1e6, 1) for name in ("embedding", "positions", "query", "up", "down")}
    listed = sum(counts[n] for n in ("embedding", "positions", "query", "key", "value", "out", "up", "down"))
    truth = every(
        table=equal(rounded, {n: notes[n] for n in rounded}),
        four_equal=equal(len({counts[n] for n in ("query", "key", "value", "out")}), 1),
        listed=equal(listed, notes["listed"]),
        total=equal(real["total"], notes["total"]),
        vocabulary=equal(real["embedding"] // 768, 256 + 50_000 + 1),
    )
    return corrected(
        truth,
        vocabulary_of_50256=equal(counts["total"], notes["total"]),
        total_of_123_million=near(real["total"] / 1e6, 123.0, tolerance=0.5),
        sum_of_the_table=near(listed / 1e6, 124.4, tolerance=0.05),
    )


@claim("gpt-oss")
def a_gpt_oss_style_decoder_trains(seed: int) -> Verdict:
    import torch
    from torch.nn import functional

    from margin.neural.nets.language_nets import gpt_oss_style
    from margin.neural.nets.transformer import balance
    from margin.neural.weights import build

    model = build(lambda: gpt_oss_style(8, 16, 4, 2, d_ff=16), seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    starts = np.random.default_rng(seed).integers(8, size=(60, 16, 1))
    losses = []
    for start in starts:
        ids = torch.from_numpy((start + np.arange(13)) % 8)
        loss = functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        (loss + 0.01 * balance(model)).backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    norms = {type(block.attention_norm).__name__ for block in model.stack.blocks}
    return every(
        rms=equal(norms, {"RMSNorm"}),
        begins_at_chance=near(losses[0], math.log(8), tolerance=0.1),
        learns=below(losses[-1], 0.3),
        balance=within(float(torch.as_tensor(balance(model)).detach()), 0.9, 4.0),
    )


@claim("transformer-backprop")
def the_backward_pass_by_hand_is_autograds(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import TransformerBlock, TransformerConfig, block_backward, softmax_backward
    from margin.neural.weights import build

    block = build(lambda: TransformerBlock(TransformerConfig(8, 2, d_ff=12), causal=True), seed, torch.float64)
    x, out = draw(seed, 2, 4, 8).requires_grad_(), draw(seed + 1, 2, 4, 8)
    block(x).backward(out)
    at_x, gradients = block_backward(block, x.detach(), out)
    gaps = [gap(gradients[name], p.grad) for name, p in block.named_parameters() if p.grad is not None]
    weights, above_it = torch.softmax(draw(seed, 5), dim=0), draw(seed + 2, 5)
    jacobian = torch.diag(weights) - torch.outer(weights, weights)
    # With linear layers, activations and norms alone the weights A are taken for constants.
    q = draw(seed + 3, 3, 2).requires_grad_()
    (direct,) = torch.autograd.grad((torch.softmax(q @ q.T, dim=1) @ q).square().sum(), q)
    (constant,) = torch.autograd.grad((torch.softmax(q @ q.T, dim=1).detach() @ q).square().sum(), q)
    truth = every(
        parameters=below(max(gaps), 1e-10),
        input=below(gap(at_x, x.grad), 1e-10),
        all_of_them=equal(len(gradients), len(list(block.parameters()))),
        softmax=below(gap(softmax_backward(weights, above_it), jacobian @ above_it), 1e-12),
        differences=equal(torch.autograd.gradcheck(block, draw(seed, 1, 3, 8).requires_grad_()), True),
    )
    return corrected(truth, nothing_beyond_layers_and_norms=below(gap(direct, constant), 1e-3))
