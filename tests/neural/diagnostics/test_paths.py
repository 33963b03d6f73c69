"""Shattering, paths, influence and tables of layers."""

import numpy as np
import pytest
import torch
from torch import nn

from margin.data.batching import collate
from margin.neural import MLP
from margin.neural.diagnostics import (
    autocorrelation,
    gradient_curve,
    parameter_influence,
    path_outputs,
    residual_paths,
    roughness,
)
from margin.neural.layers.dropout import thinned_masks
from margin.neural.nets.ensemble import MLPEnsemble
from margin.neural.summary import layer_table, network_diagram
from margin.neural.weights import build, count_parameters


def test_the_gradient_curve_is_a_difference_quotient():
    net = build(lambda: MLP([1, 8, 8, 1], "tanh"), 0, torch.float64)
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    h = 1e-6
    with torch.no_grad():
        expected = (net(x[:, None] + h) - net(x[:, None] - h))[:, 0] / (2 * h)
    np.testing.assert_allclose(gradient_curve(net, x), expected.numpy(), atol=1e-8)


def test_white_noise_is_rough_and_uncorrelated():
    noise = np.random.default_rng(0).normal(size=20_000)
    assert roughness(noise) == pytest.approx(2.0, rel=0.05)
    assert autocorrelation(noise, 3)[0] == 1.0
    np.testing.assert_allclose(autocorrelation(noise, 3)[1:], 0.0, atol=0.05)


def test_paths_add_up_to_the_product():
    rng = np.random.default_rng(0)
    blocks, x = [rng.normal(size=(3, 3)) for _ in range(4)], rng.normal(size=3)
    h = x
    for block in blocks:
        h = h + block @ h
    np.testing.assert_allclose(sum(path_outputs(blocks, x).values()), h, rtol=1e-12)
    assert len(set(residual_paths(5))) == 32


def test_influence_is_zero_before_the_change():
    net = build(lambda: MLP([2, 3, 3, 1], "tanh"), 0, torch.float64)
    told = parameter_influence(net, "linears.2.weight", (0, 1), torch.ones(4, 2, dtype=torch.float64))
    assert [float(part.moved.abs().max()) for part in told[:3]] == [0.0, 0.0, 0.0]
    torch.testing.assert_close(told[3].moved, told[3].predicted, rtol=1e-6, atol=1e-12)


def test_tables_count_every_parameter_once():
    layer = nn.Linear(4, 4)
    shared = nn.Sequential(nn.Linear(3, 4), layer, nn.ReLU(), layer)
    lines = layer_table(shared, torch.zeros(2, 3))
    assert sum(line.parameters for line in lines) == count_parameters(shared)
    assert [line.kind for line in lines] == ["Linear", "Linear", "ReLU", "Linear"]
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    told = layer_table(attention, torch.zeros(2, 5, 8))
    assert sum(line.parameters for line in told) == count_parameters(attention)


def test_a_diagram_has_an_edge_per_weight():
    net = MLP([3, 4, 2, 3, 2])
    diagram = network_diagram(net.sizes)
    assert len(diagram.edges) == sum(layer.weight.numel() for layer in net.linears)
    assert len(diagram.biases) == 4


def test_examples_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="all of one shape"):
        collate([np.zeros(2), np.zeros(3)])
    with pytest.raises(ValueError, match="at least one"):
        collate([])


def test_members_of_an_ensemble_are_single_perceptrons():
    ensemble = build(lambda: MLPEnsemble(3, [2, 5, 4, 1], "tanh"), 0, torch.float64)
    x = torch.randn(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for m in range(3):
        single = MLP([2, 5, 4, 1], "tanh").double()
        with torch.no_grad():
            for k, layer in enumerate(single.linears):
                layer.weight.copy_(ensemble.weights[k][m].T)
                layer.bias.copy_(ensemble.biases[k][m, 0])
        torch.testing.assert_close(ensemble(x)[m], single(x))
    with pytest.raises(ValueError, match="at least one member"):
        MLPEnsemble(0, [1, 1])


def test_masks_are_all_different():
    assert len(torch.unique(thinned_masks(6), dim=0)) == 64
    with pytest.raises(ValueError, match="n_units must be from 1 to 20"):
        thinned_masks(30)
