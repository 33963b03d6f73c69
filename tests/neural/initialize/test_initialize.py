"""Initializers: moments, torch's formulas, explicit generators."""

import math

import pytest
import torch
from torch import nn

from margin.neural.initialize import fans, he_, he_variance, initialize_, normal_, signal_through_depth, xavier_


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("shape", [(6, 4), (8, 3, 5), (8, 3, 5, 7), (2, 3, 2, 2, 2)])
def test_fans_are_torchs(shape):
    weight = torch.empty(shape)
    assert fans(weight) == nn.init._calculate_fan_in_and_fan_out(weight)


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
@pytest.mark.parametrize("shape", [(300, 200), (40, 30, 5, 5)])
def test_variances_are_those_of_torchs_initializers(distribution, shape):
    ours, theirs = torch.empty(shape), torch.empty(shape)
    xavier_(ours, generator=generator(), distribution=distribution)
    {"normal": nn.init.xavier_normal_, "uniform": nn.init.xavier_uniform_}[distribution](theirs, generator=generator(1))
    assert ours.var().item() == pytest.approx(theirs.var().item(), rel=0.05)
    assert abs(ours.mean().item()) < 0.05 * ours.std().item()
    for mode in ("in", "out"):
        he_(ours, generator=generator(), mode=mode, distribution=distribution)
        fill = {"normal": nn.init.kaiming_normal_, "uniform": nn.init.kaiming_uniform_}[distribution]
        fill(theirs, mode=f"fan_{mode}", nonlinearity="relu", generator=generator(1))
        assert ours.var().item() == pytest.approx(theirs.var().item(), rel=0.05)


def test_same_generator_same_weights_and_the_global_one_is_left_alone():
    before = torch.get_rng_state()
    a, b = (he_(torch.empty(3, 4), generator=generator(5)) for _ in range(2))
    assert torch.equal(a, b)
    assert torch.equal(before, torch.get_rng_state())


def test_gain_scales_the_standard_deviation():
    a, b = (xavier_(torch.empty(50, 50), generator=generator(), gain=gain) for gain in (1.0, 3.0))
    torch.testing.assert_close(3 * a, b)


def test_initialize_touches_matrices_and_biases_only():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    initialize_(net, "he", generator=generator(), scale=2.0)
    assert net[0].bias.abs().max() == 0
    assert torch.equal(net[1].weight, torch.ones(4))
    half = initialize_(nn.Linear(3, 4), "he", generator=generator())
    torch.testing.assert_close(net[0].weight, 2 * half.weight)
    assert initialize_(nn.Linear(3, 4), "zeros", generator=generator()).weight.abs().max() == 0


def test_signal_is_that_of_the_layers_written_out():
    x = torch.randn(7, 5, generator=generator(1), dtype=torch.float64)
    g, f = generator(2), x
    for _ in range(3):
        f = torch.relu(f) @ normal_(torch.empty(5, 5, dtype=torch.float64), 0.4, generator=g).T
    signal = signal_through_depth(x, 3, 0.4, generator=generator(2))
    torch.testing.assert_close(signal.forward[-1], f.var())
    torch.testing.assert_close(signal.forward[0], x.var())
    assert len(signal.forward) == len(signal.backward) == 4
    direction = torch.randn(7, 5, generator=g, dtype=torch.float64)
    torch.testing.assert_close(signal.backward[-1], direction.var())


def test_bad_input():
    with pytest.raises(ValueError, match="mode must be 'in', 'out' or 'mean'; got 'fan'"):
        he_variance(3, 4, "fan")
    with pytest.raises(ValueError, match="distribution must be 'normal' or 'uniform'"):
        normal_(torch.empty(2, 2), 1.0, generator=generator(), distribution="cauchy")
    with pytest.raises(ValueError, match=r"shape \(n_out, n_in, ...\)"):
        fans(torch.empty(3))
    with pytest.raises(ValueError, match="scheme must be one of zeros"):
        initialize_(nn.Linear(1, 1), "magic", generator=generator())
    assert math.isclose(he_variance(100, 300, "mean"), 0.01)
