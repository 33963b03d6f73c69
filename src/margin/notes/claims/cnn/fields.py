"""Claims on what a unit sees and on symmetries: locality, receptive fields, equivariance and invariance."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.neural.convolution import (
    conv1d,
    conv2d,
    equivariance_error,
    footprint,
    global_pool,
    invariance_error,
    linear_map_matrix,
    pool,
    receptive_fields,
    shift,
)
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.cnn import normal

EXACT = 1e-12


@claim("inductive-bias")
def a_convolution_is_a_tied_local_dense_layer(seed: int) -> Verdict:
    kernel = normal(seed, 1, 1, 3)
    matrix = linear_map_matrix(lambda x: conv1d(x, kernel), (1, 8))
    x = normal(seed, 8)
    local = np.array([[kernel[0, 0, j - i] if 0 <= j - i < 3 else 0.0 for j in range(8)] for i in range(6)])
    return every(
        dense_layer=near(matrix @ x, conv1d(x[None, None], kernel)[0, 0], tolerance=1e-13),
        local_and_tied=near(matrix, local, tolerance=0.0),
        weights=equal(len(np.unique(matrix[matrix != 0])), 3),
        of=equal(matrix.size, 48),
    )


@claim("claim-local-feature-extraction")
def units_see_their_surroundings_only(seed: int) -> Verdict:
    net = build(lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3)), seed, torch.float64)
    x = normal(seed, 1, 1, 12, 12)
    seen = footprint(net, (1, 12, 12), (4, 4))[0]
    outside, inside = x.copy(), x.copy()
    outside[0, 0][~seen] += normal(seed, 12, 12)[~seen]
    inside[0, 0][seen] += 1.0

    def unit(image: np.ndarray) -> np.ndarray:
        return net(torch.from_numpy(image))[0, :, 4, 4].detach().numpy()

    square = np.zeros((1, 1, 16, 16))
    square[:, :, 5:11, 5:11] = 1.0
    edges = conv2d(square, np.array([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])[None, None])[0, 0]
    rows, columns = np.nonzero(edges)
    return every(
        outside_changes_nothing=equal(unit(outside).tolist(), unit(x).tolist()),
        inside_does=above(float(np.abs(unit(inside) - unit(x)).max()), 0.01),
        field=equal(int(seen.sum()), 25),
        edge_filter_answers_at_edges=equal(sorted(set(columns.tolist())), [3, 4, 9, 10]),
        and_nowhere_else=equal((int(rows.min()), int(rows.max())), (3, 10)),
    )


@claim("receptive-field")
def receptive_fields_grow(seed: int) -> Verdict:
    stacked = nn.Sequential(*(nn.Conv2d(1, 1, 3) for _ in range(4)))
    mixed = build(
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 3, 3, dilation=2), nn.Conv2d(3, 2, 3, stride=2)
        ),
        seed,
    )
    fields = receptive_fields(mixed)

    def width(network: nn.Module) -> int:
        return int(footprint(network, (2, 48, 48)).any(axis=0).any(axis=0).sum())

    cuts = [1, 3, 4, 5]  # behind each convolution or pooling
    sizes = [field.size[0] for field in receptive_fields(stacked)]
    truth = every(
        stacked=equal(sizes, [3, 5, 7, 9]),
        recurrence_is_the_footprint=equal([field.size[0] for field in fields], [width(mixed[:cut]) for cut in cuts]),
        jumps=equal([field.jump[0] for field in fields], [1, 2, 2, 4]),
    )
    return corrected(truth, printed=equal(sizes, [layer.kernel_size[0] for layer in stacked]))  # type: ignore[index]


def circular(kernel: np.ndarray) -> partial[np.ndarray]:
    return partial(conv2d, weight=kernel, padding="same", padding_mode="circular")


@claim("translation-invariance")
def invariance_needs_pooling(seed: int) -> Verdict:
    x, kernel = normal(seed, 1, 2, 8, 8), normal(seed, 3, 2, 3, 3)
    layer = circular(kernel)
    moves = [lambda a, i=i, j=j: shift(a, i, j) for i, j in ((0, 1), (3, 5), (7, 2))]
    pooled = [invariance_error(lambda a: global_pool(np.maximum(layer(a), 0)), move, x) for move in moves]
    bare = invariance_error(layer, moves[0], x)
    return corrected(
        every(
            with_global_pooling=below(max(pooled), EXACT),
            shared_filters_follow=below(equivariance_error(layer, moves[1], x), EXACT),
        ),
        printed=below(bare, 1e-3),
    )


@claim("translation-equivariance")
def convolutions_follow_shifts(seed: int) -> Verdict:
    signal, taps = normal(seed, 1, 2, 9), normal(seed, 3, 2, 3)
    image, kernel = normal(seed, 1, 2, 8, 8), normal(seed, 2, 2, 3, 3)
    one = equivariance_error(
        partial(conv1d, weight=taps, padding="same", padding_mode="circular"), lambda a: shift(a, 2), signal
    )
    two = equivariance_error(circular(kernel), lambda a: shift(a, 3, 1), image)

    def segmentation(a: np.ndarray) -> np.ndarray:
        """Down by 2 and up again: one class score per pixel, with a total stride of 2."""
        down = pool(np.maximum(circular(kernel)(a), 0), 2).values
        return np.repeat(np.repeat(circular(kernel)(down), 2, axis=2), 2, axis=3)

    return every(
        signals=below(one, EXACT),
        images=below(two, EXACT),
        by_the_total_stride=below(equivariance_error(segmentation, lambda a: shift(a, 2, 4), image), EXACT),
        not_by_less=above(equivariance_error(segmentation, lambda a: shift(a, 1, 0), image), 1e-3),
    )


@claim("claim-convolution-equivariant-pooling-invariant")
def what_follows_and_what_ignores_shifts(seed: int) -> Verdict:
    x, kernel = normal(seed, 2, 2, 8, 8), normal(seed, 3, 2, 3, 3)

    def one(a: np.ndarray) -> np.ndarray:
        return shift(a, 0, 1)

    def two(a: np.ndarray) -> np.ndarray:
        return shift(a, 0, 2)

    def zero_padded(a: np.ndarray) -> np.ndarray:
        return conv2d(a, kernel, padding="same")

    def stride(a: np.ndarray) -> np.ndarray:
        return circular(kernel)(a)[:, :, ::2, ::2]

    def pool_with(a: np.ndarray) -> np.ndarray:
        return pool(a, 2).values

    interior = np.abs(zero_padded(one(x)) - one(zero_padded(x)))[:, :, :, 2:-1].max()
    truth = every(
        circular=below(equivariance_error(circular(kernel), one, x), EXACT),
        zero_padded_inside=below(float(interior), EXACT),
        strided_by_two=below(equivariance_error(stride, two, x, after=one), EXACT),
        pooling_by_two=below(equivariance_error(pool_with, two, x, after=one), EXACT),
        global_pooling=below(invariance_error(global_pool, one, x), EXACT),
        global_maximum=equal(invariance_error(partial(global_pool, kind="max"), one, x), 0.0),
    )
    return corrected(
        truth,
        zero_padding=below(equivariance_error(zero_padded, one, x), 1e-3),
        stride=near(stride(one(x)), stride(x), tolerance=1e-3),
        pooling_ignores_a_shift_by_one=below(invariance_error(pool_with, one, x), 1e-3),
        pooling_ignores_a_shift_by_two=below(invariance_error(pool_with, two, x), 1e-3),
    )
