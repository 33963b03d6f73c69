"""Five units along the depth look at the same patch

At one position every filter of a layer sees the same part of the image and answers with the product of its own weights
with it: a column of the output volume.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITION, SIZE = (20, 31), 9
FILTERS = ("vertical edge", "horizontal edge", "diagonal", "blob", "random")


def orient(angle: float) -> np.ndarray:
    """A smoothed edge in the direction ``angle``."""
    y, x = np.mgrid[:SIZE, :SIZE] - SIZE // 2
    return (np.cos(angle) * x + np.sin(angle) * y) * np.exp(-(x**2 + y**2) / 8)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.convolution.equations import conv2d, patches
    from margin.notes.experiments.butterworth_filters import photograph

    image = photograph(64)
    y, x = np.mgrid[:SIZE, :SIZE] - SIZE // 2
    r2 = x**2 + y**2
    kernels = [orient(0), orient(np.pi / 2), orient(np.pi / 4), (1 - r2 / 8) * np.exp(-r2 / 8)]
    kernels.append(np.random.default_rng(seed).normal(size=(SIZE, SIZE)))
    weight = np.stack([kernel / np.abs(kernel).sum() for kernel in kernels])[:, None]
    seen = patches(image[None, None], (SIZE, SIZE))
    return {
        "image": image,
        "weight": weight[:, 0],
        "maps": conv2d(image[None, None], weight)[0],
        "patch": seen[0, 0, POSITION[0], POSITION[1]],
    }


def column(data: dict[str, Any]) -> np.ndarray:
    return data["maps"][:, POSITION[0], POSITION[1]]


def check(data: dict[str, Any]) -> Verdict:
    products = (data["weight"] * data["patch"]).sum(axis=(1, 2))
    row, start = POSITION
    return every(
        same_patch=near(data["patch"], data["image"][row : row + SIZE, start : start + SIZE], tolerance=0.0),
        dot_products=near(column(data), products, tolerance=1e-12),
        they_differ=above(float(np.ptp(column(data))), 1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    from matplotlib.patches import Rectangle

    figure.set_size_inches(13, 4.8)
    axes = figure.subplots(2, 6)
    axes[0, 0].imshow(data["image"], cmap="gray")
    axes[0, 0].add_patch(Rectangle(POSITION[::-1], SIZE, SIZE, fill=False, color="C3", lw=2))
    axes[0, 0].set_title("image")
    axes[1, 0].imshow(data["patch"], cmap="gray")
    axes[1, 0].set_title("the patch all five see")
    for k, name in enumerate(FILTERS):
        axes[0, k + 1].imshow(data["weight"][k], cmap="RdBu")
        axes[0, k + 1].set_title(name)
        axes[1, k + 1].imshow(data["maps"][k], cmap="gray")
        axes[1, k + 1].plot(*POSITION[::-1], "s", mfc="none", color="C3")
        axes[1, k + 1].set_title(f"answer {column(data)[k]:.3f}")
    for ax in axes.flat:
        ax.axis("off")
