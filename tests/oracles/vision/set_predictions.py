"""DETR's matching by trying every one, its loss object by object, its network layer by layer."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from tests.oracles import oracle
from torch import Tensor

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.weights import build
from margin.vision.detection.backbone import Scene
from margin.vision.detection.detr import DETR
from margin.vision.detection.matching import match_sets, set_loss

PATH = "margin.vision.detection"


def corners(box: Any) -> list[float]:
    x, y, w, h = (float(v) for v in box)
    return [x - w / 2, y - h / 2, x + w / 2, y + h / 2]


def generalized_overlap(a: Any, b: Any) -> float:
    """Of two boxes with centers and sides: their overlap, less the part of the box around both that neither fills."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = corners(a), corners(b)
    both = max(0.0, min(a2, b2) - max(a0, b0)) * max(0.0, min(a3, b3) - max(a1, b1))
    either = (a2 - a0) * (a3 - a1) + (b2 - b0) * (b3 - b1) - both
    around = (max(a2, b2) - min(a0, b0)) * (max(a3, b3) - min(a1, b1))
    return both / either - (around - either) / around


def cheapest(cost: np.ndarray) -> tuple[int, ...]:
    """The row of every column in the cheapest of all one-to-one matchings."""
    columns = range(cost.shape[1])
    return min(permutations(range(len(cost)), cost.shape[1]), key=lambda rows: sum(cost[rows[j], j] for j in columns))


def loss_by_hand(logits: np.ndarray, boxes: np.ndarray, labels: list[Any], objects: list[Any]) -> float:
    """Of a batch: "no object" counts a tenth, distances five times, overlaps twice."""
    errors, weights, distances, overlaps = 0.0, 0.0, [], []
    for image_logits, placed, names, own in zip(logits, boxes, labels, objects):
        p, log_p = softmax(image_logits, axis=1), log_softmax(image_logits, axis=1)
        cost = [[-p[i, c] + 5 * np.abs(a - b).sum() - 2 * generalized_overlap(a, b) for c, b in zip(names, own)]
                for i, a in enumerate(placed)]  # fmt: skip
        rows = cheapest(np.array(cost))
        class_of_query = {i: int(names[j]) for j, i in enumerate(rows)}
        for i in range(len(image_logits)):
            weight = 1.0 if i in class_of_query else 0.1
            errors, weights = errors - weight * log_p[i, class_of_query.get(i, -1)], weights + weight
        distances += [np.abs(placed[i] - own[j]).sum() for j, i in enumerate(rows)]
        overlaps += [generalized_overlap(placed[i], own[j]) for j, i in enumerate(rows)]
    return float(errors / weights + 5 * np.mean(distances) + 2 * (1 - np.mean(overlaps)))


@oracle(f"{PATH}.matching.match_sets", f"{PATH}.matching.set_loss")
def every_matching(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    cost, logits = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    boxes, objects = (np.column_stack([rng.uniform(0.2, 0.8, (n, 2)), rng.uniform(0.1, 0.4, (n, 2))]) for n in (5, 3))
    labels = np.array([2, 0, 2])
    rows, columns = match_sets(torch.from_numpy(cost))
    given = [torch.from_numpy(part) for part in (logits, boxes, labels, objects)]
    return every(
        matched=equal([int(rows[columns == j]) for j in range(3)], list(cheapest(cost))),
        loss=near(
            float(set_loss(*given)), loss_by_hand(logits[None], boxes[None], [labels], [objects]), tolerance=1e-6
        ),
    )


def waves(height: int, width: int, d: int) -> Tensor:
    """Sines and cosines of the middle of every row and column, at d / 4 rates from 1 down."""
    rates = [1000.0 ** (-4 * i / d) for i in range(d // 4)]
    return torch.tensor([
        [wave((at + 0.5) * rate) for at in (row, column) for wave in (math.sin, math.cos) for rate in rates]
        for row in range(height) for column in range(width)
    ])  # fmt: skip


@oracle(f"{PATH}.detr.DETR")
def queries_layer_by_layer(seed: int) -> Verdict:
    net: Any = build(lambda: DETR(1, 3, 4, n_queries=4, n_layers=2), seed, torch.float64).eval().requires_grad_(False)
    last, first = net.place[2], net.place[0].weight
    start = {"weights": float(last.weight.abs().max()), "before": float(first.abs().max()), "bias": last.bias.tolist()}
    rng = np.random.default_rng(seed)
    for weight in (last.weight, last.bias, net.starts):  # at first boxes hardly move
        weight.add_(torch.from_numpy(rng.normal(size=tuple(weight.shape)) / 3))
    images = torch.from_numpy(rng.normal(size=(2, 1, 16, 24)))
    low = rng.uniform(0, 10, size=(2, 2, 2))
    boxes = np.concatenate([low, low + rng.uniform(3, 6, size=(2, 2, 2))], axis=2)
    labels, size = np.array([[2, 0], [1, -1]]), np.array([24.0, 16.0, 24.0, 16.0])
    scene = Scene(images, torch.from_numpy(boxes), torch.from_numpy(labels), torch.full((2, 1, 4), torch.nan))
    maps = net.backbone(images)
    memory = net.encoder(maps.flatten(2).transpose(1, 2) + waves(4, 6, 16))
    x, layers = net.queries[None].repeat(2, 1, 1), []
    for layer in net.decoder.layers:
        x = layer(x, memory)
        h = net.decoder.norm(x)
        moved = torch.relu(h @ first.T + net.place[0].bias) @ last.weight.T + last.bias
        layers.append((h @ net.classify.weight.T + net.classify.bias, 1 / (1 + torch.exp(-net.starts - moved))))
    centers_and_sizes = [
        (boxes[n, :k].reshape(-1, 2, 2).mean(axis=1), boxes[n, :k, 2:] - boxes[n, :k, :2]) for n, k in ((0, 2), (1, 1))
    ]
    objects = [np.concatenate(pair, axis=1) / size for pair in centers_and_sizes]
    losses = [loss_by_hand(a.numpy(), b.numpy(), [[2, 0], [1]], objects) for a, b in layers]
    p = softmax(layers[1][0].numpy(), axis=2)[..., :3]
    detected, (logits, placed) = net.detect(images, scene.proposals), net(images)
    return every(
        hidden=equal(net.encoder.layers[0].linear1.out_features, 32),
        small_start=equal((start["weights"] <= 0.1 / 4 < start["before"], start["bias"]), (True, [0.0] * 4)),
        logits=near(logits.numpy(), layers[1][0].numpy(), tolerance=1e-5),
        boxes=near(placed.numpy(), layers[1][1].numpy(), tolerance=1e-5),
        loss=near(float(net.losses(scene, torch.Generator())["loss"]), np.mean(losses), tolerance=1e-4),
        corners=near(torch.stack([one.boxes for one in detected]).numpy(),
                     np.array([[corners(box) for box in row] for row in layers[1][1].numpy()]) * size, tolerance=1e-4),
        scores=near(torch.stack([one.scores for one in detected]).numpy(), p.max(axis=2), tolerance=1e-5),
        labels=equal(torch.stack([one.labels for one in detected]).tolist(), p.argmax(axis=2).tolist()),
    )  # fmt: skip
