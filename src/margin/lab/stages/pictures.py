"""Pictures: what a network reads, finds, keeps and makes up; a digit drawn with the mouse."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.data.scenes import SHAPES
from margin.lab.stages.panels import Panel, bars, chart, images, matrix, picture, round_values, window_of

__all__ = [
    *(
        "detections",
        "drawn",
        "embedded",
        "features",
        "latent",
        "masks",
        "measures",
        "readers",
        "reconstructions",
        "similarity",
    ),
]

SHOWN, DIGIT_SIDE = 24, 8


def readers(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Digits with what the model reads; one drawn by hand, if there is one, with the chance of every class."""
    side = _side(X)
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
    side, said = _side(X), np.asarray(model.predict(X)).ravel()
    degrees = np.degrees
    shown = [picture(X[i].reshape(side, side), f"{degrees(said[i]):.0f}° ({degrees(y[i]):.0f}°)") for i in range(SHOWN)]
    xy = np.column_stack([y, said])
    window = window_of(np.array([[-1.3, -1.3], [1.3, 1.3]]), 0.0)
    diagonal = [{"xy": [[-1.3, -1.3], [1.3, 1.3]], "dash": True}]
    return [
        images(shown, ""),
        chart(window, axes=["true", "measured"], square=True, points={"xy": round_values(xy)}, lines=diagonal),
    ]


def latent(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The plane of the two latent numbers: where digits lie, and what is decoded over it."""
    side, codes = _side(X), np.asarray(model.transform(X), dtype=float)[:, :2]
    steps = np.linspace(-2.2, 2.2, 9)
    plane = np.array([[a, b] for b in steps[::-1] for a in steps])
    made = np.asarray(model.decode(plane)).reshape(-1, side, side)
    window = [-3.2, 3.2, -3.2, 3.2]
    points = {"xy": round_values(codes, 3), "label": np.asarray(y).tolist()}
    panels = [
        chart(
            window,
            "where digits lie",
            equal=True,
            axes=["z1", "z2"],
            square=True,
            points=points,
            classes=[str(c) for c in range(10)],
            pick=True,
        ),
        images([picture(one) for one in made], "what lies there", columns=9, tight=True),
    ]
    if isinstance(probe, list) and len(probe) == 2:
        place = np.clip(np.array([probe], dtype=float), -6, 6)
        panels[0]["labels"] = [[*round_values(place[0]), "here", 1]]
        panels.insert(1, images([picture(np.asarray(model.decode(place)).reshape(side, side))], "decoded here"))
    return panels


def drawn(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """New digits, and how the first of them come out of noise."""
    side, moments = _side(X), [made for _, made in model.sample_path(SHOWN, random_state=0)]
    made = [picture(one.reshape(side, side)) for one in moments[-1]]
    chosen = np.unique(np.linspace(0, len(moments) - 1, 6).round().astype(int))
    steps = [picture(moments[i][row].reshape(side, side)) for row in range(3) for i in chosen]
    return [images(made, "new digits", columns=8), images(steps, "out of noise", columns=len(chosen))]


def reconstructions(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Digits above what comes back through the narrow layer, and what single units stand for."""
    side, few = _side(X), X[:12]
    codes = model.transform(few)
    back = np.asarray(model.inverse_transform(codes))
    rows = [picture(one.reshape(side, side)) for one in few] + [picture(one.reshape(side, side)) for one in back]
    error = float(np.mean((model.inverse_transform(model.transform(X)) - X) ** 2))
    return [images(rows, "digits, and what comes back", columns=12), bars([("mean squared error", error)], "")]


def features(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Pictures, and what is made of each: a filtered picture, or its features as a strip of numbers."""
    side, few = _side(X), X[:12]
    made = np.asarray(model.transform(few))
    shown = [picture(one.reshape(side, side)) for one in few]
    if made.shape[1] == X.shape[1]:
        return [images(shown + [picture(one.reshape(side, side)) for one in made], "before and after", columns=12)]
    width = min(made.shape[1], 72)
    names = [str(label) if side == DIGIT_SIDE else SHAPES[int(label)] for label in y[:12]]
    return [
        images(shown, "pictures", columns=12),
        matrix(made[:, :width], names, [""] * width, "features, one row per picture"),
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
    said = np.asarray(model.predict(X[:8]))
    rows = [picture(_gray(one)) for one in X[:8]]
    rows += [picture(one.astype(float), "predicted" if i == 0 else "") for i, one in enumerate(said)]
    rows += [picture(np.asarray(one, dtype=float), "true" if i == 0 else "") for i, one in enumerate(y[:8])]
    right = float(np.mean(np.asarray(model.predict(X)) == np.asarray(y)))
    return [images(rows, "", columns=8), bars([("pixels right", right)], "", most=1)]


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


def _side(X: Any) -> int:
    return round(np.asarray(X).shape[1] ** 0.5)


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
