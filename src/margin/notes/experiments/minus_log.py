r"""The curve y = -log(x): what a probability of the true class costs

:math:`-\log p` falls from infinity at p = 0 to 0 at p = 1, and its slope :math:`-1/p` pulls hardest where it
is most wrong. Beside it the squared error of the same probability, which hardly notices the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from margin.core.verdict import Verdict, below, every, near
from margin.neural.losses import bce_loss, squared_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    p = torch.linspace(0.002, 1, 500, dtype=torch.float64, requires_grad=True)
    cost = bce_loss(p, torch.ones_like(p), reduction="none")
    (slope,) = torch.autograd.grad(cost.sum(), p)
    p = p.detach()
    return {
        "p": p.numpy(),
        "cost": cost.detach().numpy(),
        "slope": slope.numpy(),
        "squared": squared_error(p, torch.ones_like(p)).numpy(),
    }


def check(data: dict[str, Any]) -> Verdict:
    inside = data["p"] < 1  # at 1 the slope of the clamped loss is 0 / 0, taken as 0
    return every(
        minus_log=near(data["cost"], -np.log(data["p"]), tolerance=1e-12),
        slope=near((data["slope"] * data["p"])[inside], np.full(inside.sum(), -1.0), tolerance=1e-9),
        zero_at_one=near(data["cost"][-1], 0.0, tolerance=0.0),
        falling=below(float(np.diff(data["cost"]).max()), 0.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    axis.plot(data["p"], data["cost"], lw=2.5, label=r"cross-entropy $-\log p$")
    axis.plot(data["p"], data["squared"], lw=2, ls="--", label=r"squared error $(1 - p)^2$")
    for p in (0.01, 0.1, 0.5, 0.9):
        axis.plot(p, -np.log(p), "o", color="C0")
        axis.annotate(f"p = {p:g}: {-np.log(p):.2f}", (p, -np.log(p)), textcoords="offset points", xytext=(8, 4))
    axis.set(xlabel="predicted probability p of the true class", ylabel="loss", xlim=(0, 1.02), ylim=(0, 6))
    axis.set(title="A confident mistake costs without bound")
    axis.legend()
