"""Claims on pooling over the whole image: average, maximum, and the classifiers they make possible."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.neural.convolution import GlobalAvgPool, GlobalMaxPool, global_pool, invariance_error, shift
from margin.neural.layers import adaptive_avg_pool2d
from margin.neural.weights import build, count_parameters
from margin.notes.claims import claim
from margin.notes.claims.cnn import normal, stream
from margin.notes.claims.cnn.pooling import tensor


@claim("global-average-pooling")
def global_average(seed: int) -> Verdict:
    x = normal(seed, 3, 5, 4, 6)
    layer = GlobalAvgPool()
    return every(
        mean=near(layer(tensor(x)), x.mean(axis=(2, 3)), tolerance=1e-14),
        ours=near(global_pool(x), x.mean(axis=(2, 3)), tolerance=0.0),
        adaptive=near(adaptive_avg_pool2d(tensor(x), (1, 1))[..., 0, 0], layer(tensor(x)), tolerance=1e-14),
        shape=equal(tuple(layer(tensor(x)).shape), (3, 5)),
    )


@claim("global-max-pooling")
def global_maximum(seed: int) -> Verdict:
    x = normal(seed, 3, 5, 4, 6)
    leaf = tensor(x).requires_grad_()
    GlobalMaxPool()(leaf).sum().backward()
    assert leaf.grad is not None
    at_the_top = x == x.max(axis=(2, 3), keepdims=True)
    return every(
        maximum=near(GlobalMaxPool()(tensor(x)), x.max(axis=(2, 3)), tolerance=0.0),
        ours=near(global_pool(x, "max"), x.max(axis=(2, 3)), tolerance=0.0),
        gradient=equal(leaf.grad.numpy(), at_the_top.astype(float)),
    )


@claim("claim-gap-versus-gmp")
def average_against_maximum(seed: int) -> Verdict:
    x = stream(seed).random((1, 3, 8, 8))
    noisy = x.copy()
    noisy[0, 0, 3, 5] += 10.0
    moved = {kind: float((global_pool(noisy, kind) - global_pool(x, kind))[0, 0]) for kind in ("mean", "max")}
    gradients = {}
    for kind, layer in (("mean", GlobalAvgPool()), ("max", GlobalMaxPool())):
        leaf = tensor(x).requires_grad_()
        layer(leaf).sum().backward()
        assert leaf.grad is not None
        gradients[kind] = leaf.grad.numpy()
    order = stream(seed).permutation(64)
    shuffled = x.reshape(1, 3, 64)[:, :, order].reshape(x.shape)
    truth = every(
        mean_moves_by=near(moved["mean"], 10 / 64, tolerance=1e-12),
        maximum_moves_by=above(moved["max"], 9.0),
        even_gradients=near(gradients["mean"], np.full_like(x, 1 / 64), tolerance=1e-15),
        one_gradient=equal((gradients["max"] != 0).sum(axis=(2, 3)).tolist(), [[1, 1, 1]]),
        layout_is_lost=near(global_pool(shuffled), global_pool(x), tolerance=1e-14),
        plain_average=near(gradients["mean"], np.full_like(x, gradients["mean"][0, 0, 0, 0]), tolerance=0.0),
    )
    # What keeps the layout would tell an image from its shuffled pixels; a weighted average has unequal weights.
    return corrected(
        truth,
        keeps_the_layout=above(float(np.abs(global_pool(shuffled) - global_pool(x)).max()), 1e-6),
        weighted=above(float(np.ptp(gradients["mean"])), 1e-9),
    )


@claim("claim-gap-versus-fully-connected")
def average_against_dense_head(seed: int) -> Verdict:
    c, h, w, k = 16, 6, 5, 10
    maps = stream(seed).random((4, c, h, w)).astype(np.float64)
    pooled = build(lambda: nn.Sequential(GlobalAvgPool(), nn.Linear(c, k)), seed, torch.float64)
    dense = build(lambda: nn.Sequential(nn.Flatten(), nn.Linear(c * h * w, k)), seed, torch.float64)

    def move(head: nn.Module) -> float:
        return invariance_error(lambda x: head(tensor(x)).detach().numpy(), lambda x: shift(x, 2, 1), maps)

    truth = every(
        counts=equal((count_parameters(dense), count_parameters(pooled)), (c * h * w * k + k, c * k + k)),
        exact_invariance=below(move(pooled), 1e-12),
        not_of_the_dense_head=above(move(dense), 0.01),
        no_parameters_in_the_pooling=equal(count_parameters(GlobalAvgPool()), 0),
    )
    return corrected(truth, printed=above(count_parameters(GlobalAvgPool()) / c, 0))


@claim("example-global-pooling-classifier")
def one_head_for_images_of_any_size(seed: int) -> Verdict:
    def body() -> list[nn.Module]:
        return [nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 12, 3, stride=2), nn.ReLU()]

    pooled = build(lambda: nn.Sequential(*body(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 1000)), seed)
    flat = build(lambda: nn.Sequential(*body(), nn.Flatten(), nn.Linear(12 * 7 * 7, 1000)), seed)
    bare = build(lambda: nn.Sequential(*body(), nn.AdaptiveAvgPool2d(1), nn.Linear(12, 1000)), seed)
    images = [torch.zeros(2, 3, *size) for size in ((32, 32), (64, 48), (224, 224))]
    ours = adaptive_avg_pool2d(pooled[:4](images[0]).detach(), (1, 1))
    truth = every(
        any_size=equal([tuple(pooled(image).shape) for image in images], [(2, 1000)] * 3),
        pooled=near(ours, pooled[:5](images[0]).detach(), tolerance=1e-6),
        flatten_alone_takes_one=equal(tuple(flat(images[0]).shape), (2, 1000)),
        and_no_other=raises(RuntimeError, lambda: flat(images[1]), match="shape"),
    )
    return corrected(truth, printed=raises_nothing(bare, images[0]))


def raises_nothing(network: nn.Module, x: torch.Tensor) -> Verdict:
    """Whether the linear layer takes (N, C, 1, 1) without a flattening, as printed."""
    try:
        return equal(tuple(network(x).shape), (len(x), 1000))
    except RuntimeError as error:
        return equal(type(error).__name__, "no error")
