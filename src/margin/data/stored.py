"""What the fitted steps of a pipeline on tables hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import (
    ArrayOf,
    Count,
    DictOf,
    Form,
    ListOf,
    OneOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    Violation,
    sometimes,
)
from margin.data.coercion import SPELLINGS
from margin.data.date_parts import PARTS
from margin.data.kinds import KINDS

__all__ = ["FORMS"]

OUTPUT: dict[str, Stored] = {"_sklearn_output_config": sometimes(DictOf(StringOf(), StringOf()))}


def _kinds_are_known(model: Mapping[str, Any], _: Sizes) -> None:
    kinds = model["kinds"]
    if any(kind not in KINDS for kind in kinds.values()):
        raise Violation(f"kinds must be among {', '.join(KINDS)}")
    if "spellings_" in model and set(model["spellings_"]) != set(kinds):
        raise Violation("spellings_ must have an entry for each column of kinds")


def _labels_differ(model: Mapping[str, Any], _: Sizes) -> None:
    if any(len(set(labels)) != len(labels) for labels in model.get("labels_", ())):
        raise Violation("labels_ of a column must differ")


def _one_weight_per_term(model: Mapping[str, Any], _: Sizes) -> None:
    for terms, idf in zip(model.get("terms_", ()), model.get("idf_", ())):
        if len(terms) != len(idf) or len(set(terms)) != len(terms):
            raise Violation("terms_ must differ, with one weight of idf_ for each")


def _dates_are_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "first_" in model and np.isnat(model["first_"]).any():
        raise Violation("first_ must hold dates")


def _range_is_one(model: Mapping[str, Any], _: Sizes) -> None:
    if model.get("lowest_", 0.0) > model.get("highest_", 0.0):
        raise Violation("lowest_ must be at most highest_")


def _centers_and_scales(model: Mapping[str, Any], _: Sizes) -> None:
    if not (model["with_mean"] is True and model["with_std"] is True and isinstance(model["copy"], bool)):
        raise Violation("with_mean and with_std must be True, and copy True or False")


FORMS: Mapping[str, Form] = {
    "CategoryColumns": Form(
        {
            **OUTPUT,
            "labels_": ListOf(ListOf(StringOf()), "n_features"),
            "merged_": ArrayOf("n_features", kind="b"),
        },
        [_labels_differ],
    ),
    "ColumnReader": Form({**OUTPUT, "spellings_": DictOf(StringOf(), StringOf(SPELLINGS))}, [_kinds_are_known]),
    "StandardColumns": Form(
        {
            **OUTPUT,
            **dict.fromkeys(("mean_", "var_"), ArrayOf("n_features", finite=False)),
            "scale_": ArrayOf("n_features", finite=False),  # infinite for a constant column
            "n_samples_seen_": OneOf(Count(), ArrayOf("n_features", kind="i", low=0), Real(0.0, finite=True)),
        },
        [_centers_and_scales],
    ),
    "DateParts": Form(
        {
            **OUTPUT,
            "first_": ArrayOf("n_features", kind="datetime64[us]"),
            "kept_": ArrayOf("n_features", len(PARTS), kind="b"),
        },
        [_dates_are_there],
    ),
    "JoinedTexts": Form({**OUTPUT}),
    "LogTarget": Form({**OUTPUT, "lowest_": Real(), "highest_": Real()}, [_range_is_one]),
    "TfidfColumns": Form(
        {
            **OUTPUT,
            "terms_": ListOf(ListOf(StringOf()), "n_features"),
            "idf_": ListOf(ArrayOf(None, low=0), "n_features"),
        },
        [_one_weight_per_term],
    ),
}
