"""Claims on pooling and downsampling: what windows keep, sizes, gradients, and how much shifts matter afterwards."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural.convolution import (
    conv2d,
    downsample,
    global_pool,
    max_unpool,
    pool,
    pool_backward,
    pool_output_size,
    shift,
    subsample,
    upsample,
)
from margin.neural.layers import count_values, linear_parameters
from margin.neural.weights import count_parameters
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS
from margin.notes.claims.cnn import convolved_by_network, normal, pooled_by_network, stream

GRID = np.array([[1.0, 2.0], [3.0, 4.0]])[None, None]


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def digits(count: int) -> np.ndarray:
    from sklearn.datasets import load_digits

    return load_digits().images[:count, None] / 16


@claim("downsampling")
def downsampling_keeps_the_channels(seed: int) -> Verdict:
    x = normal(seed, 2, 5, 8, 6)
    shapes = {method: downsample(x, method, 2).shape for method in ("stride", "max", "min", "mean")}
    alone = {method: downsample(x[:, 1:2], method, 2) for method in shapes}
    w = normal(seed, 3, 5, 3, 3)
    mixed = conv2d(x, w, stride=2, padding=1)
    other = x.copy()
    other[:, 0] += 1.0  # another channel changes
    truth = every(
        **{method: equal(shape, (2, 5, 4, 3)) for method, shape in shapes.items()},
        channel_by_channel=every(**{m: near(downsample(x, m, 2)[:, 1:2], alone[m], tolerance=0.0) for m in shapes}),
        strided_convolution_changes_their_number=equal(mixed.shape, (2, 3, 4, 3)),
    )
    # "Applied to channels independently", said of a strided convolution too: a change of one channel stays in it.
    return corrected(truth, printed=near(conv2d(other, w, stride=2, padding=1)[:, 1:], mixed[:, 1:], tolerance=1e-3))


@claim("strided-convolution-subsampling")
def stride_is_subsampling(seed: int) -> Verdict:
    x, w = normal(seed, 1, 2, 9, 10), normal(seed, 3, 2, 3, 3)
    outlier = np.zeros((1, 1, 4, 4))
    outlier[0, 0, 1, 1] = 10.0
    return every(
        definition=equal(subsample(x, 3), x[..., ::3, ::3]),
        layer=near(conv2d(x, w, stride=2), subsample(conv2d(x, w), 2), tolerance=1e-12),
        as_run=near(convolved_by_network(x, w, stride=2), subsample(conv2d(x, w), 2), tolerance=1e-12),
        large_values_have_no_preference=equal(
            (subsample(outlier, 2).max(), pool(outlier, 2).values.max()), (0.0, 10.0)
        ),
    )


@claim("pooling")
def pooling_reduces_windows(seed: int) -> Verdict:
    x = normal(seed, 2, 3, 6, 8)
    blocks = x.reshape(2, 3, 3, 2, 4, 2)
    expected = {"max": blocks.max((3, 5)), "min": blocks.min((3, 5)), "mean": blocks.mean((3, 5))}
    delta = normal(seed, 2, 3, 3, 4)
    gradients = {kind: pool_backward(delta, x, 2, kind=kind) for kind in expected}
    spread = np.repeat(np.repeat(delta, 2, axis=2), 2, axis=3)
    return every(
        **{kind: near(pool(x, 2, kind=kind).values, values, tolerance=1e-14) for kind, values in expected.items()},
        overlapping=near(pool(x, 3, 1, 1).values, functional.max_pool2d(tensor(x), 3, 1, 1).numpy(), tolerance=0.0),
        as_run=every(
            max=near(pooled_by_network(x, "max", 3, 2, 1), pool(x, 3, 2, 1).values, tolerance=0.0),
            mean=near(pooled_by_network(x, "avg", 2), expected["mean"], tolerance=1e-14),
        ),
        to_the_largest=near(gradients["max"], spread * (x == np.kron(expected["max"], np.ones((2, 2)))), tolerance=0.0),
        to_the_smallest=near(
            gradients["min"], spread * (x == np.kron(expected["min"], np.ones((2, 2)))), tolerance=0.0
        ),
        evenly=near(gradients["mean"], spread / 4, tolerance=1e-15),
    )


@claim("max-pooling")
def max_pooling_keeps_the_strongest(seed: int) -> Verdict:
    x = normal(seed, 2, 4, 7, 7)
    leaf = tensor(x).requires_grad_()
    values, indices = functional.max_pool2d(leaf, 3, 2, 1, return_indices=True)
    delta = normal(seed, *values.shape)
    (gradient,) = torch.autograd.grad(values, leaf, tensor(delta))
    ours = pool(x, 3, 2, 1)
    return every(
        two_by_two=equal(pool(GRID, 2).values.item(), 4.0),
        torch=near(ours.values, values.detach(), tolerance=0.0),
        as_run=near(ours.values, pooled_by_network(x, "max", 3, 2, 1), tolerance=0.0),
        indices=equal(ours.indices, indices.numpy()),
        gradient=near(pool_backward(delta, x, 3, 2, 1), gradient, tolerance=1e-14),
        only_the_maximum=equal(pool_backward(np.ones((1, 1, 1, 1)), GRID, 2).ravel().tolist(), [0.0, 0.0, 0.0, 1.0]),
        channels=equal(ours.values.shape[1], 4),
        no_parameters=equal(count_values(nn.MaxPool2d(3, 2, 1)), (0, 0)),
        zeros=_zeros_that_are_left(seed),
    )


def _zeros_that_are_left(seed: int) -> Verdict:
    """A window of rectified maps is 0 after pooling if all its entries are: p^4 of 2 x 2, maxima and means alike."""
    p, k = 0.7, 2
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((4, 3, 80, 96)) < p, 0.0, rng.exponential(size=(4, 3, 80, 96)))
    n = x.size // k**2
    left = {kind: float((pool(x, k, kind=kind).values == 0).mean()) for kind in ("max", "mean")}
    strided = float((subsample(x, k) == 0).mean())
    by_chance = ERRORS * np.sqrt(p**4 * (1 - p**4) / n)
    return every(
        after_maxima=near(left["max"], p ** (k * k), tolerance=by_chance),
        after_means=equal(left["mean"], left["max"]),
        after_strides=near(strided, p, tolerance=ERRORS * np.sqrt(p * (1 - p) / n)),
    )


@claim("mean-pooling")
def mean_pooling_averages(seed: int) -> Verdict:
    x = normal(seed, 2, 4, 6, 8)
    return every(
        two_by_two=equal(pool(GRID, 2, kind="mean").values.item(), 2.5),
        torch=near(pool(x, 3, 1, 1, "mean").values, functional.avg_pool2d(tensor(x), 3, 1, 1), tolerance=1e-14),
        as_run=near(pool(x, 3, 2, 1, "mean").values, pooled_by_network(x, "avg", 3, 2, 1), tolerance=1e-14),
        mean_of_the_image=near(pool(x, 2, kind="mean").values.mean(), x.mean(), tolerance=1e-14),
        gradient=equal(pool_backward(np.ones((1, 1, 1, 1)), GRID, 2, kind="mean").ravel().tolist(), [0.25] * 4),
    )


@claim("pooling-output-size")
def sizes_of_pooled_images() -> Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pairs = [
            (pool(np.zeros((1, 3, n, n)), f, s).values.shape, (1, 3, *[pool_output_size(n, f, s)] * 2))
            for n in range(4, 14)
            for f in (2, 3)
            for s in (1, 2, 3)
        ]
    wide = pool(np.zeros((1, 3, 8, 12)), 2).values.shape
    truth = every(
        cases=equal((pool_output_size(4, 2, 2), pool_output_size(55, 3, 2)), (2, 27)),
        layers=equal([a for a, _ in pairs], [b for _, b in pairs]),
        parameters=equal(count_parameters(nn.MaxPool2d(2)), 0),
        each_side=equal(wide[2:], (pool_output_size(8, 2), pool_output_size(12, 2))),
    )
    # Printed: W_1 = (W_1 - F)/S + 1, which no 2 x 2 pooling fulfills, and W_2 = H_2 for every image.
    return corrected(truth, left_side=equal(8, pool_output_size(8, 2)), equal_sides=equal(wide[2], wide[3]))


@claim("claim-common-pooling-sizes")
def large_pools_destroy_information(seed: int) -> Verdict:
    from scipy.ndimage import gaussian_filter

    images = gaussian_filter(normal(seed, 4, 1, 48, 48), (0, 0, 2, 2))
    errors, kept, dense = [], [], []
    for window in (2, 3, 4, 8):
        pooled = pool(images, window)
        filled = upsample(pooled.values, "nearest", window)
        errors.append(float(np.sqrt(((filled - images) ** 2).mean()) / images.std()))
        kept.append(pooled.values.size / images.size)
        dense.append(linear_parameters(16 * (48 // window) ** 2, 10))
    convolutions = [count_parameters(nn.Sequential(nn.MaxPool2d(f), nn.Conv2d(16, 16, 3))) for f in (1, 2, 4)]
    truth = every(
        a_quarter=near(kept, [1 / 4, 1 / 9, 1 / 16, 1 / 64], tolerance=1e-12),
        error_rises=equal(errors, sorted(errors)),
        by_much=above(errors[-1], 2 * errors[0]),
        dense_layer_shrinks=equal(dense, sorted(dense, reverse=True)),
        convolutions_do_not=equal(len(set(convolutions)), 1),
    )
    return corrected(truth, printed=below(convolutions[1], convolutions[0]))


@claim("claim-pooling-translation-invariance")
def pooling_makes_shifts_matter_less(seed: int) -> Verdict:
    images = digits(200)[stream(seed).permutation(200)[:100]]
    kernel = normal(seed, 4, 1, 3, 3)

    def maps(x: np.ndarray) -> np.ndarray:
        return np.maximum(conv2d(x, kernel, padding="same", padding_mode="circular"), 0)

    def change(f: object) -> float:
        """Mean relative change of the features when the image moves by one pixel."""
        before, after = f(images), f(shift(images, 0, 1))  # type: ignore[operator]
        axes = tuple(range(1, before.ndim))
        return float((np.sqrt(((after - before) ** 2).sum(axes)) / np.sqrt((before**2).sum(axes))).mean())

    plain, pooled = change(maps), change(lambda x: pool(maps(x), 2).values)
    wide, global_change = change(lambda x: pool(maps(x), 4).values), change(lambda x: global_pool(maps(x), "max"))
    moved = np.abs(maps(shift(images, 0, 1)) - shift(maps(images), 0, 1)).max()
    truth = every(
        less_with_pooling=below(pooled, 0.9 * plain),
        less_with_larger_windows=below(wide, 0.9 * pooled),
        none_with_global_pooling=below(global_change, 1e-12),
        convolution_commutes_with_shifts=below(float(moved), 1e-12),
        area=equal(pool(images, 2).values[0].size, images[0].size // 4),
    )
    return corrected(
        truth, only_roughly=below(pooled, 1e-3), outside_the_window=below(change(lambda x: pool(x, 2).values), 1e-3)
    )


@claim("max-unpooling")
def unpooling_restores_positions_only(seed: int) -> Verdict:
    x = stream(seed).random((2, 3, 6, 8)) + 0.1
    values, indices = pool(x, 2)
    back = max_unpool(values, indices, (6, 8))
    by_torch = functional.max_unpool2d(tensor(values), tensor(indices), [2, 2])
    truth = every(
        torch=near(back, by_torch, tolerance=0.0),
        maxima_in_place=near(back[back != 0], x[back != 0], tolerance=0.0),
        how_many=equal(int((back != 0).sum()), values.size),
        pooled_again=near(pool(back, 2).values, values, tolerance=0.0),
    )
    return corrected(truth, printed=near(back, x, tolerance=1e-3))
