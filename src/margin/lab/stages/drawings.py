"""Pictures that a model makes up, brings back, or takes apart."""

# ruff: noqa: ARG001 (every view is called alike)

from __future__ import annotations

from typing import Any

import numpy as np

from margin.data.scenes import SHAPES
from margin.lab.stages.panels import (
    Panel,
    bars,
    chart,
    images,
    matrix,
    pack,
    picture,
    place_of,
    round_values,
    side_of,
    signed_picture,
)

__all__ = ["drawn", "features", "latent", "reconstructions"]

SHOWN, FEW, DIGIT_SIDE = 24, 12, 8
TILE, ACROSS, UP = 0.7, 11, 9  # side of a decoded tile in units of the latent plane, and how many there are
GLYPH = 9  # pixels of the star that stands for a histogram of directions


def latent(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """The plane of two latent numbers: where digits lie, before what is decoded there; and one place of it."""
    side, codes = side_of(X), np.asarray(model.transform(X), dtype=float)[:, :2]
    window = [-TILE * ACROSS / 2, TILE * ACROSS / 2, -TILE * UP / 2, TILE * UP / 2]
    place = place_of(probe)
    here = np.zeros(2) if place is None else np.clip(place, -6, 6)
    points = {"xy": round_values(codes, 3), "label": np.asarray(y).tolist()}
    plane = chart(
        window,
        equal=True,
        axes=["z1", "z2"],
        square=True,
        surface={"heat": pack(_tiles(model, side)), "tone": "gray"},
        points=points,
        classes=[str(c) for c in range(10)],
        labels=None if place is None else [[*round_values(here), "", 1]],
        pick=True,
        hover=True,
    )
    decoded = picture(np.asarray(model.decode(here[None])).reshape(side, side))
    return [plane, images([decoded], f"drawn at ({here[0]:.1f}, {here[1]:.1f})", columns=1, small=True)]


def _tiles(model: Any, side: int) -> np.ndarray:
    """What is decoded in the middle of every tile, with a margin around it, as one picture."""
    across, up = (TILE * (np.arange(n) - (n - 1) / 2) for n in (ACROSS, UP))
    codes = np.array([[a, b] for b in up[::-1] for a in across])
    made = np.pad(np.asarray(model.decode(codes)).reshape(UP, ACROSS, side, side), ((0, 0), (0, 0), (1, 1), (1, 1)))
    pixels = made.transpose(0, 2, 1, 3).reshape(UP * (side + 2), ACROSS * (side + 2))
    return np.round(255 * np.clip(pixels, 0, 1)).astype(np.uint8)


def drawn(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """New digits, and how the first of them come out of noise, once the model has begun to learn that."""
    side, moments = side_of(X), [made for _, made in model.sample_path(SHOWN, random_state=0)]
    made = [picture(one.reshape(side, side)) for one in moments[-1]]
    if len(moments) == 1:
        return [images(made, "from codes drawn at random, while the autoencoder learns", columns=8)]
    chosen = np.unique(np.linspace(0, len(moments) - 1, 8).round().astype(int))
    steps = [picture(moments[i][row].reshape(side, side)) for row in range(3) for i in chosen]
    return [images(made, "new digits", columns=8), images(steps, "out of noise", columns=len(chosen))]


def reconstructions(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Digits above what comes back through the narrow layer, and what single units stand for."""
    side, codes = side_of(X), np.asarray(model.transform(X), dtype=float)
    back = np.asarray(model.inverse_transform(codes))
    rows = [picture(one.reshape(side, side)) for one in [*X[:FEW], *back[:FEW]]]
    error = float(np.mean((back - X) ** 2))
    return [
        images(rows, "digits, and what comes back", columns=FEW),
        images(_units(model, codes, side), "what more of one unit adds to a digit", columns=FEW),
        bars([("mean squared error", error)], ""),
    ]


def _units(model: Any, codes: np.ndarray, side: int) -> list[Panel]:
    """Of the units that differ most between digits: the picture from a mean code with more of it, less the one without.

    All share one scale, so that a unit that does little looks so.
    """
    spread, mean = codes.std(axis=0), codes.mean(axis=0)
    chosen = np.argsort(-spread, kind="stable")[:FEW]
    more = mean + 2 * spread[chosen, None] * np.eye(codes.shape[1])[chosen]
    added = np.asarray(model.inverse_transform(more)) - np.asarray(model.inverse_transform(mean[None]))
    most = float(np.abs(added).max()) or 1.0
    return [signed_picture(one.reshape(side, side), most) for one in added]


def features(model: Any, X: Any, y: Any, probe: Any) -> list[Panel]:
    """Pictures, and what is made of each: a filtered picture, directions of its edges, or shares of visual words."""
    side, few = side_of(X), X[:FEW]
    shown = [picture(one.reshape(side, side)) for one in few]
    made = np.asarray(model.transform(few))
    if made.shape[1] == X.shape[1]:
        return [images(shown + [picture(one.reshape(side, side)) for one in made], "before and after", columns=FEW)]
    if hasattr(model, "bins"):
        stars = [picture(np.sqrt(star)) for star in _edges(model, few[: FEW // 2].reshape(-1, 1, side, side))]
        title = "pictures, and the directions of their edges, cell by cell"
        return [images(shown[: FEW // 2] + stars, title, columns=FEW // 2)]
    names = [str(label) if side == DIGIT_SIDE else SHAPES[int(label)] for label in y[:FEW]]
    columns = [f"{k + 1}" for k in range(made.shape[1])]
    return [images(shown, "pictures", columns=FEW), matrix(made, names, columns, "share of each visual word")]


def _edges(model: Any, pictures: np.ndarray) -> np.ndarray:
    """For every cell a star: the longer an edge in that direction, the darker its ray."""
    from margin.vision.features.hog import cell_histograms

    cell = min(model.cell, pictures.shape[-1])
    lengths = cell_histograms(pictures, (cell, cell), model.bins)  # (n, down, across, bins)
    rays = np.stack([_ray(np.pi * (k + 0.5) / model.bins) for k in range(model.bins)])
    stars = np.einsum("ndab,bhw->ndahw", lengths, rays)
    n, down, across = stars.shape[:3]
    return stars.transpose(0, 1, 3, 2, 4).reshape(n, down * GLYPH, across * GLYPH)


def _ray(gradient: float) -> np.ndarray:
    """The picture of a line through the middle, along an edge whose gradient has this angle."""
    rows, columns = np.mgrid[:GLYPH, :GLYPH] - (GLYPH - 1) / 2
    away = columns * np.cos(gradient) + rows * np.sin(gradient)
    return np.exp(-((away / 0.6) ** 2)) * (np.hypot(rows, columns) <= GLYPH / 2)
