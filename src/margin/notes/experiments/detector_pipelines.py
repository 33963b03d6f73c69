"""R-CNN, Fast R-CNN and Faster R-CNN on one image, stage by stage

Proposals, features of a region, scores of the classes and final boxes of each; anchors and best proposals of the
region proposal network beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 24
NAMES = ("r-cnn", "fast-r-cnn", "faster-r-cnn")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.data.scenes import shape_scenes
    from margin.vision.detection import ObjectDetector

    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"side": SIDE, "sizes": (8, 11), "n_objects": (1, 2)}
    train, test = shape_scenes(rng, 60 if fast else 300, **options), shape_scenes(rng, 20, **options)
    data: dict[str, Any] = {"image": test.images[0], "objects": test.boxes[0].xyxy, "stages": {}}
    for name in NAMES:
        model = ObjectDetector(
            name, base_channels=8, max_iter=5 if fast else 20, batch_size=8, learning_rate_init=0.005, random_state=seed
        )
        model.fit(train.images, train.boxes)
        data["stages"][name] = model.explain(test.images[0])
    return data


def check(data: dict[str, Any]) -> Verdict:
    from margin.vision.detection.boxes import pairwise_iou

    parts: dict[str, Verdict] = {}
    for name, stages in data["stages"].items():
        n = len(stages["proposals"])
        overlap = pairwise_iou(data["objects"], stages["proposals"]).max(axis=1)
        parts[f"{name}_scores"] = equal(stages["class_scores"].shape, (n, 3))
        parts[f"{name}_features"] = equal(stages["features"].shape[0], n)
        parts[f"{name}_covers"] = above(float(overlap.max()), 0.5)
    return every(**parts)


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots(len(NAMES), 4)
    for row, name in enumerate(NAMES):
        stages = data["stages"][name]
        axes[row, 0].imshow(data["image"], cmap="gray")
        if "anchors" in stages:
            _frames(axes[row, 0], stages["anchors"][::7], "gray")
        _frames(axes[row, 0], stages["proposals"], "C0")
        axes[row, 1].imshow(np.atleast_2d(stages["features"][:20]), aspect="auto", cmap="viridis")
        axes[row, 2].imshow(stages["class_scores"][:20], aspect="auto", vmin=0, vmax=1, cmap="magma")
        axes[row, 3].imshow(data["image"], cmap="gray")
        _frames(axes[row, 3], stages["boxes"].xyxy[:3], "C3")
        axes[row, 0].set_ylabel(name)
    for ax, title in zip(axes[0], ("proposals", "features", "scores", "boxes")):
        ax.set_title(title)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])


def _frames(ax: Any, boxes: np.ndarray, color: str) -> None:
    for left, top, right, bottom in boxes - 0.5:
        ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], "-", color=color, lw=0.7)
