"""Claims about positions: codes that are added, biases of the scores, and rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.transformer.attention import draw, gap, heads


def decoder(seed: int, position: str, **options: Any) -> Any:
    import torch

    from margin.neural.attention import TransformerConfig
    from margin.neural.attention.decoder import DecoderTransformer
    from margin.neural.weights import build

    config = TransformerConfig(
        **{"d_model": 16, "n_heads": 2, "n_blocks": 2, "context": 8, **options}, position=position
    )
    return build(lambda: DecoderTransformer(7, config), seed, torch.float64)


@claim("positional-encoding-additive")
def added_positions_are_distinct_and_make_order_count(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import TransformerBlock, TransformerConfig, sinusoidal
    from margin.neural.weights import build

    codes = sinusoidal(64, 16)
    learned = decoder(seed, "learned").embedding.positions.weight.detach()
    apart = [float((torch.cdist(c, c) + 10 * torch.eye(len(c), dtype=c.dtype)).min()) for c in (codes, learned)]
    block = build(lambda: TransformerBlock(TransformerConfig(16, 2, position="none")), seed, torch.float64)
    x, order = draw(seed, 1, 6, 16), torch.tensor([2, 0, 1, 5, 4, 3])
    named = decoder(seed, "sinusoidal")
    ids = torch.tensor([[1, 2, 3, 4]])
    return every(
        sinusoids_distinct=above(apart[0], 0.1),
        learned_distinct=above(apart[1], 0.01),
        no_positions_no_order=below(gap(block(x[:, order]), block(x)[:, order]), 1e-12),
        order_counts=above(gap(block((x + codes[:6])[:, order]), block(x[:, order] + codes[:6])), 1e-3),
        sum=near(
            named.embedding(ids)[0].detach().numpy(),
            (named.embedding.tokens(ids)[0] * 4 + sinusoidal(4, 16)).detach().numpy(),
            tolerance=1e-12,
        ),
    )


@claim("claim-position-index-unbounded")
def the_raw_index_grows_past_any_embedding(seed: int) -> Verdict:
    from margin.neural.attention import sinusoidal
    from margin.neural.attention.positions import index_positions

    size = float(draw(seed, 64).norm())
    raw, waves = index_positions(1001, 64).norm(dim=1), sinusoidal(1001, 64).norm(dim=1)
    return every(
        grows_linearly=near(float(raw[1000] / raw[10]), 100.0, tolerance=1e-9),
        overwhelms=above(float(raw[1000]) / size, 500.0),
        sinusoids_do_not=near(float(waves[1000] / waves[10]), 1.0, tolerance=1e-12),
    )


@claim("claim-position-relative-index")
def the_index_over_the_length_says_two_things_at_once() -> Verdict:
    from margin.neural.attention.positions import fraction_positions

    notes = atlas.row("claim-position-relative-index").values
    short, long, printed = (fraction_positions(notes[n], 1)[:, 0] for n in ("short", "long", "printed"))
    truth = every(
        same_index_differs=above(abs(float(short[2] - long[2])), 0.1),
        third_of_five=equal(float(short[2]), 0.5),
        eleventh_of_21=equal(float(long[10]), 0.5),
    )
    return corrected(truth, eleventh_of_20=near(float(printed[10]), 0.5, tolerance=1e-9))


@claim("claim-position-binary-jumps")
def binary_codes_jump_by_the_root_of_the_flipped_bits() -> Verdict:
    from margin.neural.attention.positions import binary_positions

    notes = atlas.row("claim-position-binary-jumps").values
    codes = binary_positions(2**11, 11)
    steps = (codes[1:] - codes[:-1]).norm(dim=1).numpy()
    return every(
        steps=near(steps[[2**b - 1 for b in range(11)]], np.sqrt(np.arange(1, 12)), tolerance=1e-12),
        at_1023=near(float(steps[1023]), notes["step"], tolerance=5e-5),
    )


@claim("sinusoidal-positional-encoding")
def sine_and_cosine_pairs_make_distances_readable() -> Verdict:
    from margin.neural.attention import sinusoidal
    from margin.neural.attention.positions import shift_matrix, sine_only_product

    notes = atlas.row("sinusoidal-positional-encoding").values
    P = sinusoidal(500, 64)
    norms, steps = P.norm(dim=1), (P[1:] - P[:-1]).norm(dim=1)
    products = (P[:-7] * P[7:]).sum(dim=1)
    sines = [sine_only_product(n, 3, (4, 8, 16, 32)) for n in notes["positions"]]
    pairs = sum(math.cos(2 * math.pi * 3 / length) for length in (4, 8, 16, 32))
    truth = every(
        norm=near(norms.numpy(), np.full(500, math.sqrt(32)), tolerance=1e-12),
        printed_norm=near(float(norms[0]), notes["norm"], tolerance=5e-4),
        step=near(steps.numpy(), np.full(499, notes["step"]), tolerance=5e-5),
        product_by_distance=below(float(products.max() - products.min()), 1e-11),
        shift_is_linear=below(gap(P[:-7] @ shift_matrix(7, 64), P[7:]), 1e-11),
        pairs=near(pairs, notes["pairs"], tolerance=1e-3),
    )
    return corrected(truth, sines_alone=below(max(sines) - min(sines), 1e-3))


@claim("learned-positional-encoding")
def learned_positions_have_gradients_and_an_end(seed: int) -> Verdict:
    import torch

    from margin.neural.nets.language_nets import gpt2_small

    notes = atlas.row("learned-positional-encoding").values
    model = decoder(seed, "learned")
    model(torch.arange(8)[None] % 7).square().sum().backward()
    gradient = model.embedding.positions.weight.grad
    positions: Any = gpt2_small().embedding.positions
    shape = tuple(positions.weight.shape)
    return every(
        parameters=equal(tuple(gradient.shape), (8, 16)),
        every_position_learns=above(float(gradient.abs().sum(dim=1).min()), 0.0),
        gpt2=equal(shape, (notes["context"], notes["width"])),
        longer_is_refused=raises(
            ValueError, lambda: model(torch.zeros(1, 9, dtype=torch.int64)), match="there are 8 positions; got 9"
        ),
    )


@claim("relative-positional-encoding")
def a_bias_by_distance_is_blind_to_shifts(seed: int) -> Verdict:
    import torch

    from margin.neural.attention import RelativeBias, attention, relative_bias

    N, table = 7, draw(seed, 13)
    bias = relative_bias(table, N).numpy()
    diagonals = max(float(np.ptp(np.diagonal(bias, k))) for k in range(1 - N, N))
    layer = heads(seed, 8, 2)
    x = draw(seed, 1, 5, 8)
    unshifted = layer.attend(x, bias=relative_bias(table, 5)).output
    # The same tokens later in a longer sequence whose other tokens are masked: only distances are left.
    padded = torch.cat([draw(seed + 1, 1, 2, 8), x], dim=1)
    mask = torch.tensor([False] * 2 + [True] * 5)
    shifted = layer.attend(padded, bias=relative_bias(table, 7), mask=mask).output[:, 2:]
    q, k, v = (draw(seed + i, 5, 4) for i in range(3))
    printed = torch.softmax((q @ k.T + relative_bias(table, 5)) / 2, dim=-1) @ v
    return every(
        constant_on_diagonals=equal(diagonals, 0.0),
        shift=below(gap(unshifted, shifted), 1e-12),
        parameters=equal(sum(p.numel() for p in RelativeBias(1, N).parameters()), 2 * N - 1),
        inside_the_scale=below(gap(printed, attention(q, k, v, bias=relative_bias(table, 5) / 2).output), 1e-12),
    )


@claim("rope")
def rotations_keep_norms_and_see_only_distances(seed: int) -> Verdict:
    from margin.neural.attention import rotary, rotary_angles

    q, k = draw(seed, 1, 16), draw(seed + 1, 1, 16)
    turned = lambda x, m: rotary(x, rotary_angles(1, 16, start=m))[0]  # noqa: E731
    products = [float(turned(q, m) @ turned(k, m + 5)) for m in (0, 1, 40, 1000)]
    layer = heads(seed, 8, 2, rotary_base=100.0)
    x = draw(seed, 1, 4, 8)
    return every(
        norm=near(float(turned(q, 123).norm()), float(q.norm()), tolerance=1e-12),
        distance_alone=below(max(products) - min(products), 1e-10),
        other_distance=above(abs(float(turned(q, 0) @ turned(k, 6)) - products[0]), 1e-6),
        order_counts=above(gap(layer(x.flip(1)), layer(x).flip(1)), 1e-6),
    )
