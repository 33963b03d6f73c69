"""Images with classes or captions that are read by number: CIFAR-100, LSUN's folders, and images beside text files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from margin.data.cards import CIFAR100_CLASSES, LSUN_CATEGORIES
from margin.data.image_folder import SUFFIXES, open_image_folder, read_images

__all__ = ["CaptionedImages", "LabeledImages", "load_cifar100", "load_lsun", "read_captioned_images"]

SIDE, CHANNELS = 32, 3
RECORD = 2 + CHANNELS * SIDE * SIDE  # a byte for the group of classes, one for the class, then three planes
SUBSETS = {"train": "train.bin", "test": "test.bin"}


@dataclass(frozen=True, eq=False)
class LabeledImages:
    """``images`` (n, h, w, c) as bytes with ``labels`` that number the names in ``classes``.

    >>> pictures = LabeledImages(np.zeros((3, 2, 2, 3), np.uint8), np.array([1, 0, 1]), ("cat", "dog"))
    >>> image, label = pictures[2]
    >>> len(pictures), image.shape, pictures.classes[label]
    (3, (2, 2, 3), 'dog')
    """

    images: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        return self.images[i], int(self.labels[i])


@dataclass(frozen=True, eq=False)
class CaptionedImages:
    """``images`` (n, h, w, 3) as bytes, each with its caption and the file it came from."""

    images: np.ndarray
    captions: tuple[str, ...]
    files: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[np.ndarray, str]:
        return self.images[i], self.captions[i]


def load_cifar100(folder: str | os.PathLike[str], subset: str = "train") -> LabeledImages:
    """CIFAR-100 from ``train.bin`` or ``test.bin`` of its binary version, which holds bytes only."""
    if subset not in SUBSETS:
        raise ValueError(f"load_cifar100: subset must be 'train' or 'test'; got {subset!r}.")
    path = Path(folder) / SUBSETS[subset]
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; the folder must hold CIFAR-100's binary version.")
    raw = np.fromfile(path, dtype=np.uint8)
    if raw.size == 0 or raw.size % RECORD:
        raise ValueError(f"{path}: must hold records of {RECORD} bytes; got {raw.size} bytes.")
    records = raw.reshape(-1, RECORD)
    labels = records[:, 1].astype(np.int64)
    if labels.max() >= len(CIFAR100_CLASSES):
        raise ValueError(f"{path}: classes must be from 0 to 99; got {labels.max()}.")
    images = records[:, 2:].reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    return LabeledImages(images, labels, CIFAR100_CLASSES)


def load_lsun(folder: str | os.PathLike[str], resize: tuple[int, int] | None = (64, 64)) -> LabeledImages:
    """Scenes from a folder with one subfolder per category of LSUN, some or all of them."""
    pictures = open_image_folder(folder, classes=LSUN_CATEGORIES, resize=resize)
    number = {name: i for i, name in enumerate(LSUN_CATEGORIES)}
    return LabeledImages(pictures.images, np.array([number[name] for name in pictures.labels]), LSUN_CATEGORIES)


def read_captioned_images(folder: str | os.PathLike[str], resize: tuple[int, int] | None = (64, 64)) -> CaptionedImages:
    """Every image of a folder whose caption stands in a text file of the same name beside it."""
    paths = sorted(file for file in Path(folder).rglob("*") if file.suffix.lower() in SUFFIXES)
    if not paths:
        raise ValueError(f"{folder}: holds no pictures ({' '.join(SUFFIXES)}).")
    missing = [path for path in paths if not path.with_suffix(".txt").is_file()]
    if missing:
        raise ValueError(f"{missing[0]}: needs its caption in {missing[0].with_suffix('.txt').name} beside it.")
    captions = tuple(path.with_suffix(".txt").read_text(encoding="utf-8").strip() for path in paths)
    pictures = read_images(paths, resize=resize)
    return CaptionedImages(pictures.images, captions, pictures.files)
