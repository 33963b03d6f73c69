r"""In a residual block the rectifier stands before the linear map

A branch that ends in a rectifier can only add to its input, :math:`x + \max(0, Wx + b) \ge x`, so values only grow from
block to block. With the rectifier first, :math:`x + W\max(0, x) + b`, the branch goes both ways, and the network can
learn what lies below its input.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROWS, BLOCKS = 8, 200, 20
ORDERS = ("linear, then ReLU", "ReLU, then linear")


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from torch import nn

    from margin.neural.diagnostics import descend
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(ROWS, WIDTH)))
    target = 0.5 * x - 0.5
    data: dict[str, Any] = {"x": x.numpy(), "target": target.numpy()}

    def block(order: str) -> nn.Module:
        linear = nn.Linear(WIDTH, WIDTH)
        return nn.Sequential(linear, nn.ReLU()) if order == ORDERS[0] else nn.Sequential(nn.ReLU(), linear)

    def chain(order: str) -> nn.Module:
        return nn.Sequential(*(block(order) for _ in range(BLOCKS)))

    def losses(branch: nn.Module) -> Any:
        return (x + branch(x) - target).square().mean()

    for order in ORDERS:
        branches: Any = build(partial(chain, order), seed, x.dtype)
        means, h = [float(x.mean())], x
        with torch.no_grad():
            for branch in branches:
                h = h + branch(h)
                means.append(float(h.mean()))
            started = branches[0](x).numpy()
        trained = build(partial(block, order), seed, x.dtype)
        loss = descend(
            trained.parameters(),
            partial(losses, trained),
            steps=200 if fast else 1000,
            rate=0.03,
            rule=torch.optim.Adam,
        )
        changes = trained(x).detach().numpy()
        data[order] = {"means": np.array(means), "losses": np.array(loss), "started": started, "changes": changes}
    return data


def check(data: dict[str, Any]) -> Verdict:
    last, first = (data[order] for order in ORDERS)
    below_the_input = np.minimum(data["target"] - data["x"], 0)
    return every(
        only_adds=above(float(last["changes"].min()), -1e-12),
        values_only_grow=above(float(np.diff(last["means"]).min()), -1e-12),
        cannot_reach_what_lies_below=above(float(last["losses"][-1]), 0.99 * float((below_the_input**2).mean())),
        goes_both_ways=equal(bool(first["started"].min() < 0 < first["started"].max()), True),
        learns_it=below(float(first["losses"][-1]), 0.35 * float(last["losses"][-1])),
        smaller_drift=below(abs(float(first["means"][-1])), 0.5 * float(last["means"][-1])),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.6)
    left, middle, right = figure.subplots(1, 3)
    x = data["x"][:, 0]
    left.plot(x, data["target"][:, 0] - x, ".", color="C7", ms=4, label="wanted")
    for color, order in zip(("C3", "C0"), ORDERS):
        left.plot(x, data[order]["changes"][:, 0], ".", ms=4, color=color, label=order)
        middle.semilogy(data[order]["losses"], color=color, label=order)
        right.plot(data[order]["means"], color=color, label=order)
    left.set(xlabel="input of a unit", ylabel="what its block adds", title="After training: one order only adds")
    middle.set(xlabel="step", ylabel="mean squared error", title=r"Learning $\frac{1}{2} x - \frac{1}{2}$")
    right.set(xlabel="blocks passed", ylabel="mean of all units", title="At the start of training", yscale="symlog")
    for ax in (left, middle, right):
        ax.legend()
