r"""R-CNN, Fast R-CNN and Faster R-CNN: propose regions, then say what is in each and where exactly.

| network | proposals | features of a region |
|---|---|---|
| R-CNN (Girshick et al. 2014) | selective search | the region as a square through the network: a pass for each |
| Fast R-CNN (Girshick 2015) | selective search | pooled from the map of the image: one pass |
| Faster R-CNN (Ren et al. 2015) | a network on the same map | pooled from the map of the image: one pass |

Each region gets a class or "background" and, for its class, offsets that correct its box (smooth L1 loss). R-CNN reads
the class by linear support vector machines, one per class; here they learn by the hinge loss beside the network, whose
features they do not change.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.neural.activations.fused import fused_softmax
from margin.neural.losses.fused import fused_cross_entropy, fused_huber_loss
from margin.neural.losses.margins import hinge_loss
from margin.vision.detection.anchors import anchor_targets, make_anchors, sample_anchors
from margin.vision.detection.backbone import Backbone, Detected, DetectorNetwork, Scene, image_size
from margin.vision.detection.boxes import box_decode, box_encode, clip_boxes, pairwise_iou
from margin.vision.detection.regions import roi_align, roi_pool, warp_regions
from margin.vision.detection.suppression import non_maximum_suppression

__all__ = ["RCNN", "RPN", "FastRCNN", "FasterRCNN", "RegionNetwork", "region_targets"]

FOREGROUND = 0.5  # IoU with an object from which a region is its class
REGIONS_PER_IMAGE, FOREGROUND_FRACTION = 32, 0.25
ANCHORS_PER_IMAGE = 256
SMALLEST_SIDE = 2.0  # pixels: smaller proposals are dropped


def region_targets(regions: Tensor, objects: Tensor, labels: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Class (``n_classes``: background) and matched box of every region."""
    wanted = torch.full((len(regions),), n_classes, dtype=torch.int64, device=regions.device)
    if not len(objects) or not len(regions):
        return wanted, regions.clone()
    overlap, number = pairwise_iou(regions, objects).max(dim=1)
    hit = overlap >= FOREGROUND
    wanted[hit] = labels[number[hit]]
    return wanted, objects[number]


class RegionNetwork(DetectorNetwork):
    """What the three share: a head on the features of regions, its loss, and how regions become detections."""

    def __init__(self, n_features: int, n_classes: int, width: int):
        super().__init__()
        self.n_classes = n_classes
        self.hidden = nn.Sequential(nn.Linear(n_features, width), nn.ReLU())
        self.classify = nn.Linear(width, n_classes + 1)
        self.refine = nn.Linear(width, 4 * n_classes)

    def regions_of(self, scene: Scene, noise: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sampled regions to train on: boxes, their image, class and matched object."""
        parts = []
        for k in range(len(scene.images)):
            objects, labels = scene.objects(k)
            regions = torch.cat([scene.regions(k), objects])  # the truth too, so that no class is without an example
            wanted, matched = region_targets(regions, objects, labels, self.n_classes)
            codes = torch.where(wanted < self.n_classes, 0, -1)
            chosen = sample_anchors(codes, REGIONS_PER_IMAGE, noise, FOREGROUND_FRACTION)
            image = torch.full((len(chosen),), k, device=chosen.device)
            parts.append((regions[chosen], image, wanted[chosen], matched[chosen]))
        boxes, image, wanted, matched = (torch.cat(column) for column in zip(*parts))
        return boxes, image, wanted, matched

    @abstractmethod
    def stages(self, images: Tensor, proposals: Tensor) -> dict[str, Tensor]:
        """Proposals of the first image, their features and their scores."""

    def head_losses(self, hidden: Tensor, boxes: Tensor, wanted: Tensor, matched: Tensor) -> dict[str, Tensor]:
        """Cross-entropy of the classes and smooth L1 of the offsets of regions that have one."""
        classes = fused_cross_entropy(self.classify(hidden), wanted)
        hit = torch.nonzero(wanted < self.n_classes)[:, 0]
        offsets = self.refine(hidden).reshape(len(hidden), self.n_classes, 4)[hit, wanted[hit]]
        target = 10 * box_encode(matched[hit], boxes[hit])  # offsets are small: in units of a tenth
        place = fused_huber_loss(offsets, target, reduction="sum") / max(len(wanted), 1)
        return {"loss": classes + place, "class_loss": classes, "box_loss": place}

    def refine_regions(self, hidden: Tensor, probabilities: Tensor, boxes: Tensor, size: tuple[int, int]) -> Detected:
        """Every region as each of the classes, with the box that class would give it."""
        offsets = self.refine(hidden).reshape(-1, 4) / 10
        moved = box_decode(offsets, boxes.repeat_interleave(self.n_classes, dim=0))
        labels = torch.arange(self.n_classes, device=boxes.device).repeat(len(boxes))
        return Detected(clip_boxes(moved, *size), labels, probabilities.reshape(-1))


class RCNN(RegionNetwork):
    """Every region stretched to ``side`` x ``side`` pixels goes through the network by itself: ``width`` features."""

    needs_proposals = True

    def __init__(self, in_channels: int, n_classes: int, channels: int, side: int = 16, width: int | None = None,
                 context_layers: int = 0):  # fmt: skip
        width = width or 8 * channels
        super().__init__(4 * channels * (side // Backbone.stride) ** 2, n_classes, width)
        self.backbone, self.side = Backbone(in_channels, channels, context_layers), side
        self.machines = nn.Linear(width, n_classes)  # a linear support vector machine per class

    def features(self, images: Tensor, boxes: Tensor, image: Tensor) -> Tensor:
        warped = warp_regions(images, boxes, (self.side, self.side), image)
        return self.hidden(self.backbone(warped).flatten(1))

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        boxes, image, wanted, matched = self.regions_of(scene, noise)
        hidden = self.features(scene.images, boxes, image)
        terms = self.head_losses(hidden, boxes, wanted, matched)
        signs = 2.0 * functional.one_hot(wanted, self.n_classes + 1)[:, : self.n_classes] - 1
        hinge = hinge_loss(self.machines(hidden.detach()), signs)
        return terms | {"loss": terms["loss"] + hinge, "machine_loss": hinge}

    def stages(self, images: Tensor, proposals: Tensor) -> dict[str, Tensor]:
        """Proposals of the first image, their features and their scores."""
        regions = proposals[0][~proposals[0, :, 0].isnan()]
        hidden = self.features(images, regions, torch.zeros(len(regions), dtype=torch.int64, device=regions.device))
        return {"proposals": regions, "features": hidden, "class_scores": torch.sigmoid(2 * self.machines(hidden))}

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        detections, scene = [], Scene(images, proposals[:, :0], proposals[:, :0, 0].long(), proposals)
        for k in range(len(images)):
            regions = scene.regions(k)
            # One pass for each proposal is what makes R-CNN slow; the passes of one image share a batch.
            hidden = self.features(images, regions, torch.full((len(regions),), k, device=regions.device))
            detections.append(
                self.refine_regions(hidden, torch.sigmoid(2 * self.machines(hidden)), regions, image_size(images))
            )
        return detections


class FastRCNN(RegionNetwork):
    """One pass over the image; features of regions are pooled from its map."""

    needs_proposals = True

    def __init__(self, in_channels: int, n_classes: int, channels: int, pooled: int = 4, align: bool = True,
                 context_layers: int = 0):  # fmt: skip
        super().__init__(4 * channels * pooled**2, n_classes, 8 * channels)
        self.backbone, self.pooled = Backbone(in_channels, channels, context_layers), pooled
        self.pool = roi_align if align else roi_pool

    def features(self, maps: Tensor, boxes: Tensor, image: Tensor) -> Tensor:
        pooled = self.pool(maps, boxes, (self.pooled, self.pooled), image, 1 / self.backbone.stride)
        return self.hidden(pooled.flatten(1))

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        maps = self.backbone(scene.images)
        boxes, image, wanted, matched = self.regions_of(scene, noise)
        return self.head_losses(self.features(maps, boxes, image), boxes, wanted, matched)

    def stages(self, images: Tensor, proposals: Tensor) -> dict[str, Tensor]:
        """Proposals of the first image, their features and their scores."""
        regions = proposals[0][~proposals[0, :, 0].isnan()]
        first = torch.zeros(len(regions), dtype=torch.int64, device=regions.device)
        hidden = self.features(self.backbone(images), regions, first)
        odds = fused_softmax(self.classify(hidden), dim=1)[:, : self.n_classes]
        return {"proposals": regions, "features": hidden, "class_scores": odds}

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        return self.detect_on(self.backbone(images), images, proposals)

    def detect_on(self, maps: Tensor, images: Tensor, proposals: Tensor) -> list[Detected]:
        detections, scene = [], Scene(images, proposals[:, :0], proposals[:, :0, 0].long(), proposals)
        for k in range(len(images)):
            regions = scene.regions(k)
            hidden = self.features(maps, regions, torch.full((len(regions),), k, device=regions.device))
            odds = fused_softmax(self.classify(hidden), dim=1)[:, : self.n_classes]
            detections.append(self.refine_regions(hidden, odds, regions, image_size(images)))
        return detections


class RPN(nn.Module):
    """Region proposal network: at every position, for k anchors, 2 scores (background, object) and 4 offsets.

    >>> scores, offsets = RPN(16, 9)(torch.zeros(2, 16, 5, 6))
    >>> scores.shape, offsets.shape
    (torch.Size([2, 18, 5, 6]), torch.Size([2, 36, 5, 6]))
    """

    def __init__(self, in_channels: int, k: int):
        super().__init__()
        self.shared = nn.Sequential(nn.Conv2d(in_channels, in_channels, 3, padding=1), nn.ReLU())
        self.scores, self.offsets = nn.Conv2d(in_channels, 2 * k, 1), nn.Conv2d(in_channels, 4 * k, 1)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        shared = self.shared(maps)
        return self.scores(shared), self.offsets(shared)

    @staticmethod
    def per_anchor(output: Tensor, numbers: int) -> Tensor:
        """(N, k * numbers, H, W) in the order of the anchors: (N, H * W * k, numbers)."""
        return output.permute(0, 2, 3, 1).reshape(len(output), -1, numbers)


class FasterRCNN(FastRCNN):
    """Fast R-CNN whose proposals come from a network on its own map."""

    needs_proposals = False

    def __init__(
        self,
        in_channels: int,
        n_classes: int,
        channels: int,
        scales: tuple[float, ...],
        n_proposals: int = 32,
        context_layers: int = 0,
    ):
        super().__init__(in_channels, n_classes, channels, context_layers=context_layers)
        self.scales, self.ratios, self.n_proposals = tuple(scales), (0.5, 1.0, 2.0), n_proposals
        self.rpn = RPN(self.backbone.out_channels, len(self.scales) * len(self.ratios))

    def anchors(self, maps: Tensor) -> Tensor:
        height, width = maps.shape[2:]
        made = make_anchors(height, width, self.backbone.stride, self.scales, self.ratios)
        return torch.from_numpy(made).to(maps)

    def losses(self, scene: Scene, noise: torch.Generator) -> dict[str, Tensor]:
        maps = self.backbone(scene.images)
        scores, offsets = self.rpn(maps)
        proposals = self.proposals(maps, scores.detach(), offsets.detach(), image_size(scene.images))
        proposing = self.proposal_losses(scene, self.anchors(maps), scores, offsets, noise)
        boxes, image, wanted, matched = self.regions_of(scene._replace(proposals=proposals), noise)
        terms = self.head_losses(self.features(maps, boxes, image), boxes, wanted, matched)
        return terms | proposing | {"loss": terms["loss"] + proposing["proposal_loss"]}

    def proposal_losses(
        self, scene: Scene, anchors: Tensor, scores: Tensor, offsets: Tensor, noise: torch.Generator
    ) -> dict[str, Tensor]:
        """Object or not, and the offsets of sampled anchors; at most half of them have an object."""
        score, offset = RPN.per_anchor(scores, 2), RPN.per_anchor(offsets, 4)
        losses = []
        for k in range(len(score)):
            objects, _ = scene.objects(k)
            target = anchor_targets(anchors, objects)
            chosen = sample_anchors(target, ANCHORS_PER_IMAGE, noise)
            positive = chosen[target[chosen] >= 0]
            place = fused_huber_loss(
                offset[k, positive], box_encode(objects[target[positive]], anchors[positive]), reduction="sum"
            ) / max(len(positive), 1)
            losses.append(fused_cross_entropy(score[k, chosen], (target[chosen] >= 0).long()) + place)
        return {"proposal_loss": torch.stack(losses).mean()}

    @torch.no_grad()
    def proposals(self, maps: Tensor, scores: Tensor, offsets: Tensor, size: tuple[int, int]) -> Tensor:
        """The best boxes (N, n_proposals, 4) after suppression, filled with NaN."""
        odds = fused_softmax(RPN.per_anchor(scores, 2), dim=2)[..., 1]
        boxes = clip_boxes(box_decode(RPN.per_anchor(offsets, 4), self.anchors(maps)), *size)
        proposals = torch.full((len(maps), self.n_proposals, 4), float("nan"), dtype=maps.dtype, device=maps.device)
        for k in range(len(maps)):
            large = torch.nonzero((boxes[k, :, 2:] - boxes[k, :, :2]).amin(dim=1) >= SMALLEST_SIDE)[:, 0]
            kept = non_maximum_suppression(
                boxes[k, large].numpy(force=True), odds[k, large].numpy(force=True), 0.7, max_boxes=self.n_proposals
            )
            proposals[k, : len(kept)] = boxes[k, large[torch.from_numpy(kept).to(large.device)]]
        return proposals

    def propose(self, images: Tensor) -> Tensor:
        """The proposals of the network for images: (N, n_proposals, 4)."""
        maps = self.backbone(images)
        scores, offsets = self.rpn(maps)
        return self.proposals(maps, scores, offsets, image_size(images))

    def detect(self, images: Tensor, proposals: Tensor) -> list[Detected]:
        maps = self.backbone(images)
        scores, offsets = self.rpn(maps)
        return self.detect_on(maps, images, self.proposals(maps, scores, offsets, image_size(images)))

    def stages(self, images: Tensor, proposals: Tensor) -> dict[str, Tensor]:
        """As in Fast R-CNN, on proposals of its own, and the anchors they come from."""
        return super().stages(images, self.propose(images)) | {"anchors": self.anchors(self.backbone(images))}
