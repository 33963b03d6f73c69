"""A curve through points, with its band; series and forecasts."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from margin.lab.stages.panels import Panel, bars, chart, matrix, place_of, round_values, window_of

__all__ = ["curve", "forecast", "series", "states"]


def curve(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The prediction along the axis; two standard deviations around it where the model knows them."""
    xy = np.column_stack([X[:, 0], y])
    window = window_of(xy, 0.15)
    line = np.linspace(window[0], window[1], 240)
    mean, deviation = _prediction(model, line[:, None])
    if deviation is not None:  # room for the band, but not for one that knows nothing yet
        reach = 0.4 * (window[3] - window[2])
        window[2] = max(min(window[2], float((mean - 2 * deviation).min())), window[2] - reach)
        window[3] = min(max(window[3], float((mean + 2 * deviation).max())), window[3] + reach)
    points: Panel = {"xy": round_values(xy), "editable": True}
    if hasattr(model, "support_"):
        points["ring"] = np.asarray(model.support_).tolist()
    tube = [model.epsilon, -model.epsilon] if hasattr(model, "support_") else []
    residuals = round_values(np.column_stack([X[:, 0], y, np.asarray(model.predict(X)).ravel()]))
    layers: Panel = {
        "band": None if deviation is None else _band(line, mean, deviation),
        "lines": [
            *_terms(model, line),
            *({"xy": round_values(np.column_stack([line, mean + d])), "dash": True} for d in tube),
            {"xy": round_values(np.column_stack([line, mean]))},
        ],
        "points": points,
        "residuals": residuals,
        "centers": _inducing(model, window),
    }
    if hasattr(model, "X_train_") or hasattr(model, "kneighbors"):
        layers["hover"] = True
        _under_the_mouse(model, X, y, place_of(probe), line, layers)
    return [chart(window, axes=["x", "y"], **layers)]


def _band(line: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> Panel:
    return {
        "x": round_values(line),
        "low": round_values(mean - 2 * deviation),
        "high": round_values(mean + 2 * deviation),
    }


def _terms(model: Any, line: np.ndarray) -> list[Panel]:
    """The basis functions times their weights: thin lines that add up to the prediction, less its constant."""
    if hasattr(model, "basis_"):
        weights, name = np.asarray(model.coef_), "coef_"
    elif hasattr(model, "knots_"):
        weights, name = np.asarray(model.values_[0]), "values_"
    else:
        return []
    alone, found = copy.copy(model), []
    for k in range(len(weights)):
        only = np.where(np.arange(len(weights)) == k, weights, 0.0)
        setattr(alone, name, only if name == "coef_" else [only])
        term = np.asarray(alone.predict(line[:, None])).ravel() - model.intercept_
        found.append({"xy": round_values(np.column_stack([line, term])), "color": k, "thin": True})
    return found


def _under_the_mouse(model: Any, X: Any, y: Any, place: np.ndarray | None, line: np.ndarray, layers: Panel) -> None:
    """With a point where the mouse is: the edges of the band that it would leave; or the neighbors there."""
    if place is None:
        return
    if hasattr(model, "kneighbors"):
        near = model.kneighbors(place[None, :1])[1][0]
        said = float(np.ravel(model.predict(place[None, :1]))[0])
        layers["points"]["ring"] = near.tolist()
        layers["labels"] = [[float(place[0]), round(said, 4), f"{said:.2f}, the mean of {len(near)}", 1]]
        return
    # The kernel that was learned, noise included, and one row more: no search, so it keeps up with the mouse.
    normalized = bool(np.any(model.y_std_ != 1.0))
    more = clone(model).set_params(kernel=model.kernel_, alpha=1e-10, optimizer=None, normalize_y=normalized)
    more.fit(np.vstack([X, place[None, :1]]), np.append(y, place[1]))
    mean, deviation = more.predict(line[:, None], return_std=True)
    edges = [np.column_stack([line, mean + k * deviation]) for k in (-2, 2)]
    layers["lines"] += [{"xy": round_values(edge), "color": 1, "thin": True} for edge in edges]
    layers["labels"] = [[*round_values(place), "if there were a point", 1]]


def _prediction(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    if "return_std" in inspect.signature(model.predict).parameters:
        mean, deviation = model.predict(X, return_std=True)
        return np.asarray(mean).ravel(), np.asarray(deviation).ravel()
    return np.asarray(model.predict(X), dtype=float).ravel(), None


def _inducing(model: Any, window: list[float]) -> list[Any] | None:
    """Where the pseudo-inputs of a sparse Gaussian process lie, along the lower edge."""
    places = getattr(model, "inducing_points_", None)
    return None if places is None else round_values([[float(place[0]), window[2]] for place in places])


def series(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Six series, colored by what the model says of them, and how often or how far it is right."""
    said = model.predict(X)
    steps = np.arange(X.shape[1])
    shown = X[:6, :, 0] + 3.0 * np.arange(6)[::-1, None]
    xy = np.column_stack([np.tile(steps, 6), shown.ravel()])
    lines = []
    for i, row in enumerate(shown):
        label = int(said[i]) if hasattr(model, "classes_") else 0
        right = "" if not hasattr(model, "classes_") else (" ✓" if said[i] == y[i] else " ✗")
        told = f"{said[i]}{right}" if hasattr(model, "classes_") else f"{said[i]:.2f}, true {y[i]:.2f}"
        lines.append({"xy": round_values(np.column_stack([steps, row])), "color": label, "name": told})
    window = window_of(xy, 0.05)
    window[1] += 0.3 * (window[1] - window[0])  # for what is said at the end of each
    return [chart(window, bare=True, lines=lines), bars([("score", model.score(X, y))], "over all series", most=1)]


def forecast(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The series, what comes next, and the band that holds it nine times in ten."""
    values = np.asarray(X, dtype=float)
    coming = np.asarray(model.predict(), dtype=float)
    past, ahead = np.arange(len(values)), len(values) + np.arange(len(coming))
    low, high = np.asarray(model.predict_interval(coverage=0.9)).T
    xy = np.column_stack([np.concatenate([past, ahead, ahead]), np.concatenate([values, low, high])])
    lines = [
        {"xy": round_values(np.column_stack([past, values])), "color": 0, "name": "series"},
        {"xy": round_values(np.column_stack([ahead, coming])), "color": 1, "name": "forecast"},
    ]
    band = {"x": ahead.tolist(), "low": round_values(low), "high": round_values(high), "color": 1}
    return [chart(window_of(xy, 0.06), axes=["month", "passengers"], lines=lines, band=band)]


def states(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """A series colored by the hidden state behind each step, the mean of that state, and how states follow."""
    steps, path = np.arange(len(X)), np.asarray(model.predict(X))
    xy = np.column_stack([steps, X[:, 0]])
    names = [f"state {k}" for k in range(len(model.means_))]
    lines = [
        {"xy": round_values(np.column_stack([steps, model.means_[path, 0]])), "color": 0, "name": "mean of the state"}
    ]
    points = {"xy": round_values(xy), "label": path.tolist()}
    shown = chart(window_of(xy, 0.06), axes=["step", "value"], lines=lines, points=points, classes=names)
    return [shown, matrix(model.transmat_, names, names, "chance of the next state")]
