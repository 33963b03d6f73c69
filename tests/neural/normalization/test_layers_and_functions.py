"""The layers that networks run are the functions as they are written: values and gradients, odd shapes, extremes."""

import pytest
import torch

from margin.neural import normalization as norm
from margin.neural.losses.regression import mse_loss, sse
from margin.neural.normalization.functions import BatchStatistics


def drawn(*shape, scale=1.0):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float64)
    return (scale * x + 3).requires_grad_()


def scaled(layer):
    generator = torch.Generator().manual_seed(9)
    layer = layer.double()
    for p in layer.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64)
    return layer


def assert_one_function(layer, written, x):
    inputs = [x, *layer.parameters()]
    weights = torch.linspace(-1, 2, x.numel(), dtype=torch.float64).reshape(x.shape)
    ours, theirs = layer(x), written(x)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    slopes = [torch.autograd.grad((y * weights).sum(), inputs) for y in (ours, theirs)]
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-8)


SCALES = pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])


@SCALES
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(scale, training):
    layer = scaled(norm.BatchNorm(3)).train(training)
    running = BatchStatistics(layer.running_mean.clone(), layer.running_var.clone())

    def written(x):
        return norm.batch_norm(x, running, layer.weight, layer.bias, training)[0]

    assert_one_function(layer, written, drawn(5, 3, 2, scale=scale))


@SCALES
def test_layer_norm(scale):
    layer = scaled(norm.LayerNorm(7))
    assert_one_function(layer, lambda x: norm.layer_norm(x, [7], layer.weight, layer.bias), drawn(3, 2, 7, scale=scale))


@SCALES
def test_rms_norm(scale):
    layer = scaled(norm.RMSNorm(7))
    assert_one_function(layer, lambda x: norm.rms_norm(x, layer.weight), drawn(3, 7, scale=scale))


@SCALES
def test_instance_norm(scale):
    layer = scaled(norm.InstanceNorm(3))
    x = drawn(2, 3, 5, 4, scale=scale)
    assert_one_function(layer, lambda x: norm.instance_norm(x, layer.weight, layer.bias), x)


@SCALES
def test_group_norm(scale):
    layer = scaled(norm.GroupNorm(2, 6))
    x = drawn(2, 6, 5, scale=scale)
    assert_one_function(layer, lambda x: norm.group_norm(x, 2, layer.weight, layer.bias), x)


def test_squared_errors_are_summed_or_averaged():
    x, y = drawn(4, 3), drawn(4, 3, 1)[:, :, 0].detach()
    torch.testing.assert_close(sse(x, y), 12 * mse_loss(x, y))
    slopes = [torch.autograd.grad(loss, x)[0] for loss in (sse(x, y), 12 * mse_loss(x, y))]
    torch.testing.assert_close(*slopes)
