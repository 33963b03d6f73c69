"""Sinusoidal positions as a heat map, and what their products say

Frequencies fall along the width: the first coordinates tell neighbors apart, the last ones far regions. The product of
two codes depends only on how far apart they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITIONS, WIDTH = 128, 64


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.attention import sinusoidal

    code = sinusoidal(POSITIONS, WIDTH).numpy()
    return {"code": code, "products": code @ code.T}


def check(data: dict[str, Any]) -> Verdict:
    turns = (np.diff(np.sign(data["code"][:, ::2]), axis=0) != 0).sum(axis=0)  # changes of sign of every sine
    spread = max(float(np.ptp(np.diagonal(data["products"], k))) for k in range(POSITIONS))
    return every(
        frequencies_fall=below(float(np.diff(turns).max()), 1.0),
        fast_and_slow=above(float(turns[0] - turns[-1]), 30.0),
        products_by_distance=below(spread, 1e-11),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    left.imshow(data["code"], cmap="RdBu", aspect="auto")
    left.set(title="code", xlabel="coordinate", ylabel="position")
    right.imshow(data["products"], cmap="viridis")
    right.set(title="products of codes", xlabel="position", ylabel="position")
