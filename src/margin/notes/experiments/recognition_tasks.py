"""Three tasks on one image: what is there, where it is, and everything that is there and where

A tree of tasks: classification gives a label, localization a box, detection boxes with labels. Each output comes from
a trained model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every
from margin.notes.diagrams import MUTED, add_box, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 24


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.data.scenes import SHAPES, shape_scenes
    from margin.neural.estimators import CNNClassifier
    from margin.vision.detection import ObjectDetector, pairwise_iou
    from margin.vision.detection.localization import fit_localizer, localize

    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"side": SIDE, "sizes": (8, 11), "n_objects": (1, 1)}
    n = 300 if fast else 1000
    train, test = shape_scenes(rng, n, **options), shape_scenes(rng, 40, **options)
    labels, truth = ([int(boxes.labels[0]) for boxes in part.boxes] for part in (train, test))
    common: dict[str, Any] = {"batch_size": 20, "learning_rate_init": 0.005, "random_state": seed}
    what = ["conv 16 3", "pool 2", "conv 32 3", "global-max-pool"]  # blind to where the object is
    where = ["conv 8 3", "pool 2", "conv 16 3", "pool 2", "dense 64"]
    classifier = CNNClassifier(what, max_iter=12 if fast else 20, **common).fit(train.images, labels)
    localizer = fit_localizer(train.images, train.boxes, where, max_iter=20 if fast else 30, **common)
    detector = ObjectDetector("yolo", base_channels=8, max_iter=6 if fast else 20, **common)
    detector.fit(train.images, train.boxes)
    placed = localize(localizer, test.images)  # (n, 4): x, y, width, height
    corners = np.concatenate([placed[:, :2], placed[:, :2] + placed[:, 2:]], axis=1)
    overlap = [pairwise_iou(box[None], objects.xyxy)[0, 0] for box, objects in zip(corners, test.boxes)]
    detected = detector.predict(test.images[:1])[0]
    return {
        "image": test.images[0],
        "label": SHAPES[int(classifier.predict(test.images[:1])[0])],
        "box": corners[0],
        "boxes": detected.xyxy[detected.scores > 0.3] if detected.scores is not None else detected.xyxy,
        "names": [SHAPES[int(k)] for k in detected.labels],
        "accuracy": float(np.mean(classifier.predict(test.images) == truth)),
        "iou": float(np.mean(overlap)),
        "precision": detector.score(test.images, test.boxes),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        classification=above(data["accuracy"], 0.7),
        localization=above(data["iou"], 0.6),
        detection=above(data["precision"], 0.8),
    )


#: Task: the question, and how well its model answers it on pictures it has not seen.
TASKS = {
    "classification": ("what is it?", "accuracy", "accuracy"),
    "localization": ("where is it?", "iou", "overlap with the true box"),
    "detection": ("what is where?", "precision", "average precision"),
}


def draw(data: dict[str, Any], figure: Figure) -> None:
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 2))
    tree = blank(figure.add_subplot(grid[0, :]), width=(0, 3), height=(-0.6, 1.3))
    add_box(tree, 1.5, 1.0, "object recognition", width=0.7, height=0.34, color="C7")
    axes = [figure.add_subplot(grid[1, k]) for k in range(3)]
    for k, (ax, (task, (question, score, unit))) in enumerate(zip(axes, TASKS.items())):
        tree.plot([1.5, 1.5, k + 0.5, k + 0.5], [0.83, 0.5, 0.5, 0.17], color=MUTED, lw=1)
        add_box(tree, k + 0.5, 0.0, task, width=0.7, height=0.34, color=f"C{k}")
        tree.text(k + 0.5, -0.38, question, ha="center", va="center", fontsize=9, color=MUTED)
        ax.imshow(data["image"], cmap="gray")
        ax.set(
            xticks=[], yticks=[], xlim=(-0.5, SIDE - 0.5), ylim=(SIDE - 0.5, -0.5), xlabel=f"{unit} {data[score]:.2f}"
        )
    axes[0].set_title(f"a {data['label']}", loc="center")
    axes[1].set_title("a box", loc="center")
    axes[2].set_title("boxes with names", loc="center")
    _draw_boxes(axes[1], [data["box"]], [""], "C1")
    _draw_boxes(axes[2], data["boxes"], data["names"], "C2")


def _draw_boxes(ax: Axes, boxes: Any, names: list[str], color: str) -> None:
    for (left, top, right, bottom), name in zip(np.asarray(boxes) - 0.5, names):
        ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], "-", color=color, lw=2.5)
        x, y = np.clip((left, top - 0.6), (0, 1.5), SIDE - 1)  # a box may begin beyond the image
        ax.text(x, y, name, color=color, va="bottom", fontsize=11, fontweight="bold", clip_on=True)
