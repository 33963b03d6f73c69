"""Tables: a tree as it grows, a map of rows and columns, traits of classes."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, bars, chart, matrix, round_values, window_of

__all__ = ["biplot", "branches", "effects", "traits"]

TENNIS = {
    "outlook": ["sunny", "overcast", "rain"],
    "temperature": ["cool", "mild", "hot"],
    "humidity": ["normal", "high"],
    "wind": ["weak", "strong"],
}
HAIR, EYES = ["black", "brown", "red", "blond"], ["brown", "blue", "hazel", "green"]
ANIMALS = ["hawk", "otter", "seal", "snail", "swan (never seen)"]
TRAITS = ["flies or hunts", "swims", "warm"]
#: Names of the columns of tables, by how many there are.
COLUMNS = {
    10: "age, sex, body mass, blood pressure, cholesterol, LDL, HDL, cholesterol / HDL, log triglycerides, glucose",
    13: "alcohol, malic acid, ash, alkalinity of ash, magnesium, phenols, flavonoids, other phenols, "
    "proanthocyanins, color, hue, dilution, proline",
}


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


def effects(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The weight or importance of every column, and how well the model does with them."""
    names = COLUMNS[X.shape[1]].split(", ")
    panels = []
    if hasattr(model, "coef_"):
        weights = np.atleast_2d(model.coef_)
        if len(weights) == 1:
            panels.append(bars(list(zip(names, weights[0])), "weight of each column"))
        else:
            classes = [f"grower {label + 1}" for label in model.classes_]
            panels.append(matrix(weights.T, names, classes, "weight of each column", signed=True))
    if hasattr(model, "feature_importances_"):
        panels.append(bars(list(zip(names, model.feature_importances_)), "importance of each column"))
    return [*panels, _against_truth(model, X, y)]


def _against_truth(model: Any, X: Any, y: Any) -> Panel:
    said = np.asarray(model.predict(X))
    if hasattr(model, "classes_"):
        rows = [(f"grower {label + 1}", float((said[y == label] == label).mean())) for label in np.unique(y)]
        return bars(rows, "told right", most=1)
    ends = [float(np.min(y)), float(np.max(y))]
    diagonal = {"xy": [[end, end] for end in ends], "dash": True}
    points = {"xy": round_values(np.column_stack([y, said]))}
    window = window_of(np.array([[end, end] for end in ends]), 0.08)
    return chart(window, "predicted", axes=["true", "predicted"], square=True, points=points, lines=[diagonal])


def traits(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Traits that the model reads off rows of each kind, those by which the kinds were described, and who is told.

    Rows of the kind that was never seen are where the others' rows say that its traits would put it.
    """
    kinds = [X[np.asarray(y) == kind] for kind in np.unique(y)]
    seen, unseen = model.attributes_[: len(kinds)], model.attributes_[len(kinds)]
    means = np.array([rows.mean(axis=0) for rows in kinds])
    law, *_ = np.linalg.lstsq(np.column_stack([seen, np.ones(len(seen))]), means, rcond=None)
    kinds.append(np.append(unseen, 1.0) @ law + kinds[0] - means[0])
    read = np.array([model.predict_attributes(rows).mean(axis=0) for rows in kinds])
    share = [(name, float((model.predict(rows) == k).mean())) for k, (name, rows) in enumerate(zip(ANIMALS, kinds))]
    return [
        matrix(read, ANIMALS, TRAITS, "as read from the rows"),
        matrix(model.attributes_, ANIMALS, TRAITS, "as described"),
        bars(share, "rows of each that are told right", most=1),
    ]
