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
    for axis, patch in zip(figure.subplots(4, 4).flat, data["patches"]):
        axis.imshow(patch.reshape(2, 2), cmap="gray", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
