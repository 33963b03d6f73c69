"""Windows of oriented gradients one by one: where they are, what their machines say, and the hinge loss by hand."""

from __future__ import annotations

import numpy as np
import torch
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.weights import build
from margin.vision.detection.backbone import Scene
from margin.vision.detection.hog_windows import HOGWindows
from margin.vision.features.hog import hog

SIDE = 16.0  # of usual objects: at the middle size of the pyramid images stay as they are


@oracle("margin.vision.detection.hog_windows.HOGWindows")
def windows_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    images = rng.random((2, 1, 32, 40))
    net = build(lambda: HOGWindows(3, SIDE), seed, torch.float64).requires_grad_(False)
    boxes, scores = (part.numpy() for part in net.windows(torch.from_numpy(images)))
    w, b = (part.numpy() for part in net.machines.parameters())
    padded = np.pad(images, [(0, 0), (0, 0), (4, 4), (4, 4)], mode="edge")
    down, across = 32 // 4 - 3, 40 // 4 - 3  # cells with the margin, without a window, and the first place
    blocks = hog(padded, 4, 9, 2).reshape(2, 9, 11, 36)
    expected, places = [], []
    for r in range(down):
        for c in range(across):
            window = blocks[:, r : r + 5, c : c + 5]
            expected.append(np.einsum("nrck,lkrc->nl", window, w) + b)
            places.append([4 * c, 4 * r, 4 * c + SIDE, 4 * r + SIDE])
    middle = np.flatnonzero(np.isclose(boxes[:, 2] - boxes[:, 0], SIDE))
    truth = np.array([[9.0, 3.0, 26.0, 20.0], [20.0, 12.0, 33.0, 27.0]])
    labels = np.array([[2, 0], [1, -1]])
    scene = Scene(torch.from_numpy(images), torch.from_numpy(np.stack([truth, truth])), torch.from_numpy(labels),
                  torch.empty(2, 0, 4))  # fmt: skip
    loss = net.losses(scene, torch.Generator())["loss"]
    return every(
        places=near(boxes[middle], places, tolerance=1e-12),
        scores=near(scores[:, middle].transpose(1, 0, 2), expected, tolerance=1e-8),
        sizes=equal(len(np.unique(np.round(boxes[:, 2] - boxes[:, 0], 6))), 5),
        squares=near(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1], tolerance=1e-9),
        loss=near(loss.item(), hinge_by_hand(boxes, scores, truth, labels), tolerance=1e-9),
    )


def hinge_by_hand(boxes: np.ndarray, scores: np.ndarray, truth: np.ndarray, labels: np.ndarray) -> float:
    """The mean over windows with an object, and over three times as many that are most wrong, of max(0, 1 - yf)."""
    terms: list[float] = []
    for image in range(2):
        objects = [k for k in range(2) if labels[image, k] >= 0]
        overlap = np.array([[iou(box, truth[k]) for k in objects] for box in boxes])
        mine = {window: objects[overlap[window].argmax()] for window in np.flatnonzero(overlap.max(axis=1) >= 0.6)}
        mine |= {int(overlap[:, j].argmax()): k for j, k in enumerate(objects)}
        for window, k in mine.items():
            signs = np.where(np.arange(3) == labels[image, k], 1, -1)
            terms += np.maximum(0, 1 - signs * scores[image, window]).tolist()
        others = [i for i in range(len(boxes)) if i not in mine and overlap[i].max() < 0.4]
        worst = sorted(others, key=lambda i: -scores[image, i].max())[: 3 * len(mine)]
        terms += np.maximum(0, 1 + scores[image, worst]).ravel().tolist()
    return float(np.mean(terms))


def iou(a: np.ndarray, b: np.ndarray) -> float:
    wide, high = (max(0.0, min(a[k + 2], b[k + 2]) - max(a[k], b[k])) for k in (0, 1))
    shared = wide * high
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)
