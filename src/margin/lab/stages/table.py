"""Tables: a tree as it grows, a map of rows and columns, traits of classes."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, bars, chart, matrix, round_values, window_of

__all__ = ["biplot", "branches", "traits"]

TENNIS = {
    "outlook": ["sunny", "overcast", "rain"],
    "temperature": ["cool", "mild", "hot"],
    "humidity": ["normal", "high"],
    "wind": ["weak", "strong"],
}
HAIR, EYES = ["black", "brown", "red", "blond"], ["brown", "blue", "hazel", "green"]
ANIMALS = ["hawk", "otter", "seal", "snail", "swan (never seen)"]
TRAITS = ["flies or hunts", "swims", "warm"]


def branches(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The questions asked so far, and how much each column would tell at the root."""
    tree, columns = model.tree_, list(TENNIS)
    nodes = []
    for node in range(len(tree["feature"])):
        feature, above = int(tree["feature"][node]), int(tree["parent"][node])
        asked = columns[int(tree["feature"][above])] if above >= 0 else None
        counts = tree["value"][node]
        nodes.append(
            {
                "parent": above,
                "label": f"{columns[feature]}?" if feature >= 0 else ("play" if counts[1] > counts[0] else "stay in"),
                "branch": TENNIS[asked][int(tree["branch"][node])] if asked else "",
                "note": f"{counts[1]:.0f} of {counts.sum():.0f} days",
                "color": int(counts[1] > counts[0]),
                "leaf": feature < 0,
            }
        )
    gains = [(columns[int(f)], float(g)) for f, g in zip(tree["feature"], tree["gain"]) if f >= 0]
    return [{"panel": "tree", "title": "", "nodes": nodes}, bars(gains, "bits gained by each question")]


def biplot(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Rows and columns of the counts in one plane: near ones occur together."""
    rows, columns = np.asarray(model.row_coordinates_), np.asarray(model.column_coordinates_)
    places = np.concatenate([rows[:, :2], columns[:, :2]])
    labels = [[*round_values(place), name, color] for place, name, color in zip(
        places, [f"{name} hair" for name in HAIR] + [f"{name} eyes" for name in EYES], [0] * 4 + [1] * 4
    )]  # fmt: skip
    plane = chart(window_of(places, 0.3), axes=["first axis", "second axis"], labels=labels)
    return [plane, matrix(X, [f"{name} hair" for name in HAIR], [f"{name} eyes" for name in EYES], "counts")]


def traits(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Traits that the model reads off a row of each kind, and the traits by which the kinds were described."""
    read = np.array([model.predict_attributes(X[np.asarray(y) == kind]).mean(axis=0) for kind in np.unique(y)])
    described = matrix(model.attributes_, ANIMALS, TRAITS, "as described")
    share = [(ANIMALS[kind], float((model.predict(X[np.asarray(y) == kind]) == kind).mean())) for kind in np.unique(y)]
    return [
        matrix(read, ANIMALS[: len(read)], TRAITS, "as read from the rows"),
        described,
        bars(share, "right", most=1),
    ]
