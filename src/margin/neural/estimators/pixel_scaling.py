"""``preprocessor_config.json``: how a folder of transformers scales pixels from 0 to 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from margin.neural.transformers_layout.folder import read_json

__all__ = ["read_scaling", "write_scaling"]

PREPROCESSOR = "preprocessor_config.json"
MIDDLE = 0.5  # mean and deviation where a folder names none
NAMES = (("center", "image_mean"), ("scale", "image_std"))  # ours and theirs
BYTE = 255.0


def read_scaling(folder: Path, n_channels: int, owner: str) -> dict[str, list[float]]:
    """Mean and deviation of every channel."""
    path = folder / PREPROCESSOR
    given = read_json(path) if path.is_file() else {}
    scaling = {}
    for ours, theirs in NAMES:
        values = given.get(theirs, [MIDDLE] * n_channels)
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        if not numbers or len(values) != n_channels or (ours == "scale" and min(values) <= 0):
            raise ValueError(f"{owner}: {theirs} in {path} must be {n_channels} numbers; got {str(values)[:80]}.")
        scaling[ours] = [float(value) for value in values]
    return scaling


def write_scaling(folder: Path, network: Mapping[str, Any], unit: float, processor: str) -> None:
    """Write the scaling of a network whose pixels go from 0 to ``unit``, and the size of its images."""
    scaling = {theirs: [value / unit for value in network[ours]] for ours, theirs in NAMES}
    _, height, width = network["shape"]
    settings = {"image_processor_type": processor, "do_resize": True, "size": {"height": height, "width": width}}
    settings |= {"do_normalize": True, "do_rescale": True, "rescale_factor": 1 / BYTE, **scaling}
    (folder / PREPROCESSOR).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
