r"""The activation functions and their derivatives

Each function :math:`a(x)` of the table with :math:`a'(x)` (dashed) and its range as a band. Corners and jumps
have no derivative: the rectifiers and the exponential unit bend at 0, the step jumps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from margin.core.verdict import Verdict, above, below, equal, every
from margin.neural.activations import TABLE, Maxout, derivative_gap, softmax

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACH = 4.0


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = torch.linspace(-REACH, REACH, 400 if fast else 2000, dtype=torch.float64)
    curves = {
        line.name: {
            "values": line.function(x).numpy(),
            "slopes": line.slope(x).numpy(),
            "range": (line.low, line.high),
            "interval": line.interval,
            "gap": float(derivative_gap(line.function, line.slope, x[x.abs() > 0.05]).max()),
        }
        for line in TABLE
    }
    hinges = Maxout(1, 1, pieces=3).double()
    with torch.no_grad():
        hinges.linear.weight.copy_(torch.tensor([[-1.0], [0.3], [1.5]]))
        hinges.linear.bias.copy_(torch.tensor([-1.0, 0.5, -1.5]))
        several = {"maxout of three lines": hinges(x[:, None])[:, 0].numpy()}
        pieces = hinges.linear(x[:, None]).numpy()
    three = softmax(torch.stack([x, torch.zeros_like(x), -x], dim=1)).numpy()
    return {"x": x.numpy(), "curves": curves, "several": several, "pieces": pieces, "softmax": three}


def check(data: dict[str, Any]) -> Verdict:
    parts = {}
    for name, curve in data["curves"].items():
        low, high = curve["range"]
        parts[name] = every(
            above_low=above(curve["values"].min(), low - 1e-9),
            below_high=below(curve["values"].max(), high + 1e-9),
            derivative=below(curve["gap"], 1e-8),
        )
    return every(
        **parts,
        enough=equal(len(parts) >= 9, True),
        softmax=below(np.abs(data["softmax"].sum(axis=1) - 1).max(), 1e-12),
        maxout=below(np.abs(data["several"]["maxout of three lines"] - data["pieces"].max(axis=1)).max(), 1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 8.5)
    x, axes = data["x"], figure.subplots(3, 5, sharex=True).ravel()
    for axis, (name, curve) in zip(axes, data["curves"].items()):
        low, high = (end if math.isfinite(end) else None for end in curve["range"])
        for end in (low, high):
            if end is not None:
                axis.axhline(end, color="C2", lw=0.8)
        axis.plot(x, curve["values"], lw=2, color="C0", label="$a(x)$")
        axis.plot(x, curve["slopes"], lw=1.3, ls="--", color="C1", label="$a'(x)$")
        axis.set(title=f"{name}  {curve['interval']}", ylim=(-1.6, 2.4))
    axes[0].legend(fontsize=8)
    last = axes[len(data["curves"]) :]
    for piece in data["pieces"].T:
        last[0].plot(x, piece, color="silver", lw=1)
    last[0].plot(x, data["several"]["maxout of three lines"], lw=2, color="C0")
    last[0].set(title="maxout of three lines  (-∞, ∞)", ylim=(-1.6, 4.4))
    last[1].plot(x, data["softmax"], lw=2, label=["$x$", "$0$", "$-x$"])
    last[1].legend(fontsize=8)
    last[1].set(title="softmax of (x, 0, -x)  (0, 1)", ylim=(-0.1, 1.1))
    for axis in last[2:]:
        axis.set_visible(False)
