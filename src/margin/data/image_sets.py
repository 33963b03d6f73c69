"""Well-known sets of images: what they are, a reader for CIFAR-10's files, and ImageNet's usual preprocessing.

Neither set comes with the library. CIFAR-10 is read from its binary version (``cifar-10-batches-bin``), which holds
bytes only, unlike the pickled one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from margin.data.dataset import Dataset

__all__ = ["CIFAR10_CLASSES", "IMAGE_SETS", "image_set_info", "load_cifar10", "preprocess_imagenet"]

CIFAR10_CLASSES = ("airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE, CHANNELS = 32, 3
RECORD = 1 + CHANNELS * SIDE * SIDE  # a byte for the class, then red, green and blue planes
TRAINING_FILES = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
TEST_FILES = ("test_batch.bin",)

IMAGE_SETS: Mapping[str, Mapping[str, Any]] = {
    "cifar10": {
        "images": 60_000,
        "shape": (SIDE, SIDE, CHANNELS),
        "classes": CIFAR10_CLASSES,
        "per_class": 6_000,
        "access": "https://www.cs.toronto.edu/~kriz/cifar.html, binary version",
    },
    "imagenet": {
        "images": 14_000_000,
        "with_boxes": 1_000_000,
        "categories": 20_000,
        "access": "https://www.image-net.org, on request for research; one folder per class",
    },
}
# Mean and deviation of the channels of ImageNet, for values from 0 to 1.
IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGENET_RESIZE, IMAGENET_CROP = 256, 224


def image_set_info(name: str) -> Mapping[str, Any]:
    """Facts about a set, without its files.

    >>> image_set_info("cifar10")["per_class"]
    6000
    """
    if name not in IMAGE_SETS:
        raise ValueError(f"image_set_info: name must be one of {', '.join(IMAGE_SETS)}; got {name!r}.")
    return IMAGE_SETS[name]


def load_cifar10(folder: str | os.PathLike[str], subset: str = "all") -> Dataset:
    """CIFAR-10 from the folder of its binary files, flat rows of bytes (32, 32, 3) with the usual split.

    ``subset`` is "train", "test" or "all".
    """
    parts = {"train": TRAINING_FILES, "test": TEST_FILES, "all": (*TRAINING_FILES, *TEST_FILES)}
    if subset not in parts:
        raise ValueError(f"load_cifar10: subset must be 'train', 'test' or 'all'; got {subset!r}.")
    read = {name: _records(Path(folder) / name) for name in parts[subset]}
    records = np.concatenate(list(read.values()))
    planes = records[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE)
    X = planes.transpose(0, 2, 3, 1).reshape(len(records), -1)
    n_train = sum(len(part) for name, part in read.items() if name in TRAINING_FILES)
    split = (np.arange(n_train), np.arange(n_train, len(records))) if subset == "all" else None
    return Dataset(
        name="cifar10",
        X=X,
        y=records[:, 0].astype(np.int64),
        feature_names=tuple(f"pixel_{i}" for i in range(X.shape[1])),
        target_names=CIFAR10_CLASSES,
        task="classification",
        description="Color images of 32 x 32 pixels in 10 classes.",
        target="class",
        image_shape=(SIDE, SIDE, CHANNELS),
        split=split,
    )


def _records(path: Path) -> np.ndarray:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; the folder must hold CIFAR-10's binary version.")
    raw = np.fromfile(path, dtype=np.uint8)
    if raw.size == 0 or raw.size % RECORD:
        raise ValueError(f"{path}: must hold records of {RECORD} bytes; got {raw.size} bytes.")
    records = raw.reshape(-1, RECORD)
    if records[:, 0].max() >= len(CIFAR10_CLASSES):
        raise ValueError(f"{path}: classes must be from 0 to 9; got {records[:, 0].max()}.")
    return records


def preprocess_imagenet(image: Any) -> np.ndarray:
    """A Pillow image or (h, w, 3) bytes as (3, 224, 224): the shorter side brought to 256, the middle cut out, each
    channel standardized by ImageNet's mean and deviation.

    >>> preprocess_imagenet(np.zeros((300, 400, 3), dtype=np.uint8)).shape
    (3, 224, 224)
    """
    from PIL import Image

    picture = (image if isinstance(image, Image.Image) else Image.fromarray(np.asarray(image))).convert("RGB")
    factor = IMAGENET_RESIZE / min(picture.size)
    width, height = (max(IMAGENET_RESIZE, round(side * factor)) for side in picture.size)
    pixels = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR), dtype=np.float32) / 255
    top, left = (height - IMAGENET_CROP) // 2, (width - IMAGENET_CROP) // 2
    middle = pixels[top : top + IMAGENET_CROP, left : left + IMAGENET_CROP]
    return ((middle - np.float32(IMAGENET_MEAN)) / np.float32(IMAGENET_DEVIATION)).transpose(2, 0, 1)
