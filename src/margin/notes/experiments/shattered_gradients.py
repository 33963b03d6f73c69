r"""The slope of a deep plain network is noise

Along a line of inputs the derivative dy/dx of a shallow network is a smooth curve; with depth it changes sign more and
more often and loses all correlation between neighbors. Residual connections slow this down.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS, WIDTH, LAG = (1, 10, 24, 50), 40, 4
# Networks of one depth differ by a third to a half of what they measure. Between these depths the means of 32 networks
# are five standard errors or more apart; 24 layers, between the last two, are for the picture.
COMPARED = (0, 1, 3)


def network(depth: int, residual: bool) -> Any:
    import torch
    from torch import nn

    from margin.neural.layers.residual import Residual

    layers: list[nn.Module] = [nn.Linear(1, WIDTH), nn.ReLU()]
    for _ in range(depth - 1):
        linear = nn.Linear(WIDTH, WIDTH)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        with torch.no_grad():
            linear.bias.uniform_(-0.1, 0.1)
            if residual:
                linear.weight.mul_(0.5**0.5)
        layers.append(Residual(nn.Sequential(nn.ReLU(), linear)) if residual else nn.Sequential(linear, nn.ReLU()))
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import autocorrelation, gradient_curve, roughness, sign_changes
    from margin.neural.weights import build

    n_seeds = 32 if fast else 90
    x = torch.linspace(-2, 2, 257, dtype=torch.float64)
    curves: dict[str, dict[int, np.ndarray]] = {"plain": {}, "residual": {}}
    table: dict[str, dict[str, np.ndarray]] = {}
    for kind, autocorrelations in curves.items():
        measured = np.empty((len(DEPTHS), n_seeds, 2))
        correlation = np.zeros((len(DEPTHS), 41))
        for i, depth in enumerate(DEPTHS):
            for k in range(n_seeds):
                net = build(partial(network, depth, kind == "residual"), 100 * seed + k, torch.float64)
                g = gradient_curve(net, x)
                measured[i, k] = sign_changes(g - g.mean()), roughness(g)
                correlation[i] += autocorrelation(g, 40) / n_seeds
            autocorrelations[depth] = g / np.abs(g).max()
        table[kind] = {"signs": measured[..., 0], "roughness": measured[..., 1], "correlation": correlation}
    return {"x": x.numpy(), "curves": curves, "table": table}


def check(data: dict[str, Any]) -> Verdict:
    plain, residual = data["table"]["plain"], data["table"]["residual"]
    compared = list(COMPARED)
    signs, rough = plain["signs"].mean(axis=1)[compared], plain["roughness"].mean(axis=1)[compared]
    near = plain["correlation"][compared, LAG]
    return every(
        more_sign_changes=equal(bool((np.diff(signs) > 0).all()), True),
        rougher=equal(bool((np.diff(rough) > 0).all()), True),
        less_correlated=equal(bool((np.diff(near) < 0).all()), True),
        residual_is_smoother=below(residual["roughness"].mean(axis=1)[-1], rough[-1]),
        fewer_sign_changes=below(residual["signs"].mean(axis=1)[-1], signs[-1]),
        residual_keeps_correlation=above(residual["correlation"][-1, LAG], near[-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 8)
    axes = figure.subplots(2, 4)
    for k, depth in enumerate(DEPTHS[:3]):
        for row, kind in enumerate(("plain", "residual")):
            axes[row, k].plot(data["x"], data["curves"][kind][DEPTHS[k + 1] if k else depth], lw=0.8)
            axes[row, k].set_title(f"dy/dx, {kind}, {DEPTHS[k + 1] if k else depth} layers")
    lags = np.arange(41) * (data["x"][1] - data["x"][0])
    for row, kind in enumerate(("plain", "residual")):
        for i, depth in enumerate(DEPTHS):
            axes[row, 3].plot(lags, data["table"][kind]["correlation"][i], label=f"{depth} layers")
        axes[row, 3].set(title=f"autocorrelation, {kind}", xlabel="distance of the inputs", ylim=(-0.3, 1.02))
        axes[row, 3].legend()
