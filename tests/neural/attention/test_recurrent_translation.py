"""The recurrent encoder-decoder by a loop over tokens, with the cells from their equations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from margin.neural.attention.config import TransformerConfig
from margin.neural.layers.recurrent import gru_step
from margin.neural.nets.recurrent_translation import RecurrentEncoderDecoder
from margin.neural.weights import build

D, LAYERS = 3, 2


def _steps(x: Tensor, h: Tensor, weights: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """States after every row of ``x``, one row at a time."""
    states = []
    for row in x:
        h = gru_step(row[None], h, weights)
        states.append(h[0])
    return torch.stack(states)


def _weights(layer: torch.nn.Module, suffix: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    w, u, b, c = (getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    return w, u, b, c


def _scores(net: RecurrentEncoderDecoder, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (target, vocabulary) and where each token looks (target, source), of one pair without padding."""
    x, zero = net.source.weight[source] * D**0.5, torch.zeros(1, D, dtype=torch.float64)
    for reader, join in zip(net.readers, net.joins):
        ahead = _steps(x, zero, _weights(reader))
        back = _steps(x.flip(0), zero, _weights(reader, "_reverse")).flip(0)
        x = x + torch.tanh(torch.cat([ahead, back], dim=1) @ join.weight.T + join.bias)
    s = net.target.weight[target] * D**0.5
    for writer, begin in zip(net.writers, net.begins):
        first = torch.tanh(x.mean(dim=0, keepdim=True) @ begin.weight.T + begin.bias)
        s = s + _steps(s, first, _weights(writer))
    looks = torch.stack([torch.exp(x @ (net.query.weight @ state) / D**0.5) for state in s])
    looks = looks / looks.sum(dim=1, keepdim=True)
    mixed = torch.tanh(torch.cat([s, looks @ x], dim=1) @ net.mix.weight.T + net.mix.bias)
    return mixed @ net.target.weight.T, looks


@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_its_equations_token_by_token(seed: int) -> None:
    noise = torch.Generator().manual_seed(seed)
    config = TransformerConfig(d_model=D, n_heads=1, n_blocks=LAYERS)
    net = build(lambda: RecurrentEncoderDecoder(7, 5, config), seed).double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=noise, dtype=parameter.dtype)
        source, target = torch.randint(7, (2, 6), generator=noise), torch.randint(5, (2, 4), generator=noise)
        mask = torch.ones(2, 1, 1, 6, dtype=torch.bool)
        mask[1, ..., 4:] = False
        expected = [_scores(net, source[0], target[0]), _scores(net, source[1, :4], target[1])]
        got, (looks,) = net(source, target, mask), net.alignment(source, target, mask)
        memory, cache = net.encode(source, mask), net.new_cache()
        one_by_one = [net.decode(target[:, [t]], memory, mask, cache)[:, 0] for t in range(4)]
    scores = torch.stack([scores for scores, _ in expected])
    torch.testing.assert_close(got, scores, rtol=0, atol=1e-10)
    torch.testing.assert_close(torch.stack(one_by_one, dim=1), scores, rtol=0, atol=1e-10)
    torch.testing.assert_close(looks[0, 0], expected[0][1], rtol=0, atol=1e-10)
    torch.testing.assert_close(looks[1, 0, :, :4], expected[1][1], rtol=0, atol=1e-10)
    assert (looks[1, 0, :, 4:] == 0).all()  # padding
