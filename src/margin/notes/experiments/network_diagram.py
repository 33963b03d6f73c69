r"""Diagram of a fully connected network

Inputs on the left, then hidden layers of 4, 2 and 3 units, then 2 outputs; every line is a weight of the network, the
squares below are the biases of the layer to their right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, equal, every
from margin.notes import atlas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.nets.mlp import MLP
    from margin.neural.summary import network_diagram
    from margin.neural.weights import build, count_parameters

    notes = atlas.row("figure-network-architecture").values
    sizes = [4, *notes["hidden"], notes["outputs"]]
    net: Any = build(partial(MLP, sizes), seed)
    positions, edges, biases = network_diagram(net.sizes)
    weights = sum(layer.weight.numel() for layer in net.linears)
    return {
        "positions": positions, "edges": edges, "biases": biases, "sizes": sizes, "weights": weights,
        "parameters": count_parameters(net), "strength": [layer.weight.detach().numpy().T for layer in net.linears],
    }  # fmt: skip


def check(data: dict[str, Any]) -> Verdict:
    sizes = data["sizes"]
    return every(
        an_edge_per_weight=equal(len(data["edges"]), data["weights"]),
        biases=equal(data["parameters"] - data["weights"], sum(sizes[1:])),
        a_node_per_unit=equal([len(layer) for layer in data["positions"]], sizes),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 6.4)
    axis = figure.subplots()
    positions = data["positions"]
    for k, i, j in data["edges"]:
        (x, y), (u, v) = positions[k][i], positions[k + 1][j]
        axis.plot([x, u], [y, v], color="C0" if data["strength"][k][i, j] > 0 else "C3", lw=0.9, alpha=0.75)
    for k, (x, y) in enumerate(data["biases"]):
        for u, v in positions[k + 1]:
            axis.plot([x, u], [y, v], color="silver", lw=0.6)
        axis.plot(x, y, "s", color="gray", ms=10)
    top = max(y for layer in positions for _, y in layer) + 0.55
    for k, layer in enumerate(positions):
        axis.plot(*zip(*layer), "o", ms=24, color="white", mec="C0", mew=1.4)
        name = "input" if k == 0 else "output" if k == len(positions) - 1 else f"hidden {k}"
        axis.text(k, top, f"{name}: {len(layer)}", ha="center")
    axis.annotate("biases", data["biases"][0], (-16, 0), textcoords="offset points", ha="right", va="center")
    axis.plot([], [], color="C0", label="positive weight")
    axis.plot([], [], color="C3", label="negative weight")
    axis.legend(loc="lower right")
    axis.set_title(f"{data['weights']} weights and {data['parameters'] - data['weights']} biases")
    axis.margins(0.08)
    axis.set_ylim(top=top + 0.4)
    axis.set_axis_off()
