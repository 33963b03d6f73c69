r"""Batch normalization trains at learning rates that stop the plain network

Ten hidden layers with He's weights by plain gradient descent, at rates over three orders of magnitude, with and without
batch normalization. Beside the loss at the end, the largest turn of the gradient in one step,
:math:`\|\nabla L(\theta - \eta g) - g\| / \|g\|`: where the surface has cliffs it has no bound.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (8, *[16] * 10, 1)
HUGE = 1e3  # stands for a run that diverged


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.initialize import initialize_
    from margin.neural.weights import build

    steps, rates = (60, np.geomspace(0.003, 3, 6)) if fast else (200, np.geomspace(0.003, 10, 15))
    X = torch.randn(200, SIZES[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y = torch.sin(2 * X[:, :1]) + X[:, 1:2]
    y = (y - y.mean()) / y.std()

    data: dict[str, Any] = {"rates": rates, "final": {}, "turn": {}}
    for name in ("plain", "batch norm"):
        runs = []
        for rate in rates:
            net = build(partial(network, name == "batch norm"), seed, torch.float64)
            initialize_(net, "he", generator=torch.Generator().manual_seed(seed))
            runs.append(descent(net, X, y, float(rate), steps))
        data["final"][name], data["turn"][name] = np.array(runs).T
    return data


def descent(net: Any, X: Any, y: Any, rate: float, steps: int) -> tuple[float, float]:
    """Loss at the end and the largest relative change of the gradient in a step, both at most HUGE."""
    import torch

    from margin.neural.losses import mse_loss

    parameters, before, turn = list(net.parameters()), None, 0.0
    for _ in range(steps):
        gradients = torch.autograd.grad(mse_loss(net(X), y), parameters)
        gradient = torch.cat([part.flatten() for part in gradients])
        if not gradient.isfinite().all() or gradient.norm() > HUGE:
            return HUGE, HUGE
        if before is not None:
            turn = max(turn, float((gradient - before).norm() / before.norm()))
        before = gradient
        with torch.no_grad():
            for parameter, part in zip(parameters, gradients):
                parameter -= rate * part
    return min(float(mse_loss(net(X), y).detach()), HUGE), min(turn, HUGE)


def network(normed: bool) -> Any:
    from torch import nn

    from margin.neural.normalization import BatchNorm

    layers: list[Any] = []
    for a, b in pairwise(SIZES):
        layers += [nn.Linear(a, b), *([BatchNorm(b)] if normed and b > 1 else []), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def largest_rate(data: dict[str, Any]) -> dict[str, float]:
    """The largest rate at which the loss ends below half of that of predicting the mean."""
    return {name: float(data["rates"][final < 0.5].max(initial=0.0)) for name, final in data["final"].items()}


def check(data: dict[str, Any]) -> Verdict:
    largest, high = largest_rate(data), data["rates"] > 0.1
    worst = {name: float(turn[high].min()) for name, turn in data["turn"].items()}
    return every(
        trains=above(largest["batch norm"], data["rates"][0]),
        higher_rates=above(largest["batch norm"], 1.5 * largest["plain"]),
        smoother=below(worst["batch norm"], worst["plain"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2)
    largest = largest_rate(data)
    for name, color in (("plain", "tab:red"), ("batch norm", "tab:blue")):
        left.loglog(
            data["rates"], data["final"][name], "o-", color=color, label=f"{name}, trains up to {largest[name]:.2g}"
        )
        right.loglog(data["rates"], data["turn"][name], "o-", color=color, label=name)
    left.axhline(1.0, color="gray", ls=":", label="predicting the mean")
    left.set(title="loss at the end, ten hidden layers", xlabel="learning rate", ylabel="mean squared error")
    right.set(title="largest turn of the gradient in one step", xlabel="learning rate", ylabel="relative change")
    left.legend()
    right.legend()
