r"""A class for every pixel: networks of :mod:`margin.neural.nets.pixels` with the face of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from margin.core.class_weights import ClassWeight, class_factors
from margin.core.classes import encode_classes
from margin.core.domains import Choice, Either, Integer, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.data.mixed_images import are_mixed, on_one_canvas
from margin.neural.activations.fused import fused_softmax
from margin.neural.augment import apply_augmentation, parse_augmentations
from margin.neural.estimators.image_input import ImageRows, image_tags
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows, known_classes
from margin.neural.estimators.parameters import FALLING_RATE
from margin.neural.generators import Seeds
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.losses.overlap import soft_dice
from margin.neural.moves import move_images
from margin.neural.nets.image_parts import Standardized
from margin.neural.nets.pixels import PIXEL_NETWORKS, HourglassStack, begin_with_frequencies, pixel_network
from margin.neural.training import RowBatches, Step
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.optimize.rate_schedules import RateSchedule
from margin.vision.segmentation.overlap import mean_iou
from margin.vision.segmentation.stored import NETWORK, network_is_stored

__all__ = ["Segmenter"]

UNKNOWN = -1  # the code of a pixel whose class nobody knows


class Segmenter(ImageParameters, JudgedEstimator):
    """Semantic segmentation: every pixel of an image gets one of the classes of the masks.

    ``X`` are images as :class:`~margin.neural.estimators.CNNClassifier` takes them, ``y`` masks (n, h, w) of classes;
    of images of several sizes, lists of both, and predictions are lists too: each image has its own size.
    The loss is the cross-entropy of the pixels; with ``dice_weight`` part of it is 1 minus the mean soft Dice
    coefficient of the classes, which counts small objects as much as large ones. Scores begin at the frequencies of the
    classes, so that the features are free for what tells them apart. Pixels of the class ``ignore_index`` are neither
    learned from nor scored.

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
    ignore_index: int | None = parameter(
        None, Optional(Integer()), "Number in the masks of pixels whose class nobody knows, such as 255; None: none."
    )
    class_weight: Any = parameter(
        None,
        ClassWeight(),
        "Weights of the classes of pixels in the cross-entropy; 'balanced': all count alike, however few their pixels.",
    )
    augment: Sequence[str] | None = parameter(
        None,
        Optional(SequenceOf(Text())),
        "Random changes of every training batch, in which masks move with their images: 'flip', 'flip-vertical', "
        "'shift 2', 'crop 4', 'rotate 15', 'noise 0.1', 'color 0.2', 'cutout 4'.",
    )
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

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        images, masks, known, weight = self._known_masks(X, y, sample_weight)
        if not known.any():
            raise ValueError(f"Segmenter: y must have a pixel that is not {self.ignore_index}, the ignore_index.")
        classes, codes = encode_classes(masks[known])
        if self._goes_on() and not np.array_equal(classes, self.classes_):
            raise ValueError(f"Segmenter: warm_start must go on with classes {self.classes_}; got {classes}.")
        seed = self._seed(state)
        train, valid = self._split(len(images), seed, given=given)
        if not self._goes_on():
            center, scale = channel_scaling(images, weight, train)
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
        coded = codes.reshape(masks.shape) if known.all() else _scatter(codes, known)
        rows = ImageRows.of(images, coded, weight=weight)
        held = None if given is None else self._own_rows(given)
        gaps = self.ignore_index is not None or not known.all() or (held is not None and _has_gaps(held))
        counts = _weighted_counts(coded[train], weight[train], len(classes))
        objective = PixelObjective(
            counts, self._class_factors(counts), parse_augmentations("Segmenter: augment", self.augment or ()),
            self.dice_weight, unknown=gaps,
        )  # fmt: skip
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, held=held)

    def _own_rows(self, given: OwnRows) -> ImageRows:
        """Images and masks that judge every epoch."""
        shape = (self.network_["in_channels"], None, None)
        images, masks, known, weight = self._known_masks(given.X, given.y, given.weight, fitted=shape)
        return ImageRows.of(images, _scatter(known_classes(self, masks[known], self.classes_), known), weight=weight)

    def _known_masks(self, X: Any, y: Any, sample_weight: Any, *, fitted: Any = None) -> tuple[np.ndarray, ...]:
        """Images that count, their masks, which of their pixels have a class, and their weights."""
        X, y, inside = self._on_canvas(X, y)
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        masks = _masks(y, images)
        known = self._known_pixels(masks) & inside
        numbers, _, weight = weighted_rows(self, np.arange(len(images)), np.arange(len(images)), sample_weight)
        if len(numbers) < len(images):
            images, masks, known = images[numbers], masks[numbers], known[numbers]
        return images, masks, known, weight

    def _class_factors(self, counts: np.ndarray) -> Tensor | None:
        """What a pixel of each class weighs, of which there are ``counts``; None where all weigh the same."""
        if self.class_weight is None:
            return None
        factors = class_factors("Segmenter", self.class_weight, self.classes_, counts, float(counts.sum()))
        if not (factors > 0).any():
            raise ValueError("Segmenter: class_weight must leave a class of y with a weight above 0.")
        return torch.from_numpy(factors).float()

    def _on_canvas(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        """Images of several sizes and their masks on one canvas, and its pixels that are theirs; others as they are."""
        if not are_mixed(X) or y is None:
            return X, y, True
        canvas = on_one_canvas(type(self).__name__, X, self.channels)
        try:
            return canvas.images, canvas.spread(y), canvas.inside
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None

    def _known_pixels(self, masks: np.ndarray) -> np.ndarray:
        """Which pixels have a class."""
        if self.ignore_index is None:
            return np.ones(masks.shape, dtype=bool)
        if masks.dtype.kind in "US":
            raise ValueError(f"Segmenter: ignore_index must be None for masks of strings; got {self.ignore_index}.")
        return np.asarray(masks != self.ignore_index)

    def predict_proba(self, X: Any) -> Any:
        """Probability of every class in every pixel, (n, classes, h, w); images may have another size than in fit."""
        check_is_fitted(self)
        if are_mixed(X):
            return [self.predict_proba(np.asarray(image)[None])[0] for image in X]
        module, fitted = self._ready_module(), (self.network_["in_channels"], None, None)
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        parts = self._compute_predictions().rows(ImageRows.of(images)).chunks(EVALUATION_ROWS)
        with torch.inference_mode(), torch_threads(available()):
            return torch.cat([fused_softmax(module(part.tensors[0]), dim=1) for part in parts]).numpy(force=True)

    def predict(self, X: Any) -> Any:
        """The most probable class of every pixel, (n, h, w)."""
        if are_mixed(X):
            return [self.predict(np.asarray(image)[None])[0] for image in X]
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def differentiable(self, X: Any) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        """Mean scores (n, classes) over the pixels of an image as a torch function, and ``X`` as its input."""
        check_is_fitted(self)
        module, fitted = self._ready_module(), (self.network_["in_channels"], None, None)
        images = check_images(self, X, self.image_shape, self.channels, fitted=fitted)
        return lambda x: module(x).mean(dim=(2, 3)), torch.from_numpy(images).to(next(module.parameters()))

    def score(self, X: Any, y: Any) -> float:
        """Mean IoU over the classes of the fit."""
        X, y, inside = self._on_canvas(X, y)
        codes = self.predict_proba(X).argmax(axis=1)
        masks = _masks(y, codes)
        known = self._known_pixels(masks) & inside
        unknown = np.setdiff1d(masks[known], self.classes_)
        if len(unknown):
            raise ValueError(f"Segmenter: y must have the classes of the fit, {self.classes_}; got {unknown[0]!r}.")
        return mean_iou(np.searchsorted(self.classes_, masks[known]), codes[known], len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        return image_tags(super().__sklearn_tags__())

    def _network(self) -> nn.Module:
        described = dict(self.network_)
        center, scale = described.pop("center"), described.pop("scale")
        return Standardized(pixel_network(**described), center, scale)

    def _step(self, module: nn.Module, objective: Any, rows: Any, seeds: Seeds) -> tuple[Step, RowBatches]:
        if not self._goes_on():
            counts = torch.from_numpy(objective.counts).float() + 1.0  # a class may be in held-out images only
            if objective.factors is not None:
                counts = counts * objective.factors.clamp(min=1e-6)
            begin_with_frequencies(module.get_submodule("body"), counts / counts.sum())
        return super()._step(module, objective, rows, seeds)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse_augmentations("Segmenter: augment", self.augment or ())

    def _rows_per_update(self, n_rows: int) -> int:
        return min(32, max(2, n_rows // 20)) if self.batch_size == "auto" else int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step


@dataclass(frozen=True)
class PixelObjective:
    """The loss of a batch of images and masks, which are changed at random while the network learns.

    ``counts`` are the weighted pixels of each class that it learns from, ``factors`` what one of each weighs.
    """

    counts: np.ndarray
    factors: Tensor | None
    changes: Sequence[tuple[str, float]]
    dice_weight: float
    unknown: bool

    def __call__(self, module: Any, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
        x, codes = batch
        prepared = module.prepare(x)
        if module.training:
            prepared, codes = augment_masked(prepared, codes, self.changes, noise)
        body = module.body
        outputs = body.predictions(prepared) if isinstance(body, HourglassStack) else [body(prepared)]
        losses = [
            pixel_loss(scores, codes, self.dice_weight, unknown=self.unknown, factors=self.factors)
            for scores in outputs
        ]
        return {"loss": torch.stack(losses).mean(dim=0)}


def augment_masked(
    x: Tensor, codes: Tensor, changes: Sequence[tuple[str, float]], generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Images (N, C, H, W) and their masks (N, H, W) with every augmentation (name and number) in turn.

    >>> x = torch.eye(4)[None, None]
    >>> changed, mask = augment_masked(x, x[0].long(), [("flip", 0.0)], torch.Generator().manual_seed(0))
    >>> torch.equal(changed[0].long(), mask), mask[0, 0].tolist()
    (True, [0, 0, 0, 1])
    """
    for name, value in changes:
        x, moves = apply_augmentation(x, name, value, generator)
        if moves is not None:
            codes = move_images(codes[:, None].to(x.dtype), moves, mode="nearest")[:, 0].round().long()
    return x, codes


def pixel_loss(
    scores: Tensor, codes: Tensor, dice_weight: float = 0.0, *, unknown: bool = False, factors: Tensor | None = None
) -> Tensor:
    """Loss (N,) of scores (N, classes, H, W): mean cross-entropy of the pixels, and 1 - the mean soft Dice.

    With ``unknown`` the pixels of code -1 are left out; an image without any other has the loss 0. The cross-entropy
    of a pixel is multiplied by the one of ``factors`` that belongs to its class.
    """
    if unknown:
        return _known_pixel_loss(scores, codes, dice_weight, factors)
    entropies = fused_cross_entropy(scores, codes, reduction="none")
    entropy = _by_class(entropies, codes, factors).mean(dim=(1, 2))
    if dice_weight == 0:
        return entropy
    p = fused_softmax(scores, dim=1)
    truth = functional.one_hot(codes, scores.shape[1]).permute(0, 3, 1, 2).to(p.dtype)
    dice = soft_dice(p, truth)
    return (1 - dice_weight) * entropy + dice_weight * (1 - dice.mean(dim=1))


def _by_class(entropies: Tensor, codes: Tensor, factors: Tensor | None) -> Tensor:
    return entropies if factors is None else entropies * factors.to(entropies)[codes.clamp(min=0)]


def _known_pixel_loss(scores: Tensor, codes: Tensor, dice_weight: float, factors: Tensor | None) -> Tensor:
    known = codes != UNKNOWN
    entropies = fused_cross_entropy(scores, codes, ignore_index=UNKNOWN, reduction="none")
    entropies = _by_class(entropies, codes, factors)
    entropy = entropies.sum(dim=(1, 2)) / known.sum(dim=(1, 2)).clamp(min=1)
    if dice_weight == 0:
        return entropy
    p = fused_softmax(scores, dim=1) * known[:, None]
    truth = functional.one_hot(codes.clamp(min=0), scores.shape[1]).permute(0, 3, 1, 2).to(p.dtype) * known[:, None]
    dice = soft_dice(p, truth).mean(dim=1)
    missing = (1 - dice) * known.any(dim=2).any(dim=1)
    return (1 - dice_weight) * entropy + dice_weight * missing


def _scatter(codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Codes of the known pixels at their positions, ``UNKNOWN`` elsewhere."""
    masks = np.full(known.shape, UNKNOWN, dtype=np.int64)
    masks[known] = codes
    return masks


def _weighted_counts(codes: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """How many pixels there are of each class; those of an image of weight w count w times."""
    known = codes != UNKNOWN
    return np.bincount(codes[known], np.broadcast_to(weight[:, None, None], codes.shape)[known], minlength=n_classes)


def _has_gaps(rows: ImageRows) -> bool:
    return bool((rows.tensors[1] == UNKNOWN).any())


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
