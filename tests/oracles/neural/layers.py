"""Layers written out with loops over NumPy arrays, at sizes that do not divide each other."""

from __future__ import annotations

import numpy as np
import torch
from scipy import special
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.neural.convolution.layers import GlobalAvgPool
from margin.neural.layers.dense import Dense, dense, dense_backward
from margin.neural.layers.pixel_mlp import PixelMLP
from margin.neural.layers.pooling import adaptive_avg_pool2d
from margin.neural.normalization.functions import group_norm
from margin.neural.normalization.layers import GroupNorm
from margin.neural.weights import build

PATH = "margin.neural"
TIGHT = 1e-10


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(0.4, 1.3, size=shape)


@oracle(*(f"{PATH}.layers.dense.{name}" for name in ("Dense", "dense", "dense_backward")))
def units_one_by_one(seed: int) -> Verdict:
    """Outputs as sums, gradients by differences of a sum with weights of their own."""
    a, w, b, delta = drawn(seed, 3, 4), drawn(seed, 2, 4), drawn(seed, 2), drawn(seed, 3, 2)
    outputs = [[sum(x * y for x, y in zip(row, unit)) + c for unit, c in zip(w, b)] for row in a]
    loss = lambda a, w, b: float(np.sum(delta * (a @ w.T + b)))  # noqa: E731
    slopes = []
    for k, part in enumerate((a, w, b)):
        slope = np.empty(part.shape)
        for index in np.ndindex(*part.shape):
            moved = [np.array(p) for p in (a, w, b)], [np.array(p) for p in (a, w, b)]
            moved[0][k][index] += 0.5
            moved[1][k][index] -= 0.5
            slope[index] = loss(*moved[0]) - loss(*moved[1])  # exact: the loss is linear in every entry
        slopes.append(slope)
    found = dense_backward(*map(torch.from_numpy, (delta, a, w)))
    layer, images = build(lambda: Dense(6, 2, "tanh"), seed, torch.float64), drawn(seed, 2, 3, 1, 2)
    weight, bias = (p.detach().numpy() for p in (layer.linear.weight, layer.linear.bias))
    return every(
        forward=near(dense(*map(torch.from_numpy, (a, w, b))), outputs, tolerance=TIGHT),
        **{name: near(getattr(found, name), s, tolerance=1e-9) for name, s in zip(("a", "weight", "bias"), slopes)},
        layer=near(
            layer(torch.from_numpy(images)).detach(),
            np.tanh([weight @ image.ravel() + bias for image in images]),
            tolerance=TIGHT,
        ),
    )


@oracle(f"{PATH}.layers.pixel_mlp.PixelMLP")
def a_perceptron_at_every_pixel(seed: int) -> Verdict:
    net, x = (
        build(lambda: PixelMLP(3, 2, hidden=5, n_layers=3, dropout=0.4), seed, torch.float64),
        drawn(seed, 2, 3, 3, 4),
    )
    net.eval()  # without dropout
    pairs = [(c.weight.detach().numpy()[:, :, 0, 0], c.bias.detach().numpy()) for c in net.convolutions]
    expected = np.empty((2, 2, 3, 4))
    for n, i, j in np.ndindex(2, 3, 4):
        h = x[n, :, i, j]
        for k, (w, b) in enumerate(pairs):
            h = w @ h + b
            h = h * special.ndtr(h) if k < 2 else h  # GELU between the layers
        expected[n, :, i, j] = h
    return near(net(torch.from_numpy(x)).detach(), expected, tolerance=TIGHT)


@oracle(f"{PATH}.layers.pooling.adaptive_avg_pool2d", f"{PATH}.convolution.layers.GlobalAvgPool")
def means_of_windows(seed: int) -> Verdict:
    x, (h, w) = drawn(seed, 2, 3, 7, 5), (3, 2)
    rows, columns = ([(k * n // m, -((-(k + 1) * n) // m)) for k in range(m)] for n, m in ((7, h), (5, w)))
    expected = np.empty((2, 3, h, w))
    for n, c, i, j in np.ndindex(2, 3, h, w):
        window = [x[n, c, p, q] for p in range(*rows[i]) for q in range(*columns[j])]
        expected[n, c, i, j] = sum(window) / len(window)
    ours = adaptive_avg_pool2d(torch.from_numpy(x), (h, w))
    theirs = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(x), (h, w))
    return every(
        by_loops=near(ours, expected, tolerance=TIGHT),
        torch=near(ours, theirs, tolerance=TIGHT),
        whole_map=near(
            GlobalAvgPool()(torch.from_numpy(x)).flatten(1), x.reshape(2, 3, -1).mean(axis=2), tolerance=TIGHT
        ),
    )


@oracle(f"{PATH}.normalization.functions.group_norm", f"{PATH}.normalization.layers.GroupNorm")
def groups_of_channels(seed: int) -> Verdict:
    """Each image's groups standardized on their own, then scaled and shifted channel by channel."""
    x, gamma, beta = drawn(seed, 2, 6, 3, 5), drawn(seed, 6), drawn(seed + 1, 6)
    expected = np.empty(x.shape)
    for n, g in np.ndindex(2, 3):
        part = x[n, 2 * g : 2 * g + 2]
        expected[n, 2 * g : 2 * g + 2] = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
    expected = expected * gamma[:, None, None] + beta[:, None, None]
    layer = GroupNorm(3, 6).double()
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(gamma))
        layer.bias.copy_(torch.from_numpy(beta))
    return every(
        function=near(
            group_norm(torch.from_numpy(x), 3, torch.from_numpy(gamma), torch.from_numpy(beta)),
            expected,
            tolerance=1e-9,
        ),
        layer=near(layer(torch.from_numpy(x)).detach(), expected, tolerance=1e-9),
    )
