"""What fitted transformers of images hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Sizes, Violation
from margin.vision.features.columns import MOST_COLUMNS, hog_columns

__all__ = ["images_have_the_columns"]


def images_have_the_columns(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "image_shape_" not in model:
        return
    shape = model["image_shape_"]
    if len(shape) != 3 or shape[0] * shape[1] * shape[2] != sizes["n_features"]:
        raise Violation("image_shape_ must be channels, height and width with as many values as X has columns")
    if "words_" in model:
        columns = sizes["n_words"]
    elif "bins" in model:
        columns = hog_columns(shape[1], shape[2], model["cell"], model["bins"], model["block"])
    else:
        columns = sizes["n_features"]
    if model["n_features_out_"] != columns or columns > MOST_COLUMNS:
        raise Violation(f"n_features_out_ must be what images of this shape give, at most {MOST_COLUMNS}")
