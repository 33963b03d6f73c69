"""Claims on how a kernel slides over its input: padding, stride, dilation, and the size of what comes out."""

from __future__ import annotations

import warnings

import numpy as np
from torch import nn

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.neural.convolution import conv1d, conv2d, conv_output_size, convolve, pad
from margin.neural.weights import count_parameters
from margin.notes.claims import claim
from margin.notes.claims.cnn import convolved_by_network, normal


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
        as_run=near(conv2d(x, w, padding=2), convolved_by_network(x, w, padding=2), tolerance=1e-12),
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
        as_run=near(conv2d(image, kernel, stride=3), convolved_by_network(image, kernel, stride=3), tolerance=1e-12),
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
