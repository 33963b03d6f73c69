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


#: Stages from bottom to top: name, and what it does.
TOWER = {
    "QK'": r"$Q K^\top$",
    "scaled": r"$/\sqrt{d}$",
    "masked": "mask the future",
    "softmax": "softmax of rows",
    "heads": r"weights $\times\,V$",
    "concatenated": "heads side by side",
    "output": "linear",
}


def draw(data: dict[str, Any], figure: Figure) -> None:
    """A tower of operations with the shapes between them; beside it what one head holds after each."""
    figure.set_size_inches(10, 8)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    blank(left, width=(-1.9, 2.6), height=(-0.5, 7.9))
    for x, name in ((-1.0, "Q"), (0.0, "K"), (1.4, "V")):
        add_box(left, x, 0, f"{name}\n{_size(data, name)}", width=0.9, height=0.6, color="C7")
    for level, (name, text) in enumerate(TOWER.items(), 1):
        add_box(left, -0.5, level, text, width=1.9, height=0.46, color="C1" if name in ("QK'", "heads") else "C0")
        left.text(-0.4, level + 0.37, _size(data, name), fontsize=8, color=MUTED, va="center")
        end = 0.77 if level < len(TOWER) else 0.6
        add_arrow(left, (-0.5, level + 0.23), (-0.5, level + end))
    add_arrow(left, (-1.0, 0.3), (-0.8, 0.77))
    add_arrow(left, (0.0, 0.3), (-0.2, 0.77))
    add_arrow(left, (1.4, 0.3), (0.45, 5.0), bend=0.3)
    left.set_title("Multi-head attention: batch x heads x tokens x width")
    _draw_matrices(right, data["first_head"])


def _size(data: dict[str, Any], name: str) -> str:
    return " x ".join(map(str, data["shapes"][name]))


def _draw_matrices(axis: Axes, matrices: dict[str, np.ndarray]) -> None:
    """What the first head holds, stage above stage as in the tower."""
    blank(axis, width=(0, 1), height=(-0.5, 7.9))
    axis.set_title("Its first head: queries down, keys across")
    for level, name in enumerate(TOWER, 1):
        if name not in matrices:
            continue
        values = matrices[name]
        finite = values[np.isfinite(values)]  # the mask is minus infinity
        bound = np.abs(finite).max()
        panel = axis.inset_axes((0.0, level - 0.43, 0.5, 0.86), transform=axis.transData)
        panel.imshow(np.where(np.isfinite(values), values, np.nan), cmap="RdBu_r", vmin=-bound, vmax=bound)
        panel.set(xticks=[], yticks=[])
        said = f"{finite.min():.2f} to {finite.max():.2f}"
        axis.text(0.5, level, f"{TOWER[name]}\n{said}", fontsize=8, color=MUTED, va="center")
