"""Folders of pictures, one subfolder per class, as one array of fixed size."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from margin.data.dataset import Dataset
from margin.data.unpacking import check_picture

__all__ = ["MODES", "decode_picture", "read_image", "read_image_folder"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
MODES = {"gray": "L", "rgb": "RGB"}


def read_image(path: str | os.PathLike[str], size: tuple[int, int] | None = None, color: str = "rgb") -> np.ndarray:
    """One picture as float32 in [0, 1]: (height, width) for ``color="gray"``, (height, width, 3) for ``"rgb"``.

    ``size`` is (height, width); a picture of another size is resized (bilinear), not cropped.
    """
    if color not in MODES:
        raise ValueError(f"read_image: color must be 'gray' or 'rgb'; got {color!r}.")
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise ValueError(f"read_image: size must be two positive numbers (height, width); got {size!r}.")
    return np.asarray(decode_picture(path, size, color), dtype=np.float32) / np.float32(255)


def decode_picture(path: str | os.PathLike[str], size: tuple[int, int] | None, color: str) -> np.ndarray:
    """The bytes of a picture (height, width) or (height, width, 3), resized to ``size`` if it has another."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # Of large pictures Pillow only warns; what one may take is decided here.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(path) as opened:
                check_picture(*opened.size, len(MODES[color]), os.path.getsize(path))
                picture = opened.convert(MODES[color])
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as problem:
        if isinstance(problem, FileNotFoundError):
            raise FileNotFoundError(f"{path}: there is no such file.") from None
        raise ValueError(f"{path}: cannot be read as a picture ({str(problem).rstrip('.')}).") from None
    if size is not None and picture.size != (size[1], size[0]):
        picture = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return np.asarray(picture)


def read_image_folder(path: str | os.PathLike[str], size: tuple[int, int] = (32, 32), color: str = "rgb") -> Dataset:
    """All pictures below ``path``, whose subfolders are the classes (in alphabetical order), flattened to rows."""
    path = Path(path)
    if not path.is_dir():
        raise NotADirectoryError(f"{path}: is not a folder with one subfolder per class.")
    classes = sorted(folder.name for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    files = [(file, label) for label, name in enumerate(classes) for file in _pictures(path / name)]
    empty = sorted(set(classes) - {classes[label] for _, label in files})
    if not classes:
        raise ValueError(f"{path}: has no subfolders; each class needs one.")
    if empty:
        raise ValueError(f"{path}: class folder {empty[0]!r} holds no pictures ({' '.join(SUFFIXES)}).")
    images = np.stack([read_image(file, size, color) for file, _ in files])
    X = images.reshape(len(images), -1)
    return Dataset(
        name=path.name,
        X=X,
        y=np.array([label for _, label in files], dtype=np.int64),
        feature_names=tuple(f"pixel_{i}" for i in range(X.shape[1])),
        target_names=tuple(classes),
        task="classification",
        description=f"{len(images)} pictures of {len(classes)} classes from {path}.",
        target="class",
        image_shape=images.shape[1:],
    )


def _pictures(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
