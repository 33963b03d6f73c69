"""Points in the plane: regions of classes, clusters, densities, samples, axes, embeddings."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.lab.stages.panels import Panel, chart, grid, pack, place_of, round_values, window_of

__all__ = ["adapted", "axes", "cells", "clusters", "density", "embedding", "path", "regions", "samples", "translated"]


AXES: Panel = {"axes": ["x1", "x2"], "square": True}


def regions(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The class of every cell, the stronger the surer; support vectors and the margin where there are some."""
    window = window_of(X)
    if model.__sklearn_tags__().input_tags.positive_only:
        window = [max(window[0], 0.0), window[1], max(window[2], 0.0), window[3]]
    surface, line = _class_surface(model, grid(window))
    support = getattr(model, "support_", None)
    given = _positions(y, model.classes_)
    points = {"xy": round_values(X), "label": given, "editable": True}
    if -1 in given:  # some rows have no label: those with one are ringed, the others may have been given one
        points |= {"label": _positions(getattr(model, "transduction_", y), model.classes_), "given": given}
        points["ring"] = [row for row, label in enumerate(given) if label >= 0]
    if support is not None:
        points["ring"] = np.asarray(support).tolist()
    layers = _neighbors(model, X, place_of(probe)) if hasattr(model, "kneighbors") else {}
    names = [str(c) for c in model.classes_]
    if line is not None:
        layers["note"] = "Solid: the border. Dashed: the margin, within which a row costs something."
    return [chart(window, **AXES, surface=surface, contour=line, points=points, classes=names, **layers)]


def _neighbors(model: Any, X: Any, place: np.ndarray | None) -> Panel:
    """Lines from the mouse to the rows that decide there, and what they say."""
    if place is None:
        return {"hover": True}
    near, chance = model.kneighbors(place[None])[1][0], model.predict_proba(place[None])[0]
    best = int(chance.argmax())
    lines = [{"xy": round_values([place, X[i]]), "color": -1, "thin": True} for i in near]
    said = f"{model.classes_[best]}: {100 * chance[best]:.0f} % of {len(near)}"
    return {"hover": True, "lines": lines, "labels": [[*round_values(place), said, best]]}


def adapted(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Rows without a label in the class that the model gives them; faint, the labeled ones, of another scale."""
    window, given = window_of(X), _positions(y, model.classes_)
    surface, _ = _class_surface(model, grid(window))
    said = _positions(model.predict(X), model.classes_)
    points = {
        "xy": round_values(X),
        "label": [told if label < 0 else label for told, label in zip(said, given)],
        "given": given,
        "faint": [row for row, label in enumerate(given) if label >= 0],
        "editable": True,
    }
    return [chart(window, **AXES, surface=surface, points=points, classes=[str(c) for c in model.classes_])]


def cells(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Categories: one cell per pair, points spread inside theirs."""
    window = [-0.5, 4.5, -0.5, 4.5]
    surface, _ = _class_surface(model, grid(window, 5).astype(int), side=5)
    order = np.arange(len(X))
    spread = (
        np.column_stack([np.sin(order * 2.4), np.cos(order * 2.4)]) * (0.08 + 0.3 * np.modf(order * 0.618)[0])[:, None]
    )
    points = {"xy": round_values(X + spread), "label": _positions(y, model.classes_)}
    return [chart(window, **AXES, surface=surface, points=points, classes=[str(c) for c in model.classes_])]


def clusters(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Whose center or component a point belongs to; centers, and ellipses where there are covariances."""
    window = window_of(X)
    labels = model.predict(X)
    centers = getattr(model, "cluster_centers_", None)
    layers: dict[str, Any] = {"surface": _label_surface(model, window)}
    if centers is None:
        centers = model.means_
        layers["ellipses"] = [
            {
                "center": round_values(mean),
                "axes": round_values(_ellipse(covariance)),
                "color": k,
                "weight": float(weight),
            }
            for k, (mean, covariance, weight) in enumerate(zip(centers, _full(model), model.weights_))
        ]
    points = {"xy": round_values(X), "label": np.asarray(labels).tolist(), "editable": True}
    return [chart(window, **AXES, points=points, centers=round_values(centers), **layers)]


def density(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The density as a height map, and rows that the model makes up."""
    window = window_of(X, 0.2)
    log_density = model.score_samples(grid(window)).reshape(56, 56)
    height = np.exp(np.minimum(log_density - np.quantile(log_density, 0.995), 0.0))
    surface = {"heat": pack(np.round(255 * height).astype(np.uint8))}
    return [chart(window, **AXES, surface=surface, points={"xy": round_values(X), "faded": True, "editable": True})]


def samples(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Rows of the data, faded, and as many that the model makes up."""
    made = np.asarray(model.sample(300, random_state=0), dtype=float)[:, :2]
    points = {"xy": round_values(X), "faded": True, "editable": True}
    return [chart(window_of(X, 0.25), **AXES, points=points, made=round_values(made))]


def path(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """From noise to data: where 250 points are at a few moments of the sampling that runs backwards."""
    moments = [made[:, :2] for _, made in model.sample_path(250, random_state=0)]
    chosen = np.unique(np.linspace(0, len(moments) - 1, 6).round().astype(int))
    scale = [float(X[:, :2].min()), float(X[:, :2].max())]
    window = window_of(np.array([[scale[0]] * 2, [scale[1]] * 2]), 0.3)
    frames = [round_values(moments[i], 3) for i in chosen]
    points = {"xy": round_values(X), "faded": True, "editable": True}
    return [chart(window, **AXES, points=points, made=frames[-1], movie=frames)]


def translated(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Both sets, and where the rows of the first go."""
    both = np.concatenate([X, y])
    points = {"xy": round_values(both), "label": [0] * len(X) + [1] * len(y), "faded": True}
    made = round_values(np.asarray(model.transform(X), dtype=float))
    names = ["first set", "second set", "the first, carried over"]
    return [chart(window_of(both, 0.25), **AXES, points=points, made=made, made_color=2, classes=names)]


def axes(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Directions that the model found, as long as the data are wide along them."""
    center = np.asarray(model.mean_, dtype=float)
    directions = np.asarray(model.components_ if not hasattr(model, "mixing_") else model.mixing_.T, dtype=float)
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    width = 2 * ((X - center) @ directions.T).std(axis=0)
    arrows = [[*center, *(center + w * d)] for w, d in zip(width, directions)]
    points = {"xy": round_values(X), "editable": True}
    return [chart(window_of(X), **AXES, equal=True, points=points, arrows=round_values(arrows))]


def embedding(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Where each row came to lie; classes by color, though the model never saw them."""
    placed = np.asarray(model.embedding_ if hasattr(model, "embedding_") else model.transform(X), dtype=float)[:, :2]
    points = {"xy": round_values(placed, 3), "label": np.asarray(y).tolist()}
    return [chart(window_of(placed), equal=True, bare=True, points=points, classes=[str(c) for c in np.unique(y)])]


def _class_surface(model: Any, cells: np.ndarray, side: int = 56) -> tuple[Panel, Panel | None]:
    """Class and certainty of every cell; for two classes by a decision function also its levels -1, 0 and 1."""
    contour = None
    if hasattr(model, "decision_function") and len(model.classes_) == 2 and _has_margin(model):
        values = np.asarray(model.decision_function(cells), dtype=float).reshape(side, side)
        chosen, sure = (values > 0).astype(int), np.tanh(np.abs(values))
        contour = {"values": pack(values), "levels": [-1, 0, 1]}
    elif hasattr(model, "predict_proba"):
        chance = np.asarray(model.predict_proba(cells), dtype=float)
        chosen, k = chance.argmax(axis=1), chance.shape[1]
        sure = (chance.max(axis=1) * k - 1) / max(k - 1, 1)
    else:
        chosen, sure = np.searchsorted(model.classes_, model.predict(cells)), np.full(len(cells), 0.6)
    strength = np.round(255 * np.clip(np.nan_to_num(sure), 0, 1)).astype(np.uint8).reshape(side, side)
    return {"class": pack(chosen.astype(np.uint8).reshape(side, side)), "strength": pack(strength)}, contour


def _has_margin(model: Any) -> bool:
    """Whether decision values of 1 and -1 are where rows begin to cost: machines by support vectors or the hinge."""
    return hasattr(model, "support_") or "hinge" in str(getattr(model, "loss", ""))


def _label_surface(model: Any, window: list[float]) -> Panel:
    labels = np.asarray(model.predict(grid(window))).astype(np.uint8).reshape(56, 56)
    return {"class": pack(labels), "strength": pack(np.full((56, 56), 110, np.uint8))}


def _positions(y: Any, classes: np.ndarray) -> list[int]:
    """The position of every label among the classes; -1 for a row without one."""
    y = np.asarray(y)
    return np.where(np.isin(y, classes), np.searchsorted(classes, y).clip(0, len(classes) - 1), -1).tolist()


def _full(model: Any) -> np.ndarray:
    """A covariance matrix per component, whatever their type."""
    covariances = np.asarray(model.covariances_)
    k, d = model.means_.shape
    if model.covariance_type == "full":
        return covariances
    if model.covariance_type == "tied":
        return np.broadcast_to(covariances, (k, d, d))
    diagonal = covariances if model.covariance_type == "diag" else np.repeat(covariances[:, None], d, axis=1)
    return np.stack([np.diag(row) for row in diagonal])


def _ellipse(covariance: np.ndarray) -> np.ndarray:
    """Half axes of the ellipse that holds 86 % of a normal law (two standard deviations)."""
    values, vectors = np.linalg.eigh(covariance)
    return (2 * np.sqrt(np.maximum(values, 0)) * vectors).T
