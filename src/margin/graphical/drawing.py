"""Where the variables of a graph stand on paper: parents above children, few crossings."""

from __future__ import annotations

from typing import Any

from margin.graphical.graphs import Name, Parents, checked_graph, edges, topological_order

__all__ = ["draw_network", "layered_layout"]

SWEEPS = 8  # passes that order the variables of a layer by the mean position of their relatives


def layered_layout(parents: Parents) -> dict[Name, tuple[float, float]]:
    """Positions (x, y): y is minus the length of the longest path from a root, x centered in its layer.

    >>> layered_layout({"rain": [], "wet": ["rain"]})
    {'rain': (0.0, 0.0), 'wet': (0.0, -1.0)}
    """
    graph = checked_graph(parents)
    depth: dict[Name, int] = {}
    for name in topological_order(graph):
        depth[name] = 1 + max((depth[parent] for parent in graph[name]), default=-1)
    layers: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in graph:
        layers[depth[name]].append(name)
    related: dict[Name, list[Name]] = {name: list(above) for name, above in graph.items()}
    for parent, child in sorted(edges(graph), key=str):
        related[parent].append(child)
    x = _centered(layers)
    for _ in range(SWEEPS):
        for layer in layers:
            layer.sort(key=lambda name: _mean([x[other] for other in related[name]], x[name]))
        x = _centered(layers)
    return {name: (x[name], float(-depth[name])) for name in graph}


def draw_network(ax: Any, parents: Parents, names: dict[Name, str] | None = None) -> None:
    """Draw a graph on Matplotlib axes, an arrow from every parent to its child."""
    positions = layered_layout(parents)
    for parent, child in sorted(edges(parents), key=str):
        arrow = {"arrowstyle": "-|>", "color": "0.35", "shrinkA": 14, "shrinkB": 14}
        ax.annotate("", xy=positions[child], xytext=positions[parent], arrowprops=arrow)
    for name, (x, y) in positions.items():
        text = (names or {}).get(name, str(name))
        ax.text(x, y, text, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"})
    xs, ys = zip(*positions.values())
    ax.set(xlim=(min(xs) - 0.8, max(xs) + 0.8), ylim=(min(ys) - 0.6, max(ys) + 0.6))
    ax.set_axis_off()


def _centered(layers: list[list[Name]]) -> dict[Name, float]:
    return {name: i - (len(layer) - 1) / 2 for layer in layers for i, name in enumerate(layer)}


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
