"""Layers by name, maxout and the step; the probes that describe an activation."""

import pytest
import torch
from torch import nn

from margin.neural.activations import (
    ACTIVATIONS,
    ELU,
    LeakyReLU,
    Maxout,
    MaxoutUnits,
    activation_layer,
    activation_table,
    smoothness,
)
from margin.neural.activations.table import COMPETING
from margin.neural.nets.mlp import MLP
from margin.neural.parts import choose, describe

X = torch.cat([torch.linspace(-5.3, 5.1, 41), torch.tensor([-40.0, -0.0, 0.0, 1e-6, 30.0, 700.0])]).double()
OPTIONS = [ELU(0.4), LeakyReLU(0.3), LeakyReLU(0.0), MaxoutUnits(3), MaxoutUnits(1)]
PARTS = [*(make() for make in {**ACTIVATIONS, **COMPETING}.values()), *OPTIONS]


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_layer_equation_and_slope_of_every_activation_are_one_function(part):
    """What runs, as written, and its derivative, on rows of odd shapes."""
    x = X[: len(X) // 6 * 6].view(-1, 6) if part.pieces != 1 else X
    found = []
    for function in (part.layer(), part.function):
        leaf = x.clone().requires_grad_()
        y = function(leaf)
        (gradient,) = torch.autograd.grad(y.sum(), leaf, allow_unused=True)
        found.append((y.detach(), gradient))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-8, atol=1e-10)  # softplus is x itself from 20 on
    away = x.abs() > 1e-9  # at a corner any value between the slopes of the sides is right
    torch.testing.assert_close(part.slope(x)[away], found[1][1][away], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_an_activation_says_its_name_and_comes_back_from_its_description(part):
    table = {**ACTIVATIONS, **COMPETING}
    assert table[part.name] is type(part)
    assert choose("activation", describe("activation", part, table), table) == part


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of relu, .*got 'swish'"):
        activation_layer("swish")


def test_maxout_is_the_largest_affine_map():
    layer = Maxout(3, 4, pieces=5)
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    pieces = torch.stack([x @ layer.linear.weight[k::5].T + layer.linear.bias[k::5] for k in range(5)])
    torch.testing.assert_close(layer(x), pieces.amax(dim=0))
    with pytest.raises(ValueError, match="pieces must be at least 1"):
        Maxout(1, 1, pieces=0)


def test_smoothness_counts_continuous_derivatives():
    powers = {k: smoothness(lambda x, k=k: torch.where(x > 0, x**k, torch.zeros_like(x))) for k in (1, 2, 3)}
    assert powers == {1: 0, 2: 1, 3: 2}
    assert smoothness(nn.ReLU(), at=1.0) == 3
    assert smoothness(lambda x: (x - 0.5).abs(), at=0.5) == 0


def test_the_table_has_the_activations_of_the_notes():
    names = {row["name"] for row in activation_table()}
    assert {
        "identity",
        "binary_step",
        "sigmoid",
        "tanh",
        "relu",
        "softplus",
        "elu",
        "gelu",
        "silu",
        "leaky_relu",
    } <= names
    assert names <= ACTIVATIONS.keys()


def test_units_with_several_inputs_are_no_layer_of_single_ones():
    with pytest.raises(ValueError, match="must be an activation of single units; got MaxoutUnits"):
        activation_layer(MaxoutUnits())


def test_a_perceptron_of_maxout_units():
    net = MLP([3, 4, 2], activation=MaxoutUnits(5))
    assert [tuple(linear.weight.shape) for linear in net.linears] == [(20, 3), (2, 4)]
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    hidden = net.linears[0](x).reshape(7, 4, 5).amax(dim=2)
    torch.testing.assert_close(net(x), net.linears[1](hidden))
