"""Selective search: segments, and the boxes they yield as similar neighbors merge

The box of every segment is a proposal; the two most similar neighbors merge, until one is left. Objects are among the
boxes at some level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (1.0, 0.5, 0.2)  # fractions of the first segments that are left


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.data.scenes import shape_scenes
    from margin.vision.detection.boxes import pairwise_iou
    from margin.vision.detection.selective_search import selective_search_hierarchy

    scene = shape_scenes(np.random.default_rng(seed), n_samples=1, side=40, n_objects=(3, 3), noise=0.08)
    tree = selective_search_hierarchy(scene.images[0], k=0.1, min_size=6)
    n = int(tree.segments.max()) + 1
    left = [max(2, round(part * n)) for part in LEVELS]
    return {
        "image": scene.images[0],
        "objects": scene.boxes[0].xyxy,
        "levels": [tree.level(m) for m in left],
        "boxes": [tree.boxes[: 2 * n - m] for m in left],  # of all segments made so far
        "left": left,
        "overlap": pairwise_iou(scene.boxes[0].xyxy, tree.boxes).max(axis=1),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        regions=equal([len(np.unique(level)) for level in data["levels"]], data["left"]),
        objects_found=above(float(data["overlap"].min()), 0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots(2, len(LEVELS))
    for k, (level, boxes) in enumerate(zip(data["levels"], data["boxes"])):
        order = np.unique(level, return_inverse=True)[1].reshape(level.shape)
        axes[0, k].imshow(order, cmap="nipy_spectral")
        axes[0, k].set_title(f"{data['left'][k]} regions")
        axes[1, k].imshow(data["image"], cmap="gray")
        for left, top, right, bottom in boxes - 0.5:
            axes[1, k].plot([left, right, right, left, left], [top, top, bottom, bottom, top], "-", color="C0", lw=0.5)
        for left, top, right, bottom in data["objects"] - 0.5:
            axes[1, k].plot([left, right, right, left, left], [top, top, bottom, bottom, top], "-", color="C3")
        axes[1, k].set_title(f"{len(boxes)} boxes so far")
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
