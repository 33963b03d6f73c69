"""The stages of multi-head attention, with the shapes of a real forward pass

Product, scale, mask, softmax, product in every head; then heads side by side and a linear map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.notes.diagrams import MUTED, add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = ["Q", "K", "V", "QK'", "scaled", "masked", "softmax", "heads", "concatenated", "output"]


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.attention import MultiHeadAttention, trace
    from margin.neural.weights import build

    layer = build(lambda: MultiHeadAttention(16, 4), seed)
    x = torch.randn(1, 6, 16, generator=torch.Generator().manual_seed(seed))
    stages = trace(layer, x, causal=True)
    with torch.no_grad():
        expected = layer(x, causal=True)
    return {
        "names": [stage.name for stage in stages],
        "texts": [stage.text for stage in stages],
        "shapes": {stage.name: tuple(stage.values.shape) for stage in stages},
        "first_head": {s.name: s.values[0, 0].numpy() for s in stages if s.values.ndim == 4 and s.name not in "QKV"},
        "output": stages[-1].values.numpy(),
        "expected": expected.numpy(),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        stages=equal(data["names"], NAMES),
        scores=equal(data["shapes"]["softmax"], (1, 4, 6, 6)),
        heads=equal(data["shapes"]["heads"], (1, 4, 6, 4)),
        output=near(data["output"], data["expected"], tolerance=1e-5),
    )


#: Stages from left to right: name, and what it does.
LINE = {
    "QK'": r"$Q K^\top$",
    "scaled": r"$/\sqrt{d}$",
    "masked": "mask the\nfuture",
    "softmax": "softmax\nof rows",
    "heads": r"weights $\times\,V$",
    "concatenated": "heads side\nby side",
    "output": "linear",
}
STEP, BOX = 1.45, 1.1  # from stage to stage, and how wide a stage is


def draw(data: dict[str, Any], figure: Figure) -> None:
    """A line of operations with the shapes of what they give; below each, what its first head holds."""
    figure.set_size_inches(13, 4.6)
    axis = blank(figure.subplots(), width=(-0.75, 7 * STEP + 0.75), height=(-2.35, 1.75))
    for y, name in ((1.35, "V"), (0.45, "Q"), (-0.45, "K")):
        add_box(axis, 0, y, f"{name}\n{_size(data, name)}", width=BOX, height=0.6, color="C7")
    for k, (name, text) in enumerate(LINE.items(), 1):
        x, color = k * STEP, "C1" if name in ("QK'", "heads") else "C0"
        add_box(axis, x, 0, text, width=BOX, height=0.6, color=color)
        axis.text(x, -0.47, _size(data, name), fontsize=9, color=MUTED, ha="center", va="center")
        if k > 1:
            add_arrow(axis, (x - STEP + BOX / 2, 0), (x - BOX / 2, 0))
        if name in data["first_head"]:
            _draw_matrix(axis, data["first_head"][name], x)
    add_arrow(axis, (BOX / 2, 0.4), (STEP - BOX / 2, 0.1))
    add_arrow(axis, (BOX / 2, -0.4), (STEP - BOX / 2, -0.1))
    axis.plot([BOX / 2, 5 * STEP], [1.35, 1.35], color=MUTED, lw=1.1, zorder=1)
    add_arrow(axis, (5 * STEP, 1.35), (5 * STEP, 0.3))
    axis.set_title("Multi-head attention: batch x heads x tokens x width; below, what the first head holds")
    axis.text(0, -1.45, "first head:\nqueries down,\nkeys across", fontsize=9, color=MUTED, ha="center", va="center")


def _size(data: dict[str, Any], name: str) -> str:
    return " x ".join(map(str, data["shapes"][name]))


def _draw_matrix(axis: Axes, values: np.ndarray, x: float) -> None:
    """Its entries in color, white at zero, and the range that they span."""
    finite = values[np.isfinite(values)]  # the mask is minus infinity
    bound = np.abs(finite).max()
    panel = axis.inset_axes((x - BOX / 2, -2.05, BOX, 1.4), transform=axis.transData)
    panel.imshow(np.where(np.isfinite(values), values, np.nan), cmap="RdBu_r", vmin=-bound, vmax=bound)
    panel.set(xticks=[], yticks=[])
    axis.text(x, -2.22, f"{finite.min():.2f} to {finite.max():.2f}", fontsize=9, color=MUTED, ha="center", va="center")
