"""What fitted naive Bayes models and discriminants hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Violation

__all__ = ["categories_ascend"]


def categories_ascend(model: Mapping[str, Any], _: Sizes) -> None:
    for values, counts in zip(model.get("categories_", []), model.get("_value_count", [])):
        if counts.shape[1] != len(values) or np.any(np.diff(values) <= 0):
            raise Violation("categories_ must ascend, with one column of counts for each")
