r"""Which learning rates an activation survives

The same perceptron trained by plain gradient descent with rates over three orders of magnitude. A rule of thumb says
that bounded activations train more stably and unbounded ones faster but with smaller steps. What happens is reported,
not asserted: for each activation the largest rate at which the loss still ends below its start, and steps to a target.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("sigmoid", "tanh", "relu", "elu")
TARGET = 0.1  # of the variance of the targets


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.losses import mse_loss
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    rng, steps = np.random.default_rng(seed), 150 if fast else 1500
    X = torch.from_numpy(rng.uniform(-2, 2, size=(100, 1)))
    y = torch.sin(2 * X)

    def error(net: MLP) -> torch.Tensor:
        return mse_loss(net(X), y)

    rates = np.geomspace(3e-3, 3, 6 if fast else 13)
    final, reached = {}, {}
    for name in NAMES:
        final[name], reached[name] = np.full(len(rates), np.inf), np.full(len(rates), np.inf)
        for k, rate in enumerate(rates):
            net = build(partial(MLP, [1, 32, 1], name), seed, torch.float64)
            losses = descend(net.parameters(), partial(error, net), steps=steps, rate=float(rate))
            relative = np.array(losses) / float(y.var())
            final[name][k] = relative[-1] if np.isfinite(relative[-1]) else np.inf
            hit = np.flatnonzero(relative < TARGET)
            reached[name][k] = hit[0] if len(hit) else np.inf
    return {"rates": rates, "final": final, "reached": reached}


def largest_stable(data: dict[str, Any]) -> dict[str, float]:
    """The largest rate at which the final loss is below that of predicting the mean."""
    return {name: float(data["rates"][final < 1].max(initial=0.0)) for name, final in data["final"].items()}


def check(data: dict[str, Any]) -> Verdict:
    low, high = data["rates"][[0, -1]]
    return every(**{name: within(rate, low, high) for name, rate in largest_stable(data).items()})


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    left, right = figure.subplots(1, 2)
    stable = largest_stable(data)
    for name in NAMES:
        (line,) = left.loglog(data["rates"], np.minimum(data["final"][name], 30), "o-", label=name)
        left.axvline(stable[name], color=line.get_color(), lw=0.8, ls=":")
        right.loglog(data["rates"], data["reached"][name], "o-", label=f"{name}, stable to {stable[name]:.2g}")
    left.set(title="loss at the end, relative to the variance", xlabel="learning rate", ylim=(None, 40))
    right.set(title=f"steps to a relative loss of {TARGET:g}", xlabel="learning rate")
    left.legend()
    right.legend()
