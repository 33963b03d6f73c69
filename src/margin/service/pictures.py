"""Pictures for a trained model: single files, plain folders of them, and whether a folder has the size of the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from margin.data.image_folder import SUFFIXES
from margin.service.requests import BadRequest
from margin.service.sources import Source

__all__ = ["check_size", "predict_pictures"]


def predict_pictures(model: Any, data: str, proba: bool) -> dict[str, np.ndarray] | None:
    """What ``model`` says of a picture file, or of a folder with pictures and no subfolders; None for other data."""
    files = _files(data)
    if not files or not hasattr(model, "predict_files"):
        return None
    names = np.array([str(file) for file in files])
    try:
        if not proba:
            return {"file": names, "prediction": model.predict_files(files)}
        values = model.predict_proba_files(files)
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return {"file": names, **{str(label): values[:, i] for i, label in enumerate(model.classes_)}}


def check_size(model: Any, source: Source, data: str) -> None:
    """Refuse pictures of another size than those of the fit, and say how they are brought to it."""
    if source.image_shape is None or not hasattr(model, "image_shape_"):
        return
    channels, height, width = model.image_shape_
    found = (*source.image_shape, 1)[:3]
    if found == (height, width, channels):
        return
    color = ",color=gray" if channels == 1 else ""
    folder = data.partition(":")[0]
    raise BadRequest(
        f"{data}: pictures have {found[0]} x {found[1]} pixels and {found[2]} channel(s), the model was fitted to "
        f"{height} x {width} and {channels}; {folder}:resize={height}x{width}{color} brings them to that."
    )


def _files(data: str) -> list[Path]:
    path = Path(data)
    if path.is_file():
        return [path] if path.suffix.lower() in SUFFIXES else []
    if not path.is_dir() or any(part.is_dir() and not part.name.startswith(".") for part in path.iterdir()):
        return []
    return sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
