"""Pictures for a trained model: single files, plain folders of them, and whether a folder has the size of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from margin.data.image_folder import SUFFIXES, read_images
from margin.service.requests import BadRequest
from margin.service.sources import Source

__all__ = ["check_size", "predict_pictures"]


def predict_pictures(
    model: Any, data: str, proba: bool, manifest: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, np.ndarray] | None:
    """Predictions of ``model`` for a picture, or for a folder with pictures and no subfolders; None for other data.

    A model that knows nothing of pictures, such as one on their pixels, has them in the size of its fit.
    """
    files = _files(data)
    shape = _fitted_shape(model, manifest)
    if not files or not (hasattr(model, "predict_files") or shape):
        return None
    names = np.array([str(file) for file in files])
    try:
        if hasattr(model, "predict_files"):
            values = model.predict_proba_files(files) if proba else model.predict_files(files)
        else:
            values = (model.predict_proba if proba else model.predict)(_pixels(files, shape))
    except ValueError as error:
        raise BadRequest(str(error)) from None
    if not proba:
        return {"file": names, "prediction": values}
    return {"file": names, **{str(label): values[:, i] for i, label in enumerate(model.classes_)}}


def _fitted_shape(model: Any, manifest: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Height, width and channels of the pictures of the fit."""
    if hasattr(model, "image_shape_"):
        channels, height, width = model.image_shape_
        return height, width, channels
    known = manifest.get("image_shape")
    return None if known is None else (*known, 1)[:3]


def _pixels(files: Sequence[Path], shape: Any) -> np.ndarray:
    height, width, channels = shape
    images = read_images(files, resize=(height, width), color="gray" if channels == 1 else "rgb").images
    return images.reshape(len(images), -1)


def check_size(model: Any, source: Source, data: str, manifest: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Refuse pictures of another size than those of the fit, and say how they are brought to it."""
    fitted = _fitted_shape(model, manifest)
    if source.image_shape is None or fitted is None:
        return
    height, width, channels = fitted
    shape = (*source.image_shape, 1)[:3]
    if shape == fitted:
        return
    color = ",color=gray" if channels == 1 else ""
    folder = data.partition(":")[0]
    raise BadRequest(
        f"{data}: pictures have {shape[0]} x {shape[1]} pixels and {shape[2]} channel(s), the model was fitted to "
        f"{height} x {width} and {channels}; {folder}:resize={height}x{width}{color} brings them to that."
    )


def _files(data: str) -> list[Path]:
    path = Path(data)
    if path.is_file():
        return [path] if path.suffix.lower() in SUFFIXES else []
    if not path.is_dir() or any(part.is_dir() and not part.name.startswith(".") for part in path.iterdir()):
        return []
    return sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
