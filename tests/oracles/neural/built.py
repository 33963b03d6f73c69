"""Networks that are built or watched: layers, work, norms and pieces against loops and counts by hand."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from scipy.special import comb
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.normalization.blocks import conv_bn_act
from margin.neural.normalization.functions import group_norm, layer_norm
from margin.neural.normalization.modes import mc_batchnorm_predict
from margin.neural.normalization.pooled import pooled_cells
from margin.neural.summary import layer_table
from margin.neural.theory.approximation import finite_set_network, lipschitz_estimate
from margin.neural.theory.counting import montufar_bound
from margin.neural.theory.network import DenseNetwork
from margin.neural.theory.pieces import clip, unit_lines
from margin.neural.training.work import WorkCounter
from margin.neural.weights import build


@oracle(f"{PATH}.summary.layer_table")
def layers_of_a_net_with_shared_weights(seed: int) -> Verdict:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.shared = nn.Conv2d(3, 5, 3, stride=2), nn.Linear(5, 5)
            self.scale = nn.Parameter(torch.ones(7))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.first(x).mean(dim=(2, 3))
            return self.shared(self.shared(x)) * self.scale.sum()

    lines = layer_table(build(Twice, seed), torch.zeros(2, 3, 9, 6))
    found = [(line.kind, line.output_shape, line.parameters) for line in lines]
    return equal(
        found,
        [
            ("Conv2d", (2, 5, 4, 2), 5 * 3 * 9 + 5),
            ("Linear", (2, 5), 30),
            ("Linear", (2, 5), 0),
            ("Parameter", (7,), 7),
        ],
    )


@oracle(f"{PATH}.training.work.WorkCounter")
def multiply_adds_of_a_step(seed: int) -> Verdict:
    """A strided convolution, a linear layer, and what their gradients cost; attention of unequal lengths."""
    net: Any = build(lambda: nn.Sequential(nn.Conv2d(4, 6, 3, stride=2), nn.Flatten(), nn.Linear(24, 3)), seed)
    x = normal(seed, 5, 4, 6, 5).float()
    forward = 5 * (6 * 2 * 2) * (4 * 9) + 5 * 24 * 3
    with WorkCounter() as once, torch.no_grad():
        net(x)
    with WorkCounter() as step:
        net(x).sum().backward()  # the gradient of the input of the first layer is not asked for
    q, k = normal(seed, 2, 3, 5, 4).float(), normal(seed, 2, 3, 7, 4).float()
    with WorkCounter() as seen, torch.no_grad():
        functional.scaled_dot_product_attention(q, k, k)
    return every(
        forward=equal(once.multiply_adds, forward),
        step=equal(step.multiply_adds, forward + (forward - 5 * 24 * 3) + 2 * 5 * 24 * 3),
        attention=equal(seen.multiply_adds, 2 * 2 * 3 * 5 * 7 * 4),
    )


@oracle(f"{PATH}.normalization.blocks.conv_bn_act")
def blocks_in_their_order(seed: int) -> Verdict:
    x, parts = normal(seed, 3, 2, 5, 4), {}
    for order in ("conv-bn-act", "conv-act-bn"):
        block: Any = build(lambda o=order: conv_bn_act(2, 3, 3, activation="tanh", order=o), seed, torch.float64)
        norm = block[order.split("-").index("bn")]
        with torch.no_grad():
            norm.weight.copy_(torch.tensor([0.5, -1.5, 2.0]))
            norm.bias.copy_(torch.tensor([1.0, 0.0, -0.3]))
        h = functional.conv2d(x, block[0].weight, padding=1)
        h = torch.tanh(h) if order == "conv-act-bn" else h
        center, width = h.mean(dim=(0, 2, 3)), h.var(dim=(0, 2, 3), correction=0)
        h = (h - center[:, None, None]) / (width + norm.eps).sqrt()[:, None, None]
        h = h * norm.weight[:, None, None] + norm.bias[:, None, None]
        parts[order.replace("-", "_")] = same(block(x), h if order == "conv-act-bn" else torch.tanh(h))
        parts[f"no_bias_{order}".replace("-", "_")] = equal(block[0].bias is None, True)
    return every(**parts)


@oracle(f"{PATH}.normalization.modes.mc_batchnorm_predict")
def predictions_with_batches_drawn(seed: int) -> Verdict:
    """A linear layer after a norm: mean and spread over the same draws of batches, written out."""
    train, x = normal(seed, 11, 3), normal(seed + 1, 4, 3)
    net: Any = build(lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)), seed, torch.float64)
    before = net[0].running_var.clone()
    generator = torch.Generator().manual_seed(seed)
    mean, spread = mc_batchnorm_predict(net, x, train, batch_size=5, samples=6, generator=generator)
    generator.manual_seed(seed)
    outputs = []
    for _ in range(6):
        batch = train[torch.randint(11, (5,), generator=generator)].numpy()
        scaled = (x.numpy() - batch.mean(axis=0)) / np.sqrt(batch.var(axis=0, ddof=1) + net[0].eps)
        outputs.append(scaled @ net[1].weight.detach().numpy().T + net[1].bias.detach().numpy())
    return every(
        mean=near(mean.numpy(), np.mean(outputs, axis=0), tolerance=1e-9),
        spread=near(spread.numpy(), np.std(outputs, axis=0, ddof=1), tolerance=1e-9),
        left_as_it_was=equal(torch.equal(net[0].running_var, before) and net.training, True),
    )


@oracle(f"{PATH}.normalization.pooled.pooled_cells")
def cells_that_change_an_output(seed: int) -> Verdict:
    """Every cell is moved by itself: which of them move the output?"""
    x, cell = normal(seed, 2, 4, 3), (1, 2, 0)
    parts = {}
    for name, normalize in (
        ("rows", lambda t: layer_norm(t, [3])),
        ("groups", lambda t: group_norm(t, 2)),
    ):
        moves = torch.zeros(x.shape, dtype=torch.bool)
        for place in product(*map(range, x.shape)):
            moved = x.clone()
            moved[place] += 0.7
            moves[place] = (normalize(moved)[cell] - normalize(x)[cell]).abs() > 1e-9
        parts[name] = equal(pooled_cells(normalize, x, cell).numpy(), moves.numpy())
    return every(**parts)


@oracle(f"{PATH}.theory.approximation.finite_set_network", f"{PATH}.theory.approximation.lipschitz_estimate")
def networks_on_points(seed: int) -> Verdict:
    values = np.random.default_rng(seed).normal(1.0, 2.0, size=5)
    points = np.arange(1.0, 6.0)
    plain, merged = (finite_set_network(values, joined, shift=0.4, slope=60.0) for joined in (False, True))
    x = np.linspace(-0.7, 2.3, 37)
    slopes = [abs((np.exp(b) - np.exp(a)) / (b - a)) for a, b in pairwise(x)]
    return every(
        plain=near(plain(points).ravel(), values, tolerance=1e-6),
        merged=near(merged(points).ravel(), values, tolerance=1e-6),
        between=near(plain(points + 0.5).ravel(), values, tolerance=0.06),  # steps stand 0.6 behind the points
        units=equal([len(plain.biases[0]), len(merged.biases[0])], [10, 5]),
        steepest=near(lipschitz_estimate(np.exp, -0.7, 2.3, 37), max(slopes), tolerance=1e-10),
    )


@oracle(f"{PATH}.theory.pieces.unit_lines", f"{PATH}.theory.pieces.clip")
def lines_of_hidden_units(seed: int) -> Verdict:
    """Pre-activations of every layer at many points, and that a clipped line is the greater of it and 0."""
    rng = np.random.default_rng(seed)
    sizes = (1, 4, 3, 2)
    net = DenseNetwork(
        [rng.normal(size=pair[::-1]) for pair in pairwise(sizes)], [rng.normal(size=n) for n in sizes[1:]]
    )
    x, parts = np.linspace(-5, 5, 301), {}
    h = x[:, None]
    for layer in range(3):
        before = h @ net.weights[layer].T + net.biases[layer]
        lines = unit_lines(net, layer)
        parts[f"layer_{layer}"] = near(lines.evaluate(x), before, tolerance=1e-9)
        h = np.where(before > 0, before, 0.0)
        parts[f"clipped_{layer}"] = near(clip(lines).evaluate(x), h, tolerance=1e-9)
    return every(**parts)


@oracle(f"{PATH}.theory.counting.montufar_bound")
def regions_by_the_sum(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    found, expected = [], []
    for n in (1, 2, 3):
        widths = [int(w) for w in rng.integers(n, 9, size=n + 1)]
        folds = 1
        for width in widths[:-1]:
            folds *= int(width / n) ** n
        found.append(montufar_bound(n, widths))
        expected.append(folds * sum(int(comb(widths[-1], j)) for j in range(n + 1)))
    return equal(found, expected)
