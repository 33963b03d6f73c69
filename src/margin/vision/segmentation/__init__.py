"""A class for every pixel: the estimator, and how its maps are judged."""

from margin.vision.segmentation.overlap import class_dice, class_hausdorff, class_iou, mean_iou, pixel_accuracy
from margin.vision.segmentation.segmenter import Segmenter

__all__ = ["Segmenter", "class_dice", "class_hausdorff", "class_iou", "mean_iou", "pixel_accuracy"]
