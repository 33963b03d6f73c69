"""Layers against torch's, and their refusals."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from margin.neural.layers import (
    Dense,
    PixelMLP,
    Residual,
    adaptive_avg_pool2d,
    collapse_linear,
    conv_parameters,
    count_values,
    dense,
    dense_backward,
)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_dense_forward_and_backward():
    a, W, b, delta = draw(6, 3), draw(4, 3, seed=1), draw(4, seed=2), draw(6, 4, seed=3)
    torch.testing.assert_close(dense(a, W, b), F.linear(a, W, b))
    leaves = [t.clone().requires_grad_() for t in (a, W, b)]
    for ours, theirs in zip(dense_backward(delta, a, W), torch.autograd.grad(F.linear(*leaves), leaves, delta)):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 4), (7, 5), (9, 11)])
def test_adaptive_pooling_forward_and_backward(size):
    x = draw(2, 3, 7, 9).requires_grad_()
    ours, theirs = adaptive_avg_pool2d(x, size), F.adaptive_avg_pool2d(x, size)
    torch.testing.assert_close(ours, theirs)
    outer = draw(*theirs.shape, seed=1)
    torch.testing.assert_close(*(torch.autograd.grad(y, x, outer)[0] for y in (ours, theirs)))


@pytest.mark.parametrize("kernel", [(3,), (3, 5), (2, 3, 4)])
def test_convolutions_of_any_dimension_are_counted(kernel):
    layer = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[len(kernel) - 1](4, 6, kernel)
    assert count_values(layer) == (conv_parameters(4, 6, kernel), 0)


def test_collapse_refuses_what_is_not_linear():
    with pytest.raises(ValueError, match="linear and identity layers only; got a ReLU"):
        collapse_linear(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    with pytest.raises(ValueError, match="at least one linear layer"):
        collapse_linear(nn.Identity())
    W, b = collapse_linear(nn.Linear(2, 3, bias=False))
    assert b.tolist() == [0, 0, 0]
    assert W.shape == (3, 2)


def test_bad_input():
    with pytest.raises(ValueError, match="must keep the shape"):
        Residual(nn.Linear(3, 2))(torch.zeros(1, 3))
    with pytest.raises(ValueError, match="n_dim 1, 2 or 3"):
        PixelMLP(1, 1, 1, n_dim=4)
    with pytest.raises(ValueError, match="output_size be positive"):
        adaptive_avg_pool2d(torch.zeros(1, 1, 2, 2), (0, 1))
    with pytest.raises(ValueError, match="name must be one of"):
        Dense(1, 1, activation="none")
