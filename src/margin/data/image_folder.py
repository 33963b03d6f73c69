"""Image files as arrays of bytes: a list of files, or a folder with one subfolder per class.

Pictures of different sizes are refused unless ``resize`` says to which size they are brought. A file that cannot be
read is named: it ends the reading, or is left out with ``unreadable="skip"``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.row_files import row_array
from margin.data.images import MODES, decode_picture

__all__ = ["ImageFolder", "Pictures", "open_image_folder", "read_images"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
UNREADABLE = ("refuse", "skip")


@dataclass(frozen=True, eq=False)
class Pictures:
    """``images`` (n, h, w) or (n, h, w, 3) as bytes, the ``files`` they came from, and those ``skipped``, with why."""

    images: np.ndarray
    files: tuple[Path, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ImageFolder(Pictures):
    """Pictures with the ``labels`` (names of their folders) and all ``classes``."""

    labels: np.ndarray = None  # type: ignore[assignment]
    classes: tuple[str, ...] = ()


def read_images(
    files: Sequence[str | os.PathLike[str]],
    *,
    resize: tuple[int, int] | None = None,
    color: str = "rgb",
    unreadable: str = "refuse",
    memory_map: str | os.PathLike[str] | None = None,
) -> Pictures:
    """The pictures in ``files``, in order. ``resize`` is (height, width), by bilinear interpolation.

    Pictures are decoded one by one and need not fit into memory: many are written to a file, and read from there as
    they are needed. ``memory_map`` names that file, which is temporary otherwise.
    """
    _check(resize, color, unreadable)
    paths = [Path(file) for file in files]
    if not paths:
        raise ValueError("read_images: files must name at least one picture; got none.")
    kept: list[Path] = []
    skipped: list[str] = []
    images: Any = None
    for path in paths:
        try:
            picture = _decode(path, resize, color)
        except ValueError as problem:
            if unreadable == "refuse":
                raise ValueError(f"{problem} unreadable='skip' leaves such files out.") from None
            skipped.append(str(problem))
            continue
        first_shape = picture.shape if images is None else images.shape[1:]
        if picture.shape != first_shape:
            raise ValueError(
                f"read_images: pictures must all have one size unless resize is given; {kept[0]} has "
                f"{first_shape[0]} x {first_shape[1]} pixels and {path} {picture.shape[0]} x {picture.shape[1]}."
            )
        if images is None:
            shape = (len(paths), *picture.shape)
            images = (
                row_array(shape, np.uint8)
                if memory_map is None
                else np.lib.format.open_memmap(memory_map, mode="w+", dtype=np.uint8, shape=shape)
            )
        images[len(kept)] = picture
        kept.append(path)
    if images is None:
        raise ValueError(f"read_images: none of the {len(paths)} files can be read; the first: {skipped[0]}")
    return Pictures(images[: len(kept)], tuple(kept), tuple(skipped))


def open_image_folder(
    path: str | os.PathLike[str], *, classes: Iterable[str] | None = None, **options: Any
) -> ImageFolder:
    """All pictures below ``path``, whose subfolders are the classes; ``options`` are those of :func:`read_images`.

    ``classes`` are the only names that subfolders may have: those that a model knows, where it is to be scored.
    """
    path = Path(path)
    if not path.is_dir():
        raise NotADirectoryError(f"{path}: is not a folder with one subfolder per class.")
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    if not folders:
        raise ValueError(f"{path}: has no subfolders; pictures to learn from need one for each class.")
    if classes is not None:
        known = {str(name) for name in classes}
        unknown = [folder.name for folder in folders if folder.name not in known]
        if unknown:
            raise ValueError(f"{path}: class {unknown[0]!r} is unknown; the classes are {', '.join(sorted(known))}.")
    files_of_class = {folder.name: _picture_files(folder) for folder in folders}
    empty = [name for name, files in files_of_class.items() if not files]
    if empty:
        raise ValueError(f"{path}: class folder {empty[0]!r} holds no pictures ({' '.join(SUFFIXES)}).")
    label_of = {file: name for name, files in files_of_class.items() for file in files}
    pictures = read_images(list(label_of), **options)
    labels = np.array([label_of[file] for file in pictures.files])
    return ImageFolder(pictures.images, pictures.files, pictures.skipped, labels, tuple(files_of_class))


def _picture_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def _check(resize: tuple[int, int] | None, color: str, unreadable: str) -> None:
    if resize is not None and (len(resize) != 2 or min(resize) < 1):
        raise ValueError(f"read_images: resize must be two positive numbers (height, width); got {resize!r}.")
    if color not in MODES:
        raise ValueError(f"read_images: color must be 'gray' or 'rgb'; got {color!r}.")
    if unreadable not in UNREADABLE:
        raise ValueError(f"read_images: unreadable must be 'refuse' or 'skip'; got {unreadable!r}.")


def _decode(path: Path, size: tuple[int, int] | None, color: str) -> np.ndarray:
    try:
        return decode_picture(path, size, color)
    except FileNotFoundError as problem:
        raise ValueError(str(problem)) from None
