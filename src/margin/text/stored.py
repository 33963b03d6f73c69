"""What one attribute of a fitted tagger says of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Sizes, Violation

__all__ = ["unknown_words_have_a_column"]


def unknown_words_have_a_column(model: Mapping[str, Any], _: Sizes) -> None:
    if "words_" in model and "\n" not in model["words_"]:
        raise Violation("words_ must have an entry for unknown words")
