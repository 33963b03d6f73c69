r"""An L2 penalty smooths the function where there are no data

A wide network passes through 15 noisy points and swings between them. The penalty on its weights trades fit for
smoothness: :math:`\int (f'')^2` falls as the penalty grows, and the error on new points is lowest in between.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PENALTIES = (1e-7, 1e-4, 1e-2, 1.0, 100.0)
UNITS = 300
NOISE, NOISES = 0.25, 50


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.linear import Ridge
    from margin.neural.nets.mlp import MLP
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    x = 2 * (np.arange(15) + rng.uniform(size=15)) / 15 - 1  # one in every fifteenth, so that no gap decides alone
    f = lambda t: np.sin(4 * t)  # noqa: E731
    y, grid = f(x) + NOISE * rng.normal(size=15), np.linspace(-1, 1, 201 if fast else 2001)
    net: Any = build(partial(MLP, [1, UNITS, 1], "tanh"), seed, torch.float64)
    with torch.no_grad():  # steep units, so that the network could follow any of the noise
        net.linears[0].weight.mul_(4)
        net.linears[0].bias.copy_(-net.linears[0].weight[:, 0] * torch.from_numpy(rng.uniform(-1, 1, UNITS)))
        hidden = lambda t: net.trace(torch.from_numpy(t[:, None])).activations[1].numpy()  # noqa: E731
        units, units_on_grid = hidden(x), hidden(grid)
    # The error is a mean over noises: a single one may happen to be small just where it would do harm.
    noisy = np.column_stack([y, f(x)[:, None] + NOISE * rng.normal(size=(15, NOISES - 1))])
    step = grid[1] - grid[0]
    curves, rough, missed = {}, {}, {}
    for penalty in PENALTIES:  # the best output weights for a penalty are a ridge regression
        fitted = Ridge(alpha=penalty).fit(units, noisy).predict(units_on_grid)
        curves[penalty] = fitted[:, 0]
        rough[penalty] = float(np.sum(np.diff(curves[penalty], 2) ** 2) / step**3)
        missed[penalty] = float(np.mean((fitted - f(grid)[:, None]) ** 2))
    return {"x": x, "y": y, "grid": grid, "truth": f(grid), "curves": curves, "roughness": rough, "errors": missed}


def check(data: dict[str, Any]) -> Verdict:
    rough, errors = list(data["roughness"].values()), list(data["errors"].values())
    return every(
        smoother=equal(all(a > b for a, b in pairwise(rough)), True),
        best_inside=equal(0 < int(np.argmin(errors)) < len(errors) - 1, True),
        much_smoother=below(rough[-1], 0.1 * rough[0]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 5)
    left, right = figure.subplots(1, 2)
    left.plot(data["grid"], data["truth"], color="silver", lw=3)
    for penalty, curve in data["curves"].items():
        left.plot(data["grid"], curve, lw=1.2, label=f"penalty {penalty:g}")
    left.plot(data["x"], data["y"], "ko")
    left.set(ylim=(-2.5, 2.5), title="a wide network on 15 points")
    left.legend()
    right.loglog(PENALTIES, list(data["roughness"].values()), "o-", label=r"$\int (f'')^2$")
    right.loglog(PENALTIES, list(data["errors"].values()), "s-", label="error on new points")
    right.set(xlabel="penalty")
    right.legend()
