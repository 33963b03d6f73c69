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
    figure.set_size_inches(12, 5.6)
    for axis, edges, title in zip(
        figure.subplots(1, 2),
        (data["kept"], data["edges"]),
        (
            f"Training: one draw, p = {P}; a unit is there with probability 1 - p",
            "Test: all units, each sends (1 - p) w",
        ),
    ):
        for k, i, j in edges:
            axis.plot(*np.transpose([data["positions"][k][i], data["positions"][k + 1][j]]), color="C7", lw=0.9)
        for layer, alive in zip(data["positions"], data["alive"]):
            for (x, y), lives in zip(layer, alive):
                gone = edges is data["kept"] and not lives
                axis.plot(
                    x, y, "o", ms=24, color="white", mec="C7" if gone else "C0", mew=1.4, ls="--" if gone else "-"
                )
                if gone:
                    axis.plot(x, y, "x", ms=12, color="C3", mew=2)
        axis.set_title(title)
        axis.margins(0.12)
        axis.set_axis_off()
    figure.supxlabel(f"mean sent over many draws {data['mean']:.3f}, at test {data['test']:.3f}", fontsize=10)
