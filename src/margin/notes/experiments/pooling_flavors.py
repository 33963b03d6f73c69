"""Ways to make a map smaller, on one grid and on one photograph

Maximum, minimum and mean of windows, plain subsampling, and the mean of everything: all keep the channels, and none has
parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    figure.set_size_inches(12, 7.8)
    axes = figure.subplots(3, 5)
    titles = ("{}", "largest of each window", "smallest", "mean", "its first entry (stride)")
    for row, key, results, side in ((0, "grid", "pooled", 2), (1, "image", "smaller", 8)):
        low, high = data[key].min(), data[key].max()
        for ax, title, array in zip(axes[row], titles, (data[key], *data[results].values())):
            ax.imshow(array, cmap="gray", vmin=low, vmax=high)
            if row == 0:
                _write_values(ax, array, high)
            ax.set_title(title.format(f"{key}, windows of {side} x {side}"), fontsize=10)
    for edge in (-0.5, 1.5, 3.5):
        axes[0, 0].plot([edge, edge], [-0.5, 3.5], color="C1", lw=2, clip_on=False)
        axes[0, 0].plot([-0.5, 3.5], [edge, edge], color="C1", lw=2, clip_on=False)
    for k, ax in enumerate(axes[2, :3]):
        ax.imshow(data["maps"][k], cmap="gray", vmin=0, vmax=9)
        _write_values(ax, data["maps"][k], 9)
        ax.set_title(f"channel {k + 1}", fontsize=10)
    axes[2, 3].imshow(data["global"][None], cmap="gray", vmin=0, vmax=9)
    _write_values(axes[2, 3], data["global"][None], 9)
    axes[2, 3].set_title("global average: one per channel", fontsize=10)
    for ax in axes.flat:
        ax.axis("off")


def _write_values(ax: Axes, array: np.ndarray, high: float) -> None:
    for (row, column), value in np.ndenumerate(array):
        shade = "k" if value > 0.5 * high else "w"
        ax.text(column, row, f"{value:.3g}", color=shade, ha="center", va="center", fontsize=11)
