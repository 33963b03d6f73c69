r"""Variance of activations and gradients through fifty layers

With weights :math:`N(0, \sigma^2)`, zero biases and rectifiers each layer multiplies the variance by
:math:`\frac12 D_h\sigma^2`, forward and backward alike: too small and the signal vanishes, too large and it explodes,
and at He's :math:`\sigma^2 = 2/D_h` it stays. Residual blocks double it, with batch normalization they add one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, DEPTH, BLOCKS = 100, 50, 12
VARIANCES = (0.001, 0.01, 0.02, 0.1, 1.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.initialize import he_variance, signal_through_depth

    def send(depth: int, sigma2: float, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """Geometric means over some networks, since a single one strays by its random weights."""
        logs = []
        for k in range(12 if fast else 50):
            g = torch.Generator().manual_seed(1000 * seed + k)
            x = torch.randn(30, WIDTH, generator=g, dtype=torch.float64)
            logs.append([torch.log(part) for part in signal_through_depth(x, depth, sigma2, generator=g, **options)])
        forward, backward = (torch.stack(part).mean(dim=0).exp().numpy() for part in zip(*logs))
        return forward, backward

    he = he_variance(WIDTH, WIDTH)
    return {
        "plain": {sigma2: send(DEPTH, sigma2) for sigma2 in VARIANCES},
        "residual": send(BLOCKS, he, residual=True)[0],
        "scaled": send(BLOCKS, he, residual=True, scale=2**-0.5)[0],
        "normalized": send(BLOCKS, he, residual=True, batch_norm=True)[0],
    }


def check(data: dict[str, Any]) -> Verdict:
    parts = {}
    for sigma2, (forward, backward) in data["plain"].items():
        expected = DEPTH * np.log10(0.5 * WIDTH * sigma2)
        parts[f"forward_{sigma2:g}"] = near(np.log10(forward[-1] / forward[0]), expected, tolerance=1.5)
        parts[f"backward_{sigma2:g}"] = near(np.log10(backward[0] / backward[-1]), expected, tolerance=1.5)
    k = np.arange(BLOCKS + 1)
    return every(
        **parts,
        residual_doubles=near(np.polyfit(k, np.log2(data["residual"]), 1)[0], 1.0, tolerance=0.15),
        scaled_stays=within(data["scaled"][-1] / data["scaled"][0], 0.6, 1.6),
        normalized_adds_one=near(np.polyfit(k, data["normalized"], 1)[0], 1.0, tolerance=0.15),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 4.8)
    left, middle, right = figure.subplots(1, 3)
    for sigma2, (forward, backward) in data["plain"].items():
        he = sigma2 == 2 / WIDTH
        label = rf"$\sigma^2$ = {sigma2:g}" + (" (He)" if he else "")
        for axis, values in ((left, forward), (middle, backward)):
            axis.semilogy(values, lw=3 if he else 1.6, label=label)
    left.set(title="variance of the pre-activations", xlabel="layer, from the input")
    middle.set(title="variance of the gradients", xlabel="layer, from the input")
    names = {
        "residual": "residual",
        "scaled": r"residual, scaled by $1/\sqrt{2}$",
        "normalized": "residual with batch norm",
    }
    k = np.arange(BLOCKS + 1)
    for key, name in names.items():
        right.semilogy(data[key], "o-", ms=4, label=name)
    right.semilogy(k, 2.0**k, ":", color="gray", label="$2^k$")
    right.semilogy(k, k + 1.0, "--", color="gray", label="$k + 1$")
    right.set(title="He weights in residual blocks", xlabel="block")
    for axis in (left, middle, right):
        axis.legend(fontsize=8)
