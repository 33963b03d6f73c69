r"""Layers whose inputs drift while they learn, and one that is a hundred times too large

Internal covariate shift: as the weights before it change, the distribution that a layer sees changes from step to step.
Batch normalization holds mean 0 and variance 1. The same network, its second layer scaled by 100, still trains with it
at a learning rate where without it the loss jumps up and then stalls. Whether the shift is why, is disputed; that it is
there is seen here.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.notes.diagrams import MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (8, 24, 24, 24, 1)
LARGE, RATE = 100.0, 0.3


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.initialize import initialize_
    from margin.neural.weights import build

    g, steps = torch.Generator().manual_seed(seed), 100 if fast else 300
    X = torch.randn(200, SIZES[0], generator=g, dtype=torch.float64)
    y = (torch.sin(2 * X[:, 0]) + X[:, 1] > 0).double()
    data: dict[str, Any] = {"losses": {}, "scaled": {}, "means": {}, "deviations": {}}
    for name, normed in (("plain", False), ("batch norm", True)):
        for scale in (1.0, LARGE):
            net: Any = build(partial(network, normed), seed, torch.float64)
            initialize_(net, "he", generator=torch.Generator().manual_seed(seed))
            with torch.no_grad():
                net[3 if normed else 2].weight *= scale
            losses, means, deviations = training(net, X, y, RATE, steps)
            if scale == LARGE:
                data["scaled"][name] = losses
            else:
                data["losses"][name], data["means"][name], data["deviations"][name] = losses, means, deviations
    fixed: Any = build(partial(network, False), seed, torch.float64)
    data["frozen"] = training(fixed, X, y, 0.0, 5)[1]  # weights that do not change
    return data


def training(net: Any, X: Any, y: Any, rate: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, and mean and deviation of what every hidden unit's activation receives, (steps, layers, units)."""
    import torch

    from margin.neural.losses import bce_with_logits

    losses, means, deviations, parameters = [], [], [], list(net.parameters())
    for _ in range(steps):
        hidden = inputs_of_layers(net, X)
        means.append([h.mean(dim=0).tolist() for h in hidden])
        deviations.append([h.std(dim=0).tolist() for h in hidden])
        loss = bce_with_logits(net(X)[:, 0], y)
        losses.append(float(loss.detach()))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter -= rate * gradient
    return np.array(losses), np.array(means), np.array(deviations)


def network(normed: bool) -> Any:
    from torch import nn

    from margin.neural.normalization import BatchNorm

    layers: list[Any] = []
    for a, b in pairwise(SIZES):
        layers += [nn.Linear(a, b), *([BatchNorm(b, affine=False)] if normed and b > 1 else []), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def inputs_of_layers(net: Any, X: Any) -> list[Any]:
    """What the activations receive: pre-activations, normalized or not."""
    import torch
    from torch import nn

    seen, h = [], X
    with torch.no_grad():
        for layer in net:
            if isinstance(layer, nn.ReLU):
                seen.append(h)
            h = layer(h)
    return seen


def drift(means: np.ndarray) -> np.ndarray:
    """How far the mean of every unit's input goes from where it was, (layers, units)."""
    return np.abs(means - means[0]).max(axis=0)


def check(data: dict[str, Any]) -> Verdict:
    scaled = data["scaled"]
    return every(
        plain_drifts=above(drift(data["means"]["plain"]).max(), 0.1),
        normalized_does_not=below(drift(data["means"]["batch norm"]).max(), 1e-9),
        trains_though_scaled=below(scaled["batch norm"][-1], 0.6 * scaled["batch norm"][0]),
        plain_jumps_up=above(scaled["plain"].max(), 5 * scaled["plain"][0]),
        plain_stalls=above(scaled["plain"][-1], 1.5 * scaled["batch norm"][-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 6.4)
    units = drift(data["means"]["plain"]).argmax(axis=1)  # of each layer, the one that moves most
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.7, 1))
    left, right = halves
    axes = left.subplots(2, len(units), sharex=True, sharey=True)
    for row, name, color in zip(axes, data["means"], ("C3", "C0")):
        for k, (axis, unit) in enumerate(zip(row, units)):
            mean, deviation = data["means"][name][:, k, unit], data["deviations"][name][:, k, unit]
            axis.plot(mean, color=color)
            axis.fill_between(np.arange(len(mean)), mean - deviation, mean + deviation, color=color, alpha=0.15, lw=0)
            axis.set(title=f"{name}, layer {k + 1}", ylim=(-4, 4))
    left.supxlabel("step", fontsize=10, color=MUTED)
    left.supylabel("input of a unit, mean and spread", fontsize=10, color=MUTED)
    losses = right.subplots()
    for name, color in (("plain", "C3"), ("batch norm", "C0")):
        losses.semilogy(data["losses"][name], color=color, label=name)
        losses.semilogy(data["scaled"][name], color=color, ls="--", label=f"{name}, second layer x {LARGE:g}")
    losses.set(title=f"Loss at learning rate {RATE:g}", xlabel="step")
    losses.legend()
