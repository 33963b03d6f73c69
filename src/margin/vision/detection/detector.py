r"""Objects in images: the detectors of this package with one face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.domains import Choice, Either, Integer, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.boxes import Boxes
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.data.mixed_images import are_mixed, on_one_canvas
from margin.neural.augment import parse_augmentations
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.image_input import ImageRows, image_tags
from margin.neural.estimators.parameters import FALLING_RATE
from margin.neural.nets.image_parts import Standardized
from margin.neural.precision import widen
from margin.optimize.rate_schedules import RateSchedule
from margin.vision.detection.average_precision import mean_average_precision
from margin.vision.detection.backbone import Backbone, Detected, DetectorNetwork, Scene, image_size
from margin.vision.detection.boxes import clip_boxes
from margin.vision.detection.changed_scenes import augment_scene
from margin.vision.detection.detr import DETR
from margin.vision.detection.hog_windows import HOGWindows
from margin.vision.detection.rcnn import RCNN, FasterRCNN, FastRCNN, RegionNetwork
from margin.vision.detection.selective_search import selective_search
from margin.vision.detection.stored import NETWORK, network_is_stored
from margin.vision.detection.suppression import non_maximum_suppression
from margin.vision.detection.yolo import YOLO

__all__ = ["DETECTORS", "ObjectDetector", "detector_network"]

DETECTORS = ("r-cnn", "fast-r-cnn", "faster-r-cnn", "yolo", "detr", "hog-svm")
EVALUATION_IMAGES = 64  # images detected at once
SMALLEST_SIDE = 1e-3  # pixels: a box that was clipped to less is none


def detector_network(
    architecture: str, in_channels: int, n_classes: int, channels: int, usual_side: float, n_queries: int,
    context_layers: int = 0,
) -> DetectorNetwork:  # fmt: skip
    """The network of a name; ``usual_side`` is that of the objects, for anchors and priors."""
    if architecture == "hog-svm":
        return HOGWindows(n_classes, usual_side)
    sizes = (in_channels, n_classes, channels)
    if architecture == "yolo":
        return YOLO(*sizes, prior=usual_side, context_layers=context_layers)
    if architecture == "detr":
        return DETR(*sizes, n_queries, context_layers=context_layers)
    if architecture == "faster-r-cnn":
        return FasterRCNN(
            *sizes, scales=(0.7 * usual_side, usual_side, 1.4 * usual_side), context_layers=context_layers
        )
    return (RCNN if architecture == "r-cnn" else FastRCNN)(*sizes, context_layers=context_layers)


class ObjectDetector(ImageParameters, NeuralEstimator):
    """Boxes, classes and scores of the objects in images.

    ``X`` are images (n, h, w) or with channels, or a list of images of several sizes, ``y`` one
    :class:`~margin.data.boxes.Boxes` per image. The networks
    stand on the same small one of stride 4, so their differences are those of the methods: R-CNN and Fast R-CNN take
    proposals from selective search, Faster R-CNN makes its own, YOLO and DETR need none, and DETR needs no suppression
    either. 'hog-svm' is what came before them: a linear support vector machine per class on the oriented gradients in
    a sliding window, for objects about as wide as high; it has no network for ``base_channels`` and ``context_layers``.

    >>> from margin.data.scenes import shape_scenes
    >>> scenes = shape_scenes(np.random.default_rng(0), n_samples=8)
    >>> model = ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0).fit(scenes.images, scenes.boxes)
    >>> found = model.predict(scenes.images[:2])
    >>> len(found), found[0].xyxy.shape[1]
    (2, 4)
    """

    architecture: str = parameter("faster-r-cnn", Choice(*DETECTORS), "Method.")
    _: KW_ONLY
    base_channels: int = parameter(16, Integer(low=1, search=(8, 32), log=True), "Feature maps of the first layer.")
    context_layers: int = parameter(
        0, Integer(low=0, high=8), "Layers on the features that see 42, 74, 138 ... pixels around instead of 26."
    )
    n_queries: int = parameter(10, Integer(low=1), "Predictions per image of 'detr': more than objects in any image.")
    score_threshold: float = parameter(0.05, Number(low=0, high=1), "Score below which nothing is predicted.")
    nms_threshold: float = parameter(0.5, Number(low=0, high=1), "IoU above which the better of two boxes suppresses.")
    max_detections: int = parameter(100, Integer(low=1), "Most predictions per image.")
    segment_scale: float = parameter(
        0.3, Number(above=0), "Scale k of the segments from which 'r-cnn' and 'fast-r-cnn' take proposals."
    )
    max_proposals: int = parameter(200, Integer(low=1), "Most proposals of selective search per image.")
    augment: Sequence[str] | None = parameter(
        None,
        Optional(SequenceOf(Text())),
        "Random changes of every training batch, in which boxes move with what they hold: 'flip', 'flip-vertical', "
        "'shift 2', 'crop 4', 'rotate 15', 'noise 0.1', 'color 0.2', 'cutout 4'.",
    )
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(2, 32), log=True)),
        "Images per update; 'auto': 2 to 16, such that an epoch has at least 20 updates.",
    )
    learning_rate: str | RateSchedule = FALLING_RATE
    learning_rate_init: float = parameter(
        0.003, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    clip_norm: float | None = default(5.0)
    max_iter: int = default(20, "Most epochs.")

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The classes of the objects.")
    network_: dict[str, Any] = attribute(NETWORK)
    _stored_rules = (network_is_stored,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from images ``X`` and their objects ``y``."""
        return self._consume(self.iterate(X, y), X, y)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        images = self._images(X, reset=True)
        objects = _objects(y, images)
        classes = _classes(objects)
        if not len(classes):
            raise ValueError("ObjectDetector: y must hold at least one box; got none.")
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(f"ObjectDetector: warm_start must go on with classes {self.classes_}; got {classes}.")
        self._refuse_few_queries(objects)
        seed = self._seed(state)
        train, valid = self._split(len(images), seed)
        if not self._goes_on():
            self._describe(images[train], objects, classes)
        self.classes_ = classes
        corners, labels = _pad(objects, classes)
        rows = ImageRows.of(images, corners, labels, self._proposals(images))
        objective = partial(_scene_loss, changes=parse_augmentations("ObjectDetector: augment", self.augment or ()))
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def predict(self, X: Any) -> list[Boxes]:
        """What is found in every image, best score first."""
        check_is_fitted(self)
        if are_mixed(X):
            return [self.predict(np.asarray(image)[None])[0] for image in X]
        module: Any = self._ready_module()
        images = self._images(X)
        proposals = self._to_device(self._proposals(images))
        boxes: list[Boxes] = []
        with torch.inference_mode(), torch_threads(available()):
            for start in range(0, len(images), EVALUATION_IMAGES):
                cut = slice(start, start + EVALUATION_IMAGES)
                x = module.prepare(self._to_device(images[cut]))
                found = module.body.detect(x, proposals[cut])
                boxes += [self._final(one, module.body.suppresses, image_size(x)) for one in found]
        return boxes

    def score(self, X: Any, y: Any) -> float:
        """Mean average precision at IoU 0.5, as Pascal VOC defines it."""
        return mean_average_precision(_objects(y, self._images(X)), self.predict(X))

    def explain(self, image: Any) -> dict[str, Any]:
        """The stages of a network of regions for one image: proposals, features and class scores of each, final boxes.

        Faster R-CNN tells its ``anchors`` too.
        """
        check_is_fitted(self)
        module: Any = self._ready_module()
        if not isinstance(module.body, RegionNetwork):
            name = self.network_["architecture"]
            raise ValueError(f"ObjectDetector: explain needs an architecture with regions; got {name!r}.")
        images = self._images(np.asarray(image)[None])
        with torch.inference_mode(), torch_threads(available()):
            x = module.prepare(self._to_device(images))
            stages = module.body.stages(x, self._to_device(self._proposals(images)))
        return {name: tensor.numpy(force=True) for name, tensor in stages.items()} | {"boxes": self.predict(images)[0]}

    def _final(self, detected: Detected, suppresses: bool, size: tuple[int, int]) -> Boxes:
        """Inside the image, good enough, of some area, and with ``suppresses`` no two of a class on one object."""
        boxes = clip_boxes(widen(detected.boxes).numpy(force=True), *size)
        scores, labels = widen(detected.scores).numpy(force=True), detected.labels.numpy(force=True)
        sides = (boxes[:, 2:] - boxes[:, :2]).min(axis=1, initial=np.inf)
        kept = np.flatnonzero((scores >= self.score_threshold) & (sides > SMALLEST_SIDE))
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        if suppresses:
            best = non_maximum_suppression(boxes, scores, self.nms_threshold, labels=labels)
        else:
            best = np.argsort(-scores, kind="stable")
        best = best[: self.max_detections]
        return Boxes(boxes[best], self.classes_[labels[best]], scores[best])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse_augmentations("ObjectDetector: augment", self.augment or ())

    def _refuse_few_queries(self, objects: Sequence[Boxes]) -> None:
        most = max(map(len, objects))
        if self.architecture == "detr" and self.n_queries < most:
            raise ValueError(
                f"ObjectDetector: n_queries must be at least {most}, the most objects of an image of y, because 'detr' "
                f"finds no more than its queries; got {self.n_queries}."
            )

    def _images(self, X: Any, *, reset: bool = False) -> np.ndarray:
        fitted = None if reset else (self.network_["in_channels"], None, None)
        if are_mixed(X):
            X = on_one_canvas(type(self).__name__, X, self.channels).images
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        height, width = images.shape[2:]
        if min(height, width) < Backbone.stride:
            raise ValueError(
                f"ObjectDetector: X must have images of at least {Backbone.stride} x {Backbone.stride} pixels; "
                f"got {height} x {width}."
            )
        return images

    def __sklearn_tags__(self) -> Any:
        return image_tags(super().__sklearn_tags__())

    def _describe(self, images: np.ndarray, objects: Sequence[Boxes], classes: np.ndarray) -> None:
        center, scale = channel_scaling(images, np.ones(len(images)))
        areas = np.concatenate([boxes.areas for boxes in objects])
        self.network_ = {
            "architecture": self.architecture,
            "in_channels": int(images.shape[1]),
            "n_classes": len(classes),
            "channels": int(self.base_channels),
            "usual_side": float(np.exp(np.log(areas).mean() / 2)),
            "n_queries": int(self.n_queries),
            "context_layers": int(self.context_layers),
            "center": center,
            "scale": scale,
        }

    def _proposals(self, images: np.ndarray) -> np.ndarray:
        """Boxes of selective search (n, P, 4), filled with NaN; of no columns where the network needs none."""
        if self.network_["architecture"] not in ("r-cnn", "fast-r-cnn"):
            return np.empty((len(images), 0, 4), dtype=np.float32)
        unit = 255.0 if images.dtype == np.uint8 else 1.0
        proposals = [
            selective_search(image.transpose(1, 2, 0) / unit, k=self.segment_scale, max_boxes=self.max_proposals)
            for image in images
        ]
        padded = np.full((len(images), max(map(len, proposals)), 4), np.nan, dtype=np.float32)
        for row, boxes in zip(padded, proposals):
            row[: len(boxes)] = boxes
        return padded

    def _network(self) -> nn.Module:
        described = dict(self.network_)
        center, scale = described.pop("center"), described.pop("scale")
        return Standardized(detector_network(**described), center, scale)

    def _rows_per_update(self, n_rows: int) -> int:
        return min(16, max(2, n_rows // 20)) if self.batch_size == "auto" else int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step


def _scene_loss(
    module: Any, batch: tuple[Tensor, ...], noise: torch.Generator, *, changes: Sequence[tuple[str, float]]
) -> dict[str, Tensor]:
    """The losses on a batch, which is changed at random while the network learns."""
    images, boxes, labels, proposals = batch
    scene = Scene(module.prepare(images), boxes, labels, proposals)
    if module.training:
        scene = augment_scene(scene, changes, noise)
    return module.body.losses(scene, noise)


def _objects(y: Any, images: np.ndarray) -> list[Boxes]:
    if y is None:
        raise ValueError("ObjectDetector: y must be given: a sequence of Boxes, one per image; got None.")
    if not isinstance(y, Sequence | np.ndarray):
        raise ValueError(f"ObjectDetector: y must be a sequence of Boxes, one per image; got {type(y).__name__}.")
    others = [type(boxes).__name__ for boxes in y if not isinstance(boxes, Boxes)]
    if others:
        raise ValueError(f"ObjectDetector: y must be a sequence of Boxes, one per image; got {others[0]}.")
    if len(y) != len(images):
        raise ValueError(f"ObjectDetector: y must have {len(images)} entries, one per image; got {len(y)}.")
    height, width = images.shape[2:]
    for k, boxes in enumerate(y):
        if not boxes.inside(height, width):
            outside = next(box for box in boxes.xyxy if not Boxes([box], [0]).inside(height, width))
            raise ValueError(
                f"ObjectDetector: y must have boxes inside the image of {height} x {width} pixels; "
                f"got {outside.tolist()} for image {k}."
            )
    return list(y)


def _classes(objects: Sequence[Boxes]) -> np.ndarray:
    """The labels of all boxes, sorted."""
    labels = [boxes.labels for boxes in objects if len(boxes)]
    kinds = {"string" if part.dtype.kind == "U" else part.dtype.kind for part in labels}
    if kinds & {"O", "string"} and kinds != {"string"}:
        raise ValueError("ObjectDetector: labels of y must be all numbers or all strings; got other objects or both.")
    classes = np.unique(np.concatenate(labels)) if labels else np.empty(0)
    if classes.dtype.kind == "f" and np.isnan(classes).any():
        raise ValueError("ObjectDetector: labels of y must be classes; got NaN.")
    return classes


def _pad(objects: Sequence[Boxes], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (n, M, 4) and codes (n, M) in rows of equal length; the code -1 is no object."""
    most = max(map(len, objects))
    corners = np.zeros((len(objects), most, 4), dtype=np.float32)
    codes = np.full((len(objects), most), -1, dtype=np.int64)
    for k, boxes in enumerate(objects):
        corners[k, : len(boxes)] = boxes.xyxy
        codes[k, : len(boxes)] = np.searchsorted(classes, boxes.labels)
    return corners, codes
