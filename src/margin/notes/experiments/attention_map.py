"""Who looks at whom: attention maps of a small language model

A decoder looks back only: its maps are triangular, with zeros where the future would be, and every row sums to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT = "the cat sat on the mat. "


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.text.language_model import LanguageModel

    model = LanguageModel(d_model=32, n_heads=2, n_blocks=2, context=32, max_iter=4 if fast else 40, batch_size=8)
    model.set_params(learning_rate_init=0.01, random_state=seed).fit(TEXT * 60)
    return {"maps": np.stack(model.attention_maps(TEXT)), "labels": ["^", *TEXT]}


def check(data: dict[str, Any]) -> Verdict:
    maps = data["maps"]
    n = maps.shape[-1]
    return every(
        shape=equal(maps.shape, (2, 2, len(TEXT) + 1, len(TEXT) + 1)),
        nothing_of_the_future=equal(float(np.abs(np.triu(maps, 1)).max()), 0.0),
        rows_sum_to_one=near(maps.sum(axis=-1), np.ones((2, 2, n)), tolerance=1e-5),
        first_token_sees_itself=equal(maps[..., 0, 0].tolist(), [[1.0, 1.0], [1.0, 1.0]]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    positions = range(len(data["labels"]))
    figure.set_size_inches(11, 11)
    for block, row in enumerate(figure.subplots(2, 2)):
        for head, axis in enumerate(row):
            shades = axis.imshow(data["maps"][block, head], cmap="magma", vmin=0, vmax=1)
            axis.set_xticks(positions, data["labels"], fontsize=7)
            axis.set_yticks(positions, data["labels"], fontsize=7)
            axis.set(
                title=f"block {block + 1}, head {head + 1}", xlabel="letter that is read", ylabel="letter that reads"
            )
    figure.colorbar(shades, ax=figure.axes, location="bottom", shrink=0.4, label="attention weight")
