r"""What a layer of message passing does to a graph

Every node takes up its neighbors: features spread along edges, and after many layers all nodes of a connected graph are
nearly alike (over-smoothing), so that depth does not help as it does elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = (0, 1, 2, 4, 8, 16, 32)
NODE = 0  # the one whose neighborhood is shown


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.graphs.generators import karate_club
    from margin.graphs.graph import GraphTensors
    from margin.graphs.layers import MessagePassing
    from margin.graphs.refinement import dirichlet_energy

    club = karate_club()
    rng = np.random.default_rng(seed)
    loops = np.stack([np.arange(34)] * 2)
    graph = GraphTensors.of(club)
    edges = np.concatenate([club.edges, loops], axis=1)
    layer = MessagePassing("mean")
    now = graph._replace(x=torch.from_numpy(rng.normal(size=(34, 1))), edges=torch.from_numpy(edges))
    states = {}
    for depth in range(max(DEPTHS) + 1):
        if depth in DEPTHS:
            states[depth] = now.x.numpy().copy()
        now = layer(now)
    angle = 2 * np.pi * np.arange(34) / 34
    return {
        "edges": club.edges,
        "positions": np.stack([np.cos(angle), np.sin(angle)], axis=1),
        "before": states[0][:, 0],
        "after": states[1][:, 0],
        "neighbors": np.sort(club.edges[0, club.edges[1] == NODE]),
        "energy": np.array([dirichlet_energy(club, states[depth]) for depth in DEPTHS]),
    }


def check(data: dict[str, Any]) -> Verdict:
    gathered = np.append(data["before"][data["neighbors"]], data["before"][NODE]).mean()
    return every(
        one_node_by_hand=below(abs(float(data["after"][NODE] - gathered)), 1e-9),
        smoother_with_depth=equal(bool((np.diff(data["energy"]) < 0).all()), True),
        nearly_alike=below(float(data["energy"][-1] / data["energy"][0]), 1e-3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.8)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 0.8])
    for ax, name in ((left, "before"), (middle, "after")):
        for a, b in data["edges"].T:
            shown = NODE in (a, b)
            ax.plot(*data["positions"][[a, b]].T, color="C3" if shown else "0.85", linewidth=1.5 if shown else 0.6)
        nodes = ax.scatter(*data["positions"].T, c=data[name], cmap="viridis", vmin=-2, vmax=2, s=70, zorder=3)
        ax.scatter(*data["positions"][NODE], s=220, facecolors="none", edgecolors="C3", linewidths=2, zorder=4)
        ax.set(xticks=[], yticks=[], aspect="equal", title=f"{name.capitalize()} one layer")
        ax.spines[:].set_visible(False)
    figure.colorbar(nodes, ax=[left, middle], label="feature of the node", shrink=0.8)
    left.set_xlabel("the ringed node reads along its red edges")
    right.semilogy(DEPTHS, data["energy"], "o-")
    right.set(xlabel="layers", ylabel="Dirichlet energy", title="Many layers: all nodes alike")
