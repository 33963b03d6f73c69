"""Graphs and networks: classes of nodes, kinds of graphs, links to come, and beliefs that move with evidence."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, bars, round_values

__all__ = ["graphs", "layout", "links", "network", "nodes"]

WEATHER = ["cloudy", "sprinkler", "rain", "wet grass"]
ROUNDS = 80
PLACES = [[0.5, 0.88], [0.17, 0.5], [0.83, 0.5], [0.5, 0.12]]


def nodes(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The class of every node, the fuller the surer; those whose class was shown are ringed, mistakes crossed. Of one
    that was clicked also how much the message of each neighbor counts."""
    chance = np.asarray(model.predict_proba(X), dtype=float)
    said = chance.argmax(axis=1)
    places = layout(X)
    shown = [
        {"xy": round_values(places[i]), "color": int(said[i]), "sure": round(float(chance[i].max()), 3),
         "label": str(i),
         "ring": i in (0, 33, 1, 32), "wrong": bool(model.classes_[said[i]] != y[i])}
        for i in range(len(X))
    ]  # fmt: skip
    right = bars([("nodes right", float((model.classes_[said] == y).mean()))], "", most=1)
    asked = probe.get("node") if isinstance(probe, dict) else None
    if not isinstance(asked, int) or isinstance(asked, bool) or not 0 <= asked < len(X):
        return [_draw(shown, X, pick="node"), right]
    counts = _messages(model, X, asked, chance[asked])
    most = max(map(abs, counts.values()), default=0.0) or 1.0
    wide = [[asked, j, round(count / most, 3)] for j, count in counts.items()]
    named = [(f"node {j}", count) for j, count in sorted(counts.items(), key=lambda item: -abs(item[1]))[:10]]
    title = f"what node {asked} gains from each neighbor for class {model.classes_[said[asked]]}"
    return [_draw(shown, X, pick="node", picked=asked, wide=wide), bars(named, title), right]


def _messages(model: Any, graph: Any, node: int, chance: np.ndarray) -> dict[int, float]:
    """By how much the chance of the class of ``node`` falls without the messages between it and each neighbor."""
    best, edges = int(chance.argmax()), graph.edges
    counts = {}
    for other in sorted({int(j) for i, j in edges.T if i == node} | {int(i) for i, j in edges.T if j == node}):
        between = np.isin(edges, (node, other)).all(axis=0) & (edges[0] != edges[1])
        without = replace(graph, edges=edges[:, ~between])
        counts[other] = float(chance[best] - model.predict_proba(without)[node, best])
    return counts


def graphs(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Eight graphs with what the model says of each."""
    said = np.asarray(model.predict(X))
    panels = []
    for i in range(8):
        places = layout(X[i])
        right = said[i] == y[i] if hasattr(model, "classes_") else abs(said[i] - y[i]) < 0.5
        told = f"{said[i]} (true {y[i]})" if hasattr(model, "classes_") else f"{said[i]:.1f} (true {y[i]:.0f})"
        shown = [{"xy": round_values(place), "color": 0 if right else 1, "sure": 1.0, "label": ""} for place in places]
        panels.append(_draw(shown, X[i], told, small=True))
    return [*panels, bars([("score", model.score(X, y))], "over all graphs", most=1)]


def links(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The graph, and the twelve links that are missing most."""
    n = len(X)
    known = {tuple(pair) for pair in X.edges.T.tolist()}
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in known])
    chance = np.asarray(model.predict_proba(X, pairs))[:, 1]
    order = np.argsort(-chance, kind="stable")[:12]
    places = layout(X)
    shown = [{"xy": round_values(place), "color": i // 14, "sure": 1.0, "label": ""} for i, place in enumerate(places)]
    new = [[*pairs[k].tolist(), round(float(chance[k]), 3)] for k in order]
    within = float(np.mean([i // 14 == j // 14 for i, j, _ in new]))
    return [_draw(shown, X, new=new), bars([("new links inside a group", within)], "", most=1)]


def network(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The chance of every column given the evidence; a click sets a column to yes or no."""
    evidence = _evidence(probe, X.shape[1])
    shown = []
    for j, name in enumerate(WEATHER):
        chance = float(evidence[j]) if j in evidence else float(model.query([j], evidence).values[1])
        shown.append(
            {
                "xy": PLACES[j],
                "label": name,
                "chance": round(chance, 4),
                "fixed": evidence.get(j),
                "color": 0,
                "sure": 1.0,
            }
        )
    edges = [[int(parent), j] for j, parents in enumerate(model.parents_) for parent in parents]
    return [{"panel": "graph", "title": "", "nodes": shown, "edges": edges, "directed": True, "evidence": True}]


def layout(graph: Any) -> np.ndarray:
    """Places of the nodes in the unit square by the distances along its edges, the same at every call."""
    n = len(graph)
    adjacency = np.zeros((n, n))
    adjacency[graph.edges[0], graph.edges[1]] = 1
    adjacency = np.maximum(adjacency, adjacency.T)
    distances = _hops(adjacency)
    square = -0.5 * distances**2
    square -= square.mean(axis=0, keepdims=True)
    square -= square.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(square)
    places = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 1e-9))
    # Nodes with the same neighbors would lie on each other.
    places = places + 0.15 * np.stack([np.sin(2.4 * np.arange(n)), np.cos(2.4 * np.arange(n))], axis=1)
    low, high = places.min(axis=0), places.max(axis=0)
    places = (places - low) / np.maximum(high - low, 1e-9)
    for step in range(ROUNDS):
        places = places + _push(places, adjacency) * 0.1 * (1 - step / ROUNDS)
    low, high = places.min(axis=0), places.max(axis=0)
    return 0.05 + 0.9 * (places - low) / np.maximum(high - low, 1e-9)


def _push(places: np.ndarray, adjacency: np.ndarray) -> np.ndarray:
    """All nodes push each other away and edges pull theirs together; no move is longer than 1."""
    apart = places[:, None] - places[None]
    far = np.sqrt((apart**2).sum(axis=2)) + 1e-3
    ideal = 0.8 / np.sqrt(len(places))
    strength = (ideal / far) ** 2 - adjacency * far / ideal
    move = (apart / far[..., None] * strength[..., None]).sum(axis=1) * ideal
    return move / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1)


def _hops(adjacency: np.ndarray) -> np.ndarray:
    from margin.reduction import shortest_paths

    found = np.asarray(shortest_paths(adjacency))
    return np.where(np.isfinite(found), found, len(adjacency) / 2)


def _draw(shown: list[Panel], graph: Any, title: str = "", **more: Any) -> Panel:
    edges = [pair for pair in graph.edges.T.tolist() if pair[0] < pair[1]]
    return {"panel": "graph", "title": title, "nodes": shown, "edges": edges, **more}


def _evidence(probe: Any, columns: int) -> dict[int, float]:
    if not isinstance(probe, dict):
        return {}
    return {int(j): float(v) for j, v in probe.items() if str(j).isdecimal() and int(j) < columns and v in (0, 1)}
