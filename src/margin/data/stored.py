"""What one attribute of a fitted step of a pipeline on tables says of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Sizes, Violation
from margin.data.kinds import KINDS

__all__ = [
    "centers_and_scales",
    "dates_are_there",
    "kinds_are_known",
    "labels_differ",
    "one_weight_per_term",
    "range_is_one",
]


def kinds_are_known(model: Mapping[str, Any], _: Sizes) -> None:
    kinds = model["kinds"]
    if any(kind not in KINDS for kind in kinds.values()):
        raise Violation(f"kinds must be among {', '.join(KINDS)}")
    if "spellings_" in model and set(model["spellings_"]) != set(kinds):
        raise Violation("spellings_ must have an entry for each column of kinds")


def labels_differ(model: Mapping[str, Any], _: Sizes) -> None:
    if any(len(set(labels)) != len(labels) for labels in model.get("labels_", ())):
        raise Violation("labels_ of a column must differ")


def one_weight_per_term(model: Mapping[str, Any], _: Sizes) -> None:
    for terms, idf in zip(model.get("terms_", ()), model.get("idf_", ())):
        if len(terms) != len(idf) or len(set(terms)) != len(terms):
            raise Violation("terms_ must differ, with one weight of idf_ for each")


def dates_are_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "first_" in model and np.isnat(model["first_"]).any():
        raise Violation("first_ must hold dates")


def range_is_one(model: Mapping[str, Any], _: Sizes) -> None:
    if model.get("lowest_", 0.0) > model.get("highest_", 0.0):
        raise Violation("lowest_ must be at most highest_")


def centers_and_scales(model: Mapping[str, Any], _: Sizes) -> None:
    if not (model["with_mean"] is True and model["with_std"] is True and isinstance(model["copy"], bool)):
        raise Violation("with_mean and with_std must be True, and copy True or False")
