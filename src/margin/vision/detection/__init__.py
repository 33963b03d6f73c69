"""Objects in images: boxes and their overlap, proposals, regions, matching, and how detections are judged."""

from margin.vision.detection.anchors import anchor_targets, make_anchors, sample_anchors
from margin.vision.detection.average_precision import (
    average_precision,
    coco_map,
    mean_average_precision,
    precision_recall,
)
from margin.vision.detection.boxes import box_decode, box_encode, paired_giou, pairwise_giou, pairwise_iou
from margin.vision.detection.detector import ObjectDetector
from margin.vision.detection.matching import match_sets, set_loss
from margin.vision.detection.regions import roi_align, roi_pool, warp_regions
from margin.vision.detection.selective_search import selective_search
from margin.vision.detection.suppression import non_maximum_suppression

__all__ = [
    "ObjectDetector",
    "anchor_targets",
    "average_precision",
    "box_decode",
    "box_encode",
    "coco_map",
    "make_anchors",
    "match_sets",
    "mean_average_precision",
    "non_maximum_suppression",
    "paired_giou",
    "pairwise_giou",
    "pairwise_iou",
    "precision_recall",
    "roi_align",
    "roi_pool",
    "sample_anchors",
    "selective_search",
    "set_loss",
    "warp_regions",
]
