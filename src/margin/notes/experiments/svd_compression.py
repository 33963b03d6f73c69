r"""An image as a sum of rank-one pictures

:math:`A = \sum_i \sigma_i u_i v_i^\top`. Keeping k terms of a 450 x 333 image stores :math:`(1 + 450 + 333)k` numbers
instead of 149,850: 39,200 for k = 50, which is 26 %. The relative error is exactly
:math:`\sqrt{\sum_{i>k}\sigma_i^2 / \sum_i\sigma_i^2}` and falls with every term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.linalg import svd, svd_compress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = (450, 333)
TERMS = (1, 5, 20, 50)


def landscape(rng: np.random.Generator) -> np.ndarray:
    """A drawn picture in [0, 1]: sky, a sun, three ridges, and water with ripples; no rank-one structure to exploit."""
    height, width = SHAPE
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    picture = 0.75 - 0.35 * y + 0.05 * np.sin(9 * x + 6 * y)
    distance = np.hypot((x - 0.68) * width / height, y - 0.22)
    picture += 0.5 * np.exp(-((distance / 0.07) ** 4)) + 0.2 * np.exp(-distance / 0.12)
    for depth, (base, shade) in enumerate([(0.45, 0.5), (0.55, 0.35), (0.64, 0.18)]):
        waves = sum(rng.normal() / k**1.3 * np.sin(2 * np.pi * k * x[0] + rng.uniform(0, 6)) for k in range(1, 40))
        ridge = base + 0.035 * (depth + 1) * waves
        texture = 0.05 * np.sin(60 * (x + 0.7 * y) + 9 * np.sin(7 * x))
        picture = np.where(y > ridge, shade + texture, picture)
    shore = 0.8 + 0.01 * np.sin(12 * x)
    depth_below = np.sqrt(np.maximum(y - 0.8, 0))
    ripples = 0.45 + 0.15 * np.sin(120 * depth_below + 4 * np.sin(8 * x))
    return np.clip(np.where(y > shore, ripples, picture), 0, 1)


def run(seed: int, fast: bool) -> dict[str, Any]:
    image = landscape(np.random.default_rng(seed))
    compressed = {k: svd_compress(image, k) for k in TERMS}
    return {
        "image": image,
        "images": {k: result.image for k, result in compressed.items()},
        "stored": {k: result.stored for k, result in compressed.items()},
        "ratios": {k: result.ratio for k, result in compressed.items()},
        "errors": {k: result.relative_error for k, result in compressed.items()},
        "singular_values": svd(image).s,
    }


def check(data: dict[str, Any]) -> Verdict:
    energy = data["singular_values"] ** 2
    errors = [data["errors"][k] for k in TERMS]
    predicted = [np.sqrt(energy[k:].sum() / energy.sum()) for k in TERMS]
    return every(
        original=equal(data["image"].size, 149_850),
        stored=equal(data["stored"][50], 39_200),
        percent=equal(round(100 * data["ratios"][50]), 26),
        errors=near(errors, predicted, tolerance=1e-10),
        decreasing=equal(errors, sorted(errors, reverse=True)),
        ranks=equal([int(np.linalg.matrix_rank(data["images"][k])) for k in TERMS], list(TERMS)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(2, 3).ravel()
    panels[0].imshow(data["image"], cmap="gray", vmin=0, vmax=1)
    panels[0].set_title(f"original, {data['image'].size:,} numbers")
    for axes, k in zip(panels[1:], TERMS):
        axes.imshow(data["images"][k], cmap="gray", vmin=0, vmax=1)
        stored, error = 100 * data["ratios"][k], 100 * data["errors"][k]
        axes.set_title(f"k = {k}: {stored:.1f} % stored, error {error:.1f} %")
    for axes in panels[:5]:
        axes.set_axis_off()
    spectrum = data["singular_values"]
    panels[5].semilogy(np.arange(1, len(spectrum) + 1), spectrum, color="0.2")
    panels[5].semilogy(TERMS, spectrum[np.array(TERMS) - 1], "o", color="C3", label="last term kept")
    panels[5].set(title="singular values", xlabel="index", ylabel="value", ylim=(max(spectrum[-1], 1e-4), None))
    panels[5].legend()
