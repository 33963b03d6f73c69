"""Claims on boxes, anchors, proposals and pooled regions."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np
import torch

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.detection import random_boxes
from margin.vision.detection.anchors import make_anchors
from margin.vision.detection.boxes import box_decode, box_encode, pairwise_iou, to_centers
from margin.vision.detection.regions import roi_pool
from margin.vision.detection.selective_search import selective_search, selective_search_hierarchy


@claim("selective-search")
def proposals_cover_the_objects_and_the_search_ends(seed: int) -> Verdict:
    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=15, side=32)
    best, most = [], 0
    for image, objects in zip(scenes.images, scenes.boxes):
        proposals = selective_search(image, k=0.05)
        most = max(most, len(proposals))
        best += pairwise_iou(objects.xyxy, proposals).max(axis=1).tolist()
    tree = selective_search_hierarchy(scenes.images[0], k=0.05)
    n = int(tree.segments.max()) + 1
    truth = every(
        recall=above(float(np.mean(np.array(best) >= 0.5)), 0.9),
        bounded=below(most, 200),
        one_region_left=equal(len(np.unique(tree.level(1))), 1),
        merges=equal(len(tree.merges), n - 1),
    )
    return corrected(truth, printed=equal(_rounds_without_a_rule(n, 2 * n), 2 * n))


def _rounds_without_a_rule(regions: int, rounds: int) -> int:
    """Rounds of the printed loop, which merges two regions in every one of them, before there are no two."""
    remaining = set(range(regions))
    for done in range(rounds):
        if len(remaining) < 2:
            return done
        remaining.pop()  # the one of the two that the other takes in
    return rounds


@claim("roi-pooling")
def regions_of_all_sizes_become_one_size(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    features = torch.from_numpy(rng.normal(size=(1, 3, 9, 11))).requires_grad_(True)
    corner = rng.uniform(0, 5, size=(6, 2))
    boxes = torch.from_numpy(np.concatenate([corner, corner + rng.uniform(1, 4, size=(6, 2))], axis=1))
    pooled = roi_pool(features, boxes, (2, 3))
    expected = torch.empty(6, 3, 2, 3, dtype=torch.float64)
    for n, (x1, y1, x2, y2) in enumerate(boxes.tolist()):
        for i in range(2):
            for j in range(3):
                rows = slice(floor(y1 + i * (y2 - y1) / 2), ceil(y1 + (i + 1) * (y2 - y1) / 2))
                columns = slice(floor(x1 + j * (x2 - x1) / 3), ceil(x1 + (j + 1) * (x2 - x1) / 3))
                expected[n, :, i, j] = features[0, :, rows, columns].detach().amax(dim=(1, 2))
    global_maximum = roi_pool(features, torch.tensor([[0.0, 0.0, 11.0, 9.0]], dtype=torch.float64), (1, 1))
    global_maximum.sum().backward()
    gradient: Any = features.grad
    return every(
        brute_force=near(pooled.detach(), expected, tolerance=0.0),
        shape=equal(tuple(pooled.shape), (6, 3, 2, 3)),
        global_maximum=near(global_maximum.detach()[0, :, 0, 0], features.detach()[0].amax(dim=(1, 2)), tolerance=0.0),
        gradient=equal(gradient[0].reshape(3, -1).argmax(1).tolist(), features[0].reshape(3, -1).argmax(1).tolist()),
        gradient_sum=near(float(gradient.sum()), 3.0, tolerance=1e-12),
    )


@claim("bounding-box-regression")
def offsets_correct_a_proposed_box(seed: int) -> Verdict:
    from margin.neural.diagnostics import descend

    boxes, anchors = random_boxes(seed, 40), random_boxes(seed + 1, 40)
    offsets = box_encode(boxes, anchors)
    b, a = to_centers(boxes), to_centers(anchors)
    by_hand = np.column_stack([(b[:, :2] - a[:, :2]) / a[:, 2:], np.log(b[:, 2:] / a[:, 2:])])
    # Proposals that are off in a way that a column of features tells: a linear map learns the offsets.
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(200, 4))
    truth = random_boxes(seed + 2, 200)
    proposals = box_decode(0.15 * codes @ rng.normal(size=(4, 4)) / 2, truth)
    features = torch.from_numpy(np.column_stack([codes, np.ones(200)]))
    target = torch.from_numpy(box_encode(truth, proposals))
    weight = torch.nn.Parameter(torch.zeros(5, 4, dtype=torch.float64))

    def loss() -> torch.Tensor:
        return torch.nn.functional.smooth_l1_loss(features[:100] @ weight, target[:100])

    losses = descend([weight], loss, steps=200, rate=0.05, rule=torch.optim.Adam)
    refined = box_decode((features @ weight).detach().numpy(), proposals)
    before, after = (np.diag(pairwise_iou(part, truth))[100:].mean() for part in (proposals, refined))
    return every(
        formula=near(offsets, by_hand, tolerance=1e-12),
        round_trip=near(box_decode(offsets, anchors), boxes, tolerance=1e-10),
        numbers=equal(offsets.shape[1], 4),
        loss_falls=below(losses[-1], losses[0]),
        refined=above(float(after), float(before) + 0.1),
    )


@claim("anchor-boxes")
def anchors_stand_around_every_position(seed: int) -> Verdict:
    scales, ratios = (128.0, 256.0, 512.0), (0.5, 1.0, 2.0)
    anchors = make_anchors(40, 60, 16, scales, ratios)
    grid = to_centers(anchors).reshape(40, 60, 9, 4)
    boxes = random_boxes(seed, 9)
    return every(
        count=equal(len(anchors), 2400 * 9),
        middles=near(grid[3, 7, :, :2], np.tile([7.5 * 16, 3.5 * 16], (9, 1)), tolerance=1e-9),
        areas=near(np.sqrt(grid[0, 0, :, 2] * grid[0, 0, :, 3]), np.repeat(scales, 3), tolerance=1e-9),
        ratios=near(grid[0, 0, :, 3] / grid[0, 0, :, 2], np.tile(ratios, 3), tolerance=1e-12),
        inverse=near(box_decode(box_encode(boxes, anchors[:9]), anchors[:9]), boxes, tolerance=1e-9),
    )
