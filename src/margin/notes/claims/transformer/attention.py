"""Claims about attention: what it computes, its masks, heads and scale, and its cheaper relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes import atlas
from margin.notes.claims import claim


def draw(seed: int, *shape: int) -> Any:
    """Normal numbers in double precision."""
    import torch

    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def gap(a: Any, b: Any) -> float:
    return float((a - b).detach().abs().max())


def heads(seed: int, d_model: int, n_heads: int, **options: Any) -> Any:
    import torch

    from margin.neural.attention import MultiHeadAttention
    from margin.neural.weights import build

    return build(lambda: MultiHeadAttention(d_model, n_heads, **options), seed, torch.float64)


@claim("queries-keys-values")
def a_query_finds_the_value_of_its_key(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import attention, qkv

    x = draw(seed, 5, 3)
    weights = tuple(draw(seed + k, 4, 3) for k in (1, 2, 3))
    biases = tuple(draw(seed + k, 4) for k in (4, 5, 6))
    q = qkv(x, weights, biases).queries
    by_token = torch.stack([biases[0] + weights[0] @ x[n] for n in range(5)])
    keys = 20.0 * torch.eye(6, dtype=torch.float64)
    key = int(np.random.default_rng(seed).integers(6))
    attended = attention(keys[key : key + 1], keys, torch.arange(6.0, dtype=torch.float64)[:, None])
    # Output 1 asks with token 1: changing token 1 must change its query, not its key alone.
    moved = x.clone()
    moved[1] += 1.0
    swapped = qkv(moved, weights, biases)
    truth = every(
        query_from_its_own_token=near(q.numpy(), by_token.numpy(), tolerance=1e-12),
        other_queries_stay=equal(gap(swapped.queries[[0, 2, 3, 4]], q[[0, 2, 3, 4]]), 0.0),
        lookup=above(float(attended.weights[0, key]), 0.99),
        value=near(float(attended.output), key, tolerance=0.05),
    )
    return corrected(truth, query_from_the_other_token=equal(gap(swapped.queries[1], q[1]), 0.0))


@claim("attention-weights")
def weights_sum_to_one_over_the_inputs(seed: int) -> Verdict:
    from margin.neural.attention import attention_weights

    weights = attention_weights(draw(seed, 5, 3), draw(seed + 1, 5, 3)).numpy()  # row: output n, column: input m
    ones = np.ones(5)
    truth = every(
        non_negative=above(float(weights.min()), 0.0),
        over_inputs=near(weights.sum(axis=1), ones, tolerance=1e-12),
    )
    return corrected(truth, over_outputs=near(weights.sum(axis=0), ones, tolerance=0.05))


@claim("claim-attention-row-softmax")
def rows_are_normalized_and_columns_are_not(seed: int) -> Verdict:
    from margin.neural.attention import attention_weights

    weights = attention_weights(draw(seed, 7, 3), draw(seed + 1, 7, 3)).numpy()
    return every(
        rows=near(weights.sum(axis=1), np.ones(7), tolerance=1e-12),
        columns_do_not=above(float(np.abs(weights.sum(axis=0) - 1).max()), 0.05),
    )


@claim("scaled-dot-product-attention")
def attention_is_torchs_and_the_double_loop(seed: int) -> Verdict:
    import torch
    from torch.nn import functional

    from margin.neural.attention import attention, column_attention, padding_mask

    q, k, v = (draw(seed + i, 2, 6, 4) for i in range(3))
    attended = attention(q, k, v, causal=True)
    loop = torch.zeros(6, 4, dtype=torch.float64)
    plain = attention(q[0], k[0], v[0])
    for n in range(6):
        grown = [math.exp(float(q[0, n] @ k[0, m]) / 2) for m in range(6)]  # the root of 4 is 2
        loop[n] = sum(g / sum(grown) * v[0, m] for m, g in enumerate(grown))
    padding = padding_mask(torch.tensor([4, 6]), 6)[:, 0]
    masked = attention(q, k, v, mask=padding).output
    theirs = functional.scaled_dot_product_attention
    column = column_attention(q[0].T, k[0].T, v[0].T)
    parts = tuple(p.clone().requires_grad_() for p in (q[0, :3], k[0, :3], v[0, :3]))
    later = k.clone()
    later[:, 4:] = 9.0
    layer = heads(seed, 16, 4)
    x = draw(seed, 1, 5, 16)
    split = layer.projections(x)
    by_model_width = attention(*split, scale=1 / math.sqrt(16)).weights  # the width of the model, not of a head
    truth = every(
        causal=near(attended.output.numpy(), theirs(q, k, v, is_causal=True).numpy(), tolerance=1e-12),
        padded=near(masked.numpy(), theirs(q, k, v, attn_mask=padding).numpy(), tolerance=1e-12),
        loop=near(plain.output.numpy(), loop.numpy(), tolerance=1e-12),
        columns_are_the_transpose=near(column.output.T.numpy(), plain.output.numpy(), tolerance=1e-12),
        shape=equal(tuple(plain.weights.shape), (6, 6)),
        rows_sum_to_one=near(attended.weights.sum(dim=-1).numpy(), np.ones((2, 6)), tolerance=1e-12),
        nothing_above_the_diagonal=equal(float(attended.weights.triu(1).abs().max()), 0.0),
        future_is_not_seen=equal(gap(attention(q, later, v, causal=True).output[:, :4], attended.output[:, :4]), 0.0),
        differences=equal(torch.autograd.gradcheck(lambda *p: attention(*p, causal=True).output, parts), True),
        head_width=near(
            layer.attend(x).weights.detach().numpy(), attention(*split).weights.detach().numpy(), tolerance=1e-12
        ),
    )
    return corrected(
        truth,
        weights_are_the_output=equal(tuple(plain.weights.shape), tuple(plain.output.shape)),
        scale_by_the_model_width=near(
            by_model_width.detach().numpy(), layer.attend(x).weights.detach().numpy(), tolerance=1e-3
        ),
        identical_projections=near(gap(split.queries, split.keys), 0.0, tolerance=1e-3),
        one_layout=near(column.weights.numpy(), plain.weights.numpy(), tolerance=1e-3),
    )


@claim("example-self-attention-code")
def the_corrected_module_runs_and_the_printed_one_does_not(seed: int) -> Verdict:
    import torch
    from torch import nn

    notes = atlas.row("example-self-attention-code").values
    B, n, d, h = notes["batch"], notes["tokens"], notes["d_model"], notes["heads"]
    x = draw(seed, B, n, d)
    layer = heads(seed, d, h)
    attended = layer.attend(x)
    # As printed: queries and keys of shape (B, d, n), one head, the output projection on what comes out of that.
    q, k, v = (getattr(layer, name)(x).transpose(1, 2) for name in ("query", "key", "value"))
    scores = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d), dim=-1)
    mixed = (scores @ v).detach()

    class Printed(nn.Module):
        def __init__(self, d_model: int):
            super().__init__()

    def runs(call: Any) -> bool:
        try:
            call()
        except (RuntimeError, TypeError):
            return False
        return True

    truth = every(
        output=equal(tuple(attended.output.shape), (B, n, d)),
        weights=equal(tuple(attended.weights.shape), (B, h, n, n)),
    )
    return corrected(
        truth,
        scores_over_tokens=equal(tuple(scores.shape[1:]), (n, n)),
        output_projection_fits=equal(runs(lambda: layer.out(mixed)), True),
        two_arguments=equal(runs(lambda: Printed(d, h)), True),  # type: ignore[call-arg]
        heads_are_split=equal(scores.ndim, 4),
    )


@claim("contextual-representation")
def a_word_is_colored_by_its_neighbors(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import TransformerConfig
    from margin.neural.nets.transformer import EncoderTransformer
    from margin.neural.weights import build

    config = TransformerConfig(d_model=16, n_heads=2, position="none")
    model = build(lambda: EncoderTransformer(6, config), seed, torch.float64)
    river, money = torch.tensor([[1, 2, 0]]), torch.tensor([[3, 4, 0]])  # the same last word in two sentences
    before = gap(model.embedding(river)[0, 2], model.embedding(money)[0, 2])
    after = gap(model(river)[0, 2], model(money)[0, 2])
    alone = gap(model(river[:, 2:]), model(money[:, 2:]))
    return every(
        equal_before=equal(before, 0.0), different_after=above(after, 1e-4), equal_without_neighbors=equal(alone, 0.0)
    )


@claim("masked-self-attention")
def a_causal_mask_hides_what_comes_later(seed: int) -> Verdict:
    from margin.neural.attention import attention

    q, k, v = (draw(seed + i, 6, 4) for i in range(3))
    attended = attention(q, k, v, causal=True)
    changed = attention(q, *(_change(part, 3) for part in (k, v)), causal=True)
    return every(
        earlier_outputs=equal(gap(changed.output[:3], attended.output[:3]), 0.0),
        later_outputs=above(gap(changed.output[3:], attended.output[3:]), 0.01),
        above_the_diagonal=equal(float(attended.weights.triu(1).abs().max()), 0.0),
        sums=near(attended.weights.sum(dim=1).numpy(), np.ones(6), tolerance=1e-12),
        first_sees_itself=equal(float(attended.weights[0, 0]), 1.0),
    )


def _change(x: Any, start: int) -> Any:
    x = x.clone()
    x[start:] += 5.0
    return x


@claim("multi-head-attention")
def heads_are_concatenated_and_projected(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.attention import attention
    from margin.neural.weights import build, count_parameters

    notes = atlas.row("multi-head-attention").values
    B, n, d, h = notes["batch"], notes["tokens"], notes["d_model"], notes["heads"]
    layer, x = heads(seed, d, h), draw(seed, B, n, d)
    attended = layer.attend(x)
    q, k, v = layer.projections(x)
    each = [attention(q[:, i], k[:, i], v[:, i]) for i in range(h)]
    single, one = heads(seed, d, 1), draw(seed, 1, n, d)
    alone = attention(*(getattr(single, name)(one) for name in ("query", "key", "value")))
    theirs = build(lambda: nn.MultiheadAttention(d, h, batch_first=True), seed, torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.query.weight, layer.key.weight, layer.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([layer.query.bias, layer.key.bias, layer.value.bias]))
        theirs.out_proj.load_state_dict(layer.out.state_dict())
    expected, weights = theirs(x, x, x, average_attn_weights=False)
    with torch.device("meta"):
        from margin.neural.attention import MultiHeadAttention

        full = MultiHeadAttention(notes["gpt2_width"], notes["gpt2_heads"], bias=False)
    # One coordinate outside the first d/h of the embedding: the keys of the first head, before and after.
    first_keys = [layer.projections(other)[1][:, 0] for other in (x, x + torch.eye(d, dtype=x.dtype)[-1])]
    # As printed every head is attention(Q, K, V) of the same three matrices.
    printed = [attention(x, x, x).output for _ in range(h)]
    truth = every(
        torchs=below(max(gap(attended.output, expected), gap(attended.weights, weights)), 1e-12),
        concatenated=below(gap(layer.out(torch.cat([e.output for e in each], dim=-1)), attended.output), 1e-12),
        one_head_is_attention=below(gap(single(one), single.out(alone.output)), 1e-12),
        same_count=equal(count_parameters(layer), count_parameters(single)),
        gpt2_block=equal(count_parameters(full), 4 * notes["gpt2_width"] ** 2),
        head_width=equal(notes["gpt2_width"] // notes["gpt2_heads"], notes["gpt2_head_width"]),
        must_divide=raises(ValueError, lambda: heads(seed, 10, 3), match="n_heads must divide d_model"),
    )
    return corrected(
        truth,
        heads_differ_without_projections=above(max(gap(p, printed[0]) for p in printed), 1e-9),
        scale_by_the_model_width=below(gap(attention(q, k, v, scale=d**-0.5).output, attention(q, k, v).output), 1e-6),
        a_head_sees_a_subset=below(gap(*first_keys), 1e-6),
    )


@claim("claim-transformer-no-order")
def without_a_mask_attention_only_permutes(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import sinusoidal

    layer, second = heads(seed, 8, 2), heads(seed + 1, 8, 2)
    x = 2 * draw(seed, 1, 6, 8)  # scores of the size of one or more: weights that are not all the same
    order = torch.from_numpy(np.roll(np.arange(6), 2))
    f = lambda z, causal=False: second(layer(z, causal=causal), causal=causal)  # noqa: E731
    free = gap(f(x[:, order]), f(x)[:, order])
    masked = gap(f(x[:, order], causal=True), f(x, causal=True)[:, order])
    code = sinusoidal(6, 8)
    placed = gap(f(x[:, order] + code), f(x + code)[:, order])
    swapped = torch.tensor([1, 0, 2, 3, 4, 5])  # the last token sees the same set of tokens, in another order
    last = gap(f(x[:, swapped], causal=True)[:, -1], f(x, causal=True)[:, -1])
    truth = every(
        unmasked=below(free, 1e-12), positions_break_it=above(placed, 1e-3), masked_layers_know_order=above(last, 1e-6)
    )
    return corrected(
        truth,
        also_with_a_mask=below(masked, 1e-6),
        # Of one layer: each averages the tokens, and after two they are so alike that any order would do.
        invariant=below(gap(layer(x[:, order]), layer(x)), 1e-6),
    )


@claim("subquadratic-attention")
def linear_attention_is_its_definition_at_linear_cost(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import attention, kernel_attention, linear_attention, random_feature_attention
    from margin.neural.attention.subquadratic import random_directions, shifted_elu
    from margin.neural.training.work import WorkCounter

    def work(call: Any, n: int) -> int:
        q, k, v = (draw(seed + i, n, 8) for i in range(3))
        with WorkCounter() as counter:
            call(q, k, v)
        return counter.multiply_adds

    q, k = (shifted_elu(draw(seed + i, 100, 5)) for i in range(2))
    v = draw(seed + 2, 100, 3)
    costs = {
        name: work(call, 1024) / work(call, 512)
        for name, call in {
            "linear": lambda q, k, v: linear_attention(q, k, v),
            "causal": lambda q, k, v: linear_attention(q, k, v, causal=True),
            "softmax": lambda q, k, v: attention(q, k, v),
        }.items()
    }
    a, b, values = draw(seed, 30, 8) / 2, draw(seed + 1, 30, 8) / 2, draw(seed + 2, 30, 4)
    exact, errors = attention(a, b, values).output, []
    for n_features in (64, 8192):
        # Positive features have heavy tails: a rare direction can dominate one draw, so the median of five is taken.
        repeats = []
        for number in range(5):
            directions = random_directions(n_features, 8, torch.Generator().manual_seed(100 * seed + number))
            repeats.append(float((random_feature_attention(a, b, values, directions) - exact).square().mean().sqrt()))
        errors.append(float(np.median(repeats)))
    return every(
        identity=below(gap(linear_attention(q, k, v), kernel_attention(q, k, v)), 1e-8),
        causal_identity=below(gap(linear_attention(q, k, v, True), kernel_attention(q, k, v, True)), 1e-8),
        linear_cost=near(costs["linear"], 2.0, tolerance=0.01),
        causal_cost=near(costs["causal"], 2.0, tolerance=0.05),
        quadratic_cost=near(costs["softmax"], 4.0, tolerance=0.01),
        random_features=below(errors[1], errors[0] / 3),  # 11 by the square root law
    )
