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


SHOWN = 8  # proposals whose features and scores are drawn, the surest first
TITLES = ("proposals (gray: anchors)", "features of the {} surest", "their scores by class", "boxes that remain")


def draw(data: dict[str, Any], figure: Figure) -> None:
    from margin.data.scenes import SHAPES

    figure.set_size_inches(12, 8.5)
    axes = figure.subplots(len(NAMES), 4)
    for row, name in enumerate(NAMES):
        stages = data["stages"][name]
        surest = np.argsort(-stages["class_scores"].max(axis=1), kind="stable")[:SHOWN]
        for ax in axes[row, [0, 3]]:
            ax.imshow(data["image"], cmap="gray")
            ax.set(xticks=[], yticks=[], xlim=(-0.5, SIDE - 0.5), ylim=(SIDE - 0.5, -0.5))
        if "anchors" in stages:
            _frames(axes[row, 0], stages["anchors"][::7], "0.6")
        _frames(axes[row, 0], stages["proposals"], "C0")
        axes[row, 0].set_ylabel(name, fontsize=11)
        axes[row, 1].imshow(stages["features"][surest], aspect="auto", cmap="viridis", interpolation="nearest")
        axes[row, 1].set(xticks=[], yticks=[], xlabel=f"{stages['features'].shape[1]} numbers each", ylabel="proposal")
        _draw_scores(axes[row, 2], stages["class_scores"][surest], SHAPES)
        best = stages["boxes"]
        _frames(axes[row, 3], best.xyxy[:1], "C1", 2.0)
        axes[row, 3].set_xlabel(f"{SHAPES[int(best.labels[0])]}, score {best.scores[0]:.2f}")
    for ax, title in zip(axes[0], TITLES):
        ax.set_title(title.format(SHOWN))


def _draw_scores(ax: Any, scores: np.ndarray, names: tuple[str, ...]) -> None:
    ax.imshow(scores, aspect="auto", vmin=0, vmax=1, cmap="Blues")
    for (row, column), score in np.ndenumerate(scores):
        ax.text(column, row, f"{score:.2f}", ha="center", va="center", fontsize=8, color="w" if score > 0.6 else "k")
    ax.set(xticks=range(len(names)), xticklabels=names, yticks=[])


def _frames(ax: Any, boxes: np.ndarray, color: str, width: float = 0.7) -> None:
    for left, top, right, bottom in boxes - 0.5:
        ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], "-", color=color, lw=width)
