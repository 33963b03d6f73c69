"""Layers by name, maxout and the step; the probes that describe an activation."""

import pytest
import torch
from torch import nn

from margin.neural.activations import (
    ACTIVATIONS,
    TABLE,
    BinaryStep,
    Maxout,
    Sine,
    activation_layer,
    activation_table,
    smoothness,
)

ALIASES = {"logistic": "sigmoid"}  # scikit-learn's name


def test_layers_compute_the_functions_of_the_table():
    x = torch.linspace(-5, 5, 41, dtype=torch.float64)
    functions = {line.name: line.function for line in TABLE}
    for name in ACTIVATIONS:
        torch.testing.assert_close(activation_layer(name)(x), functions[ALIASES.get(name, name)](x))
    torch.testing.assert_close(BinaryStep()(x), functions["binary_step"](x))
    torch.testing.assert_close(Sine()(x), functions["sine"](x))


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


def test_table_names_every_layer():
    assert set(ACTIVATIONS) - set(ALIASES) <= {row["name"] for row in activation_table()}
