"""Claims on the convolution layer: its formula in one and two dimensions, flipped kernels, channels, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
import torch
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.neural.convolution import (
    conv1d,
    conv2d,
    conv_backward,
    convolve,
    correlate,
    feature_maps,
    filters,
    flip,
    receptive_fields,
    unfold,
)
from margin.neural.weights import count_parameters
from margin.notes.claims import claim
from margin.notes.claims.cnn import convolved_by_network, normal, stream

EDGE_INPUT = np.array([[2, 4, 9, 1, 4], [2, 1, 4, 4, 6], [1, 1, 2, 9, 2], [7, 3, 5, 1, 3], [2, 3, 4, 8, 5.0]])
EDGE_FILTER = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1.0]])
EDGE_MAP = np.array([[12, 11, -1], [2, 17, 0], [-1, 9, -3.0]])


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def gradients_match(seed: int, **options: Any) -> Verdict:
    """Our backward pass against finite differences of our forward pass."""
    x, w, b = normal(seed, 1, 2, 6, 5), normal(seed, 3, 2, 3, 2), normal(seed, 3)
    delta = normal(seed + 1, *conv2d(x, w, b, **options).shape)
    ours = conv_backward(delta, x, w, **options)
    step, worst = 1e-6, 0.0
    for k, (array, gradient) in enumerate(zip((x, w, b), ours)):
        direction = normal(seed + 2 + k, *array.shape)
        moved = [[x, w, b], [x, w, b]]
        moved[0][k], moved[1][k] = array + step * direction, array - step * direction
        slope = sum(s * (delta * conv2d(*m, **options)).sum() for s, m in zip((1, -1), moved)) / (2 * step)
        worst = max(worst, abs(slope - (gradient * direction).sum()))
    return near(worst, 0.0, tolerance=1e-6)


@claim("conv1d")
def one_dimensional_convolution(seed: int) -> Verdict:
    x, w = normal(seed, 9), normal(seed, 3)
    ours = conv1d(x[None, None], w[None, None])[0, 0]
    loop = [w[0] * x[i - 1] + w[1] * x[i] + w[2] * x[i + 1] for i in range(1, 8)]
    flipped = convolve(x[None, None], w[None, None])[0, 0]
    symmetric = np.array([w[0], w[1], w[0]])[None, None]
    weight = normal(seed, 2, 1, 3)
    options: dict[str, Any] = {"stride": 2, "padding": 1, "dilation": 2}
    by_torch = functional.conv1d(tensor(x[None, None]), tensor(weight), **options)
    truth = every(
        loop=near(ours, loop, tolerance=1e-13),
        numpy=near(ours, np.correlate(x, w, mode="valid"), tolerance=1e-13),
        options=near(conv1d(x[None, None], weight, **options), by_torch, tolerance=1e-13),
        gradients=gradients_match(seed),
        six_by_three=equal(conv1d(np.ones((1, 1, 6)), np.ones((1, 1, 3))).shape, (1, 1, 4)),
        sum_with_minus_is_a_flipped_kernel=near(flipped, np.convolve(x, w, mode="valid"), tolerance=1e-13),
        symmetric_kernels_agree=near(
            convolve(x[None, None], symmetric), conv1d(x[None, None], symmetric), tolerance=1e-13
        ),
    )
    return corrected(truth, printed=near(flipped, ours, tolerance=1e-3))


def formula_2d(image: np.ndarray, kernel: np.ndarray, bias: float, row_index: Any, column_index: Any) -> np.ndarray:
    """The printed sum over channels and kernel entries, with the given rules for the indices of the image."""
    c, h, w = image.shape
    k = kernel.shape[1]
    out = np.zeros((h - k + 1, w - k + 1))
    for i, j in np.ndindex(*out.shape):
        for a, x, y in np.ndindex(c, k, k):
            out[i, j] += kernel[a, x, y] * image[a, row_index(i, x), column_index(i, j, y)]
    return out + bias


@claim("convolution-2d")
def convolution_of_images(seed: int) -> Verdict:
    image, kernel, b = normal(seed, 3, 6, 7), normal(seed, 3, 3, 3), float(normal(seed, 1)[0])
    ours = conv2d(image[None], kernel[None], np.array([b]))[0, 0]
    right = formula_2d(image, kernel, b, lambda i, x: i + x, lambda _, j, y: j + y)
    scipy_sum = sum(scipy.signal.correlate2d(image[c], kernel[c], mode="valid") for c in range(3)) + b
    other_index = formula_2d(image, kernel, b, lambda i, x: i + x, lambda i, _, y: i + y)
    inside_the_sum = right - b + b * kernel.size
    plane, k3, k5 = image[:1], kernel[:1], normal(seed, 1, 5, 5)

    def center(kernel: np.ndarray, offset: int) -> np.ndarray:
        """h_ij with indices from 1 and zeros outside, as one edition prints it."""
        k = kernel.shape[1]
        wide = np.pad(plane[0], 10)
        out = [
            sum(
                kernel[0, m - 1, n - 1] * wide[i + m - offset + 9, j + n - offset + 9]
                for m in range(1, k + 1)
                for n in range(1, k + 1)
            )
            for i in range(1, 7)
            for j in range(1, 8)
        ]
        return np.reshape(out, (6, 7))

    def same(kernel: np.ndarray) -> np.ndarray:
        return conv2d(plane[None], kernel[None], padding="same")[0, 0]

    def one_based() -> np.ndarray:
        return formula_2d(image, kernel, b, lambda i, x: i + x + 1, lambda _, j, y: j + y + 1)

    try:
        late = one_based()
    except IndexError:  # the last positions run past the edge
        late = np.full_like(right, np.inf)
    truth = every(
        formula=near(ours, right, tolerance=1e-12),
        scipy=near(ours, scipy_sum, tolerance=1e-12),
        torch=near(ours, functional.conv2d(tensor(image[None]), tensor(kernel[None]))[0, 0] + b, tolerance=1e-12),
        gradients=every(plain=gradients_match(seed), strided=gradients_match(seed, stride=2, padding=1)),
        as_run=near(ours, convolved_by_network(image[None], kernel[None], np.array([b]))[0, 0], tolerance=1e-12),
        centered_three=near(same(k3), center(k3, 2), tolerance=1e-12),
        centered_five=near(same(k5), center(k5, 3), tolerance=1e-12),
        kernel_as_large_as_the_image=equal(conv2d(np.ones((1, 1, 4, 4)), np.ones((1, 1, 4, 4))).shape, (1, 1, 1, 1)),
    )
    edge = EDGE_INPUT[None, None]
    return corrected(
        truth,
        last_index=near(ours, other_index, tolerance=1e-3),
        indices_from_one=near(ours, late, tolerance=1e-3),
        bias_inside_the_sum=near(ours, inside_the_sum, tolerance=1e-3),
        not_flipped=near(convolve(edge, EDGE_FILTER[None, None])[0, 0], EDGE_MAP, tolerance=1e-3),
        offset_two_for_five=near(same(k5), center(k5, 2), tolerance=1e-3),
    )


@claim("convolution-versus-cross-correlation")
def convolution_flips_the_kernel(seed: int) -> Verdict:
    x, k = normal(seed, 2, 3, 8, 9), normal(seed, 4, 3, 3, 2)
    planes = [
        sum(scipy.signal.convolve2d(image[c], kernel[c], mode="valid") for c in range(3)) for image in x for kernel in k
    ]
    channels_too, square = correlate(x, np.flip(k, axis=(1, 2, 3))), normal(seed, 4, 3, 3, 3)
    return every(
        as_run=near(convolved_by_network(x, square), correlate(x, square), tolerance=1e-12),
        flip=near(convolve(x, k), correlate(x, flip(k)), tolerance=1e-12),
        scipy=near(convolve(x, k).reshape(8, 6, 8), planes, tolerance=1e-12),
        channels_are_not_flipped=above(float(np.abs(channels_too - convolve(x, k)).max()), 0.1),
    )


@claim("example-vertical-edge-filter")
def worked_edge_filter() -> Verdict:
    edge, kernel = EDGE_INPUT[None, None], EDGE_FILTER[None, None]
    return every(
        as_written=near(conv2d(edge, kernel)[0, 0], EDGE_MAP, tolerance=0.0),
        as_run=near(convolved_by_network(edge, kernel)[0, 0], EDGE_MAP, tolerance=1e-12),
    )


@claim("filter-kernel-feature-map")
def filters_and_feature_maps(seed: int) -> Verdict:
    layer = nn.Conv2d(3, 4, 3).double()
    layer.weight.data = tensor(normal(seed, 4, 3, 3, 3))
    network, x = nn.Sequential(layer, nn.ReLU()), normal(seed, 2, 3, 6, 6)
    kernels, maps = filters(network), feature_maps(network, tensor(x))
    bias = layer.bias
    assert bias is not None
    by_hand = conv2d(x, layer.weight.detach().numpy(), bias.detach().numpy())
    return every(
        filters=equal(kernels["0"].shape, (4, 3, 3, 3)),
        one_map_per_filter=near(maps["0"], by_hand, tolerance=1e-12),
        behind_the_activation=near(maps["1"], np.maximum(by_hand, 0), tolerance=1e-12),
    )


@claim("convolutional-layer")
def a_filter_spans_all_channels(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 32, 32), normal(seed, 10, 3, 5, 5), normal(seed, 10)
    options: dict[str, Any] = {"stride": 2, "padding": 2, "dilation": 1}
    sums = np.stack(
        [
            np.stack([sum(scipy.signal.correlate2d(image[c], f[c], mode="valid") for c in range(3)) for f in w])
            for image in x
        ]
    )
    small, kernels = normal(seed, 2, 2, 5, 5), normal(seed, 3, 2, 3, 3)
    loop = np.zeros((2, 3, 3, 3))
    for n, o, i, j in np.ndindex(*loop.shape):
        loop[n, o, i, j] = (small[n, :, i : i + 3, j : j + 3] * kernels[o]).sum()
    layer = nn.Conv2d(3, 10, 5)
    truth = every(
        scipy=near(conv2d(x, w, b), sums + b[:, None, None], tolerance=1e-11),
        loop=near(conv2d(small, kernels), loop, tolerance=1e-12),
        torch=near(
            conv2d(x, w, b, **options),
            functional.conv2d(tensor(x), tensor(w), tensor(b), **options),
            tolerance=1e-11,
        ),
        shapes=equal((tuple(layer.weight.shape), tuple(layer.bias.shape)), ((10, 3, 5, 5), (10,))),  # type: ignore[union-attr]
        ten_maps=equal(conv2d(x[:1], w).shape, (1, 10, 28, 28)),
        gradients=gradients_match(seed, stride=2, padding=1, dilation=1),
        as_run=near(conv2d(x, w, b, stride=2, padding=2), convolved_by_network(x, w, b, 2, 2), tolerance=1e-11),
    )
    # Were a filter one 2-D matrix for all channels, some such matrix would give this map; the best one does not.
    patches = np.lib.stride_tricks.sliding_window_view(small.sum(axis=1), (3, 3), axis=(1, 2)).reshape(-1, 9)
    flat = np.linalg.lstsq(patches, loop[:, 0].ravel())[0]
    return corrected(truth, printed=near(patches @ flat, loop[:, 0].ravel(), tolerance=0.1))


@claim("conv-channels")
def channels_are_summed(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 4, 6, 6), normal(seed, 5, 4, 3, 3), normal(seed, 5)
    parts = np.stack([conv2d(x[:, c : c + 1], w[:, c : c + 1]) for c in range(4)])
    ours = conv2d(x, w, b)
    truth = every(
        sum_over_channels=near(ours, parts.sum(axis=0) + b[:, None, None], tolerance=1e-12),
        shape=equal(ours.shape, (2, 5, 4, 4)),
        one_kernel_one_map=equal(conv2d(x, w[:1]).shape[1], 1),
        as_run=near(ours, convolved_by_network(x, w, b), tolerance=1e-12),
    )
    return corrected(truth, printed=near(ours, parts.max(axis=0) + b[:, None, None], tolerance=1e-3))


@claim("conv-1x1")
def one_by_one_is_dense_at_every_pixel(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 5, 4, 6), normal(seed, 3, 5, 1, 1), normal(seed, 3)
    dense = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + b[:, None, None]
    return every(
        dense=near(conv2d(x, w, b), dense, tolerance=1e-12),
        as_run=near(conv2d(x, w, b, stride=2), convolved_by_network(x, w, b, 2), tolerance=1e-12),
        size=equal(conv2d(x, w, b).shape, (2, 3, 4, 6)),
        parameters=equal(count_parameters(nn.Conv2d(5, 3, 1)), 5 * 3 + 3),
    )


@claim("claim-cnn-is-a-neural-network")
def a_convolution_is_a_perceptron_of_patches(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 4, 7, 6), normal(seed, 5, 4, 3, 3), normal(seed, 5)
    columns = unfold(x, 3)
    product = w.reshape(5, 36) @ columns + b[:, None]
    pointwise = normal(seed, 5, 4, 1, 1)
    order = stream(seed).permutation(42)
    shuffled = x.reshape(2, 4, 42)[:, :, order].reshape(x.shape)

    def keeps_order(weight: np.ndarray) -> bool:
        """Whether shuffling the pixels shuffles the result alike: the shape of the input can be forgotten."""
        direct = conv2d(shuffled, weight, padding="same").reshape(2, 5, 42)
        return bool(np.allclose(direct, conv2d(x, weight, padding="same").reshape(2, 5, 42)[:, :, order]))

    truth = every(
        columns=equal(columns.shape, (2, 36, 20)),
        product=near(conv2d(x, w, b).reshape(2, 5, 20), product, tolerance=1e-12),
        torch=near(columns, functional.unfold(tensor(x), 3), tolerance=0.0),
        as_run=near(convolved_by_network(x, w, b).reshape(2, 5, 20), product, tolerance=1e-12),
        one_by_one=near(
            conv2d(x, pointwise).reshape(2, 5, 42), pointwise[:, :, 0, 0] @ x.reshape(2, 4, 42), tolerance=1e-12
        ),
        one_by_one_forgets_the_shape=equal(keeps_order(pointwise), True),
    )
    return corrected(truth, printed=equal(keeps_order(w), True))


@claim("rgb-image-input")
def an_image_has_three_channels(seed: int) -> Verdict:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from PIL import Image

    from margin.data.image_arrays import first_channels
    from margin.data.image_folder import read_images

    pixels = stream(seed).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        Image.fromarray(pixels).save(path)
        image = first_channels("image", read_images([path]).images, "auto")[0]
    layer = nn.Conv2d(3, 1, 5)
    return every(
        channels_first=equal(image.shape, (3, 9, 12)),
        pixels=equal(image, np.moveaxis(pixels, 2, 0)),
        weights_and_bias=equal((layer.weight.numel(), layer.bias.numel()), (3 * 5**2, 1)),  # type: ignore[union-attr]
        block=equal(tuple(layer.weight.shape), (1, 3, 5, 5)),
        depth_of_the_network_is_another=equal(len(receptive_fields(nn.Sequential(layer, nn.Conv2d(1, 1, 3)))), 2),
    )
