"""Models that are given texts, not rows with columns."""

from __future__ import annotations

from typing import Any

from margin.core.invariants import NO_COLUMNS
from margin.core.parameters import Declared, attribute

__all__ = ["TextInput"]


class TextInput(Declared):
    """``X`` is a sequence of texts."""

    n_features_in_: int = attribute(NO_COLUMNS["n_features_in_"], "Not set: texts have no columns.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
