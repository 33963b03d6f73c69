"""Claims on upsampling: interpolation, transposed convolution, checkerboards, and the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.ndimage import map_coordinates
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural.convolution import (
    ResizeConv2d,
    conv2d,
    conv_backward,
    conv_transpose,
    correlate,
    deconvolve,
    flip,
    linear_map_matrix,
    overlap_count,
    pad,
    pool,
    pool_backward,
    resize,
    scaled_copies,
    stretch,
    transposed_output_size,
    upsample,
)
from margin.neural.diagnostics import descend
from margin.neural.nets.pixels import UpStep, enlarge
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.cnn import normal, stream

SMALL = np.array([[1.0, 2.0], [3.0, 4.0]])[None, None]


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


@claim("upsampling")
def four_ways_up(seed: int) -> Verdict:
    x = stream(seed).random((2, 3, 6, 8))
    pooled = pool(x, 2)
    weight = normal(seed, 3, 3, 2, 2)
    ways = {
        "nearest": upsample(pooled.values, "nearest", 2),
        "bilinear": upsample(pooled.values, "bilinear", 2),
        "unpool": upsample(pooled.values, "unpool", 2, indices=pooled.indices),
        "transposed": upsample(pooled.values, "transposed", 2, weight=weight),
    }
    by_torch = functional.conv_transpose2d(tensor(pooled.values), tensor(weight), stride=2)
    return every(
        **{name: equal(larger.shape, x.shape) for name, larger in ways.items()},
        transposed_is_torch=near(ways["transposed"], by_torch, tolerance=1e-13),
        three_times=equal(upsample(x, "nearest", 3).shape, (2, 3, 18, 24)),
    )


@claim("nearest-neighbour-upsampling")
def nearest_repeats_pixels(seed: int) -> Verdict:
    x = normal(seed, 2, 3, 4, 5)
    blocks = [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    return every(
        blocks=equal(upsample(SMALL, "nearest", 2)[0, 0].tolist(), blocks),
        mean_pooling_undoes_it=near(pool(upsample(x, "nearest", 3), 3, kind="mean").values, x, tolerance=1e-14),
    )


@claim("bilinear-interpolation")
def bilinear_keeps_ramps(seed: int) -> Verdict:
    rows, columns = np.mgrid[:7, :9].astype(float)
    slope = normal(seed, 3)
    larger = upsample((slope[0] + slope[1] * rows + slope[2] * columns)[None, None], "bilinear", 2)[0, 0]
    r, c = (np.mgrid[:14, :18] + 0.5) / 2 - 0.5  # the middles of the new pixels, in old ones
    inside = np.s_[1:-1, 1:-1]
    x = normal(seed, 7, 9)
    by_scipy = map_coordinates(x, [np.clip(r, 0, 6), np.clip(c, 0, 8)], order=1)
    by_network = enlarge(tensor(x[None, None]), torch.zeros(1, 1, 14, 18))
    return every(
        as_run=near(upsample(x[None, None], "bilinear", 2), by_network, tolerance=1e-12),
        ramp=near(larger[inside], (slope[0] + slope[1] * r + slope[2] * c)[inside], tolerance=1e-12),
        scipy=near(upsample(x[None, None], "bilinear", 2)[0, 0], by_scipy, tolerance=1e-12),
    )


@claim("upsampling-interpolation")
def resizing_equals_torch(seed: int) -> Verdict:
    x = normal(seed, 2, 3, 5, 7)
    parts = {
        f"{mode}_{scale}": near(
            resize(x, scale, mode), functional.interpolate(tensor(x), scale_factor=scale, mode=mode), tolerance=1e-13
        )
        for mode in ("nearest", "bilinear")
        for scale in (2.0, 3.0, 1.5)
    }
    by_network = enlarge(tensor(x), torch.zeros(1, 1, 10, 14))
    return every(**parts, as_run=near(resize(x, 2.0, "bilinear"), by_network, tolerance=1e-13))


@claim("transposed-convolution")
def the_transposed_convolution_is_the_adjoint(seed: int) -> Verdict:
    options: dict[str, Any] = {"stride": 2, "padding": 1}
    w = normal(seed, 2, 3, 4, 4)  # as a convolution: 3 channels to 2; transposed: 2 to 3
    x, y = normal(seed, 1, 3, 8, 8), normal(seed, 1, 2, 4, 4)
    forward = linear_map_matrix(lambda a: conv2d(a, w, **options), (3, 8, 8))
    transposed = linear_map_matrix(lambda a: conv_transpose(a, w, **options), (2, 4, 4))
    inner = (conv2d(x, w, **options) * y).sum(), (x * conv_transpose(y, w, **options)).sum()
    by_torch = functional.conv_transpose2d(tensor(y), tensor(w), **options)
    leaves = (tensor(y).requires_grad_(), tensor(w).requires_grad_())
    checked = torch.autograd.gradcheck(lambda a, b: functional.conv_transpose2d(a, b, stride=2, padding=1), leaves)
    sizes = [conv_transpose(np.zeros((1, 1, n)), np.zeros((1, 1, 4)), stride=2, padding=1).shape[2] for n in (3, 5)]
    step = UpStep(2, 3, skips=False).double()
    step.enlarge.load_state_dict({"weight": tensor(normal(seed, 2, 3, 2, 2)), "bias": tensor(normal(seed, 3))})
    run = step.enlarge(tensor(y)), conv_transpose(y, normal(seed, 2, 3, 2, 2), normal(seed, 3), stride=2)
    truth = every(
        as_run=near(run[0].detach(), run[1], tolerance=1e-12),
        torch=near(conv_transpose(y, w, **options), by_torch, tolerance=1e-12),
        matrix=near(transposed, forward.T, tolerance=1e-13),
        adjoint=near(inner[0], inner[1], tolerance=1e-11),
        size=equal(sizes, [transposed_output_size(n, 4, padding=1, stride=2) for n in (3, 5)]),
        gradients=equal(checked, True),
    )
    back = conv_transpose(conv2d(x, w, **options), w, **options)
    return corrected(
        truth,
        inverse=near(back, x, tolerance=0.1),
        inverse_matrix=near(forward.T @ forward, np.eye(192), tolerance=0.1),
    )


@claim("deconvolution-terminology")
def deconvolution_undoes_a_convolution(seed: int) -> Verdict:
    x, kernel = normal(seed, 8, 8), np.zeros((8, 8))
    kernel[:3, :3] = np.array([[0.1, 0.2, 0.1], [0.2, 2.0, 0.2], [0.1, 0.2, 0.1]])  # no frequency is lost
    blurred = np.fft.ifft2(np.fft.fft2(x) * np.fft.fft2(kernel)).real
    weight = kernel[None, None, :3, :3]
    layer = conv_transpose(conv2d(x[None, None], weight), weight)[0, 0]
    noisy = blurred + 0.05 * normal(seed + 1, 8, 8)
    lost = np.full((8, 8), 1 / 64)  # the mean of the image: nothing but its sum is left
    return every(
        exact=near(deconvolve(blurred, kernel), x, tolerance=1e-10),
        wiener=below(float(np.abs(deconvolve(noisy, kernel, noise_power=1e-2) - x).mean()), 0.2),
        transposed_layer_does_not=above(float(np.abs(layer - x).mean()), 0.5),
        nothing_restores_what_is_gone=above(
            float(np.abs(deconvolve(np.full((8, 8), x.mean()), lost, 1e-3) - x).max()), 0.1
        ),
    )


@claim("claim-checkerboard-artifacts")
def uneven_overlap_makes_checkerboards() -> Verdict:
    even, uneven = overlap_count(4, 2, 8), overlap_count(3, 2, 8)
    plane = overlap_count(3, 2, 8, n_dim=2)
    ones = conv_transpose(np.ones((1, 1, 8, 8)), np.ones((1, 1, 3, 3)), stride=2)[0, 0]
    divisible = [
        len(set(overlap_count(k, s, 12)[k:-k].tolist())) == 1
        for k, s in ((2, 2), (4, 2), (6, 3), (3, 2), (5, 2), (5, 3))
    ]
    return every(
        constant=equal(set(even[2:-2].tolist()), {2}),
        alternates=equal(uneven[1:-1].tolist(), [1, 2] * 7 + [1]),
        product=equal(plane, np.outer(uneven, uneven)),
        layer=near(ones, plane, tolerance=0.0),
        even_where_the_stride_divides_the_kernel=equal(divisible, [True, True, True, False, False, False]),
    )


@claim("resize-convolution")
def resize_convolution_overlaps_evenly(seed: int) -> Verdict:
    layer = build(lambda: ResizeConv2d(1, 1, 3, scale=2), seed, torch.float64)
    nn.init.ones_(layer.convolution.weight)
    nn.init.zeros_(layer.convolution.bias)  # type: ignore[arg-type]
    counts = layer(torch.ones(1, 1, 6, 6, dtype=torch.float64))[0, 0].detach().numpy()
    shapes = [
        tuple(ResizeConv2d(8, 3, 5, s, m)(torch.zeros(2, 8, 4, 6)).shape) for s, m in ((2, "nearest"), (3, "bilinear"))
    ]
    code, target = tensor(normal(seed, 4, 3, 4, 4)).float(), tensor(normal(seed, 4, 1, 4, 4)).float()
    target = functional.interpolate(target, scale_factor=4, mode="bilinear")
    decoder = build(
        lambda: nn.Sequential(ResizeConv2d(3, 8, 3, 2), nn.ReLU(), ResizeConv2d(8, 1, 3, 2, mode="bilinear")), seed
    )
    losses = descend(
        decoder.parameters(),
        lambda: (decoder(code) - target).square().mean(),
        steps=60,
        rate=0.02,
        rule=torch.optim.Adam,
    )
    return every(
        sizes=equal(shapes, [(2, 3, 8, 12), (2, 3, 12, 18)]),
        uniform_overlap=near(counts[1:-1, 1:-1], np.full((10, 10), 9.0), tolerance=1e-12),
        trains=below(losses[-1], 0.7 * losses[0]),
    )


@claim("cnn-backprop")
def backpropagation_through_convolution_and_pooling(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 7, 6), normal(seed, 4, 3, 3, 3), normal(seed, 4)
    parts = {}
    for stride, padding in ((1, 0), (2, 1), (3, 2)):
        leaves = [tensor(a).requires_grad_() for a in (x, w, b)]
        out = functional.conv2d(leaves[0], leaves[1], leaves[2], stride=stride, padding=padding)
        delta = normal(seed, *out.shape)
        by_torch = torch.autograd.grad(out, leaves, tensor(delta))
        ours = conv_backward(delta, x, w, stride=stride, padding=padding)
        gaps = [float(np.abs(a - t.numpy()).max()) for a, t in zip(ours, by_torch)]
        parts[f"stride_{stride}_padding_{padding}"] = near(gaps, [0.0] * 3, tolerance=1e-11)
    delta = normal(seed, 2, 4, 5, 4)
    gradients = conv_backward(delta, x, w)
    filter_gradient = correlate(x.swapaxes(0, 1), delta.swapaxes(0, 1)).swapaxes(0, 1)
    input_gradient = correlate(pad(stretch(delta, 1), [(2, 2), (2, 2)]), flip(w.swapaxes(0, 1)))
    leaf = tensor(x).requires_grad_()
    pooled = functional.max_pool2d(leaf, 2)
    pooled_delta = normal(seed, *pooled.shape)
    (by_torch_pool,) = torch.autograd.grad(pooled, leaf, tensor(pooled_delta))
    return every(
        **parts,
        filter_gradient_is_a_correlation=near(gradients.weight, filter_gradient, tolerance=1e-11),
        input_gradient_is_a_full_convolution=near(gradients.x, input_gradient, tolerance=1e-11),
        max_pooling_routes=near(pool_backward(pooled_delta, x, 2), by_torch_pool, tolerance=1e-13),
        copies_add_up=near(
            scaled_copies(delta[0, 0], w[0, 0]).sum(axis=0),
            conv_transpose(delta[:1, :1], w[:1, :1])[0, 0],
            tolerance=1e-12,
        ),
    )
