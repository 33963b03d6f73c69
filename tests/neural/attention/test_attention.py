"""Attention against torch's kernel, loops and its laws."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from margin.neural.attention import (
    KeyValueCache,
    MultiHeadAttention,
    additive_attention,
    attention,
    attention_weights,
    causal_mask,
    column_attention,
    padding_mask,
    qkv,
    trace,
    window_mask,
)  # fmt: skip

DOUBLE = {"rtol": 1e-10, "atol": 1e-12}


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(seed=0, **options):
    torch.manual_seed(seed)
    return MultiHeadAttention(12, 4, **options).double()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_it_is_torchs(causal, masked):
    q, k, v = draw(2, 3, 7, 4), draw(2, 3, 7, 4, seed=2), draw(2, 3, 7, 5, seed=3)
    mask = padding_mask(torch.tensor([4, 7]), 7) if masked else None
    ours = attention(q, k, v, causal=causal, mask=mask)
    given = causal_mask(7) & (mask if masked else True) if causal else mask
    theirs = functional.scaled_dot_product_attention(q, k, v, attn_mask=given)
    torch.testing.assert_close(ours.output, theirs, **DOUBLE)
    torch.testing.assert_close(ours.weights.sum(dim=-1), torch.ones(2, 3, 7, dtype=torch.float64), **DOUBLE)


def test_it_is_the_double_loop_in_rows_and_in_columns():
    q, k, v = draw(5, 3), draw(5, 3, seed=2), draw(5, 2, seed=3)
    output = torch.zeros(5, 2, dtype=torch.float64)
    for n in range(5):
        scores = [float(q[n] @ k[m]) / math.sqrt(3) for m in range(5)]
        total = sum(map(math.exp, scores))
        for m in range(5):
            output[n] += math.exp(scores[m]) / total * v[m]
    torch.testing.assert_close(attention(q, k, v).output, output, **DOUBLE)
    columns = column_attention(q.T, k.T, v.T)
    torch.testing.assert_close(columns.output, output.T, **DOUBLE)
    torch.testing.assert_close(columns.weights.sum(dim=0), torch.ones(5, dtype=torch.float64), **DOUBLE)


def test_a_query_that_may_look_at_nothing_gets_zeros_and_no_nan():
    x = draw(3, 4).requires_grad_()
    mask = torch.tensor([[True, True, True], [False, False, False], [True, False, False]])
    output, weights = attention(x, x, x, mask=mask)
    output.sum().backward()
    assert (weights[1] == 0).all()
    assert x.grad.isfinite().all()


def test_gradients_agree_with_differences():
    q, k, v = (draw(3, 2, seed=s).requires_grad_() for s in (1, 2, 3))
    assert torch.autograd.gradcheck(lambda *p: attention(*p, causal=True).output, (q, k, v))


def test_projections_are_linear_layers():
    x, layers = draw(5, 3), [nn.Linear(3, 4).double() for _ in range(3)]
    found = qkv(x, tuple(part.weight for part in layers), tuple(part.bias for part in layers))
    for part, linear in zip(found, layers):
        torch.testing.assert_close(part, linear(x), **DOUBLE)


def test_additive_scores_are_the_loop():
    q, k, values = draw(4, 3), draw(5, 2, seed=2), draw(5, 6, seed=3)
    Wq, Wk, v = draw(7, 3, seed=4), draw(7, 2, seed=5), draw(7, seed=6)
    output, weights = additive_attention(q, k, values, Wq, Wk, v)
    scores = torch.stack([torch.stack([v @ torch.tanh(Wq @ a + Wk @ b) for b in k]) for a in q])
    torch.testing.assert_close(weights, scores.softmax(dim=-1), **DOUBLE)
    torch.testing.assert_close(output, scores.softmax(dim=-1) @ values, **DOUBLE)


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_is_the_mask_by_distance(causal):
    mask = window_mask(6, 3, causal=causal)
    for i in range(6):
        for j in range(6):
            assert mask[i, j] == (0 <= i - j < 3 if causal else abs(i - j) < 3)


def _copy(ours, theirs):
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    return theirs


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_multi_head_attention_is_torchs(cross, causal):
    ours = layer()
    theirs = _copy(ours, nn.MultiheadAttention(12, 4, batch_first=True).double())
    x, context = draw(2, 5, 12), draw(2, 5, 12, seed=2) if cross else None
    source = x if context is None else context
    hidden = ~causal_mask(5) if causal else None
    expected, weights = theirs(x, source, source, attn_mask=hidden, average_attn_weights=False)
    found = ours.attend(x, context, causal=causal)
    torch.testing.assert_close(found.output, expected, **DOUBLE)
    torch.testing.assert_close(found.weights, weights, **DOUBLE)
    torch.testing.assert_close(ours(x, context, causal=causal), expected, **DOUBLE)


OPTIONS = [
    {},
    {"n_kv_heads": 2},
    {"n_kv_heads": 1, "bias": False},
    {"qk_norm": True, "n_kv_heads": 4},
    {"window": 3},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_the_kernel_and_the_equation_agree(options, causal, padded):
    ours, x = layer(**options), draw(2, 7, 12)
    mask = padding_mask(torch.tensor([5, 7]), 7) if padded else None
    torch.testing.assert_close(
        ours(x, causal=causal, mask=mask), ours.attend(x, causal=causal, mask=mask).output, **DOUBLE
    )


@pytest.mark.parametrize("options", [*OPTIONS, {"qk_norm": True}])
@pytest.mark.parametrize("steps", [[1] * 9, [4, 1, 3, 1]])
def test_a_cache_gives_the_full_pass(options, steps):
    torch.manual_seed(0)
    ours, x, cache = MultiHeadAttention(16, 4, rotary_base=100.0, **options).double(), draw(2, 9, 16), KeyValueCache()
    pieces = [ours(part, causal=True, cache=cache) for part in x.split(steps, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), ours(x, causal=True), **DOUBLE)


def test_grouped_queries_are_repeated_heads():
    grouped, full = layer(n_kv_heads=2), layer()
    with torch.no_grad():
        full.query.load_state_dict(grouped.query.state_dict())
        full.out.load_state_dict(grouped.out.state_dict())
        for name in ("key", "value"):
            for kind in ("weight", "bias"):
                part = getattr(getattr(grouped, name), kind).unflatten(0, (2, 3)).repeat_interleave(2, dim=0)
                getattr(getattr(full, name), kind).copy_(part.flatten(0, 1))
    x = draw(2, 5, 12)
    torch.testing.assert_close(grouped(x), full(x), **DOUBLE)


def test_a_permutation_of_the_tokens_permutes_the_outputs():
    ours, x, order = layer(), draw(1, 6, 12), torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(ours(x[:, order]), ours(x)[:, order], **DOUBLE)
    assert (ours(x[:, order], causal=True) - ours(x, causal=True)[:, order]).abs().max() > 1e-3


def test_the_future_changes_nothing():
    q, k, v = draw(6, 3), draw(6, 3, seed=2), draw(6, 3, seed=3)
    later = torch.cat([k[:4], 100 * k[4:]])
    assert torch.equal(attention(q, k, v, causal=True).output[:4], attention(q, later, v * 1.0, causal=True).output[:4])
    weights = attention_weights(q, k, causal=True)
    assert (weights.triu(1) == 0).all()
    assert weights[0, 0] == 1


def test_the_last_stage_of_a_trace_is_the_output():
    ours, x = layer(), draw(2, 5, 12)
    for causal in (False, True):
        torch.testing.assert_close(trace(ours, x, causal=causal)[-1].values, ours(x, causal=causal), **DOUBLE)


@pytest.mark.parametrize(
    "call,sentence",
    [
        (lambda: MultiHeadAttention(10, 3), "n_heads must divide d_model 10; got 3"),
        (lambda: MultiHeadAttention(12, 4, n_kv_heads=3), "n_kv_heads must divide n_heads 4; got 3"),
        (lambda: MultiHeadAttention(12, 4, rotary_base=10.0), "even head width; got 3"),
        (lambda: attention(draw(2, 3), draw(2, 4), draw(2, 4)), "equally wide; got 3 and 4"),
        (lambda: attention(draw(2, 3), draw(2, 3), draw(4, 4)), "got 2 keys and 4 values"),
        (lambda: window_mask(3, 0), "window must be at least 1; got 0"),
    ],
)
def test_bad_sizes_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
