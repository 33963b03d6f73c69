"""Maps of what a network looked at, against autograd, brute force and their own laws."""

import numpy as np
import pytest
import torch
from torch import nn

from margin.interpretation.attribution import (
    class_activation_map,
    grad_cam,
    integrated_gradients,
    occlusion,
    resize_map,
)
from margin.neural.convolution.layers import GlobalAvgPool
from margin.neural.weights import build


def pooled_network(seed):
    def make():
        return nn.Sequential(
            nn.Conv2d(1, 5, 3), nn.Tanh(), nn.Conv2d(5, 4, 3), nn.ReLU(), GlobalAvgPool(), nn.Linear(4, 3)
        )

    return build(make, seed=seed, dtype=torch.float64)


def images(seed, n=2):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 1, 10, 9)))


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_of_the_map_is_the_score(seed):
    net, x = pooled_network(seed), images(seed)
    features, head = net[:4](x), net[5]
    for label in range(3):
        heat = class_activation_map(features, head.weight, label)
        torch.testing.assert_close(heat.mean(dim=(1, 2)) + head.bias[label], net(x)[:, label])


def test_grad_cam_behind_average_pooling_is_the_positive_map_over_its_size():
    net, x = pooled_network(1), images(1)
    features = net[:4](x)
    z = features.shape[2] * features.shape[3]
    label = torch.tensor([0, 2])
    expected = class_activation_map(features, net[5].weight, label).relu() / z
    torch.testing.assert_close(grad_cam(net, net[3], x, label), expected)


def test_grad_cam_without_pooling_is_its_definition():
    def make():
        return nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 8 * 7, 6), nn.Tanh(), nn.Linear(6, 2)
        )

    net, x = build(make, seed=2, dtype=torch.float64).requires_grad_(False), images(2)
    maps = net[:2](x)
    step = 1e-6
    weight = torch.zeros(2, 3, dtype=torch.float64)
    for c in range(3):  # moving a whole map at once sums its gradients
        moved = maps.clone()
        moved[:, c] += step
        back = maps.clone()
        back[:, c] -= step
        weight[:, c] = (net[2:](moved) - net[2:](back))[:, 1] / (2 * step) / (8 * 7)
    expected = torch.einsum("nc,nchw->nhw", weight, maps).relu()
    torch.testing.assert_close(grad_cam(net, net[1], x, 1), expected, atol=1e-8, rtol=1e-6)
    with pytest.raises(ValueError, match="layer must be a part of network"):
        grad_cam(net, nn.Tanh(), x, 1)
    with pytest.raises(ValueError, match="must give maps"):
        grad_cam(net, net[3], x, 1)


def test_integrated_gradients_are_complete():
    net, x = pooled_network(3), images(3)
    baseline = images(4)
    label = torch.tensor([1, 2])
    found = integrated_gradients(net, x, label, baseline, steps=600)
    difference = (net(x) - net(baseline)).gather(1, label[:, None])[:, 0]
    torch.testing.assert_close(found.sum(dim=(1, 2, 3)), difference, atol=1e-4, rtol=1e-4)


def test_integrated_gradients_of_a_cubic_are_exact():
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    found = integrated_gradients(lambda p: p[:, :1] ** 3 * p[:, 1:], x, 0, steps=4)
    torch.testing.assert_close(found, torch.tensor([[1.5, 0.5]], dtype=torch.float64))  # 3/4 and 1/4 of 2


def test_occlusion_of_a_linear_score_is_what_the_square_adds():
    weight = images(5, 1)[0, 0]
    x = images(6)
    drops = occlusion(lambda p: (p[:, 0] * weight).sum(dim=(1, 2))[:, None], x, 0, size=3, stride=2)
    expected = [[(x[0, 0] * weight)[r : r + 3, c : c + 3].sum() for c in range(0, 7, 2)] for r in range(0, 8, 2)]
    torch.testing.assert_close(drops[0], torch.tensor(expected, dtype=torch.float64))
    with pytest.raises(ValueError, match="size must lie between 1 and 9"):
        occlusion(lambda p: p[:, 0, 0], x, 0, size=10)


def test_resize_map_keeps_a_constant():
    assert torch.equal(resize_map(torch.full((2, 3, 3), 4.0), 12, 9), torch.full((2, 12, 9), 4.0))
