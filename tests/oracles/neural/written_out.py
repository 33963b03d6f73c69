"""Small functions of networks against torch, or written out entry by entry."""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp, fused_softmax
from margin.neural.attention.dot_product import column_attention, qkv
from margin.neural.attention.masks import padding_mask
from margin.neural.attention.patches import unpatchify
from margin.neural.attention.positions import shift_matrix
from margin.neural.attention.subquadratic import random_feature_attention
from margin.neural.convolution import sizes, symmetry
from margin.neural.convolution.equations import conv2d, unfold
from margin.neural.convolution.layers import GlobalMaxPool
from margin.neural.convolution.matrices import linear_map_matrix
from margin.neural.convolution.transposed import deconvolve, overlap_count
from margin.neural.losses.class_losses import CrossEntropy
from margin.neural.losses.fused import fused_bce_with_logits, fused_cross_entropy
from margin.neural.losses.overlap import soft_dice
from margin.neural.losses.reduction import reduce
from margin.neural.losses.regression import half_squared_error, sse
from margin.neural.losses.target_losses import SquaredError


@oracle(*(f"{PATH}.attention.{name}" for name in ("dot_product.column_attention", "dot_product.qkv")))
def tokens_as_columns(seed: int) -> Verdict:
    x = normal(seed, 2, 5, 3)
    weights = normal(seed, 4, 3), normal(seed + 1, 4, 3), normal(seed + 2, 6, 3)
    biases = normal(seed, 4), normal(seed + 1, 4), normal(seed, 6)
    parts = qkv(x, weights, biases)
    q, k, v = (functional.linear(x, w, b) for w, b in zip(weights, biases))
    columns = column_attention(*(part.transpose(1, 2) for part in (q, k, v)))
    shares = torch.softmax(q @ k.transpose(1, 2) / 2.0, dim=2)  # the root of four entries of a query
    return every(
        query=same(parts[0], q),
        key=same(parts[1], k),
        value=same(parts[2], v),
        without_bias=same(qkv(x, weights)[1], x @ weights[1].T),
        mixed=same(columns[0], functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)),
        weights=same(columns[1], shares.transpose(1, 2)),
    )


@oracle(f"{PATH}.attention.masks.padding_mask", f"{PATH}.attention.patches.unpatchify")
def keys_and_patches_one_by_one(seed: int) -> Verdict:
    lengths = torch.tensor([2, 5, 1])
    patches, put = normal(seed, 2, 6, 12), np.zeros((2, 3, 4, 6))
    for row, column, i, j, c in np.ndindex(2, 3, 2, 2, 3):
        put[:, c, 2 * row + i, 2 * column + j] = patches[:, 3 * row + column, (2 * i + j) * 3 + c]
    return every(
        seen=equal(padding_mask(lengths, 6)[:, 0, 0].tolist(), [[j < n for j in range(6)] for n in (2, 5, 1)]),
        images=near(unpatchify(patches, 4, 6, 2).numpy(), put, tolerance=0.0),
    )


@oracle(f"{PATH}.attention.positions.shift_matrix")
def codes_moved_on(seed: int) -> Verdict:
    steps = float(np.random.default_rng(seed).uniform(0.3, 4.0))

    def code(k: float) -> list[float]:
        return [f(k / 50.0 ** (2 * i / 6)) for i in range(3) for f in (math.sin, math.cos)]

    moved = torch.tensor([code(k) for k in (0.0, 1.0, 2.5)], dtype=torch.float64) @ shift_matrix(steps, 6, 50.0)
    return near(moved.numpy(), [code(k + steps) for k in (0.0, 1.0, 2.5)], tolerance=1e-12)


@oracle(f"{PATH}.attention.subquadratic.random_feature_attention")
def attention_by_random_features(seed: int) -> Verdict:
    """Loops over queries and keys; queries and keys are divided by the fourth root of their width."""
    q, k, v, directions = normal(seed, 4, 3), normal(seed + 1, 4, 3), normal(seed, 4, 2), normal(seed, 7, 3)

    def feature(x: Tensor) -> Tensor:
        x = x / 3**0.25
        return torch.stack([(w @ x - x @ x / 2).exp() for w in directions])

    def mixed(causal: bool) -> Tensor:
        rows = []
        for i in range(4):
            weights = [feature(q[i]) @ feature(k[j]) for j in range(i + 1 if causal else 4)]
            rows.append(sum(w * v[j] for j, w in enumerate(weights)) / sum(weights))
        return torch.stack(rows)

    return every(
        whole=same(random_feature_attention(q, k, v, directions), mixed(causal=False)),
        causal=same(random_feature_attention(q, k, v, directions, causal=True), mixed(causal=True)),
    )


@oracle(
    f"{PATH}.convolution.equations.unfold",
    f"{PATH}.convolution.matrices.linear_map_matrix",
    f"{PATH}.convolution.layers.GlobalMaxPool",
)
def patches_as_columns(seed: int) -> Verdict:
    x, w = normal(seed, 2, 3, 7, 6), normal(seed, 4, 3, 3, 2)
    columns = unfold(x.numpy(), (3, 2), stride=(2, 1), dilation=(1, 2))
    matrix = linear_map_matrix(lambda rows: conv2d(rows, w.numpy(), stride=(1, 2)), (3, 7, 6))
    below = x - 9.0  # the largest entries are negative
    largest = [[max(below[n, c].flatten().tolist()) for c in range(3)] for n in range(2)]
    return every(
        columns=same(columns, functional.unfold(x, (3, 2), stride=(2, 1), dilation=(1, 2))),
        matrix=same(x.flatten(1).numpy() @ matrix.T, functional.conv2d(x, w, stride=(1, 2)).flatten(1)),
        largest=near(GlobalMaxPool()(below).numpy(), largest, tolerance=0.0),
    )


@oracle(f"{PATH}.convolution.sizes.pool_output_size", f"{PATH}.convolution.sizes.transposed_output_size")
def sides_of_outputs(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    pooled, enlarged = [], []
    for _ in range(8):
        size, kernel, stride = int(rng.integers(8, 20)), int(rng.integers(3, 6)), int(rng.integers(1, 4))
        x = torch.zeros(1, 1, size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of entries that no window reaches
            ours = sizes.pool_output_size(size, kernel, stride), sizes.pool_output_size(size, kernel)
        pooled.append(ours == (nn.MaxPool1d(kernel, stride)(x).shape[2], nn.MaxPool1d(kernel)(x).shape[2]))
        layer = nn.ConvTranspose1d(1, 1, kernel, stride, padding=1)
        enlarged.append(sizes.transposed_output_size(size, kernel, padding=1, stride=stride) == layer(x).shape[2])
    return every(pooled=equal(pooled, [True] * 8), enlarged=equal(enlarged, [True] * 8))


@oracle(f"{PATH}.convolution.symmetry.shift", f"{PATH}.convolution.symmetry.equivariance_error")
def entries_that_move(seed: int) -> Verdict:
    x = normal(seed, 2, 4, 5).numpy()
    moved = np.zeros_like(x)
    for n, i, j in np.ndindex(x.shape):
        moved[n, (i + 1) % 4, (j - 2) % 5] = x[n, i, j]
    ramp = np.arange(20.0).reshape(4, 5)

    def weighted(z: np.ndarray) -> np.ndarray:
        return ramp * z

    gap = max(abs(ramp[(i + 1) % 4, (j - 2) % 5] - ramp[i, j]) * abs(x[n, i, j]) for n, i, j in np.ndindex(x.shape))
    return every(
        moved=near(symmetry.shift(x, 1, -2), moved, tolerance=0.0),
        error=near(symmetry.equivariance_error(weighted, lambda z: symmetry.shift(z, 1, -2), x), gap, tolerance=1e-12),
        other_after=near(symmetry.equivariance_error(np.square, np.negative, x, np.copy), 0.0, tolerance=0.0),
    )


@oracle(f"{PATH}.convolution.transposed.deconvolve", f"{PATH}.convolution.transposed.overlap_count")
def what_was_blurred(seed: int) -> Verdict:
    """A circular convolution as a matrix; with noise the ridge solution of that system."""
    rng = np.random.default_rng(seed)
    x, kernel = rng.normal(size=11), np.array([1.0, 0.4, -0.2])
    circular = np.array([[sum(kernel[s] for s in range(3) if (j + s) % 11 == i) for j in range(11)] for i in range(11)])
    blurred = circular @ x
    ridge = np.linalg.solve(circular.T @ circular + 0.3 * np.eye(11), circular.T @ blurred)
    counts = [sum(2 * copy <= i < 2 * copy + 5 for copy in range(4)) for i in range(11)]
    return every(
        exact=near(deconvolve(blurred, kernel), x, tolerance=1e-10),
        with_noise=near(deconvolve(blurred, kernel, 0.3), ridge, tolerance=1e-10),
        copies=equal(overlap_count(5, 2, 4).tolist(), counts),
        in_two_dimensions=equal(overlap_count(5, 2, 4, n_dim=2), np.outer(counts, counts)),
    )


@oracle(
    *(f"{PATH}.activations.fused.{name}" for name in ("fused_softmax", "fused_log_softmax", "fused_logsumexp")),
    *(f"{PATH}.losses.fused.{name}" for name in ("fused_cross_entropy", "fused_bce_with_logits")),
    f"{PATH}.losses.class_losses.CrossEntropy",
)
def shares_by_loops(seed: int) -> Verdict:
    z = normal(seed, 4, 3)
    labels, several = torch.tensor([2, 0, 1, 1]), torch.tensor([[1.0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]]).double()
    powers = [[math.exp(float(entry)) for entry in row] for row in z]
    shares = np.array([[entry / sum(row) for entry in row] for row in powers])
    along = np.array([[row[k] / sum(other[k] for other in powers) for k in range(3)] for row in powers])
    surprise = [-math.log(shares[i, k]) for i, k in enumerate(labels)]
    smooth = [0.9 * s - 0.1 * np.log(shares[i]).mean() for i, s in enumerate(surprise)]
    p = 1 / (1 + np.exp(-z.numpy()))
    binary = -np.where(several.numpy() == 1, np.log(p), np.log1p(-p))
    weight = torch.tensor([0.5, 2.0, 1.3], dtype=torch.float64)
    per_class = weight.numpy()[labels] * surprise
    return every(
        softmax=near(fused_softmax(z).numpy(), shares, tolerance=1e-12),
        over_rows=near(fused_softmax(z, 0).numpy(), along, tolerance=1e-12),
        logarithm=near(fused_log_softmax(z).numpy(), np.log(shares), tolerance=1e-12),
        sums=near(fused_logsumexp(z).numpy(), [math.log(sum(row)) for row in powers], tolerance=1e-12),
        rows=near(fused_cross_entropy(z, labels, reduction="none").numpy(), surprise, tolerance=1e-12),
        weighted=near(
            float(fused_cross_entropy(z, labels, weight)),
            per_class.sum() / weight.numpy()[labels].sum(),
            tolerance=1e-12,
        ),
        binary=near(fused_bce_with_logits(z, several, reduction="none").numpy(), binary, tolerance=1e-12),
        smoothed=near(CrossEntropy(label_smoothing=0.1)(z, labels).numpy(), smooth, tolerance=1e-12),
        held_out=near(CrossEntropy(label_smoothing=0.1)(z, labels, training=False).numpy(), surprise, tolerance=1e-12),
        of_labels=near(CrossEntropy().of_labels(z, several).numpy(), binary.sum(axis=1), tolerance=1e-12),
    )


@oracle(
    f"{PATH}.losses.reduction.reduce",
    f"{PATH}.losses.overlap.soft_dice",
    *(f"{PATH}.losses.regression.{name}" for name in ("half_squared_error", "sse")),
    f"{PATH}.losses.target_losses.SquaredError",
)
def errors_added_by_hand(seed: int) -> Verdict:
    f, y = normal(seed, 4, 3), normal(seed + 1, 4, 3)
    squares = [[(float(a) - float(b)) ** 2 for a, b in zip(*rows)] for rows in zip(f, y)]
    masks, truth = torch.sigmoid(normal(seed, 2, 3, 4, 2)), (normal(seed + 1, 2, 3, 4, 2) > 0.6).double()
    dice = [
        [
            (2 * sum(a * b for a, b in pairs) + 0.5) / (sum(a for a, _ in pairs) + sum(b for _, b in pairs) + 0.5)
            for pairs in (list(zip(masks[n, c].flatten().tolist(), truth[n, c].flatten().tolist())) for c in range(3))
        ]
        for n in range(2)
    ]
    total = sum(map(sum, squares))
    return every(
        sse=near(float(sse(f, y)), total, tolerance=1e-10),
        half=near(float(half_squared_error(f, y)), total / 2, tolerance=1e-10),
        rows=near(SquaredError()(f, y).numpy(), [sum(row) / 6 for row in squares], tolerance=1e-10),
        mean=near(float(reduce("oracle", f, "mean")), float(f.sum()) / 12, tolerance=1e-12),
        sum=near(float(reduce("oracle", f, "sum")), sum(f.flatten().tolist()), tolerance=1e-12),
        none=same(reduce("oracle", f, "none"), f),
        dice=near(soft_dice(masks, truth, 0.5).numpy(), dice, tolerance=1e-10),
    )
