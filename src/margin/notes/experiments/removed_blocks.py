r"""Take one block out of a trained network

A residual network passes its input on beside every block, so without one of them half of its paths are left and the
error rises little, if each block is a small change: blocks that begin at the usual size are missed as much as those
of a plain network. In a plain network every path goes through every block: without one nothing works.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLOCKS, WIDTH = 12, 24


def network(residual: bool) -> Any:
    import torch
    from torch import nn

    from margin.neural.layers.residual import Residual

    blocks = []
    for _ in range(BLOCKS):
        linear = nn.Linear(WIDTH, WIDTH)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        if residual:
            with torch.no_grad():
                linear.weight.div_(BLOCKS)  # many small changes, as in a trained deep residual network
        blocks.append(nn.Sequential(nn.ReLU(), linear))
    return nn.Sequential(
        nn.Linear(2, WIDTH),
        *(Residual(block) if residual else block for block in blocks),
        nn.ReLU(),
        nn.Linear(WIDTH, 1),
    )


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend, residual_paths
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.uniform(-1, 1, size=(256, 2))).float()
    y = torch.sin(4 * X[:, :1]) * torch.cos(3 * X[:, 1:])
    y = y / y.std()
    losses = {}
    for kind in ("plain", "residual"):
        net = build(partial(network, kind == "residual"), seed)
        objective = lambda net=net: (net(X) - y).square().mean()  # noqa: E731
        curve = descend(net.parameters(), objective, steps=250 if fast else 2000, rate=2e-3, rule=torch.optim.Adam)
        without = []
        with torch.no_grad():
            for k in range(1, BLOCKS + 1):
                shorter = torch.nn.Sequential(*(layer for i, layer in enumerate(net) if i != k))
                without.append(float((shorter(X) - y).square().mean()))
        losses[kind] = {"whole": curve[-1], "without": np.array(without)}
    lengths = np.bincount([len(path) for path in residual_paths(BLOCKS)])
    return {"found": losses, "lengths": lengths}


def check(data: dict[str, Any]) -> Verdict:
    added = {kind: float(np.median(losses["without"] - losses["whole"])) for kind, losses in data["found"].items()}
    return every(
        both_learn=below(max(losses["whole"] for losses in data["found"].values()), 0.3),
        plain_breaks=above(added["plain"], 0.5),
        residual_suffers_less=below(added["residual"], 0.5 * added["plain"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.5)
    left, right = figure.subplots(1, 2)
    for shift, (kind, losses) in zip((-0.2, 0.2), data["found"].items()):
        left.bar(np.arange(1, BLOCKS + 1) + shift, losses["without"], width=0.4, label=kind)
        left.axhline(losses["whole"], ls=":", color="gray")
    left.set(title="error without one block", xlabel="block", yscale="log")
    left.legend()
    right.bar(np.arange(BLOCKS + 1), data["lengths"])
    right.set(title=f"{2**BLOCKS} paths of a residual network", xlabel="blocks on the path")
