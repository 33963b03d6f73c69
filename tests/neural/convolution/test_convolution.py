"""The equations equal torch's and SciPy's, forward and backward, for every combination of options."""

import itertools

import numpy as np
import pytest
import scipy.signal
import torch
from torch.nn import functional

from margin.neural import convolution as conv

RNG = np.random.default_rng(5)
SETTINGS = list(itertools.product((1, 2, 3), (0, 1, 2), (1, 2)))


def tensors(*arrays):
    return [torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]


@pytest.mark.parametrize(("stride", "padding", "dilation"), SETTINGS)
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_equals_torch(stride, padding, dilation, groups):
    x, w, b = RNG.normal(size=(2, 4, 9, 8)), RNG.normal(size=(6, 4 // groups, 3, 2)), RNG.normal(size=6)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    expected = functional.conv2d(*tensors(x, w, b), **options).numpy()
    np.testing.assert_allclose(conv.conv2d(x, w, b, **options), expected, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding", "dilation"), SETTINGS)
def test_gradients_equal_torch(stride, padding, dilation):
    x, w, b = RNG.normal(size=(2, 3, 9, 8)), RNG.normal(size=(4, 3, 3, 2)), RNG.normal(size=4)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    leaves = [t.requires_grad_() for t in tensors(x, w, b)]
    out = functional.conv2d(*leaves, **options)
    delta = RNG.normal(size=tuple(out.shape))
    expected = torch.autograd.grad(out, leaves, torch.from_numpy(delta))
    for ours, theirs in zip(conv.conv_backward(delta, x, w, **options), expected):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("mode", ["zeros", "circular", "reflect", "replicate"])
def test_padding_modes_equal_torch(mode):
    x, w = RNG.normal(size=(1, 2, 6, 7)), RNG.normal(size=(3, 2, 3, 5))
    layer = torch.nn.Conv2d(2, 3, (3, 5), padding="same", padding_mode=mode, bias=False).double()
    layer.weight.data = torch.from_numpy(w)
    ours = conv.conv2d(x, w, padding="same", padding_mode=mode)
    np.testing.assert_allclose(ours, layer(torch.from_numpy(x)).detach(), atol=1e-12)


def test_same_padding_of_an_even_kernel_equals_torch():
    x, w = RNG.normal(size=(1, 1, 9)), RNG.normal(size=(1, 1, 4))
    expected = functional.conv1d(*tensors(x, w), padding="same").numpy()
    np.testing.assert_allclose(conv.conv1d(x, w, padding="same"), expected, atol=1e-13)


@pytest.mark.parametrize(("stride", "padding", "dilation"), SETTINGS)
def test_transposed_convolution_equals_torch(stride, padding, dilation):
    x, w, b = RNG.normal(size=(2, 3, 5, 4)), RNG.normal(size=(3, 2, 4, 3)), RNG.normal(size=2)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": min(1, stride - 1)}
    expected = functional.conv_transpose2d(*tensors(x, w, b), **options).numpy()
    np.testing.assert_allclose(conv.conv_transpose(x, w, b, **options), expected, atol=1e-12)


def test_convolve_equals_scipy():
    image, kernel = RNG.normal(size=(7, 9)), RNG.normal(size=(3, 4))
    ours = conv.convolve(image[None, None], kernel[None, None])[0, 0]
    np.testing.assert_allclose(ours, scipy.signal.convolve2d(image, kernel, mode="valid"), atol=1e-12)


@pytest.mark.parametrize(("window", "stride", "padding"), [(2, 2, 0), (3, 2, 1), (3, 1, 0), ((2, 3), (2, 1), (1, 1))])
def test_pooling_equals_torch_forward_and_backward(window, stride, padding):
    x = RNG.normal(size=(2, 3, 7, 8))
    leaf = torch.from_numpy(x).requires_grad_()
    values, indices = functional.max_pool2d(leaf, window, stride, padding, return_indices=True)
    ours = conv.pool(x, window, stride, padding)
    np.testing.assert_array_equal(ours.values, values.detach())
    np.testing.assert_array_equal(ours.indices, indices)
    mean = functional.avg_pool2d(leaf, window, stride, padding)
    np.testing.assert_allclose(conv.pool(x, window, stride, padding, "mean").values, mean.detach(), atol=1e-14)
    delta = RNG.normal(size=tuple(values.shape))
    for kind, out in (("max", values), ("mean", mean)):
        (expected,) = torch.autograd.grad(out, leaf, torch.from_numpy(delta))
        np.testing.assert_allclose(conv.pool_backward(delta, x, window, stride, padding, kind), expected, atol=1e-13)
    lowest = conv.pool(x, window, stride, padding, "min")
    np.testing.assert_array_equal(lowest.values, -conv.pool(-x, window, stride, padding).values)
    np.testing.assert_array_equal(lowest.indices, conv.pool(-x, window, stride, padding).indices)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("scale", [2, 3, 1.5, 0.7])
def test_resize_equals_torch(mode, scale):
    x = RNG.normal(size=(2, 3, 6, 9))
    expected = functional.interpolate(torch.from_numpy(x), scale_factor=scale, mode=mode).numpy()
    np.testing.assert_allclose(conv.resize(x, scale, mode), expected, atol=1e-13)


def test_unpooling_equals_torch():
    x = torch.from_numpy(RNG.normal(size=(2, 3, 6, 8)))
    values, indices = functional.max_pool2d(x, 2, return_indices=True)
    ours = conv.max_unpool(values.numpy(), indices.numpy(), (6, 8))
    np.testing.assert_array_equal(ours, functional.max_unpool2d(values, indices, 2).numpy())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: conv.conv2d(np.ones((1, 2, 5, 5)), np.ones((4, 3, 3, 3))), r"x must have shape \(N, 3, \*space\)"),
        (lambda: conv.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3))), "which the kernel covers"),
        (lambda: conv.conv2d(np.ones((1, 1, 5)), np.ones((1, 1, 3))), "weight must have 4 axes"),
        (lambda: conv.conv1d(np.ones((1, 1, 5)), np.ones((1, 1, 3)), stride=0), "must be at least 1"),
        (lambda: conv.conv1d(np.ones((1, 1, 5)), np.ones((1, 1, 3)), padding="half"), "'valid', 'same' or numbers"),
        (lambda: conv.conv1d(np.ones((1, 1, 5)), np.ones((1, 1, 3)), padding="same", stride=2), "needs stride 1"),
        (lambda: conv.pool(np.ones((1, 1, 4, 4)), 2, kind="median"), "max, min, mean; got 'median'"),
        (lambda: conv.upsample(np.ones((1, 1, 4, 4)), "unpool", 2), "with indices for 'unpool'"),
        (lambda: conv.conv_output_size(3, 5), "does not fit into 3"),
        (lambda: conv.deconvolve(np.ones((4, 4)), np.ones((2, 2))), "noise_power must be above 0"),
    ],
)
def test_errors_are_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
