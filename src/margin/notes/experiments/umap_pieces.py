"""UMAP keeps pieces together and apart, as a rule: three clusters and an S-curve stay four pieces, a ring stays a ring.

It is a tendency, for evenly sampled pieces: with three neighbors a single cloud is torn. Pieces are the connected parts
of the graph of ten nearest neighbors, before and after; the digits show what the map is used for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every
from margin.data import load
from margin.neighbors import KNeighborsClassifier
from margin.reduction import PCA, UMAP, components, knn_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEIGHBORS = 10
CENTERS = ((10.0, 0.0, 0.0), (0.0, 12.0, 0.0), (0.0, 0.0, -12.0))


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    clusters = [0.3 * rng.normal(size=(60, 3)) + center for center in CENTERS]
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    digits = load("digits")
    rows = slice(500) if fast else slice(None)
    X, y = np.asarray(digits.X)[rows], np.asarray(digits.y)[rows]
    data = {
        "four pieces": _map(np.vstack([_s_curve(40, 5), *clusters]), 15, seed),
        "a ring": _map(np.column_stack([np.cos(angle), np.sin(angle)]), 15, seed),
        "a cloud, few neighbors": _map(rng.normal(size=(1000, 2)), 3, seed),
    }
    embedding = UMAP(random_state=seed, n_epochs=150 if fast else None).fit_transform(X)
    linear = _neighbor_accuracy(PCA(n_components=2).fit_transform(X), y)
    accuracy = _neighbor_accuracy(embedding, y)
    return data | {"digits": {"embedding": embedding, "labels": y, "accuracy": accuracy, "linear": linear}}


def _s_curve(along: int, across: int) -> np.ndarray:
    """An S-shaped sheet, sampled evenly: gaps in a random sample are pieces of their own."""
    t, height = (axis.ravel() for axis in np.meshgrid(np.linspace(-4.7, 4.7, along), np.linspace(0, 2, across)))
    return np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])


def _neighbor_accuracy(embedding: np.ndarray, y: np.ndarray) -> float:
    half = np.arange(len(y)) % 2 == 0
    return float(KNeighborsClassifier(10).fit(embedding[half], y[half]).score(embedding[~half], y[~half]))


def _map(X: np.ndarray, n_neighbors: int, seed: int) -> dict[str, Any]:
    before, part = components(knn_graph(X, NEIGHBORS))
    embedding = UMAP(n_neighbors=n_neighbors, n_epochs=200, random_state=seed).fit_transform(X)
    after = components(knn_graph(embedding, NEIGHBORS))[0]
    return {"embedding": embedding, "labels": part, "before": before, "after": after}


def check(data: dict[str, Any]) -> Verdict:
    pieces, ring, cloud = (data[name] for name in ("four pieces", "a ring", "a cloud, few neighbors"))
    return corrected(
        every(
            pieces=equal([pieces["before"], pieces["after"]], [4, 4]),
            ring=equal([ring["before"], ring["after"]], [1, 1]),
            digits_gain_on_two_principal_components=above(data["digits"]["accuracy"] - data["digits"]["linear"], 0.2),
        ),
        printed=equal(cloud["after"], cloud["before"]),  # a guarantee would hold here as well
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(10, 9.6)
    for panel, (name, part) in zip(figure.subplots(2, 2).ravel(), data.items()):
        panel.scatter(*part["embedding"].T, c=part["labels"], cmap="tab10", s=9)
        score = (
            f"{part['accuracy']:.0%} of neighbors agree"
            if name == "digits"
            else f"{part['before']} → {part['after']} pieces"
        )
        panel.set(title=f"{name}: {score}", xticks=[], yticks=[])
        panel.set_aspect("equal", adjustable="datalim")
        panel.set_box_aspect(1)
