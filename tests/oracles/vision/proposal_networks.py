"""Faster R-CNN's proposals anchor by anchor: which belong to an object, what they cost, which are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from tests.oracles import oracle
from tests.oracles.vision.boxes import overlap
from tests.oracles.vision.region_networks import LABELS, OBJECTS, arrived, ready, scenes, smooth, way

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.detection.rcnn import FasterRCNN, FastRCNN

PATH = "margin.vision.detection.rcnn"
SCALES, RATIOS, KEPT = (5.0, 10.0), (0.5, 1.0, 2.0), 40


def anchors_by_hand() -> np.ndarray:
    """Around the middle of every cell of 4 x 4 pixels of an image of 16 x 24."""
    anchors = []
    for row, column in np.ndindex(4, 6):
        for scale in SCALES:
            for ratio in RATIOS:
                half, tall = scale / ratio**0.5 / 2, scale * ratio**0.5 / 2
                x, y = 4 * column + 2, 4 * row + 2
                anchors.append([x - half, y - tall, x + half, y + tall])
    return np.array(anchors)


def belonging(anchors: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """The object of every anchor, -1 for none, -2 for neither: from 0.7 on, below 0.3, and the best of an object."""
    shared = np.array([[overlap(anchor, one) for one in objects] for anchor in anchors])
    target = np.where(shared.max(axis=1) < 0.3, -1, -2)
    target[shared.max(axis=1) >= 0.7] = shared.argmax(axis=1)[shared.max(axis=1) >= 0.7]
    for number, best in enumerate(shared.argmax(axis=0)):
        target[best] = number
    return target


def kept(boxes: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """The most probable boxes of at least two pixels a side, without those that overlap a better one by 0.7."""
    best: list[int] = []
    for i in np.argsort(-odds):
        wide, high = boxes[i, 2] - boxes[i, 0], boxes[i, 3] - boxes[i, 1]
        if min(wide, high) >= 2 and all(overlap(boxes[i], boxes[j]) <= 0.7 for j in best):
            best.append(int(i))
    return boxes[best[:KEPT]]


def outputs(rpn: Any, maps: torch.Tensor) -> list[np.ndarray]:
    """Scores and offsets (n, height, width, numbers): one matrix at every position of the shared map."""
    shared = torch.relu(rpn.shared[0](maps)).numpy()
    return [np.einsum("kc,nchw->nhwk", layer.weight.numpy()[:, :, 0, 0], shared) + layer.bias.numpy()
            for layer in (rpn.scores, rpn.offsets)]  # fmt: skip


@oracle("margin.vision.detection.anchors.anchor_targets", f"{PATH}.FasterRCNN", f"{PATH}.RPN")
def proposals_anchor_by_anchor(seed: int) -> Verdict:
    """All anchors are sampled, there being fewer than 256; the second stage is Fast R-CNN's on the proposals."""
    net: Any = ready(lambda: FasterRCNN(1, 3, 2, SCALES, n_proposals=KEPT), seed)
    rng = np.random.default_rng(seed)
    for layer in (net.rpn.scores, net.rpn.offsets):
        layer.bias.copy_(torch.from_numpy(0.5 * rng.normal(size=tuple(layer.bias.shape))))
    scene = scenes(seed)
    maps = net.backbone(scene.images)
    heads = outputs(net.rpn, maps)
    scores, offsets = heads[0].reshape(2, -1, 2), heads[1].reshape(2, -1, 4)
    anchors, costs, proposals = anchors_by_hand(), [], []
    for k in range(2):
        objects = OBJECTS[k][LABELS[k] >= 0]
        target = belonging(anchors, objects)
        hit, counted = target >= 0, target >= -1
        place = sum(smooth(offsets[k, i] - way(objects[target[i]], anchors[i])) for i in np.flatnonzero(hit))
        log_p = log_softmax(scores[k], axis=1)[np.arange(len(anchors)), hit.astype(int)]
        costs.append(place / hit.sum() - log_p[counted].mean())
        boxes = np.array([arrived(anchor, offset) for anchor, offset in zip(anchors, offsets[k])])
        proposals.append(kept(boxes, softmax(scores[k], axis=1)[:, 1]))
    proposed, losses = net.propose(scene.images), net.losses(scene, torch.Generator().manual_seed(seed))
    parts: dict[str, Verdict] = {}
    for k, expected in enumerate(proposals):
        own = proposed[k][~proposed[k, :, 0].isnan()].numpy()
        parts[f"number_{k}"] = equal(len(own), len(expected))
        parts[f"proposed_{k}"] = near(own, expected, tolerance=1e-5)
    second = FastRCNN.detect_on(net, maps, scene.images, proposed)
    seen = net.detect(scene.images, scene.proposals)
    stages = net.stages(scene.images, scene.proposals)
    return every(
        **parts,
        anchors=near(stages["anchors"].numpy(), anchors, tolerance=1e-9),
        stage=near(stages["proposals"].numpy(), proposals[0], tolerance=1e-5),
        outputs=near([part.permute(0, 2, 3, 1).numpy().sum() for part in net.rpn(maps)], [part.sum() for part in heads],
                     tolerance=1e-6),
        proposal_loss=near(float(losses["proposal_loss"]), np.mean(costs), tolerance=1e-5),
        loss=near(float(losses["loss"]), sum(float(losses[f"{name}_loss"]) for name in ("class", "box", "proposal")),
                  tolerance=1e-9),
        boxes=near(seen[1].boxes.numpy(), second[1].boxes.numpy(), tolerance=1e-9),
    )  # fmt: skip
