r"""Three lines, clipped, weighted and added make a function with three joints

.. math:: y = \theta_0 + \sum_{d=1}^3\theta_d\,\mathrm{relu}(\theta_{d0} + \theta_{d1}x)

The sum bends exactly where a line crosses zero, at :math:`x = -\theta_{d0}/\theta_{d1}`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.nets.mlp import MLP
    from margin.neural.theory import DenseNetwork, linear_pieces
    from margin.neural.weights import build

    net: Any = build(partial(MLP, [1, 3, 1]), seed, torch.float64)
    rng = np.random.default_rng(seed)
    with torch.no_grad():  # joints spread over the picture, slopes of both signs
        slopes = torch.from_numpy(rng.choice([-1.0, 1.0], 3) * rng.uniform(0.6, 1.4, 3))
        places = torch.from_numpy(np.array([-0.9, 0.1, 0.8]) + rng.uniform(-0.2, 0.2, 3))
        net.linears[0].weight.copy_(slopes[:, None])
        net.linears[0].bias.copy_(-slopes * places)
        net.linears[1].weight.copy_(torch.from_numpy(rng.choice([-1.0, 1.0], 3) * rng.uniform(0.6, 1.4, 3))[None])
    x = np.linspace(-1.5, 1.5, 301 if fast else 3001)
    with torch.no_grad():
        trace = net.trace(torch.from_numpy(x[:, None]))
        lines, clipped = trace.pre_activations[0].numpy(), trace.activations[1].numpy()
        weighted = clipped * net.linears[1].weight.numpy()
        y = trace.pre_activations[1][:, 0].numpy()
        constant = float(net.linears[1].bias)
    joints = linear_pieces(DenseNetwork.of(net)).joints
    places = -net.linears[0].bias.detach().numpy() / net.linears[0].weight.detach().numpy()[:, 0]
    panels = {"lines": lines, "clipped": clipped, "weighted": weighted}
    return {"x": x, **panels, "y": y, "constant": constant, "joints": joints, "zeros": np.sort(places)}


def check(data: dict[str, Any]) -> Verdict:
    x, y = data["x"], data["y"]
    bent = x[1:-1][np.abs(np.diff(y, 2)) > 1e-9]
    step = x[1] - x[0]
    return every(
        joints_at_the_zeros=near(data["joints"], data["zeros"], tolerance=1e-12),
        bends_only_there=near(np.abs(bent[:, None] - data["joints"]).min(axis=1), np.zeros(len(bent)), tolerance=step),
        three=equal(len(data["joints"]), 3),
        sum=near(y, data["constant"] + data["weighted"].sum(axis=1), tolerance=1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 10)
    grid = figure.add_gridspec(4, 3)
    names = {"lines": r"$\theta_{d0} + \theta_{d1}x$", "clipped": "clipped", "weighted": "weighted"}
    for i, (name, title) in enumerate(names.items()):
        for d in range(3):
            axis = figure.add_subplot(grid[i, d])
            axis.plot(data["x"], data[name][:, d], color=f"C{d}")
            axis.axhline(0, color="silver", lw=0.8)
            axis.axvline(data["zeros"][np.argmin(np.abs(data["zeros"] - _zero(data, d)))], ls=":", color="gray")
            axis.set_title(f"unit {d + 1}: {title}")
    total = figure.add_subplot(grid[3, :])
    total.plot(data["x"], data["y"], color="black")
    for joint in data["joints"]:
        total.axvline(joint, ls=":", color="gray")
    total.set_title("the sum: four linear pieces")


def _zero(data: dict[str, Any], d: int) -> float:
    return float(data["x"][np.argmin(np.abs(data["lines"][:, d]))])
