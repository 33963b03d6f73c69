r"""Layers whose inputs drift while they learn, and one that is a hundred times too large

Internal covariate shift: as the weights before it change, the distribution that a layer sees changes from step to step.
Batch normalization holds mean 0 and variance 1. The same network, one of its layers scaled by 100, still trains with it
at a learning rate where without it the loss blows up or stalls. Whether the shift is why, is disputed; that it is there
is seen here.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (8, 24, 24, 24, 1)
LARGE, RATE = 100.0, 0.1


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.losses import mse_loss
    from margin.neural.weights import build

    g, steps = torch.Generator().manual_seed(seed), 100 if fast else 400
    X = torch.randn(256, SIZES[0], generator=g, dtype=torch.float64)
    y = torch.sin(2 * X[:, :1]) + X[:, 1:2] * X[:, 2:3]
    data: dict[str, Any] = {"losses": {}, "scaled": {}, "means": {}, "deviations": {}}
    for name, normed in (("plain", False), ("batch norm", True)):
        for scale in (1.0, LARGE):
            net: Any = build(partial(network, normed), seed, torch.float64)
            with torch.no_grad():
                net[0].weight *= scale
            losses, means, deviations = [], [], []
            for _ in range(steps):
                hidden = inputs_of_layers(net, X)
                means.append([float(h.mean(dim=0)[0]) for h in hidden])
                deviations.append([float(h.std(dim=0)[0]) for h in hidden])
                loss = mse_loss(net(X), y)
                losses.append(min(float(loss.detach()), 1e12) if bool(loss.isfinite()) else 1e12)
                net.zero_grad()
                loss.backward()
                with torch.no_grad():
                    for p in net.parameters():
                        p -= RATE * p.grad
            if scale == 1.0:
                data["losses"][name] = np.array(losses)
                data["means"][name], data["deviations"][name] = np.array(means), np.array(deviations)
            else:
                data["scaled"][name] = np.array(losses)
    fixed: Any = build(partial(network, False), seed, torch.float64)
    halves = [float(inputs_of_layers(fixed, half)[0].mean()) for half in (X[:128], X[128:])]
    data["among_samples"] = abs(halves[0] - halves[1])
    return data


def network(normed: bool) -> Any:
    from torch import nn

    from margin.neural.normalization import BatchNorm

    layers: list[Any] = []
    for a, b in pairwise(SIZES):
        layers += [nn.Linear(a, b), *([BatchNorm(b, affine=False)] if normed and b > 1 else []), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def inputs_of_layers(net: Any, X: Any) -> list[Any]:
    """What the activations receive: pre-activations, normalized or not."""
    import torch
    from torch import nn

    seen, h = [], X
    with torch.no_grad():
        for layer in net:
            if isinstance(layer, nn.Tanh):
                seen.append(h)
            h = layer(h)
    return seen


def check(data: dict[str, Any]) -> Verdict:
    drift = {name: float(np.abs(means - means[0]).max()) for name, means in data["means"].items()}
    return every(
        plain_drifts=above(drift["plain"], 0.02),
        normalized_does_not=below(drift["batch norm"], 1e-9),
        normalized_trains_at_any_scale=below(data["scaled"]["batch norm"][-1], 0.6 * data["scaled"]["batch norm"][0]),
        plain_does_worse=above(data["scaled"]["plain"][-1], 1.2 * data["scaled"]["batch norm"][-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 4.8)
    axes = figure.subplots(1, 3)
    for axis, name in zip(axes, data["means"]):
        for k, (mean, deviation) in enumerate(zip(data["means"][name].T, data["deviations"][name].T)):
            (line,) = axis.plot(mean, label=f"hidden layer {k + 1}")
            axis.fill_between(
                np.arange(len(mean)), mean - deviation, mean + deviation, color=line.get_color(), alpha=0.15
            )
        axis.set(title=f"{name}: input of an activation, mean and spread", xlabel="step", ylim=(-3, 3))
        axis.legend(fontsize=8)
    for name, style in (("plain", "tab:red"), ("batch norm", "tab:blue")):
        axes[2].semilogy(data["losses"][name], color=style, label=name)
        axes[2].semilogy(data["scaled"][name], color=style, ls="--", label=f"{name}, first layer times 100")
    axes[2].set(title=f"loss at learning rate {RATE:g}", xlabel="step")
    axes[2].legend(fontsize=8)
