"""Activations against torch's kernels, forward and backward, and against SciPy where torch rounds."""

import math

import numpy as np
import pytest
import torch
from scipy import special
from torch.nn import functional as F

from margin.neural import activations as act
from margin.neural.activations import slopes
from margin.neural.activations.fused import FUSED

PAIRS = {
    "sigmoid": (act.sigmoid, torch.sigmoid),
    "tanh": (act.tanh, torch.tanh),
    "relu": (act.relu, F.relu),
    "leaky_relu": (act.leaky_relu, F.leaky_relu),
    "leaky_relu 0.2": (lambda x: act.leaky_relu(x, 0.2), lambda x: F.leaky_relu(x, 0.2)),
    "softplus": (act.softplus, lambda x: F.softplus(x, threshold=1e9)),
    "elu": (act.elu, F.elu),
    "elu 0.5": (lambda x: act.elu(x, 0.5), lambda x: F.elu(x, 0.5)),
    "gelu": (act.gelu, F.gelu),
    "silu": (act.silu, F.silu),
    "softmax": (act.softmax, lambda x: F.softmax(x, dim=-1)),
    "log_softmax": (act.log_softmax, lambda x: F.log_softmax(x, dim=-1)),
    "logsumexp": (act.logsumexp, lambda x: torch.logsumexp(x, dim=-1)),
}
X = torch.cat([torch.linspace(-12, 12, 97), torch.tensor([0.0, 1e-9, -1e-9])]).double().view(4, 25)


@pytest.mark.parametrize("name", PAIRS)
def test_forward_and_backward_equal_torch(name):
    ours, theirs = PAIRS[name]
    outer = torch.linspace(-1, 1, X.numel(), dtype=torch.float64).view_as(X)
    results = []
    for function in (ours, theirs):
        x = X.clone().requires_grad_()
        y = function(x)
        (gradient,) = torch.autograd.grad(
            (y * outer[..., : y.shape[-1]].view_as(y)).sum() if y.ndim == 2 else y.sum(), x
        )
        results.append((y.detach(), gradient))
    torch.testing.assert_close(*[y for y, _ in results], rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(*[g for _, g in results], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", PAIRS)
def test_single_precision(name):
    ours, theirs = PAIRS[name]
    torch.testing.assert_close(ours(X.float()), theirs(X.float()), rtol=1e-5, atol=1e-6)
    assert ours(X.float()).dtype == torch.float32


@pytest.mark.parametrize("name", PAIRS)
def test_extreme_inputs_are_finite_forward_and_backward(name):
    x = torch.tensor([[-1e4, -1000.0, 0.0, 1000.0, 1e4]], requires_grad=True)
    y = PAIRS[name][0](x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert y.isfinite().all()
    assert gradient.isfinite().all()


def test_sigmoid_keeps_relative_precision_far_below_zero():
    x = np.array([-700.0, -300.0, -40.0])
    np.testing.assert_allclose(act.sigmoid(torch.from_numpy(x)), special.expit(x), rtol=1e-12)


@pytest.mark.parametrize("line", act.TABLE, ids=lambda line: line.name)
def test_written_slopes_are_the_gradients(line):
    x = X[X.abs() > 1e-6].clone().requires_grad_()
    y = line.function(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, allow_unused=True)
    torch.testing.assert_close(line.slope(x.detach()), gradient, rtol=1e-10, atol=1e-12)


def test_slopes_with_options():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64)
    assert slopes.leaky_relu_slope(x, 0.2).tolist() == [0.2, 1.0]
    torch.testing.assert_close(slopes.elu_slope(x, 3.0), torch.tensor([3 * math.exp(-1), 1.0], dtype=torch.float64))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_along_any_axis(dim):
    torch.testing.assert_close(act.softmax(X, dim=dim), torch.softmax(X, dim=dim))
    torch.testing.assert_close(act.log_softmax(X, dim=dim), torch.log_softmax(X, dim=dim))


def test_logsumexp_of_nothing_possible_is_minus_infinity():
    assert act.logsumexp(torch.full((3,), -math.inf)) == -math.inf


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus", "elu", "gelu", "silu", "softmax"])
def test_second_order_gradients(name):
    x = torch.tensor([-2.0, -0.3, 0.4, 1.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(PAIRS[name][0], (x,))


@pytest.mark.parametrize("plain", FUSED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(5,), (3, 1), (2, 4, 3)])
def test_fused_and_plain_are_one_function(plain, shape):
    """Values and gradients, far inputs and ties among them."""
    x = 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x.view(-1)[:3] = torch.tensor([-750.0, 750.0, 750.0], dtype=torch.float64)
    options = {} if plain is act.softplus else {"dim": len(shape) - 1}
    found = []
    for function in (plain, FUSED[plain]):
        leaf = x.clone().requires_grad_()
        y = function(leaf, **options)
        outer = torch.linspace(0.3, 1.7, y.numel(), dtype=torch.float64).view_as(y)
        found.append((y.detach(), torch.autograd.grad((y * outer).sum(), leaf)[0]))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
