"""Claims on maps of what an image network looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.interpretation.attribution import class_activation_map, grad_cam
from margin.neural.convolution.layers import GlobalAvgPool
from margin.neural.weights import build
from margin.notes.claims import claim

SIZE = (8, 9)  # the last maps have 5 x 6 = 30 positions


def pooled_network(seed: int) -> Any:
    """Convolutions, average pooling, one linear layer, in double precision."""

    def make() -> nn.Module:
        layers = nn.Conv2d(2, 5, 3, padding=1), nn.Tanh(), nn.Conv2d(5, 4, 4), nn.ReLU(), GlobalAvgPool()
        return nn.Sequential(*layers, nn.Linear(4, 3))

    return build(make, seed=seed, dtype=torch.float64)


def images(seed: int, n: int = 3) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 2, *SIZE)))


@claim("class-activation-mapping")
def the_mean_of_the_map_is_the_score(seed: int) -> Verdict:
    net, x = pooled_network(seed), images(seed)
    features, head = net[:4](x), net[5]
    maps = [class_activation_map(features, head.weight, c) for c in range(3)]
    scores = torch.stack([m.mean(dim=(1, 2)) for m in maps], dim=1) + head.bias
    return every(
        score=near(scores.detach(), net(x).detach(), tolerance=1e-12),
        shape=equal(tuple(maps[0].shape), (3, 5, 6)),
    )


@claim("grad-cam")
def grad_cam_needs_no_pooling(seed: int) -> Verdict:
    net, x = pooled_network(seed), images(seed)
    features = net[:4](x)
    cam = class_activation_map(features, net[5].weight, 1).relu() / 30
    heat = grad_cam(net, net[3], x, 1)

    def make() -> nn.Module:
        return nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 6 * 7, 2))

    dense: Any = build(make, seed=seed, dtype=torch.float64)
    maps = dense[:2](x)
    weight = dense[3].weight[0].reshape(4, -1).mean(dim=1)  # the gradient of a linear head is its weight
    expected = torch.einsum("c,nchw->nhw", weight, maps).relu()
    return every(
        pooled=near(heat, cam.detach(), tolerance=1e-12),
        dense=near(grad_cam(dense, dense[1], x, 0), expected.detach(), tolerance=1e-12),
        not_negative=equal(bool((heat >= 0).all()), True),
    )


@claim("claim-cam-weight-is-gradient-sum")
def the_weight_is_the_sum_of_the_gradients(seed: int) -> Verdict:
    net, x = pooled_network(seed), images(seed, 1)
    features = net[:4](x).detach().requires_grad_(True)
    weight = net[5].weight.detach()
    gradients = torch.stack([torch.autograd.grad(net[4:](features)[0, c], features)[0][0] for c in range(3)])
    z = gradients.shape[2] * gradients.shape[3]
    total, mean = gradients.sum(dim=(2, 3)), gradients.mean(dim=(2, 3))
    cam = class_activation_map(features, weight, 0).relu()
    truth = every(
        positions=equal(z, 30),
        sum=near(total, weight, tolerance=1e-6),
        mean_times_z=near(z * mean, weight, tolerance=1e-6),
        maps=near(z * grad_cam(net, net[3], x, 0), cam.detach(), tolerance=1e-10),
        weights_are_not_zero=above(float(weight.abs().max()), 1e-2),
    )
    return corrected(
        truth,
        a_factor_z_left_over=near(z * total, weight, tolerance=1e-6),
        called_the_average=near(mean, weight, tolerance=1e-6),
    )
