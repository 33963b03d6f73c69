r"""Uncertainty from the randomness of batches

A network with batch normalization, trained on points of an interval. At prediction each pass normalizes by a freshly
drawn training batch; mean and standard deviation over the passes are a predictive distribution, an approximation
of Bayesian inference. It widens where no training points are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCH = 16


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from torch import nn

    from margin.neural.losses import mse_loss
    from margin.neural.normalization import BatchNorm, mc_batchnorm_predict
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=128)
    y = np.sin(3 * x) + 0.05 * rng.normal(size=128)
    X, t = (torch.from_numpy(v[:, None]).float() for v in (x, y))

    def make() -> nn.Sequential:
        hidden = [part for n in (1, 32) for part in (nn.Linear(n, 32), BatchNorm(32), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(32, 1))

    net: Any = build(make, seed)
    optimizer, order = torch.optim.Adam(net.parameters(), lr=0.01), torch.Generator().manual_seed(seed)
    for _ in range(30 if fast else 150):
        for batch in torch.randperm(128, generator=order).split(BATCH):
            loss = mse_loss(net(X[batch]), t[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    grid = np.linspace(-3, 3, 121)
    mean, deviation = mc_batchnorm_predict(
        net, torch.from_numpy(grid[:, None]).float(), X, batch_size=BATCH, samples=100, generator=order
    )
    return {"x": x, "y": y, "grid": grid, "mean": mean[:, 0].numpy(), "deviation": deviation[:, 0].numpy()}


def check(data: dict[str, Any]) -> Verdict:
    inside, outside = np.abs(data["grid"]) < 1, np.abs(data["grid"]) > 2
    fit = np.interp(data["x"], data["grid"], data["mean"])
    return every(
        fits=below(float(np.mean((fit - data["y"]) ** 2)), 0.1),
        wider_outside=above(data["deviation"][outside].mean(), 1.5 * data["deviation"][inside].mean()),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    grid, mean, deviation = data["grid"], data["mean"], data["deviation"]
    for width in (1, 2):
        axis.fill_between(grid, mean - width * deviation, mean + width * deviation, color="C0", alpha=0.18)
    axis.plot(grid, mean, color="C0", label="mean over batches, and two deviations")
    axis.plot(grid, np.sin(3 * grid), color="gray", ls=":", label=r"$\sin 3x$")
    axis.plot(data["x"], data["y"], "k.", ms=4, label="training points")
    axis.set(title="Batch normalization as a random network", xlabel="x", ylabel="y", ylim=(-6, 6))
    axis.legend()
