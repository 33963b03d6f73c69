r"""A network and one of its thinned versions

Dropout silences each hidden unit with probability p for one update: one of :math:`2^n` networks that share weights. At
test time all units are there; a unit that was present with probability 1 - p sends :math:`(1 - p)w` where it sent w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, P = (5, 5, 5, 1), 0.5


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.layers.dropout import Dropout
    from margin.neural.summary import network_diagram

    layer = Dropout(P).train()
    layer.generator = torch.Generator().manual_seed(seed)
    masks = [(layer(torch.ones(n)) > 0).numpy() for n in SIZES[:-1]]
    positions, edges, _ = network_diagram(SIZES)
    alive = [*masks, np.ones(SIZES[-1], dtype=bool)]
    kept = [(k, i, j) for k, i, j in edges if alive[k][i] and alive[k + 1][j]]
    many = torch.stack([layer(torch.ones(4)) for _ in range(4000)])
    w = np.random.default_rng(seed).normal(size=4)
    sent = (many * (1 - P)).numpy() @ w  # without dividing by 1 - p, as in the picture
    return {
        "positions": positions, "edges": edges, "kept": kept, "alive": alive, "weights": w,
        "mean": float(sent.mean()), "test": float((1 - P) * w.sum()), "spread": float(sent.std()),
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    silent = [np.flatnonzero(~part) for part in data["alive"]]
    through = [edge for edge in data["kept"] if edge[1] in silent[edge[0]] or edge[2] in silent[edge[0] + 1]]
    expected = sum(int(a.sum() * b.sum()) for a, b in zip(data["alive"], data["alive"][1:]))
    return every(
        no_edge_through_a_silent_unit=equal(through, []),
        all_others=equal(len(data["kept"]), expected),
        test_weight=near(data["mean"], data["test"], tolerance=5 * data["spread"] / 4000**0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 5)
    axes = figure.subplots(1, 3, width_ratios=[2, 2, 1.4])
    for axis, edges in ((axes[0], data["edges"]), (axes[1], data["kept"])):
        for k, i, j in edges:
            (x, y), (u, v) = data["positions"][k][i], data["positions"][k + 1][j]
            axis.plot([x, u], [y, v], color="gray", lw=0.8)
        for layer, alive in zip(data["positions"], data["alive"]):
            for (x, y), lives in zip(layer, alive):
                axis.plot(x, y, "o", ms=20, color="white", mec="black")
                if axis is axes[1] and not lives:
                    axis.plot(x, y, "x", ms=14, color="C3", mew=2)
        axis.set_axis_off()
    axes[0].set_title("all units")
    axes[1].set_title(f"one draw, p = {P}")
    axes[2].text(0.5, 0.7, "training: present with\nprobability 1 - p, sends w", ha="center", fontsize=12)
    axes[2].text(
        0.5,
        0.35,
        f"test: always present,\nsends (1 - p) w\n\nmean sent {data['mean']:.3f}, test {data['test']:.3f}",
        ha="center",
        fontsize=12,
    )
    axes[2].set_axis_off()
