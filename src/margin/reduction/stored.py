"""What fitted projections and embeddings hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Sizes, Violation

__all__ = ["enough_rows"]


def enough_rows(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "X_fit_" in model and (model.get("n_neighbors") or 0) > sizes["n_samples"]:
        raise Violation("n_neighbors must be at most the number of rows that are stored")
