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
TRAINED = 0.6  # a loss that shows learning: guessing costs log 2 = 0.69


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.initialize import initialize_
    from margin.neural.weights import build

    steps, rates = (60, np.geomspace(0.01, 4, 7)) if fast else (150, np.geomspace(0.01, 10, 16))
    X = torch.randn(200, SIZES[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y = (torch.sin(2 * X[:, 0]) + X[:, 1] > 0).double()

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

    from margin.neural.losses import bce_with_logits

    parameters, before, turn = list(net.parameters()), None, 0.0
    for _ in range(steps):
        gradients = torch.autograd.grad(bce_with_logits(net(X)[:, 0], y), parameters)
        gradient = torch.cat([part.flatten() for part in gradients])
        if not gradient.isfinite().all():
            return HUGE, HUGE
        if before is not None and before.norm() > 0:
            turn = max(turn, float((gradient - before).norm() / before.norm()))
        before = gradient
        with torch.no_grad():
            for parameter, part in zip(parameters, gradients):
                parameter -= rate * part
    return min(float(bce_with_logits(net(X)[:, 0], y).detach()), HUGE), min(turn, HUGE)


def network(normed: bool) -> Any:
    from torch import nn

    from margin.neural.normalization import BatchNorm

    layers: list[Any] = []
    for a, b in pairwise(SIZES):
        layers += [nn.Linear(a, b), *([BatchNorm(b)] if normed and b > 1 else []), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def largest_rate(data: dict[str, Any]) -> dict[str, float]:
    """The largest rate at which the loss ends clearly below that of guessing."""
    return {name: float(data["rates"][final < TRAINED].max(initial=0.0)) for name, final in data["final"].items()}


def check(data: dict[str, Any]) -> Verdict:
    largest = largest_rate(data)
    high = data["rates"] >= 1
    return every(
        plain_trains=above(largest["plain"], data["rates"][0]),
        higher_rates=above(largest["batch norm"], 3 * largest["plain"]),
        plain_gradient_jumps=above(data["turn"]["plain"][high].max(), 10.0),
        normalized_does_not=below(data["turn"]["batch norm"][high].max(), 10.0),
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
    left.axhline(np.log(2), color="gray", ls=":", label="guessing")
    left.set(title="loss at the end, ten hidden layers", xlabel="learning rate", ylabel="cross-entropy")
    right.set(title="largest turn of the gradient in one step", xlabel="learning rate", ylabel="relative change")
    left.legend()
    right.legend()
