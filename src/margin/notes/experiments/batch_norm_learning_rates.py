r"""Batch normalization trains at learning rates that stop the plain network

Ten hidden layers with He's weights by plain gradient descent, at rates over two orders of magnitude, with and without
batch normalization, each from several starts. Beside the loss at the end, the largest turn of the gradient in one step,
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

    steps, rates = (60, np.geomspace(0.1, 10, 7)) if fast else (150, np.geomspace(0.01, 10, 16))
    starts = 3 if fast else 5  # of one start the largest rate at which it learns is good to a factor of two only
    X = torch.randn(200, SIZES[0], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y = (torch.sin(2 * X[:, 0]) + X[:, 1] > 0).double()

    data: dict[str, Any] = {"rates": rates, "final": {}, "turn": {}}
    for name in ("plain", "batch norm"):
        nets = []
        for start in np.random.SeedSequence(seed).generate_state(starts).tolist():
            nets.append(build(partial(network, name == "batch norm"), start, torch.float64))
            initialize_(nets[-1], "he", generator=torch.Generator().manual_seed(start))
        data["final"][name], data["turn"][name] = descents(nets, X, y, rates, steps)
    return data


def descents(nets: list[Any], X: Any, y: Any, rates: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Loss at the end and the largest relative change of the gradient in a step, (nets, rates), both at most HUGE.

    All descents go side by side: as many copies of every net as there are rates.
    """
    import torch
    from torch.func import functional_call, stack_module_state, vmap

    copies = [net for net in nets for _ in rates]
    weights, buffers = stack_module_state(copies)
    speed = torch.from_numpy(np.tile(rates, len(nets)))
    outputs = vmap(lambda w, b: functional_call(nets[0], (w, b), (X,))[:, 0])

    def losses() -> Any:
        f = outputs(weights, buffers)
        return torch.nn.functional.binary_cross_entropy_with_logits(f, y.expand_as(f), reduction="none").mean(dim=1)

    before, turn = None, torch.zeros_like(speed)
    for _ in range(steps):
        gradients = torch.autograd.grad(losses().sum(), list(weights.values()))
        gradient = torch.cat([part.flatten(1) for part in gradients], dim=1)
        if before is not None:
            change = (gradient - before).norm(dim=1) / before.norm(dim=1)
            turn = torch.maximum(turn, torch.where(before.norm(dim=1) > 0, change, 0.0))
        before = gradient
        with torch.no_grad():
            for weight, part in zip(weights.values(), gradients):
                weight -= speed.reshape(-1, *[1] * (weight.ndim - 1)) * part
    with torch.no_grad():
        ends = [torch.nan_to_num(part, nan=HUGE, posinf=HUGE).clip(max=HUGE) for part in (losses(), turn)]
    final_losses = [part.reshape(len(nets), len(rates)).numpy() for part in ends]
    return final_losses[0], final_losses[1]


def network(normed: bool) -> Any:
    from torch import nn

    from margin.neural.normalization import BatchNorm

    layers: list[Any] = []
    for a, b in pairwise(SIZES):
        layers += [nn.Linear(a, b), *([BatchNorm(b)] if normed and b > 1 else []), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def largest_rates(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Of every start the largest rate at which the loss ends clearly below that of guessing; below all if none is."""
    below_all = data["rates"][0] / 2
    return {
        name: np.where(final < TRAINED, data["rates"], below_all).max(axis=1) for name, final in data["final"].items()
    }


def check(data: dict[str, Any]) -> Verdict:
    logarithms = {name: np.log(rates) for name, rates in largest_rates(data).items()}
    factor = float(np.exp(logarithms["batch norm"].mean() - logarithms["plain"].mean()))
    high = data["rates"] >= 1
    return every(
        plain_trains=above(float(np.exp(logarithms["plain"].mean())), data["rates"][0]),
        higher_rates=above(factor, 3.0),
        plain_gradient_jumps=above(float(np.median(data["turn"]["plain"][:, high].max(axis=1))), 10.0),
        normalized_does_not=below(float(np.median(data["turn"]["batch norm"][:, high].max(axis=1))), 10.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2)
    largest = {name: float(np.exp(np.log(rates).mean())) for name, rates in largest_rates(data).items()}
    for name, color in (("plain", "C3"), ("batch norm", "C0")):
        label = f"{name}, trains up to {largest[name]:.2g}"
        left.loglog(data["rates"], np.median(data["final"][name], axis=0), "o-", color=color, label=label)
        right.loglog(data["rates"], np.median(data["turn"][name], axis=0), "o-", color=color, label=name)
    left.axhline(np.log(2), color="gray", ls=":", label="guessing")
    left.set(
        title="loss at the end, ten hidden layers, median of the starts", xlabel="learning rate", ylabel="cross-entropy"
    )
    right.set(title="largest turn of the gradient in one step", xlabel="learning rate", ylabel="relative change")
    left.legend()
    right.legend()
