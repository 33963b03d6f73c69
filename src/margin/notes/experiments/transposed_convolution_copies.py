"""A transposed convolution adds copies of its filter, one per input

Where the stride divides the size of the kernel, every output is reached by equally many copies; where it does not,
their number alternates, and in two dimensions the patterns of both axes multiply into a checkerboard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRIDE = 2
COUNTS = {"kernel 3, stride 2": (3, 2), "kernel 4, stride 2": (4, 2)}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.convolution.transposed import conv_transpose, overlap_count, scaled_copies

    rng = np.random.default_rng(seed)
    x, kernel = rng.integers(1, 5, 4).astype(float), np.array([1.0, 2.0, 1.0])
    copies = scaled_copies(x, kernel, STRIDE)
    return {
        "x": x,
        "kernel": kernel,
        "copies": copies,
        "layer": conv_transpose(x[None, None], kernel[None, None], stride=STRIDE)[0, 0],
        "counts": {name: overlap_count(k, s, 8) for name, (k, s) in COUNTS.items()},
        "planes": {name: overlap_count(k, s, 8, n_dim=2) for name, (k, s) in COUNTS.items()},
    }


def check(data: dict[str, Any]) -> Verdict:
    uneven, even = data["counts"].values()
    return every(
        sum_is_the_layer=near(data["copies"].sum(axis=0), data["layer"], tolerance=1e-12),
        scaled=near(data["copies"].max(axis=1), data["x"] * data["kernel"].max(), tolerance=1e-12),
        uneven=equal(uneven[1:-1].tolist(), [1, 2] * 7 + [1]),
        even=equal(set(even[2:-2].tolist()), {2}),
        product=equal(data["planes"]["kernel 3, stride 2"], np.outer(uneven, uneven)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.2)
    left, *planes = figure.subplots(1, 3)
    below = np.zeros(len(data["layer"]))
    for value, copy in zip(data["x"], data["copies"]):
        left.bar(range(len(copy)), copy, bottom=below, label=f"{value:g} times the filter")
        below += copy
    left.step(np.arange(-0.5, len(below) + 0.5), [*data["layer"], data["layer"][-1]], where="post", color="black")
    left.set(title="copies of (1, 2, 1), stride 2, and their sum", xlabel="output", ylabel="value")
    left.legend()
    for ax, (name, plane) in zip(planes, data["planes"].items()):
        shown = ax.imshow(plane, cmap="viridis")
        ax.set_title(f"{name}: copies per output")
        figure.colorbar(shown, ax=ax, shrink=0.8)
