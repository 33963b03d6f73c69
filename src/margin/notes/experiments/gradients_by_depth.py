r"""How much gradient reaches the first layer, by depth and activation

Going back through a layer multiplies the gradient by :math:`W^\top\mathrm{diag}(a')`. The slope of a sigmoid is at most
1/4, so its gradients shrink at least that fast with weights of Xavier's size; tanh loses little; rectifiers with He's
weights keep them, and with weights half as large lose them too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROWS = 64, 128
CASES = {
    "sigmoid, Xavier": ("sigmoid", "xavier", 1.0),
    "tanh, Xavier": ("tanh", "xavier", 1.0),
    "ReLU, He": ("relu", "he", 1.0),
    "ReLU, half of He": ("relu", "he", 0.5),
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend, gradient_norms
    from margin.neural.initialize import initialize_
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    depths = [2, 5, 10, 20, 30] if fast else [2, 4, 6, 8, 10, 15, 20, 25, 30]
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(ROWS, WIDTH, generator=generator, dtype=torch.float64)
    y = torch.sin(X[:, :1]) + X[:, 1:2].square()
    data: dict[str, Any] = {"depths": np.array(depths), "norms": {}, "curves": {}}
    for name, (activation, scheme, scale) in CASES.items():
        data["norms"][name] = np.empty(len(depths))
        for k, depth in enumerate(depths):
            net = build(partial(MLP, [WIDTH] * (depth + 1) + [1], activation), seed, torch.float64)
            initialize_(net, scheme, generator=generator, scale=scale)
            objective = lambda net=net: (net(X) - y).square().mean()  # noqa: E731
            data["norms"][name][k] = float(gradient_norms(net, objective)[0])
            if depth == 10:
                losses = descend(
                    net.parameters(), objective, steps=60 if fast else 300, rate=1e-3, rule=torch.optim.Adam
                )
                data["curves"][name] = np.array(losses)
    return data


def check(data: dict[str, Any]) -> Verdict:
    lost = {name: float(norms[-1] / norms[0]) for name, norms in data["norms"].items()}
    return every(
        sigmoid_decays_fastest=below(lost["sigmoid, Xavier"], 1e-6 * lost["tanh, Xavier"]),
        relu_stays_within_one_order=within(lost["ReLU, He"], 0.1, 10),
        not_with_small_weights=below(lost["ReLU, half of He"], 1e-3),
        relu_learns=below(data["curves"]["ReLU, He"][-1], 0.5 * data["curves"]["ReLU, He"][0]),
        relu_ahead_of_sigmoid=above(data["curves"]["sigmoid, Xavier"][-1], data["curves"]["ReLU, He"][-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2)
    for name, norms in data["norms"].items():
        left.semilogy(data["depths"], norms, "o-", label=name)
        right.semilogy(data["curves"][name], label=name)
    sigmoid = data["norms"]["sigmoid, Xavier"][0] * 0.25 ** (data["depths"] - data["depths"][0])
    left.semilogy(data["depths"], sigmoid, ":", color="gray", label="a quarter per layer")
    left.set(
        title="gradient of the first layer at the start",
        xlabel="hidden layers",
        ylabel=r"$\|\partial L/\partial W_1\|$",
    )
    right.set(title="training loss with 10 hidden layers", xlabel="step of Adam", ylabel="mean squared error")
    left.legend()
    right.legend()
