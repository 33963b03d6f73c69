"""What is found out about networks, against direct computation."""

import numpy as np
import pytest
import torch
from torch import nn

from margin.neural.diagnostics import (
    activations_of,
    boundary_segments,
    dead_units,
    descend,
    gradient_norms,
    joints,
    layer_moments,
    linear_regions,
    saturated_fraction,
    smallest_curvature,
)
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build


@pytest.fixture
def net():
    return build(lambda: MLP([3, 5, 4, 1]), seed=0, dtype=torch.float64)


@pytest.fixture
def x():
    return torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_activations_are_those_of_the_trace(net, x):
    seen, trace = activations_of(net, x), net.trace(x)
    assert len(seen) == 2
    for ours, theirs in zip(seen, trace.activations[1:]):
        torch.testing.assert_close(ours, theirs.detach())
    means, deviations = layer_moments(net, x)
    torch.testing.assert_close(means, torch.stack([f.mean() for f in trace.pre_activations]).detach())
    torch.testing.assert_close(deviations, torch.stack([f.std(correction=0) for f in trace.pre_activations]).detach())


def test_dead_units_of_a_second_layer(net, x):
    with torch.no_grad():
        net.linears[1].bias[2] = -1e3
    assert (1, 2) in dead_units(net, x)


def test_saturated_fraction_counts_both_ends():
    model, x = nn.Sequential(nn.Sigmoid()), torch.tensor([[-9.0, 0.0, 9.0, 1.0]])
    assert saturated_fraction(model, x) == 0.5


def test_gradient_norms_are_those_of_backward(net, x):
    norms = gradient_norms(net, lambda: net(x).square().mean())
    net(x).square().mean().backward()
    torch.testing.assert_close(norms, torch.stack([layer.weight.grad.norm() for layer in net.linears]))


def test_descend_stops_when_the_objective_is_not_finite():
    w = nn.Parameter(torch.tensor(1.0))
    values = descend([w], lambda: (w**4).sum(), steps=100, rate=10.0)
    assert len(values) < 100
    assert not np.isfinite(values[-1])


def test_smallest_curvature_of_a_saddle():
    axis = torch.linspace(-1, 1, 3, dtype=torch.float64)
    assert smallest_curvature(lambda w: w[0] ** 2 - 3 * w[1] ** 2, axis, axis) == pytest.approx(-6)


def test_cells_tile_the_box_and_carry_the_function():
    rng = np.random.default_rng(0)
    w, b, phi = rng.normal(size=(6, 2)), rng.normal(size=6), rng.normal(size=6)
    cells = linear_regions(w, b, phi, 0.3, (-2, 2, -1, 3))
    area = 0.0
    for corners, gradient, constant in cells:
        x, y = corners.T
        area += 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
        inside = corners.mean(axis=0)
        assert inside @ gradient + constant == pytest.approx(phi @ np.maximum(w @ inside + b, 0) + 0.3)
    assert area == pytest.approx(16)
    for segment in boundary_segments(cells):
        for t in (0.0, 0.3, 1.0):
            at = segment[0] + t * (segment[1] - segment[0])
            assert phi @ np.maximum(w @ at + b, 0) + 0.3 == pytest.approx(0, abs=1e-10)


def test_units_without_effect_have_no_joint():
    assert len(joints(np.array([1.0, 1.0]), np.array([1.0, 2.0]), np.array([1.0, 0.0]))) == 1
