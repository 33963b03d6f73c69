"""A digit cut into patches, the tokens of a vision transformer

Sixteen patches of 2 by 2 pixels are sixteen vectors of four numbers, and they give the image back exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.data.bundled import digits
    from margin.neural.attention import patchify, unpatchify

    rng = np.random.default_rng(seed)
    image = np.asarray(digits().X)[rng.integers(1000)].reshape(1, 8, 8)
    patches = patchify(torch.from_numpy(image), 2)
    colors = torch.from_numpy(rng.normal(size=(3, 12, 8)))
    return {
        "image": image,
        "patches": patches.numpy(),
        "back": unpatchify(patches, 8, 8, 2).numpy(),
        "color_patches": tuple(patchify(colors, 4).shape),
        "color_back": bool(torch.equal(unpatchify(patchify(colors, 4), 12, 8, 4), colors)),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        patches=equal(data["patches"].shape, (16, 4)),
        inverse=equal(data["back"], data["image"]),
        colors=equal(data["color_patches"], (6, 48)),
        color_inverse=equal(data["color_back"], True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 4.2)
    whole, cut, tokens = figure.subplots(1, 3, width_ratios=[1, 1, 0.75])
    shades: Any = {"cmap": "gray_r", "vmin": 0, "vmax": 16}
    whole.imshow(data["image"][0], **shades)
    whole.set_title("8 x 8 pixels")
    for line in (1.5, 3.5, 5.5):
        whole.axhline(line, color="C3", linewidth=1)
        whole.axvline(line, color="C3", linewidth=1)
    squares = data["patches"].reshape(4, 4, 2, 2)
    spread = np.pad(squares, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    cut.imshow(spread.transpose(0, 2, 1, 3).reshape(12, 12)[:-1, :-1], **shades)
    for k in range(16):
        cut.text(3 * (k % 4) - 0.4, 3 * (k // 4) - 0.4, str(k), color="C3", fontsize=7, va="top")
    cut.set_title("16 patches of 2 x 2")
    for ax in (whole, cut):
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    tokens.imshow(data["patches"], aspect="auto", **shades)
    tokens.set(title="16 tokens of 4 numbers", ylabel="patch", yticks=range(0, 16, 3), xticks=range(4))
