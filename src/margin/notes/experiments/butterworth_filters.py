r"""A photograph under Butterworth's low-pass and high-pass filters

The squared filter of order n has the gain :math:`1/(1 + (r/c)^{2n})` at r cycles per pixel: 1/2 at the cut-off c, the
steeper the higher the order. What the low-pass filter leaves out, the high-pass filter keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDER = 3.0
CUTOFFS = (0.02, 0.08, 0.16)


def photograph(size: int) -> np.ndarray:
    """The middle of a gray photograph, from 0 to 1."""
    from sklearn.datasets import load_sample_image

    gray = load_sample_image("china.jpg").mean(axis=2) / 255
    return gray[100 : 100 + size, 200 : 200 + size]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.vision.features.filters import butterworth, radius

    image = photograph(128 if fast else 320)
    image = image + 0.02 * np.random.default_rng(seed).normal(size=image.shape)
    filtered = {
        (name, cutoff): butterworth(image, cutoff, ORDER, high=name == "high-pass")
        for name in ("low-pass", "high-pass")
        for cutoff in CUTOFFS
    }
    # The gain at a frequency is what the filter leaves of a wave of that frequency.
    n = 100
    wave = np.cos(2 * np.pi * CUTOFFS[1] * np.arange(n))[None].repeat(n, axis=0)
    return {
        "image": image,
        "filtered": filtered,
        "gain_at_cutoff": float(butterworth(wave, CUTOFFS[1], ORDER).max()),
        "frequency": radius(image.shape),
    }


def check(data: dict[str, Any]) -> Verdict:
    image, filtered = data["image"], data["filtered"]
    rough = {cutoff: float(np.var(filtered["low-pass", cutoff])) for cutoff in CUTOFFS}
    sums = [filtered["low-pass", c] + filtered["high-pass", c] - image for c in CUTOFFS]
    return every(
        half_at_the_cutoff=near(data["gain_at_cutoff"], 0.5, tolerance=1e-6),
        both_add_up=below(float(np.abs(sums).max()), 1e-12),
        lower_cutoffs_are_smoother=near(sorted(rough.values()), list(rough.values()), tolerance=0.0),
        high_pass_has_no_mean=below(max(abs(float(filtered["high-pass", c].mean())) for c in CUTOFFS), 1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 6.5)
    axes = figure.subplots(2, len(CUTOFFS) + 1)
    for row, name in zip(axes, ("low-pass", "high-pass")):
        row[0].imshow(data["image"], cmap="gray")
        row[0].set_title("image")
        for ax, cutoff in zip(row[1:], CUTOFFS):
            ax.imshow(data["filtered"][name, cutoff], cmap="gray")
            ax.set_title(f"{name}, cut-off {cutoff:g}")
    for ax in axes.flat:
        ax.axis("off")
