r"""A residual block: what goes around, what is changed, and their sum

:math:`y = x + f(x)`, where f normalizes, rectifies and convolves, twice. The input arrives whole; the block learns only
the change. Its Jacobian is :math:`I + J_f`, so a gradient too goes around the block, whatever f does with it.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANNELS, SIDE = 2, 8
STEPS = ("normalize", "ReLU", "convolve", "normalize", "ReLU", "convolve")


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.nets.resnet import ResidualBlock
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE] / (SIDE - 1)
    picture = np.stack([np.sin(4 * rows + 2 * columns), np.exp(-8 * ((rows - 0.3) ** 2 + (columns - 0.6) ** 2))])
    x = torch.from_numpy((picture + 0.1 * rng.normal(size=picture.shape))[None])
    block = build(partial(ResidualBlock, CHANNELS, CHANNELS, preactivation=True), seed, torch.float64).eval()
    shape, size = x.shape, x.numel()

    def jacobian(f: Any) -> np.ndarray:
        return np.asarray(torch.autograd.functional.jacobian(lambda v: f(v.reshape(shape)).ravel(), x.ravel()))

    with torch.no_grad():
        change, y = block.change(x), block(x)
    layers: list[np.ndarray] = []
    with torch.no_grad():
        value = x
        for layer in block.change:
            value = layer(value)
            layers.append(value.numpy()[0])
    return {
        "x": x.numpy()[0],
        "change": change.numpy()[0],
        "y": y.numpy()[0],
        "layers": layers,
        "jacobian": jacobian(block),
        "jacobian_of_change": jacobian(block.change),
        "size": size,
    }


def check(data: dict[str, Any]) -> Verdict:
    identity = np.eye(data["size"])
    return every(
        sum=near(data["y"], data["x"] + data["change"], tolerance=1e-12),
        the_change_is_the_last_layer=near(data["layers"][-1], data["change"], tolerance=1e-12),
        rectified_in_between=near(data["layers"][1], np.maximum(data["layers"][0], 0), tolerance=1e-12),
        gradient_goes_around=near(data["jacobian"] - data["jacobian_of_change"], identity, tolerance=1e-10),
        the_change_depends_on_the_input=above(float(np.abs(data["jacobian_of_change"]).max()), 1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    from margin.notes.diagrams import add_arrow, add_box, blank

    figure.set_size_inches(13, 5.5)
    halves: Any = figure.subfigures(2, 1, height_ratios=(1, 1.3))
    top, bottom = halves
    way = blank(top.subplots(), width=(-1.2, 8.2), height=(-0.7, 1.7))
    places = [(-0.7, "$x$"), *((k + 0.6, step) for k, step in enumerate(STEPS)), (6.7, "+"), (7.7, "$y$")]
    for at, text in places:
        color = "C0" if text in ("$x$", "$y$") else "C3" if text == "+" else "C7"
        add_box(way, at, 0, text, width=0.45 if len(text) < 4 else 0.84, height=0.5, color=color)
    for (start, first), (end, second) in pairwise(places):
        half = [0.225 if len(text) < 4 else 0.42 for text in (first, second)]
        add_arrow(way, (start + half[0], 0), (end - half[1], 0))
    way.plot([-0.7, -0.7, 6.7], [0.25, 1.2, 1.2], color="C0")
    add_arrow(way, (6.7, 1.2), (6.7, 0.25), color="C0")
    way.text(3.0, 1.3, "the input goes around unchanged", ha="center", va="bottom", color="C0")
    way.text(3.1, -0.55, "the change $f(x)$", ha="center", va="center")
    titles = {"x": "input $x$", "change": "change $f(x)$", "y": "sum $y$"}
    for ax, (name, title) in zip(bottom.subplots(1, 3), titles.items()):
        size = float(np.abs(data[name]).max())
        shown = ax.imshow(np.hstack(data[name]), cmap="RdBu_r", vmin=-size, vmax=size)
        ax.axvline(SIDE - 0.5, color="white", linewidth=3)
        ax.set(title=f"{title}, two channels", xticks=[], yticks=[])
        bottom.colorbar(shown, ax=ax, shrink=0.6)
