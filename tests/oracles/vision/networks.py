"""Regions of feature maps pixel by pixel, and a detector's outputs and losses cell by cell."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.ndimage import map_coordinates
from tests.oracles import oracle
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.detection.anchors import sample_anchors
from margin.vision.detection.backbone import Scene
from margin.vision.detection.regions import roi_align, roi_pool
from margin.vision.detection.yolo import YOLO, yolo_boxes

PATH = "margin.vision.detection"


@oracle(f"{PATH}.regions.roi_pool", f"{PATH}.regions.roi_align", f"{PATH}.anchors.sample_anchors")
def regions_pixel_by_pixel(seed: int) -> Verdict:
    """Maps that are not square, boxes in the coordinates of a larger image, two images; means by SciPy's splines."""
    rng = np.random.default_rng(seed)
    maps, image = rng.normal(size=(2, 2, 9, 7)), np.array([1, 0, 1])
    corner = rng.uniform(0.3, 6.0, size=(3, 2)).round(2) + 0.003
    boxes = np.concatenate([corner, corner + rng.uniform(4.1, 7.5, size=(3, 2)).round(2)], axis=1)
    boxes[:, 1::2] *= 1.25
    features, given, belongs = torch.tensor(maps), torch.tensor(boxes), torch.tensor(image)
    pooled = roi_pool(features, given, (3, 2), belongs, scale=0.5).numpy()
    aligned = roi_align(features, given, (3, 2), belongs, scale=0.5, samples=2).numpy()
    expected, means = np.empty((3, 2, 3, 2)), np.empty((3, 2, 3, 2))
    for n, (x0, y0, x1, y1) in enumerate(boxes / 2):
        for i, j in np.ndindex(3, 2):
            rows = (y0 + i * (y1 - y0) / 3, y0 + (i + 1) * (y1 - y0) / 3)
            columns = (x0 + j * (x1 - x0) / 2, x0 + (j + 1) * (x1 - x0) / 2)
            top, left = min(math.floor(rows[0]), 8), min(math.floor(columns[0]), 6)
            part = maps[image[n]][
                :, top : max(math.ceil(rows[1]), top + 1), left : max(math.ceil(columns[1]), left + 1)
            ]
            expected[n, :, i, j] = part.max(axis=(1, 2))
            at = [(rows[0] + (rows[1] - rows[0]) * a, columns[0] + (columns[1] - columns[0]) * b)
                  for a in (0.25, 0.75) for b in (0.25, 0.75)]  # fmt: skip
            for c in range(2):
                values = map_coordinates(maps[image[n], c], np.array(at).T - 0.5, order=1, mode="nearest")
                means[n, c, i, j] = values.mean()
    target = torch.tensor([-1] * 30 + [0, 2, 1, 5, 3] + [-2] * 4)
    few = sample_anchors(target, 16, torch.Generator().manual_seed(seed), 0.25)
    many = sample_anchors(target, 16, torch.Generator().manual_seed(seed), 0.5)
    return every(
        largest=near(pooled, expected, tolerance=1e-12),
        means=near(aligned, means, tolerance=1e-6),
        few=equal([int((target[few] >= 0).sum()), int((target[few] == -1).sum())], [4, 12]),
        many=equal([int((target[many] >= 0).sum()), int((target[many] == -1).sum())], [5, 11]),
        once=equal(len(set(many.tolist())), 16),
    )


@oracle(f"{PATH}.yolo.YOLO", f"{PATH}.yolo.yolo_boxes")
def cells_of_a_detector(seed: int) -> Verdict:
    """Boxes of outputs by hand, also of outputs that are cut; the four losses summed over cells and objects."""
    torch.manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = YOLO(1, 3, 4, prior=6.0).double().eval()
        images, offsets = torch.randn(2, 1, 16, 24).double(), 1.5 * torch.randn(1, 2, 3, 4).double()
        torch.nn.init.normal_(net.head.weight, std=0.4)
    offsets[0, 0, 0, 2] = 9.0
    boxes = torch.tensor(
        [[[2.0, 3.0, 9.0, 12.0], [10.0, 1.0, 21.0, 15.0]], [[20.0, 12.0, 28.0, 20.0], [0, 0, 0, 0]]]
    ).double()
    labels = torch.tensor([[2, 0], [1, -1]])
    scene = Scene(images, boxes, labels, torch.full((2, 1, 4), torch.nan).double())
    with torch.no_grad():
        out, losses = net(images), net.losses(scene, torch.Generator())
        seen = net.detect(images, scene.proposals)
    s = net.backbone.stride
    occupied, place, classes = torch.zeros(out.shape[:3]).double(), 0.0, 0.0
    for n, k in ((0, 0), (0, 1), (1, 0)):
        x0, y0, x1, y1 = boxes[n, k].tolist()
        x, y, w, h = (x0 + x1) / 2 / s, (y0 + y1) / 2 / s, x1 - x0, y1 - y0
        row, column = min(int(y), out.shape[1] - 1), min(int(x), out.shape[2] - 1)  # a middle on the border is inside
        t = out[n, row, column]
        occupied[n, row, column] = 1.0
        place += float((torch.sigmoid(t[:2]) - torch.tensor([x % 1, y % 1])).square().sum())
        sides = torch.tensor([math.sqrt(w / 6.0), math.sqrt(h / 6.0)])
        place += float((torch.exp(t[2:4].clip(max=4.0) / 2) - sides).square().sum())
        classes += float(functional.cross_entropy(t[5:], labels[n, k]))
    cells = functional.binary_cross_entropy_with_logits(out[..., 4], occupied, reduction="none")
    presence = float((cells * torch.where(occupied > 0, 1.0, 0.5)).sum()) / 2
    expected = []
    for row, column in np.ndindex(2, 3):
        t = offsets[0, row, column]
        x, y = 8 * (column + torch.sigmoid(t[0])), 8 * (row + torch.sigmoid(t[1]))
        w, h = 5 * torch.exp(t[2].clip(max=4.0)), 5 * torch.exp(t[3].clip(max=4.0))
        expected.append([float(v) for v in (x - w / 2, y - h / 2, x + w / 2, y + h / 2)])
    p = torch.softmax(out[0, ..., 5:], dim=-1)
    scores = (torch.sigmoid(out[0, ..., 4]) * p.amax(dim=-1)).flatten()
    return every(
        boxes=near(yolo_boxes(offsets, 8.0, 5.0).reshape(6, 4).numpy(), expected, tolerance=1e-5),
        presence=near(float(losses["object_loss"]), presence, tolerance=1e-6),
        place=near(float(losses["box_loss"]), place / 2, tolerance=1e-5),
        classes=near(float(losses["class_loss"]), classes / 2, tolerance=1e-6),
        total=near(float(losses["loss"]), presence + 5 * place / 2 + classes / 2, tolerance=1e-5),
        scores=near(seen[0].scores.numpy(), scores.numpy(), tolerance=1e-9),
        labels=equal(seen[0].labels.tolist(), p.argmax(dim=-1).flatten().tolist()),
        seen=near(seen[0].boxes.numpy(), yolo_boxes(out[:1, ..., :4], s, 6.0).reshape(-1, 4).numpy(), tolerance=1e-9),
    )
