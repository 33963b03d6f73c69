"""Pictures: what a network reads, measures and finds in them; a digit drawn with the mouse."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.data.scenes import SHAPES
from margin.lab.stages.panels import (
    Panel,
    bars,
    chart,
    class_picture,
    images,
    matrix,
    picture,
    round_values,
    side_of,
    window_of,
)

__all__ = ["detections", "embedded", "masks", "measures", "readers", "similarity"]

SHOWN = 24


def readers(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Digits with what the model reads; one drawn by hand, if there is one, with the chance of every class."""
    side = side_of(X)
    said = model.predict(X[:SHOWN])
    shown = [_judge(X[i].reshape(side, side), said[i], y[i]) for i in range(min(SHOWN, len(X)))]
    panels = [images(shown, "what it reads")]
    drawn = _drawing(probe, X.shape[1])
    if drawn is not None:
        chance = np.asarray(model.predict_proba(drawn[None]))[0]
        panels.insert(0, bars([(str(c), p) for c, p in zip(model.classes_, chance)], "your drawing is", most=1))
    right = float((model.predict(X) == y).mean())
    seen = X[:8] if drawn is None else np.vstack([drawn, X[:7]])
    return [*panels, *_inside(model, seen, side), bars([("of all digits", right)], "read right", most=1)]


def _inside(model: Any, X: Any, side: int) -> list[Panel]:
    """Digits, where each speaks for what is read, and the filters of the first layer of a convolutional network."""
    from margin.interpretation.networks import attribute_inputs
    from margin.neural.convolution.maps import filters

    layers = [] if hasattr(model, "patch_size") else list(filters(model.module_).values())
    how: dict[str, Any] = {"method": "grad-cam"} if layers else {"method": "occlusion", "size": 2}
    rows = [picture(one.reshape(side, side)) for one in X]
    rows += [picture(np.maximum(one, 0.0)) for one in attribute_inputs(model, X, **how)]
    panels = [images(rows, "digits, and where they speak for what is read", columns=len(X))]
    if layers:
        first = [picture(one) for one in layers[0][:8, 0].numpy(force=True)]
        panels.append(images(first, "filters of the first layer", columns=8))
    return panels


def measures(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Bars with the angle that the model measures, and the true one."""
    side, said = side_of(X), np.asarray(model.predict(X)).ravel()
    degrees = np.degrees
    shown = [picture(X[i].reshape(side, side), f"{degrees(said[i]):.0f}° ({degrees(y[i]):.0f}°)") for i in range(SHOWN)]
    xy = np.column_stack([y, said])
    window = window_of(np.array([[-1.3, -1.3], [1.3, 1.3]]), 0.0)
    diagonal = [{"xy": [[-1.3, -1.3], [1.3, 1.3]], "dash": True}]
    return [
        images(shown, ""),
        chart(window, axes=["true", "measured"], square=True, points={"xy": round_values(xy)}, lines=diagonal),
    ]


def detections(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The boxes that the model finds, the surest first."""
    shown = []
    for pixels, boxes in zip(X[:8], model.predict(X[:8])):
        order = np.argsort(-boxes.scores)[:4]
        found = [
            [*round_values(boxes.xyxy[i], 1), SHAPES[int(boxes.labels[i])], round(float(boxes.scores[i]), 2)]
            for i in order
        ]
        shown.append(picture(_gray(pixels), boxes=[box for box in found if box[-1] >= 0.2]))
    return [images(shown, "boxes surer than 0.2", columns=4)]


def masks(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Pictures, the class of every pixel as predicted, and as it is."""
    said, right = np.asarray(model.predict(X)), np.asarray(y)
    rows = [picture(_gray(one)) for one in X[:8]]
    for named, classes in (("predicted", said), ("true", right)):
        rows += [class_picture(one, named if i == 0 else "") for i, one in enumerate(classes[:8])]
    names = ["ground", *SHAPES]
    share = [(names[k], float((said == k)[right == k].mean())) for k in np.unique(right).astype(int)]
    return [images(rows, "", columns=8), bars(share, "pixels right", most=1, colors=[k - 1 for k in np.unique(right)])]


def embedded(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The two widest directions of the representation; labels by color, never shown to the model."""
    codes = np.asarray(model.transform(X), dtype=float)
    centered = codes - codes.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    sign = np.sign(directions[np.arange(2), np.abs(directions[:2]).argmax(axis=1)])
    placed = centered @ (directions[:2] * sign[:, None]).T
    points = {"xy": round_values(placed, 3), "label": np.asarray(y).tolist()}
    return [
        chart(
            window_of(placed),
            "two directions of the embedding",
            bare=True,
            points=points,
            classes=[str(c) for c in range(10)],
        )
    ]


def similarity(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """How well each sentence fits each picture."""
    texts = sorted(set(y))
    if isinstance(probe, str) and probe.strip():
        texts = [*texts, probe.strip()[:60]]
    fit = np.asarray(model.similarity(X[:8], texts))
    said = [texts[int(k)] for k in fit.argmax(axis=1)]
    shown = [
        picture(_gray(one), told, tone="good" if told == true else "bad") for one, told, true in zip(X[:8], said, y)
    ]
    return [
        images(shown, "the sentence that fits best", columns=4),
        matrix(fit, [f"picture {i + 1}" for i in range(8)], texts, "cosine"),
    ]


def _gray(pixels: np.ndarray) -> np.ndarray:
    pixels = np.asarray(pixels, dtype=float)
    return (
        pixels
        if pixels.ndim == 2
        else pixels.mean(axis=2)
        if pixels.ndim == 3
        else pixels.reshape(2 * [round(pixels.size**0.5)])
    )


def _judge(pixels: np.ndarray, said: Any, true: Any) -> Panel:
    return picture(pixels, str(said), tone="good" if said == true else "bad")


def _drawing(probe: Any, size: int) -> np.ndarray | None:
    """Pixels of a drawing, if that is what the probe is."""
    if not isinstance(probe, list) or len(probe) != size:
        return None
    return np.clip(np.array(probe, dtype=float), 0, 1)
