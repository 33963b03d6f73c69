"""Images enlarged by random changes, with the masks and boxes that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from margin.core.randomness import RandomLike, as_generator
from margin.neural.augmentation import AUGMENTATIONS, parse_augmentation
from margin.neural.moves import MOVES, move_boxes, move_images

__all__ = ["AugmentedImages", "apply_augmentation", "augment", "parse_augmentations"]


class AugmentedImages(NamedTuple):
    """Changed images; the labels of image i are still those of image i."""

    images: np.ndarray
    masks: np.ndarray | None
    boxes: list[np.ndarray] | None
    kept: list[np.ndarray] | None  # for each image, which of its boxes are still inside


def augment(
    images: Any,
    operations: Sequence[str],
    *,
    masks: Any = None,
    boxes: Sequence[Any] | None = None,
    random_state: RandomLike = None,
) -> AugmentedImages:
    """One random version of every image, (N, H, W) or (N, H, W, C); a mask and boxes move with their image.

    ``operations`` are those of ``CNNClassifier(augment=...)`` but mixup, which has no label of its own. A mask
    (N, H, W) keeps its classes, since pixels are not mixed; boxes (left, top, right, bottom) of each image are cut at
    the edges.

    >>> found = augment(np.eye(4)[None], ["flip"], boxes=[[[0, 0, 1, 1]]], random_state=0)
    >>> found.images[0, 0], found.boxes[0]
    (array([0., 0., 0., 1.]), array([[3., 0., 4., 1.]]))
    """
    pixels, labels, rectangles = _check(images, masks, boxes)
    steps = parse_augmentations("augment: operations", operations)
    generator = torch.Generator().manual_seed(int(as_generator(random_state).integers(2**63)))
    kept = None if rectangles is None else [torch.ones(len(of), dtype=torch.bool) for of in rectangles]
    for name, value in steps:
        pixels, moves = apply_augmentation(pixels, name, value, generator)
        if moves is None:
            continue
        labels = None if labels is None else move_images(labels, moves, mode="nearest")
        if rectangles is not None and kept is not None:
            moved = [move_boxes(of, move, *pixels.shape[2:]) for of, move in zip(rectangles, moves, strict=True)]
            rectangles = [boxes_after for boxes_after, _ in moved]
            kept = [still & (part > 0) for still, (_, part) in zip(kept, moved, strict=True)]
    return _return_as_given(images, masks, pixels, labels, rectangles, kept)


def apply_augmentation(x: Tensor, name: str, value: float, generator: torch.Generator) -> tuple[Tensor, Tensor | None]:
    """Images (N, C, H, W) changed by one augmentation, and the moves that were drawn; None where nothing moves."""
    function = AUGMENTATIONS[name].function
    assert function is not None
    before = generator.get_state()
    changed = function(x, value, generator)
    if name not in MOVES:
        return changed, None
    again = torch.Generator().set_state(before)  # the draw of the images again
    return changed, MOVES[name]((len(x), x.shape[2], x.shape[3]), value, again)


def _check(images: Any, masks: Any, boxes: Any) -> tuple[Tensor, Tensor | None, list[Tensor] | None]:
    array = np.asarray(images)
    if array.ndim not in (3, 4) or array.size == 0 or array.dtype.kind not in "buif":
        raise ValueError(f"augment: images must be numbers (N, H, W) or (N, H, W, C); got {array.dtype} {array.shape}.")
    array = array[..., None] if array.ndim == 3 else array
    pixels = torch.from_numpy(np.ascontiguousarray(array.transpose(0, 3, 1, 2), dtype=np.float64))
    labels = None
    if masks is not None:
        labels_array = np.asarray(masks)
        if labels_array.shape != array.shape[:3] or labels_array.dtype.kind not in "bui":
            raise ValueError(
                f"augment: masks must be integers {array.shape[:3]}, one per pixel; "
                f"got {labels_array.dtype} {labels_array.shape}."
            )
        labels = torch.from_numpy(labels_array.astype(np.float64))[:, None]
    if boxes is None:
        return pixels, labels, None
    rectangles = [np.asarray(of, dtype=np.float64).reshape(-1, 4) for of in boxes]
    if len(rectangles) != len(array):
        raise ValueError(f"augment: boxes must have one list per image; got {len(rectangles)} for {len(array)} images.")
    return pixels, labels, [torch.from_numpy(of) for of in rectangles]


def parse_augmentations(what: str, operations: Sequence[str]) -> list[tuple[str, float]]:
    """Names and numbers of augmentations of images whose labels are not mixed; errors begin with ``what``."""
    if isinstance(operations, str):
        raise ValueError(f"{what} must be a list of names, as in ['{operations}']; got a string.")
    steps = []
    for text in operations:
        try:
            steps.append(parse_augmentation(text))
        except ValueError as error:
            raise ValueError(f"{what} must name {error}.") from None
    if any(AUGMENTATIONS[name].function is None for name, _ in steps):
        raise ValueError(f"{what} must not name 'mixup', which mixes labels; use CNNClassifier(augment=...).")
    return steps


def _return_as_given(images: Any, masks: Any, pixels: Any, labels: Any, rectangles: Any, kept: Any) -> AugmentedImages:
    given = np.asarray(images)
    values = pixels.numpy().transpose(0, 2, 3, 1).reshape(given.shape)
    if given.dtype.kind in "bui":  # bytes stay bytes: rounded, and cut at their ends
        ends = (0, 1) if given.dtype.kind == "b" else (np.iinfo(given.dtype).min, np.iinfo(given.dtype).max)
        values = np.clip(np.round(values), *ends)
    return AugmentedImages(
        values.astype(given.dtype),
        None if labels is None else labels[:, 0].numpy().astype(np.asarray(masks).dtype),
        None if rectangles is None else [of.numpy() for of in rectangles],
        None if kept is None else [of.numpy() for of in kept],
    )
