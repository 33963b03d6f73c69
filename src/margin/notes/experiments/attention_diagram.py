"""The stages of multi-head attention, with the shapes of a real forward pass

Product, scale, mask, softmax, product in every head; then heads side by side and a linear map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
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


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    axis.set_axis_off()
    for level, text in enumerate(data["texts"]):
        axis.text(0.5, 1 - level / len(data["texts"]), text, ha="center", va="top", bbox={"fc": "none", "pad": 4})
