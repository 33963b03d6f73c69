r"""A class for every pixel: networks of :mod:`margin.neural.nets.pixels` with the face of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from margin.core.classes import encode_classes
from margin.core.domains import Choice, Either, Integer, Number
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.neural.activations.fused import fused_softmax
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.image_input import ImageRows, image_tags
from margin.neural.estimators.parameters import FALLING_RATE
from margin.neural.generators import Seeds
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.losses.overlap import soft_dice
from margin.neural.nets.image_parts import Standardized
from margin.neural.nets.pixels import PIXEL_NETWORKS, HourglassStack, begin_with_frequencies, pixel_network
from margin.neural.training import RowBatches, Step
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.optimize.rate_schedules import RateSchedule
from margin.vision.segmentation.overlap import mean_iou
from margin.vision.segmentation.stored import NETWORK, network_is_stored

__all__ = ["Segmenter"]


class Segmenter(ImageParameters, NeuralEstimator):
    """Semantic segmentation: every pixel of an image gets one of the classes of the masks.

    ``X`` are images as :class:`~margin.neural.estimators.CNNClassifier` takes them, ``y`` masks (n, h, w) of classes.
    The loss is the cross-entropy of the pixels; with ``dice_weight`` part of it is 1 minus the mean soft Dice
    coefficient of the classes, which counts small objects as much as large ones. Scores begin at the frequencies of the
    classes, so that the features are free for what tells them apart.

    >>> from margin.data.scenes import shape_scenes
    >>> scenes = shape_scenes(np.random.default_rng(0), n_samples=12, side=16, sizes=(6, 8))
    >>> model = Segmenter("fcn", base_channels=4, max_iter=2, random_state=0).fit(scenes.images, scenes.masks)
    >>> model.predict(scenes.images).shape
    (12, 16, 16)
    """

    architecture: str = parameter("unet", Choice(*PIXEL_NETWORKS), "Network.")
    _: KW_ONLY
    depth: int = parameter(2, Integer(low=1, high=8, search=(1, 4)), "How often the image is halved.")
    base_channels: int = parameter(16, Integer(low=1, search=(8, 64), log=True), "Feature maps at full size.")
    dice_weight: float = parameter(0.0, Number(low=0, high=1), "Part of the loss that is 1 minus the Dice coefficient.")
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(4, 64), log=True)),
        "Images per update; 'auto': 2 to 32, such that an epoch has at least 20 updates.",
    )
    learning_rate: str | RateSchedule = FALLING_RATE
    learning_rate_init: float = parameter(
        0.005, Number(above=0, search=(1e-4, 2e-2), log=True), "Initial learning rate of the schedule."
    )
    max_iter: int = default(20, "Most epochs.")

    classes_: np.ndarray = attribute(ArrayOf("n_outputs", kind="labels"), "The classes of the pixels.")
    network_: dict[str, Any] = attribute(NETWORK)
    _stored_rules = (network_is_stored,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from images ``X`` and masks ``y`` (n, h, w)."""
        return self._consume(self.iterate(X, y), X, y)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        images = check_images(self, X, self.image_shape, self.channels)
        masks = _masks(y, images)
        classes, codes = encode_classes(masks.ravel())
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(f"Segmenter: warm_start must go on with classes {self.classes_}; got {classes}.")
        seed = self._seed(state)
        train, valid = self._split(len(images), seed)
        if not self._goes_on():
            center, scale = channel_scaling(images, np.ones(len(images)), train)
            self.network_ = {
                "architecture": self.architecture,
                "in_channels": int(images.shape[1]),
                "n_outputs": len(classes),
                "depth": int(self.depth),
                "channels": int(self.base_channels),
                "center": center,
                "scale": scale,
            }
        self.classes_ = classes
        rows = ImageRows.of(images, codes.reshape(masks.shape))
        yield from self._train(self._loss, rows, train, valid, seed=seed, state=state)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class in every pixel, (n, classes, h, w); images may have another size than in fit."""
        check_is_fitted(self)
        module, fitted = self._ready_module(), (self.network_["in_channels"], None, None)
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        parts = self._compute_predictions().rows(ImageRows.of(images)).chunks(EVALUATION_ROWS)
        with torch.inference_mode(), torch_threads(available()):
            return torch.cat([fused_softmax(module(part.tensors[0]), dim=1) for part in parts]).numpy(force=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every pixel, (n, h, w)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def differentiable(self, X: Any) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        """Mean scores (n, classes) over the pixels of an image as a torch function, and ``X`` as its input."""
        check_is_fitted(self)
        module, fitted = self._ready_module(), (self.network_["in_channels"], None, None)
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        return lambda x: module(x).mean(dim=(2, 3)), torch.from_numpy(images).to(next(module.parameters()))

    def score(self, X: Any, y: Any) -> float:
        """Mean IoU over the classes of the fit."""
        codes = self.predict_proba(X).argmax(axis=1)
        masks = _masks(y, codes)
        unknown = np.setdiff1d(masks, self.classes_)
        if len(unknown):
            raise ValueError(f"Segmenter: y must have the classes of the fit, {self.classes_}; got {unknown[0]!r}.")
        return mean_iou(np.searchsorted(self.classes_, masks), codes, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        return image_tags(super().__sklearn_tags__())

    def _network(self) -> nn.Module:
        described = dict(self.network_)
        center, scale = described.pop("center"), described.pop("scale")
        return Standardized(pixel_network(**described), center, scale)

    def _step(self, module: nn.Module, objective: Any, rows: Any, seeds: Seeds) -> tuple[Step, RowBatches]:
        if not self._goes_on():
            codes, k = rows.tensors[1].flatten(), len(self.classes_)
            counts = torch.bincount(codes, minlength=k) + 1.0  # a class may be in held-out images only
            begin_with_frequencies(module.get_submodule("body"), counts / counts.sum())
        return super()._step(module, objective, rows, seeds)

    def _rows_per_update(self, n_rows: int) -> int:
        return min(32, max(2, n_rows // 20)) if self.batch_size == "auto" else int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step

    def _loss(self, module: Any, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
        x, codes = batch
        prepared = module.prepare(x)
        body = module.body
        outputs = body.predictions(prepared) if isinstance(body, HourglassStack) else [body(prepared)]
        losses = [pixel_loss(scores, codes, self.dice_weight) for scores in outputs]
        return {"loss": torch.stack(losses).mean(dim=0)}


def pixel_loss(scores: Tensor, codes: Tensor, dice_weight: float = 0.0) -> Tensor:
    """Loss (N,) of scores (N, classes, H, W): mean cross-entropy of the pixels, and 1 - the mean soft Dice."""
    entropy = fused_cross_entropy(scores, codes, reduction="none").mean(dim=(1, 2))
    if dice_weight == 0:
        return entropy
    p = fused_softmax(scores, dim=1)
    truth = functional.one_hot(codes, scores.shape[1]).permute(0, 3, 1, 2).to(p.dtype)
    dice = soft_dice(p, truth)
    return (1 - dice_weight) * entropy + dice_weight * (1 - dice.mean(dim=1))


def _masks(y: Any, images: np.ndarray) -> np.ndarray:
    """Masks (n, h, w) of the size of ``images`` (n, ..., h, w)."""
    if y is None:
        raise ValueError("Segmenter: y must be given: masks (n, h, w) with a class for every pixel; got None.")
    try:
        masks = np.asarray(y)
    except ValueError:
        raise ValueError("Segmenter: y must have masks of one size, like the images; got masks of several.") from None
    check_consistent_length(images, masks)
    if masks.shape != (len(images), *images.shape[-2:]):
        raise ValueError(
            f"Segmenter: y must have masks of {images.shape[-2]} x {images.shape[-1]} pixels like the images; "
            f"got shape {masks.shape}."
        )
    if masks.dtype.kind not in "biuU" and not (masks.dtype.kind == "f" and np.all(masks == np.floor(masks))):
        raise ValueError(f"Segmenter: y must have classes, integers or strings, for pixels; got {masks.dtype} numbers.")
    return masks
