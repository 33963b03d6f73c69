"""Positional codes against their formulas and laws."""

import pytest
import torch

from margin.neural.attention import (
    LearnedPositions,
    alibi_bias,
    alibi_slopes,
    relative_bias,
    rotary,
    rotary_angles,
    sinusoidal,
)  # fmt: skip
from margin.neural.attention.positions import SinusoidalPositions, binary_positions, fraction_positions, shift_matrix


def test_sinusoids_are_the_formula():
    P = sinusoidal(20, 6)
    for k in range(20):
        for i in range(3):
            angle = torch.tensor(k / 10000 ** (2 * i / 6), dtype=torch.float64)
            torch.testing.assert_close(P[k, 2 * i : 2 * i + 2], torch.stack([angle.sin(), angle.cos()]))
    assert torch.equal(sinusoidal(5, 6, start=7), P[7:12])


def test_products_depend_on_the_distance_alone_and_shifts_are_linear():
    P = sinusoidal(300, 64)
    for shift in (1, 17):
        products = (P[:-shift] * P[shift:]).sum(dim=1)
        assert products.max() - products.min() < 1e-11
        torch.testing.assert_close(P[:-shift] @ shift_matrix(shift, 64), P[shift:], rtol=0, atol=1e-11)
    torch.testing.assert_close(P.norm(dim=1), torch.full((300,), 32.0, dtype=torch.float64).sqrt())


def test_a_rotation_is_a_complex_product():
    x = torch.randn(3, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    cos, sin = rotary_angles(9, 8, start=4)
    turned = torch.complex(x[..., :4], x[..., 4:]) * torch.complex(cos, sin)
    torch.testing.assert_close(rotary(x, (cos, sin)), torch.cat([turned.real, turned.imag], dim=-1))


def test_rotated_products_depend_on_the_distance_alone():
    generator = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 1, 8, dtype=torch.float64, generator=generator)
    turned = lambda x, m: rotary(x, rotary_angles(1, 8, start=m))[0]  # noqa: E731
    near = [float(turned(q, m) @ turned(k, m + 3)) for m in (0, 5, 1000)]
    assert max(near) - min(near) < 1e-10
    assert abs(float(turned(q, 0) @ turned(k, 4)) - near[0]) > 1e-3


def test_relative_biases_are_toeplitz_and_the_last_rows_of_a_cache():
    table = torch.arange(13.0)
    whole = relative_bias(table, 7)
    for i in range(7):
        for j in range(7):
            assert whole[i, j] == table[i - j + 6]
    assert torch.equal(relative_bias(table, 2, 7), whole[-2:])
    with pytest.raises(ValueError, match="reaches 6 positions away; got 8 keys"):
        relative_bias(table, 8)


def test_alibi_slopes_are_the_published_ones():
    assert alibi_slopes(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert len(set(alibi_slopes(12).tolist())) == 12
    assert torch.equal(alibi_slopes(12)[:8], alibi_slopes(8))
    torch.testing.assert_close(alibi_slopes(12)[8:], alibi_slopes(16)[::2][:4])
    assert torch.equal(alibi_bias(2, 1, 4), alibi_bias(2, 4)[:, -1:])


def test_learned_positions_end_at_the_context():
    layer = LearnedPositions(4, 3)
    assert torch.equal(layer(2, 2, layer.weight), layer.weight[2:])
    with pytest.raises(ValueError, match="there are 4 positions; got 5"):
        layer(2, 3, layer.weight)


def test_binary_digits_and_fractions():
    for k, row in enumerate(binary_positions(8, 3).tolist()):
        assert sum(int(bit) << i for i, bit in enumerate(row)) == k
    assert fraction_positions(5, 1)[2, 0] == fraction_positions(21, 1)[10, 0] == 0.5
    with pytest.raises(ValueError, match="2 digits write 4 positions; got 5"):
        binary_positions(5, 2)


def test_an_odd_width_has_no_pairs():
    with pytest.raises(ValueError, match="even and at least 2; got 5"):
        SinusoidalPositions(5)
