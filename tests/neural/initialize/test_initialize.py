"""Initializers: moments, torch's formulas, explicit generators."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from margin.neural.initialize import (
    INITIALIZERS,
    fans,
    he_,
    he_variance,
    initialize_,
    normal_,
    orthogonal_,
    signal_through_depth,
    xavier_,
)
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build


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


@pytest.mark.parametrize("shape", [(3, 5), (7, 2), (4, 3, 2, 2), (1, 1)], ids=str)
def test_orthogonal_rows_or_columns(shape):
    w = orthogonal_(torch.empty(*shape, dtype=torch.float64), generator=generator(), gain=1.5).flatten(1)
    n_out, n_in = w.shape
    gram = w @ w.T if n_out <= n_in else w.T @ w
    torch.testing.assert_close(gram, 2.25 * torch.eye(min(n_out, n_in)).double(), rtol=1e-12, atol=1e-12)
    theirs = nn.init.orthogonal_(torch.empty(*shape, dtype=torch.float64), 1.5, generator=generator()).flatten(1)
    if n_out >= n_in:  # theirs are drawn in the other order otherwise
        torch.testing.assert_close(w, theirs)


@pytest.mark.parametrize("a", [0.0, 0.2])
def test_leaky_units(a):
    ours, theirs = (torch.empty(30, 20) for _ in range(2))
    he_(ours, generator=generator(), slope=a)
    nn.init.kaiming_normal_(theirs, a=a, generator=generator())
    torch.testing.assert_close(ours, theirs)


EXPECTED = {
    "he_normal": lambda i, o: 2 / i,
    "he_uniform": lambda i, o: 2 / i,
    "xavier_normal": lambda i, o: 2 / (i + o),
    "xavier_uniform": lambda i, o: 2 / (i + o),
    "lecun_normal": lambda i, o: 1 / i,
    "lecun_uniform": lambda i, o: 1 / i,
    "orthogonal": lambda i, o: 1 / max(i, o),
    "normal": lambda i, o: 0.02**2,
    "zeros": lambda i, o: 0.0,
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_the_variance_of_every_initializer(name):
    torch.manual_seed(0)
    w = INITIALIZERS[name]()(torch.empty(300, 500))
    assert float(w.square().mean()) == pytest.approx(EXPECTED[name](500, 300), rel=0.02)
    if name.endswith("uniform"):
        assert float(w.abs().max()) <= (3 * EXPECTED[name](500, 300)) ** 0.5 * (1 + 1e-6)


@pytest.mark.parametrize("fan", [1, 3, 7, 100, 784])
def test_the_perceptrons_start_is_that_of_the_cited_schemes(fan):
    """The weights that an MLP draws are those of he_ and xavier_, and the same that torch's own functions draw."""
    sizes = [fan, 20, 3]
    net = build(lambda: MLP(sizes), 5)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        linears = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        for linear in linears:
            nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.xavier_normal_(linears[-1].weight)
    for ours, theirs in zip(net.linears, linears, strict=True):
        assert torch.equal(ours.weight, theirs.weight)
        assert torch.equal(ours.bias, theirs.bias)
