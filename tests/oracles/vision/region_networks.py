"""Networks on regions: features by SciPy's splines, losses region by region, proposals anchor by anchor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.ndimage import binary_dilation, map_coordinates
from scipy.special import expit, log_softmax, softmax
from tests.oracles import oracle
from tests.oracles.vision.boxes import overlap

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.weights import build
from margin.vision.detection.backbone import Scene
from margin.vision.detection.rcnn import RCNN, FastRCNN
from margin.vision.detection.regions import warp_regions
from margin.vision.detection.selective_search import selective_search, selective_search_hierarchy

PATH = "margin.vision.detection"
# Two objects and one; sides without ties among anchors.
OBJECTS = np.array([[[1.3, 2.2, 11.9, 12.4], [13.1, 3.7, 20.6, 15.2]], [[8.2, 1.1, 17.7, 8.9], [0.0, 0.0, 0.0, 0.0]]])
LABELS = np.array([[2, 0], [1, -1]])


def stretched(image: np.ndarray, box: Any, height: int, width: int) -> np.ndarray:
    """A box (C, height, width) of an image (C, H, W): bilinear values at the middles of a grid's cells."""
    x0, y0, x1, y1 = box
    at = np.array([(y0 + (i + 0.5) * (y1 - y0) / height, x0 + (j + 0.5) * (x1 - x0) / width)
                   for i in range(height) for j in range(width)]).T - 0.5  # fmt: skip
    planes = [map_coordinates(plane, at, order=1, mode="nearest") for plane in image]
    return np.array(planes).reshape(-1, height, width)


def middle(box: Any) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = (float(v) for v in box)
    return (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0


def way(box: Any, start: Any) -> np.ndarray:
    """The offsets that move a box ``start`` onto ``box``."""
    (x, y, w, h), (a, b, c, d) = middle(box), middle(start)
    return np.array([(x - a) / c, (y - b) / d, math.log(w / c), math.log(h / d)])


def arrived(start: Any, offsets: Any) -> list[float]:
    """Where offsets move a box, cut to an image of 16 x 24."""
    (a, b, c, d), (s, t, u, v) = middle(start), (float(value) for value in offsets)
    x, y, w, h = a + s * c, b + t * d, c * math.exp(u), d * math.exp(v)
    edges = ((x - w / 2, 24), (y - h / 2, 16), (x + w / 2, 24), (y + h / 2, 16))
    return [min(max(edge, 0.0), float(end)) for edge, end in edges]


def smooth(gap: np.ndarray) -> float:
    return float(np.where(np.abs(gap) < 1, gap**2 / 2, np.abs(gap) - 0.5).sum())


def ready(make: Any, seed: int) -> Any:
    """A network whose outputs are neither all small nor all alike."""
    net: Any = build(make, seed, torch.float64).eval().requires_grad_(False)
    rng = np.random.default_rng(seed)
    for layer in (net.hidden[0], net.classify, net.refine):
        layer.bias.copy_(torch.from_numpy(rng.normal(size=tuple(layer.bias.shape))))
    return net


def scenes(seed: int) -> Scene:
    rng = np.random.default_rng(seed)
    near_objects = OBJECTS[LABELS >= 0][:, None] + rng.uniform(-1.0, 1.0, size=(3, 4, 4))
    low = rng.uniform(0, 10, size=(2, 6, 2))
    others = np.concatenate([low, low + rng.uniform(3, 6, size=(2, 6, 2))], axis=2)
    proposals = np.full((2, 15, 4), np.nan)
    proposals[0, :14], proposals[1, :10] = (
        np.vstack([*near_objects[:2], others[0]]),
        np.vstack([near_objects[2], others[1]]),
    )
    images = rng.normal(size=(2, 1, 16, 24))
    return Scene(*(torch.from_numpy(part) for part in (images, OBJECTS, LABELS, proposals)))


def linear(layer: Any, x: np.ndarray) -> np.ndarray:
    return x @ layer.weight.numpy().T + layer.bias.numpy()


def checked(net: Any, scene: Scene, features: Any, machines: bool, seed: int) -> dict[str, Verdict]:
    """Losses, stages and detections of a network, whose flat features of a region ``features(image, box)`` finds."""
    draw = lambda: torch.Generator().manual_seed(seed)  # noqa: E731
    boxes, image, region_classes, matched = (part.numpy() for part in net.regions_of(scene, draw()))
    matched_classes, hits = [], 0
    for k, box in zip(image, boxes):
        candidates = [(overlap(box, o), int(c), o) for o, c in zip(OBJECTS[k], LABELS[k]) if c >= 0]
        best = max(candidates, key=lambda one: one[0])
        matched_classes.append(best[1] if best[0] >= 0.5 else 3)
    hidden = np.maximum(linear(net.hidden[0], np.array([features(k, box) for k, box in zip(image, boxes)])), 0)
    classes = -np.mean(
        log_softmax(linear(net.classify, hidden), axis=1)[np.arange(len(region_classes)), region_classes]
    )
    moves, place = linear(net.refine, hidden).reshape(-1, 3, 4), 0.0
    for i in np.flatnonzero(region_classes < 3):
        place, hits = place + smooth(moves[i, region_classes[i]] - 10 * way(matched[i], boxes[i])), hits + 1
    detected, losses = net.detect(scene.images, scene.proposals), net.losses(scene, draw())
    signs = np.where(region_classes[:, None] == np.arange(3), 1, -1)
    hinge = np.maximum(0, 1 - signs * linear(net.machines, hidden)).mean() if machines else 0.0
    regions = [part[~np.isnan(part[:, 0])] for part in scene.proposals.numpy()]
    rows = [np.maximum(linear(net.hidden[0], np.array([features(k, b) for b in r])), 0) for k, r in enumerate(regions)]
    odds = [
        expit(2 * linear(net.machines, h)) if machines else softmax(linear(net.classify, h), axis=1)[:, :3]
        for h in rows
    ]
    steps = [linear(net.refine, h).reshape(-1, 3, 4) / 10 for h in rows]
    ends = [[arrived(b, step[c]) for b, step in zip(r, s) for c in range(3)] for r, s in zip(regions, steps)]
    stages = net.stages(scene.images, scene.proposals)
    parts = {
        "classes": equal(region_classes.tolist(), matched_classes),
        "foreground": equal(hits <= 16 and hits >= 3, True),
        "class_loss": near(float(losses["class_loss"]), classes, tolerance=1e-5),
        "box_loss": near(float(losses["box_loss"]), place / len(region_classes), tolerance=1e-4),
        "loss": near(float(losses["loss"]), classes + place / len(region_classes) + hinge, tolerance=1e-4),
        "stages": near(stages["class_scores"].numpy(), odds[0], tolerance=1e-5),
        "features": near(stages["features"].numpy(), rows[0], tolerance=1e-5),
    }
    for k in range(2):
        parts[f"boxes_{k}"] = near(detected[k].boxes.numpy(), ends[k], tolerance=1e-4)
        parts[f"scores_{k}"] = near(detected[k].scores.numpy(), odds[k].ravel(), tolerance=1e-5)
        parts[f"labels_{k}"] = equal(detected[k].labels.tolist(), [0, 1, 2] * len(regions[k]))
    return parts


@oracle(f"{PATH}.rcnn.RCNN", f"{PATH}.regions.warp_regions")
def regions_as_images(seed: int) -> Verdict:
    net, scene = ready(lambda: RCNN(1, 3, 2, side=8), seed), scenes(seed)
    images = scene.images.numpy()

    def features(k: int, box: Any) -> np.ndarray:
        return net.backbone(torch.from_numpy(stretched(images[k], box, 8, 8)[None])).numpy().ravel()

    some, belongs = scene.proposals[0, :4], torch.tensor([1, 0, 0, 1])
    cut = [stretched(images[k], box, 5, 3) for k, box in zip(belongs.tolist(), some.numpy())]
    return every(
        **checked(net, scene, features, True, seed),
        cut=near(warp_regions(scene.images, some, (5, 3), belongs).numpy(), cut, tolerance=1e-6),
        sizes=equal((net.hidden[0].in_features, net.hidden[0].out_features), (8 * 4, 16)),
    )


@oracle(f"{PATH}.rcnn.FastRCNN")
def regions_of_one_map(seed: int) -> Verdict:
    net, scene = ready(lambda: FastRCNN(1, 3, 2, pooled=3), seed), scenes(seed)
    maps = net.backbone(scene.images).numpy()

    def features(k: int, box: Any) -> np.ndarray:
        """Means of two by two values in every cell of a grid of 3 x 3."""
        return stretched(maps[k], np.asarray(box) / 4, 6, 6).reshape(-1, 3, 2, 3, 2).mean(axis=(2, 4)).ravel()

    sizes = (net.hidden[0].in_features, net.hidden[0].out_features)
    return every(**checked(net, scene, features, False, seed), sizes=equal(sizes, (8 * 9, 16)))


@oracle("margin.vision.detection.selective_search.segment_pixels", f"{PATH}.selective_search.selective_search")
def merged_boxes(seed: int) -> Verdict:
    """Boxes around the pixels of every segment and of every merger, the last first, none twice.

    Every merger joins the two neighbors that are most alike by the formula written out over their pixels.
    """
    rng = np.random.default_rng(seed)
    image = np.kron(rng.random((4, 5)), np.ones((5, 4)))
    tree = selective_search_hierarchy(image, k=0.2, min_size=4, sigma=0.0)
    pixels = [{tuple(p) for p in np.argwhere(tree.segments == s).tolist()} for s in range(tree.segments.max() + 1)]
    for a, b in tree.merges.tolist():
        pixels.append(pixels[a] | pixels[b])
    boxes: list[list[float]] = []
    for part in reversed(pixels):
        rows, columns = zip(*part)
        box = [float(v) for v in (min(columns), min(rows), max(columns) + 1, max(rows) + 1)]
        boxes += [box] if box not in boxes else []
    all_boxes = selective_search(image, k=0.2, min_size=4, sigma=0.0)
    few = selective_search(image, k=0.2, min_size=4, sigma=0.0, max_boxes=3)
    return every(
        boxes=equal(all_boxes.tolist(), boxes),
        few=equal(few.tolist(), boxes[:3]),
        order=near(*_likeness_of_mergers(rng), tolerance=1e-9),
    )


def _likeness_of_mergers(rng: np.random.Generator) -> tuple[list[float], list[float]]:
    """How alike the merged pair is, and the most alike of all neighbors, merger by merger, for unequal segments."""
    sizes = rng.permutation([3, 4, 5, 9]), rng.permutation([4, 4, 6, 8, 3])
    blocks = np.repeat(np.repeat(rng.random((4, 5)), sizes[0], axis=0), sizes[1], axis=1)
    image = blocks + 0.01 * rng.random(blocks.shape)  # a little texture inside
    tree = selective_search_hierarchy(image, k=0.2, min_size=4, sigma=0.0)
    n = int(tree.segments.max()) + 1
    of_segments = [_color_and_texture(image, tree.segments == s) for s in range(n)]
    leaves: dict[int, list[int]] = {s: [s] for s in range(n)}

    def likeness(a: int, b: int) -> float:
        masks = [np.isin(tree.segments, leaves[part]) for part in (a, b)]
        means = [_weighted(tree.segments, of_segments, leaves[part]) for part in (a, b)]
        rows, columns = np.nonzero(masks[0] | masks[1])
        box = (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        both = masks[0].sum() + masks[1].sum()
        shared = sum(float(np.minimum(x, y).sum()) for x, y in zip(*means))
        return shared + 1 - both / image.size + 1 - (box - both) / image.size

    taken, best = [], []
    for k, (a, b) in enumerate(tree.merges.tolist()):
        parts = list(leaves)
        pairs = [(i, j) for i in parts for j in parts if i < j and _touch(tree.segments, leaves[i], leaves[j])]
        taken.append(likeness(a, b))
        best.append(max(likeness(i, j) for i, j in pairs))
        leaves[n + k] = leaves.pop(a) + leaves.pop(b)
    return taken, best


def _color_and_texture(image: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """25 bins of gray values, and 8 directions weighted by the length of the gradient, of the pixels of a mask."""
    gray = (image - image.min()) / (image.max() - image.min())
    color = np.histogram(gray[mask], bins=25, range=(0, 1))[0].astype(float)
    down, across = np.gradient(image)
    angle = (np.arctan2(down, across) + np.pi)[mask]
    texture = np.histogram(angle, bins=8, range=(0, 2 * np.pi), weights=np.hypot(down, across)[mask] + 1e-9)[0]
    return color / color.sum(), texture / texture.sum()


def _weighted(segments: np.ndarray, histograms: list[tuple[np.ndarray, np.ndarray]], parts: list[int]) -> Any:
    """Histograms of several segments together: each counts as its pixels do."""
    counts = np.array([(segments == part).sum() for part in parts], dtype=float)
    return [sum(c * histograms[part][kind] for c, part in zip(counts, parts)) / counts.sum() for kind in (0, 1)]


def _touch(segments: np.ndarray, first: list[int], second: list[int]) -> bool:
    """Whether a pixel of one is a neighbor, diagonals included, of a pixel of the other."""
    grown = binary_dilation(np.isin(segments, first), np.ones((3, 3)))
    return bool((grown & np.isin(segments, second)).any())
