r"""Absolute errors give sharp images, squared errors blurred ones

A bar whose edge position is uncertain: of many images that fit one input, the mean (what minimizes
:math:`\sum(\hat v - v)^2`) is a blur of all, the median (what minimizes :math:`\sum|\hat v - v|`) has a sharp edge.
Left a pixel seen as 0, 0, 0, 10; in the middle the two losses of a constant; right the two reconstructions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from margin.core.verdict import Verdict, above, every, near
from margin.neural.losses import l1_loss, mse_loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PIXEL = (0.0, 0.0, 0.0, 10.0)
WIDTH = 40


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.diagnostics import descend

    rng, n = np.random.default_rng(seed), 200 if fast else 1000
    edges = np.round(rng.normal(WIDTH / 2, 3.5, size=n))
    images = torch.from_numpy((np.arange(WIDTH) >= edges[:, None]).astype(float) + 0.1 * rng.normal(size=(n, WIDTH)))
    grid = torch.linspace(-1, 10.5, 1151, dtype=torch.float64)
    pixel = torch.tensor(PIXEL, dtype=torch.float64)
    data: dict[str, Any] = {"images": images[:40].numpy(), "grid": grid.numpy(), "curves": {}, "image": {}, "best": {}}
    for name, loss in (("L1", l1_loss), ("L2", mse_loss)):
        curve = torch.stack([loss(c.expand(4), pixel) for c in grid])
        data["curves"][name], data["best"][name] = curve.numpy(), float(grid[curve.argmin()])
        image = torch.nn.Parameter(torch.full((WIDTH,), 0.5, dtype=torch.float64))
        for rate in (0.1, 0.01):
            descend([image], partial(mismatch, loss, image, images), steps=100, rate=rate, rule=torch.optim.Adam)
        data["image"][name] = image.detach().numpy()
    data["steepest"] = {name: float(np.diff(image).max()) for name, image in data["image"].items()}
    data["targets"] = {"L1": images.median(dim=0).values.numpy(), "L2": images.mean(dim=0).numpy()}
    return data


def mismatch(loss: Any, image: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    return loss(image.expand_as(images), images)


def check(data: dict[str, Any]) -> Verdict:
    return every(
        median_of_the_pixel=near(data["best"]["L1"], 0.0, tolerance=1e-6),
        mean_of_the_pixel=near(data["best"]["L2"], 2.5, tolerance=1e-6),
        l2_image_is_the_mean=near(data["image"]["L2"], data["targets"]["L2"], tolerance=1e-2),
        l1_edge_is_sharper=above(data["steepest"]["L1"], 2 * data["steepest"]["L2"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 4.6)
    left, middle, right = figure.subplots(1, 3)
    left.imshow(data["images"], cmap="gray", aspect="auto")
    left.set(title="images that fit one input", xlabel="pixel", ylabel="image")
    for name, color in (("L1", "C0"), ("L2", "C1")):
        curve = data["curves"][name] / data["curves"][name].max()
        middle.plot(data["grid"], curve, color=color, label=f"{name}, smallest at {data['best'][name]:.1f}")
        middle.axvline(data["best"][name], color=color, ls=":")
        right.plot(data["image"][name], "o-", ms=3, color=color, label=f"{name}: steepest {data['steepest'][name]:.2f}")
    middle.plot(PIXEL, np.zeros(4), "k|", ms=14)
    middle.set(title="one pixel seen as 0, 0, 0, 10", xlabel="predicted value", ylabel="loss, scaled")
    right.set(title="the reconstruction", xlabel="pixel", ylabel="value")
    middle.legend()
    right.legend()
