"""Ways to make a map smaller, on one grid and on one photograph

Maximum, minimum and mean of windows, plain subsampling, and the mean of everything: all keep the channels, and none has
parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("max", "min", "mean", "stride")


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.convolution.layers import GlobalAvgPool
    from margin.neural.convolution.pooling import downsample, global_pool
    from margin.notes.experiments.butterworth_filters import photograph

    grid = np.random.default_rng(seed).integers(0, 10, (4, 4)).astype(float)
    image = photograph(96)
    maps = np.stack([grid, grid.T, 9 - grid])[None]
    return {
        "grid": grid,
        "pooled": {method: downsample(grid[None, None], method, 2)[0, 0] for method in METHODS},
        "image": image,
        "smaller": {method: downsample(image[None, None], method, 8)[0, 0] for method in METHODS},
        "maps": maps[0],
        "global": global_pool(maps)[0],
        "layer": GlobalAvgPool()(torch.from_numpy(maps))[0].numpy(),
    }


def check(data: dict[str, Any]) -> Verdict:
    blocks = data["grid"].reshape(2, 2, 2, 2).swapaxes(1, 2)
    reductions = {"max": blocks.max((2, 3)), "min": blocks.min((2, 3)), "mean": blocks.mean((2, 3))}
    return every(
        **{name: near(data["pooled"][name], values, tolerance=1e-12) for name, values in reductions.items()},
        stride=equal(data["pooled"]["stride"], data["grid"][::2, ::2]),
        sides=equal([array.shape for array in data["smaller"].values()], [(12, 12)] * 4),
        one_number_per_channel=near(data["global"], data["maps"].mean(axis=(1, 2)), tolerance=1e-12),
        layer=near(data["layer"], data["global"], tolerance=1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.5)
    axes = figure.subplots(3, 5)
    for row, key, results in ((0, "grid", "pooled"), (1, "image", "smaller")):
        axes[row, 0].imshow(data[key], cmap="gray")
        axes[row, 0].set_title(key)
        for ax, (name, array) in zip(axes[row, 1:], data[results].items()):
            ax.imshow(array, cmap="gray", vmin=data[key].min(), vmax=data[key].max())
            ax.set_title(name)
    for k, ax in enumerate(axes[2]):
        if k < 3:
            ax.imshow(data["maps"][k], cmap="gray", vmin=0, vmax=9)
            ax.set_title(f"channel {k + 1}: mean {data['global'][k]:.2f}")
    axes[2, 3].imshow(data["global"][:, None], cmap="gray", vmin=0, vmax=9)
    axes[2, 3].set_title("global average pooling")
    for (r, c), value in np.ndenumerate(data["grid"]):
        axes[0, 0].text(c, r, f"{value:g}", color="C3", ha="center", va="center")
    for name, ax in zip(data["pooled"], axes[0, 1:]):
        for (r, c), value in np.ndenumerate(data["pooled"][name]):
            ax.text(c, r, f"{value:g}", color="C3", ha="center", va="center")
    for ax in axes.flat:
        ax.axis("off")
