r"""How an attention matrix is computed: seven tokens of width three

:math:`QK^\top/\sqrt 3` gives a 7 by 7 matrix, a softmax along each row makes it weights, and times V they give 7 rows
of width 3 again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOKENS, WIDTH = 7, 3


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.attention import attention, attention_scores, qkv

    rng = np.random.default_rng(seed)
    x, *maps = (torch.from_numpy(rng.normal(size=(rows, WIDTH))) for rows in (TOKENS, WIDTH, WIDTH, WIDTH))
    q, k, v = qkv(x, (maps[0], maps[1], maps[2]))
    output, weights = attention(q, k, v)
    stages = {"Q": q, "K'": k.T, "scores": attention_scores(q, k), "weights": weights, "V": v, "output": output}
    return {name: values.numpy() for name, values in stages.items()}


def check(data: dict[str, Any]) -> Verdict:
    grown = np.exp(data["Q"] @ data["K'"] / np.sqrt(WIDTH))
    weights = grown / grown.sum(axis=1, keepdims=True)
    return every(
        weights_shape=equal(data["weights"].shape, (TOKENS, TOKENS)),
        output_shape=equal(data["output"].shape, (TOKENS, WIDTH)),
        softmax_by_row=near(data["weights"], weights, tolerance=1e-12),
        product=near(data["output"], weights @ data["V"], tolerance=1e-12),
    )


#: What stands before each matrix: the operation that leads to it.
OPERATORS = {"Q": "", "K'": "×", "scores": r"$/\sqrt{3}\;=$", "weights": "softmax\nof rows", "V": "×", "output": "="}


def draw(data: dict[str, Any], figure: Figure) -> None:
    """The equation in matrices with their numbers, to one scale but for the weights, which are darkest at 1."""
    figure.set_size_inches(14, 4)
    widths = [part for name, values in data.items() for part in (1.6 if OPERATORS[name] else 0.1, values.shape[1])]
    axes = figure.subplots(1, len(widths), width_ratios=widths)
    bound = max(np.abs(values).max() for values in data.values())
    for before, axis, (name, values) in zip(axes[::2], axes[1::2], data.items()):
        before.set_axis_off()
        before.text(0.5, 0.5, OPERATORS[name], ha="center", va="center", fontsize=12, transform=before.transAxes)
        low, high = (-1.0, 1.0) if name == "weights" else (-bound, bound)
        shown = axis.imshow(values, cmap="RdBu_r", vmin=low, vmax=high)
        axis.set(xticks=[], yticks=[])
        axis.set_title(f"{name.replace(chr(39), 'ᵀ')}, {values.shape[0]} x {values.shape[1]}", loc="center")
        for (row, column), value in np.ndenumerate(values):
            dark = abs(value) > 0.6 * high
            axis.text(
                column, row, f"{value:.1f}", ha="center", va="center", fontsize=6, color="white" if dark else "black"
            )
    figure.colorbar(shown, ax=list(axes), orientation="horizontal", shrink=0.3, aspect=40, panchor=False)
