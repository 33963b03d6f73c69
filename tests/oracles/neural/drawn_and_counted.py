"""What is drawn, counted, normalized and watched in networks, against torch or written out."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.diagnostics.flow import layer_moments
from margin.neural.diagnostics.shattering import gradient_curve, roughness
from margin.neural.initialize.schemes import initialize_
from margin.neural.layers.counting import count_values, linear_parameters
from margin.neural.nets.densenet import densenet
from margin.neural.normalization.layers import InstanceNorm, LayerNorm, RMSNorm
from margin.neural.normalization.modes import predict
from margin.neural.theory.counting import deep_region_bound
from margin.neural.training.noise import with_input_noise, with_weight_noise
from margin.neural.weights import build, copy_weights, count_parameters, load_weights


@oracle(
    f"{PATH}.diagnostics.flow.layer_moments",
    *(f"{PATH}.diagnostics.shattering.{name}" for name in ("gradient_curve", "roughness")),
)
def moments_and_slopes(seed: int) -> Verdict:
    net = build(lambda: nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1)), seed, torch.float64)
    x = normal(seed, 9)
    first = net[0](x[:, None]).detach().numpy()
    outputs = [first, net(x[:, None]).detach().numpy()]
    mean, deviation = layer_moments(net, x[:, None])
    with torch.no_grad():
        slopes = ((net(x[:, None] + 1e-5) - net(x[:, None] - 1e-5)) / 2e-5)[:, 0].numpy()
    changes = sum((slopes[i + 1] - slopes[i]) ** 2 for i in range(8)) / 8
    spread = sum((s - sum(slopes) / 9) ** 2 for s in slopes) / 9
    return every(
        mean=near(mean.detach().numpy(), [h.mean() for h in outputs], tolerance=1e-12),
        deviation=near(deviation.detach().numpy(), [h.std() for h in outputs], tolerance=1e-12),
        slope=near(gradient_curve(net, x), slopes, tolerance=1e-8),
        roughness=near(roughness(slopes), changes / spread, tolerance=1e-10),
    )


@oracle(f"{PATH}.initialize.schemes.initialize_")
def drawn_networks(seed: int) -> Verdict:
    """Variances of wide layers, and the same draws at another scale; biases 0, norms as they were."""

    def net() -> nn.Sequential:
        return nn.Sequential(nn.Linear(300, 400), nn.LayerNorm(400), nn.Linear(400, 200))

    found = {}
    for scheme, expected in (("he", (2 / 300, 2 / 400)), ("xavier", (2 / 700, 2 / 600)), ("lecun", (1 / 300, 1 / 400))):
        drawn = initialize_(net(), scheme, generator=torch.Generator().manual_seed(seed), scale=1.5)
        variances = [float(drawn[k].weight.detach().var()) / 1.5**2 / v for k, v in zip((0, 2), expected)]
        found[scheme] = near(variances, [1.0, 1.0], tolerance=0.04)  # ten standard errors
        found[f"{scheme}_biases"] = equal(float((drawn[0].bias.abs().max() + drawn[2].bias.abs().max()).detach()), 0.0)
        found[f"{scheme}_norm"] = equal(float(drawn[1].weight.detach().min()), 1.0)
    return every(**found)


@oracle(
    f"{PATH}.layers.counting.count_values",
    f"{PATH}.layers.counting.linear_parameters",
    *(f"{PATH}.weights.{name}" for name in ("copy_weights", "count_parameters", "load_weights")),
)
def weights_counted_and_moved(seed: int) -> Verdict:
    first, second = (build(lambda: nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5)), seed + k) for k in range(2))
    first[1].running_mean.copy_(normal(seed, 5))
    kept = copy_weights(first)
    load_weights(second, kept)
    first[0].weight.data.add_(1.0)  # of a copy nothing changes
    first[0].bias.requires_grad_(False)
    counts = count_values(first)
    return every(
        trainable=equal(counts.trainable, 3 * 5 + 2 * 5),
        running=equal(counts.running, 2 * 5),
        all_of_them=equal(count_parameters(second), 3 * 5 + 5 + 2 * 5),
        linear=equal(linear_parameters(7, 4), sum(p.numel() for p in nn.Linear(7, 4).parameters())),
        moved=near(second[0].weight.detach().numpy() + 1.0, first[0].weight.detach().numpy(), tolerance=1e-6),
        buffers=near(second[1].running_mean.numpy(), kept["1.running_mean"], tolerance=0.0),
    )


@oracle(*(f"{PATH}.normalization.layers.{name}" for name in ("LayerNorm", "RMSNorm", "InstanceNorm")))
def normalized_by_torch(seed: int) -> Verdict:
    x, images = normal(seed, 5, 4), normal(seed, 2, 4, 3, 5)
    scale, move = normal(seed, 4), normal(seed + 1, 4)
    layer, rms, instance = LayerNorm(4).double(), RMSNorm(4).double(), InstanceNorm(4, affine=True).double()
    for norm in (layer, rms, instance):
        norm.weight.data.copy_(scale)
    for norm in (layer, instance):
        norm.bias.data.copy_(move)
    eps = instance.eps
    return every(
        layer=same(layer(x), functional.layer_norm(x, (4,), scale, move, layer.eps)),
        rms=same(rms(x), scale * x / (x.square().mean(dim=1, keepdim=True) + rms.eps).sqrt()),
        instance=same(instance(images), functional.instance_norm(images, weight=scale, bias=move, eps=eps)),
    )


@oracle(f"{PATH}.normalization.modes.predict")
def statistics_that_are_stored(seed: int) -> Verdict:
    net = build(lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), seed, torch.float64)
    net[1].running_mean.copy_(normal(seed, 2))
    net[1].running_var.copy_(normal(seed + 1, 2).square() + 0.2)
    x = normal(seed, 6, 3)
    z = x @ net[0].weight.T + net[0].bias
    stored = (z - net[1].running_mean) / (net[1].running_var + net[1].eps).sqrt()
    told = []
    for training in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            told.append((predict(net.train(training), x), len(caught)))
    batch = (z - z.mean(dim=0)) / (z.var(dim=0, correction=0) + net[1].eps).sqrt()
    return every(
        stored=same(told[0][0], stored),
        of_the_batch=same(told[1][0], batch),
        warned=equal([count for _, count in told], [0, 1]),
    )


@oracle(f"{PATH}.theory.counting.deep_region_bound")
def pieces_of_folded_layers(seed: int) -> Verdict:
    width, depth = 2 * (seed % 3 + 2), seed % 4 + 2
    plane = sum(math.comb(width, j) for j in range(3))  # regions of so many lines in the plane
    folded = [plane * math.prod([(width // 2 + 1) ** 2] * (layers - 1)) for layers in (1, depth)]
    return equal([deep_region_bound(width, layers) for layers in (1, depth)], [float(count) for count in folded])


@oracle(f"{PATH}.training.noise.with_input_noise", f"{PATH}.training.noise.with_weight_noise")
def noise_drawn_again(seed: int) -> Verdict:
    net = build(lambda: nn.Linear(3, 2), seed, torch.float64)
    x, y = normal(seed, 5, 3), normal(seed, 5, 2)

    def objective(module: Any, batch: Any, _noise: Any) -> dict[str, Tensor]:
        return {"loss": (module(batch[0]) - batch[1]).square().sum(dim=1)}

    def noise() -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    def drawn(*shapes: tuple[int, ...]) -> list[Tensor]:
        generator = noise()
        return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]

    (moved,) = drawn((5, 3))
    of_weight, of_bias = drawn((2, 3), (2,))
    inputs = (functional.linear(x + 0.7 * moved, net.weight, net.bias) - y).square().sum(dim=1)
    weights = (x @ (net.weight + 0.3 * of_weight).T + net.bias + 0.3 * of_bias - y).square().sum(dim=1)
    return every(
        inputs=same(with_input_noise(objective, 0.7)(net, (x, y), noise())["loss"], inputs),
        weights=same(with_weight_noise(objective, 0.3)(net, (x, y), noise())["loss"], weights),
        none=same(with_input_noise(objective, 0.0)(net, (x, y), noise())["loss"], objective(net, (x, y), None)["loss"]),
    )


@oracle(f"{PATH}.nets.densenet.densenet")
def dense_blocks_counted(seed: int) -> Verdict:
    """Weights layer by layer: bottlenecks to four times the growth, halves between blocks; every layer sees all."""
    growth, blocks = 3 + seed % 3, (2, 3)
    net = build(lambda: densenet(growth, blocks, (2, 12, 10), 5), seed)
    channels, expected = 2 * growth, 2 * 2 * growth * 9
    for k, n_layers in enumerate(blocks):
        for _ in range(n_layers):
            expected += 2 * channels + channels * 4 * growth + 2 * 4 * growth + 4 * growth * growth * 9
            channels += growth
        expected += 2 * channels
        if k == 0:
            expected += channels * (channels // 2)
            channels //= 2
    expected += channels * 5 + 5
    return every(
        weights=equal(sum(p.numel() for p in net.parameters()), expected),
        outputs=equal(tuple(net(torch.zeros(2, 2, 12, 10)).shape), (2, 5)),
    )
