"""A folder of pictures with the boxes of their objects, as Pascal VOC lays it out.

``JPEGImages`` holds the pictures, ``Annotations`` one XML file of the same name each, and ``ImageSets/Main`` lists of
names for training and test, where there are any.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from margin.data.box_files import read_voc
from margin.data.boxes import Boxes
from margin.data.image_folder import SUFFIXES, read_images

__all__ = ["DetectionFolder", "is_detection_folder", "listed_files", "open_detection_folder", "scaled_boxes"]


@dataclass(frozen=True, eq=False)
class DetectionFolder:
    """``images`` (n, h, w, 3) as bytes, the ``boxes`` of each in its pixels, and the ``files`` they came from."""

    images: np.ndarray
    boxes: list[Boxes]
    files: tuple[Path, ...]


def is_detection_folder(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` has pictures and annotations in VOC's layout."""
    return all((Path(path) / name).is_dir() for name in ("Annotations", "JPEGImages"))


def open_detection_folder(
    path: str | os.PathLike[str],
    *,
    subset: str | None = None,
    resize: tuple[int, int] | None = None,
    color: str = "rgb",
) -> DetectionFolder:
    """Pictures and boxes of all that is annotated, or of the names that ``ImageSets/Main/<subset>.txt`` lists.

    ``resize`` is (height, width); boxes are moved along, and what reaches beyond the picture is cut off.
    """
    path = Path(path)
    files = listed_files(path, subset)
    read = read_images(files, resize=resize, color=color)
    height, width = read.images.shape[1:3]
    boxes = []
    for file in files:
        annotated = read_voc(path / "Annotations" / f"{file.stem}.xml")
        boxes.append(scaled_boxes(annotated, _size(file) if resize else (height, width), (height, width)))
    return DetectionFolder(read.images, boxes, read.files)


def listed_files(path: str | os.PathLike[str], subset: str | None = None) -> list[Path]:
    """The pictures that are annotated, or those of a subset, in order."""
    path = Path(path)
    if not is_detection_folder(path):
        raise ValueError(f"open_detection_folder: {path} must hold the folders Annotations and JPEGImages.")
    pictures = {file.stem: file for file in sorted((path / "JPEGImages").iterdir()) if file.suffix.lower() in SUFFIXES}
    names = _names(path, subset)
    missing = [name for name in names if name not in pictures or not (path / "Annotations" / f"{name}.xml").exists()]
    if missing or not names:
        lacks = f"has no picture or annotation named {missing[0]!r}" if missing else "has no annotations"
        raise ValueError(f"open_detection_folder: {path} {lacks}.")
    return [pictures[name] for name in names]


def scaled_boxes(boxes: Boxes, old: tuple[int, int], new: tuple[int, int]) -> Boxes:
    """Boxes of a picture of size ``old`` (height, width) in one of size ``new``; those outside of it are left out.

    >>> scaled_boxes(Boxes([[10, 10, 30, 20]], ["cell"]), (20, 40), (10, 20)).xyxy
    array([[ 5.,  5., 15., 10.]])
    """
    (h, w), (height, width) = old, new
    corners = boxes.xyxy * np.array([width / w, height / h] * 2)
    corners = np.clip(corners, 0, [width, height, width, height])
    kept = np.flatnonzero((corners[:, 2:] > corners[:, :2]).all(axis=1))
    return Boxes(corners[kept], boxes.labels[kept], None if boxes.scores is None else boxes.scores[kept])


def _names(path: Path, subset: str | None) -> list[str]:
    if subset is None:
        return sorted(file.stem for file in (path / "Annotations").glob("*.xml"))
    listed = path / "ImageSets" / "Main" / f"{subset}.txt"
    if not listed.exists():
        known = sorted(file.stem for file in (path / "ImageSets" / "Main").glob("*.txt"))
        raise ValueError(f"open_detection_folder: subset must be one of {', '.join(known) or 'none'}; got {subset!r}.")
    return listed.read_text(encoding="utf-8").split()


def _size(file: Path) -> tuple[int, int]:
    from PIL import Image

    with Image.open(file) as picture:
        return picture.size[1], picture.size[0]
