r"""How many linear regions networks use, against how many they could have

With 24 rectifiers in one, two or three layers the most regions that any weights could give grow by orders of magnitude.
The networks that one draws, and those that training finds, use far fewer: about as many in a square whatever the depth,
so the fraction in use falls with depth, and training changes it little.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS, DEPTHS, BOX = 24, (1, 2, 3), (-1.0, 1.0, -1.0, 1.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.nets.mlp import MLP
    from margin.neural.theory import DenseNetwork, activation_regions, region_limit
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.uniform(-1, 1, size=(300, 2)))
    y = torch.sin(3 * X[:, :1]) * torch.cos(4 * X[:, 1:] - 0.5)
    data: dict[str, Any] = {"limits": [region_limit(UNITS // depth, depth, 2) for depth in DEPTHS]}
    before, after, errors = [], [], []
    for depth in DEPTHS:
        net = build(partial(MLP, [2, *[UNITS // depth] * depth, 1], "relu"), seed, torch.float64)
        before.append(len(activation_regions(DenseNetwork.of(net), BOX)))

        def loss(net: Any = net) -> Any:
            return (net(X) - y).square().mean()

        errors.append(descend(net.parameters(), loss, steps=400 if fast else 4000, rate=0.02, rule=torch.optim.Adam))
        after.append(activation_regions(DenseNetwork.of(net), BOX))
    return data | {
        "before": before,
        "after": [len(cells) for cells in after],
        "cells": after,
        "errors": np.array([[losses[0], losses[-1]] for losses in errors]),
    }


def check(data: dict[str, Any]) -> Verdict:
    limits, before, after = (np.array(data[name], dtype=float) for name in ("limits", "before", "after"))
    used = after / limits
    return every(
        never_above_the_limit=equal(bool((np.maximum(before, after) <= limits).all()), True),
        what_is_possible_grows=above(limits[2] / limits[0], 30.0),
        what_is_used_does_not=within(after[2] / after[0], 1 / 6, 6.0),
        the_fraction_falls=equal(bool((np.diff(used) < 0).all()), True),
        a_deep_network_uses_little=below(used[2], 0.03),
        training_changes_it_little=within(float((after / before).mean()), 0.4, 4.0),
        it_did_train=below(float((data["errors"][:, 1] / data["errors"][:, 0]).max()), 0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    from matplotlib.collections import PolyCollection

    figure.set_size_inches(13, 4.4)
    counts, *maps = figure.subplots(1, 4, width_ratios=(1.3, 1, 1, 1))
    for name, style, label in (("limits", "s--", "most possible"), ("before", "o:", "at the start"),
                               ("after", "o-", "trained")):  # fmt: skip
        counts.semilogy(DEPTHS, data[name], style, label=label)
    counts.set(xlabel="hidden layers", ylabel="regions", title=f"{UNITS} units", xticks=DEPTHS)
    counts.legend(loc="upper left")
    for ax, depth, cells, limit in zip(maps, DEPTHS, data["cells"], data["limits"]):
        shade = np.linspace(0, 1, len(cells))
        shown = PolyCollection([cell.corners for cell in cells], array=shade, cmap="viridis", edgecolor="w", lw=0.3)
        ax.add_collection(shown)
        ax.set(xlim=BOX[:2], ylim=BOX[2:], aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        ax.set_title(f"{depth} hidden: {len(cells)} of {limit:,}")
