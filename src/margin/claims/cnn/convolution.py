"""Claims on the convolution layer: its formula, channels, padding, stride, dilation, sizes and parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.signal
import torch
from torch import nn
from torch.nn import functional

from margin.claims import claim
from margin.claims.cnn import normal, stream
from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.neural.convolution import (
    conv1d,
    conv2d,
    conv_arithmetic,
    conv_backward,
    conv_output_size,
    convolve,
    correlate,
    feature_maps,
    filters,
    flip,
    pad,
    receptive_fields,
    unfold,
)
from margin.neural.layers import conv_parameters, linear_parameters
from margin.neural.weights import count_parameters

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

    def centered(kernel: np.ndarray, offset: int) -> np.ndarray:
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
        centered_three=near(same(k3), centered(k3, 2), tolerance=1e-12),
        centered_five=near(same(k5), centered(k5, 3), tolerance=1e-12),
        kernel_as_large_as_the_image=equal(conv2d(np.ones((1, 1, 4, 4)), np.ones((1, 1, 4, 4))).shape, (1, 1, 1, 1)),
    )
    edge = EDGE_INPUT[None, None]
    return corrected(
        truth,
        last_index=near(ours, other_index, tolerance=1e-3),
        indices_from_one=near(ours, late, tolerance=1e-3),
        bias_inside_the_sum=near(ours, inside_the_sum, tolerance=1e-3),
        not_flipped=near(convolve(edge, EDGE_FILTER[None, None])[0, 0], EDGE_MAP, tolerance=1e-3),
        offset_two_for_five=near(same(k5), centered(k5, 2), tolerance=1e-3),
    )


@claim("convolution-versus-cross-correlation")
def convolution_flips_the_kernel(seed: int) -> Verdict:
    x, k = normal(seed, 2, 3, 8, 9), normal(seed, 4, 3, 3, 2)
    planes = [
        sum(scipy.signal.convolve2d(image[c], kernel[c], mode="valid") for c in range(3)) for image in x for kernel in k
    ]
    channels_too = correlate(x, np.flip(k, axis=(1, 2, 3)))
    return every(
        flip=near(convolve(x, k), correlate(x, flip(k)), tolerance=1e-12),
        scipy=near(convolve(x, k).reshape(8, 6, 8), planes, tolerance=1e-12),
        channels_are_not_flipped=above(float(np.abs(channels_too - convolve(x, k)).max()), 0.1),
    )


@claim("example-vertical-edge-filter")
def worked_edge_filter() -> Verdict:
    return near(conv2d(EDGE_INPUT[None, None], EDGE_FILTER[None, None])[0, 0], EDGE_MAP, tolerance=0.0)


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
    )
    return corrected(truth, printed=near(ours, parts.max(axis=0) + b[:, None, None], tolerance=1e-3))


@claim("example-conv-filter-5x5x3")
def one_filter_has_76_parameters() -> Verdict:
    layer = nn.Conv2d(3, 1, 5)
    return every(
        parameters=equal((count_parameters(layer), conv_parameters(3, 1, (5, 5))), (76, 76)),
        weights=equal(layer.weight.numel(), 75),
        output=equal((tuple(layer(torch.zeros(1, 3, 32, 32)).shape), conv_output_size(32, 5)), ((1, 1, 28, 28), 28)),
    )


@claim("padding")
def padding_repeats_inputs(seed: int) -> Verdict:
    x, w = normal(seed, 1, 2, 6, 7), normal(seed, 3, 2, 3, 3)
    row, kernel = np.arange(1.0, 5.0)[None, None], np.array([1.0, 10.0, 100.0])[None, None]
    expected = {"zeros": [210, 321, 432, 43], "circular": [214, 321, 432, 143], "reflect": [212, 321, 432, 343]}
    same = {
        mode: equal(conv1d(row, kernel, padding="same", padding_mode=mode)[0, 0].tolist(), values)
        for mode, values in expected.items()
    }
    truth = every(
        **same,
        zeros_first=near(conv2d(x, w, padding=2), conv2d(pad(x, [(2, 2), (2, 2)]), w), tolerance=1e-13),
        same_keeps_the_size=equal(conv2d(x, w, padding="same").shape[2:], (6, 7)),
        valid_shrinks=equal(conv2d(x, w, padding="valid").shape[2:], (6 - 3 + 1, 7 - 3 + 1)),
    )
    # Weights mirrored at the edge, instead of inputs: the kernel that hangs over is folded onto the image.
    mirrored_weights = [11 * 1 + 100 * 2, 321, 432, 1 * 3 + 110 * 4]
    return corrected(truth, printed=equal(mirrored_weights, expected["reflect"]))


@claim("stride")
def stride_skips_positions(seed: int) -> Verdict:
    x, w = normal(seed, 1, 2, 17), normal(seed, 3, 2, 3)
    image, kernel = normal(seed, 1, 2, 11, 12), normal(seed, 3, 2, 3, 3)
    signal, weights = x[:, :1], w[:1, :1]
    with_stride = convolve(signal, weights, stride=3)[0, 0]

    def plain(step: int) -> list[float]:
        flipped = weights[0, 0]
        return [float(sum(flipped[k] * signal[0, 0, i * step + 2 - k] for k in range(3))) for i in range(5)]

    truth = every(
        signal=near(conv1d(x, w, stride=3), conv1d(x, w)[:, :, ::3], tolerance=1e-13),
        image=near(conv2d(image, kernel, stride=2), conv2d(image, kernel)[:, :, ::2, ::2], tolerance=1e-12),
        length=equal(
            [conv1d(x, w, stride=s, padding=p).shape[2] for s in (1, 2, 3) for p in (0, 2)],
            [(17 - 3 + 2 * p) // s + 1 for s in (1, 2, 3) for p in (0, 2)],
        ),
        formula_with_stride=near(with_stride, plain(3), tolerance=1e-13),
    )
    return corrected(truth, printed=near(with_stride, plain(1), tolerance=1e-3))


@claim("dilation")
def dilation_spreads_the_kernel(seed: int) -> Verdict:
    x, w = normal(seed, 1, 2, 20), normal(seed, 3, 2, 3)
    parts = {}
    for d in (2, 3):
        spread = np.zeros((3, 2, d * 2 + 1))
        spread[:, :, ::d] = w
        parts[f"zeros_between_{d}"] = near(conv1d(x, w, dilation=d), conv1d(x, spread), tolerance=1e-13)
        parts[f"width_{d}"] = equal(20 - conv1d(x, w, dilation=d).shape[2] + 1, d * (3 - 1) + 1)
    counts = [count_parameters(nn.Conv1d(2, 3, 3, dilation=d)) for d in (1, 2, 5)]
    return every(**parts, parameters=equal(counts, [21, 21, 21]))


@claim("conv-output-size")
def output_size_is_rounded_down() -> Verdict:
    layers, formula = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for w, k, p, s, d in np.ndindex(9, 4, 3, 3, 2):
            size, kernel, stride, dilation = w + 4, k + 1, s + 1, d + 1
            if dilation * (kernel - 1) + 1 > size + 2 * p:
                continue
            x = np.zeros((1, 1, size, size))
            layers.append(conv2d(x, np.zeros((1, 1, kernel, kernel)), stride=stride, padding=p, dilation=dilation))
            formula.append(conv_output_size(size, kernel, p, stride, dilation))
        cases = [(5, 2, 0, 2), (6, 3, 0, 2), (32, 5, 1, 3)]
        sizes = [conv_output_size(w, k, p, s) for w, k, p, s in cases]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conv_output_size(5, 2, stride=2)
    rectangle = conv2d(np.zeros((1, 1, 10, 20)), np.zeros((1, 1, 3, 3)), stride=2).shape[2:]
    truth = every(
        grid=equal([layer.shape[2] for layer in layers], formula),
        cases=equal(sizes, [2, 2, 10]),
        alexnet=equal(conv_output_size(227, 11, stride=4), 55),
        warned=equal([warning.category for warning in caught], [UserWarning]),
        both_sides=equal(rectangle, ((10 - 3) // 2 + 1, (20 - 3) // 2 + 1)),
    )
    ceilings = [-(-(w + 2 * p - k) // s) + 1 for w, k, p, s in cases]
    return corrected(truth, ceilings=equal(sizes, ceilings), equal_sides=equal(rectangle[0], rectangle[1]))


@claim("conv-parameter-count")
def parameters_do_not_depend_on_the_image() -> Verdict:
    counts = {
        (ci, co, k): count_parameters(nn.Conv2d(ci, co, k)) for ci in (1, 3, 16) for co in (1, 8) for k in (1, 3, 5)
    }
    layer = nn.Conv2d(3, 8, 3)
    sizes = [tuple(layer(torch.zeros(1, 3, n, n)).shape[2:]) for n in (8, 32)]
    truth = every(
        formula=equal(list(counts.values()), [co * ci * k * k + co for ci, co, k in counts]),
        ours=equal(list(counts.values()), [conv_parameters(ci, co, (k, k)) for ci, co, k in counts]),
        any_image=equal(sizes, [(6, 6), (30, 30)]),
        one_set_per_output_slice=equal(len(layer.weight), 8),
    )
    return corrected(truth, printed=equal(len(layer.weight), 3))  # a set per input slice, of which there are D_1 = 3


@claim("example-alexnet-first-layer")
def parameter_sharing_in_the_first_layer_of_alexnet() -> Verdict:
    found = conv_arithmetic(227, 11, 4, 0, filters=96, channels=3)
    layer = nn.Conv2d(3, 96, 11, stride=4)
    truth = every(
        numbers=equal(tuple(found), (55, 290_400, 364, 105_705_600, 34_848, 34_944)),
        layer=equal((layer.weight.numel(), count_parameters(layer)), (34_848, 34_944)),
        side=equal(tuple(layer.to("meta")(torch.zeros(1, 3, 227, 227, device="meta")).shape), (1, 96, 55, 55)),
    )
    return corrected(truth, printed=equal(found.shared_parameters, 34_848))


@claim("conv-1x1")
def one_by_one_is_dense_at_every_pixel(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 5, 4, 6), normal(seed, 3, 5, 1, 1), normal(seed, 3)
    dense = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + b[:, None, None]
    return every(
        dense=near(conv2d(x, w, b), dense, tolerance=1e-12),
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


@claim("claim-dense-layers-do-not-scale-to-images")
def dense_layers_do_not_scale() -> Verdict:
    neuron = nn.Linear(32 * 32 * 3, 1)
    sides = (32, 64, 227)
    dense = [linear_parameters(n * n * 3, 100) for n in sides]
    convolution = [conv_parameters(3, 100, (5, 5)) for _ in sides]
    truth = every(
        weights=equal((neuron.weight.numel(), count_parameters(neuron)), (3072, 3073)),
        dense_grows_with_the_area=near(
            [(count - 100) / (n * n) for count, n in zip(dense, sides)], [300.0] * 3, tolerance=0.0
        ),
        convolution_does_not=equal(convolution, [7600] * 3),
        times_more=above(dense[-1] / convolution[-1], 2000),
    )
    return corrected(truth, printed=equal(neuron.weight.numel(), 3078))


@claim("claim-cnn-parameter-efficiency")
def sharing_saves_parameters() -> Verdict:
    h, w, ci, co, k = 16, 12, 3, 8, 3
    shared = count_parameters(nn.Conv2d(ci, co, k, padding=1))
    dense = count_parameters(nn.Linear(ci * h * w, co * h * w))
    formula = (ci * h * w + 1) * h * w / (ci * k * k + 1)
    return every(
        counts=equal((shared, dense), (conv_parameters(ci, co, (k, k)), linear_parameters(ci * h * w, co * h * w))),
        ratio=near(dense / shared, formula, tolerance=1e-9),
        large=above(dense / shared, 1000),
    )
