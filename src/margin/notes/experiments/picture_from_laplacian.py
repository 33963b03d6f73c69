r"""A picture from its Laplacian

:math:`\Delta u = f` with the frame of the picture as boundary values has the picture itself as its solution: a network
that matches both shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DECIBELS = 20.0


def picture(size: int, seed: int) -> np.ndarray:
    """A face of smooth and sharp parts, its mouth as wide as the seed says."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    wide = 0.3 + 0.2 * float(np.random.default_rng(seed).random())
    face = (x**2 + y**2 < 0.75).astype(float) * 0.7
    eyes = sum(0.6 * np.exp(-40 * ((x - c) ** 2 + (y + 0.3) ** 2)) for c in (-0.35, 0.35))
    mouth = 0.5 * ((np.abs(x) < wide) & (np.abs(y - 0.4) < 0.08))
    return face - eyes - mouth


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.physics.coordinates import psnr, recover_from_laplacian

    image = picture(20 if fast else 48, seed)
    laplacian, recovered = recover_from_laplacian(image, max_iter=150 if fast else 1000, random_state=seed)
    return {"image": image, "laplacian": laplacian, "found": recovered, "psnr": psnr(image, recovered)}


def check(data: dict[str, Any]) -> Verdict:
    return every(recovered=above(data["psnr"], DECIBELS))


def draw(data: dict[str, Any], figure: Figure) -> None:
    titles = {"image": "picture", "laplacian": "its Laplacian", "found": f"recovered, {data['psnr']:.0f} dB"}
    for ax, (name, title) in zip(figure.subplots(1, 3), titles.items()):
        ax.imshow(data[name], cmap="gray")
        ax.set(title=title, xticks=[], yticks=[])
