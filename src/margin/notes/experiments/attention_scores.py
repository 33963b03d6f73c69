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


def draw(data: dict[str, Any], figure: Figure) -> None:
    for axis, (name, values) in zip(figure.subplots(2, 3).flat, data.items()):
        axis.imshow(values, cmap="viridis")
        axis.set(title=f"{name}, {values.shape[0]} x {values.shape[1]}", xticks=[], yticks=[])
