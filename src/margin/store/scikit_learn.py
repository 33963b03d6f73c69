"""What the scikit-learn steps that a model file may hold are made of.

Their own code trusts these attributes: an encoder whose counts do not fit its categories would write a sparse matrix
beyond its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from margin.core.invariants import (
    NO_COLUMNS,
    Anything,
    ArrayOf,
    Count,
    DictOf,
    Form,
    ListOf,
    ModelWith,
    OneOf,
    Real,
    Sizes,
    Stored,
    StringOf,
    TrueOrFalse,
    Violation,
    optional,
    sometimes,
    steps_are_named_models,
)

__all__ = ["FORMS"]

OUTPUT: dict[str, Stored] = {"_sklearn_output_config": sometimes(DictOf(StringOf(), StringOf()))}
SEEN = OneOf(Count(), ArrayOf("n_features", kind="i", low=0), Real(0.0, finite=True))
PER_COLUMN = optional(ArrayOf("n_features", finite=False))  # a column without values has NaN

CATEGORIES = ListOf(ArrayOf(None, kind="labels"), "n_features")
DROPPED = optional(ArrayOf("n_features", kind="O"))


def _indices_are_categories(model: Mapping[str, Any], _: Sizes) -> None:
    categories = model.get("categories_", [])
    for name in ("drop_idx_", "_drop_idx_after_grouping"):
        for dropped, known in zip([] if model.get(name) is None else model[name], categories):
            if dropped is not None and not (isinstance(dropped, int | np.integer) and 0 <= dropped < len(known)):
                raise Violation(f"{name} must be numbers of categories_")
    for position in model.get("_missing_indices", {}):
        if position >= len(categories) or not 0 <= model["_missing_indices"][position] < len(categories[position]):
            raise Violation("_missing_indices must be numbers of categories_")


def _groups_are_of_categories(model: Mapping[str, Any], _: Sizes) -> None:
    """Which categories are put together because they are rare, and where each of them then stands."""
    categories = model.get("categories_", [])
    together = model.get("_infrequent_indices") or [None] * len(categories)
    positions = model.get("_default_to_infrequent_mappings") or [None] * len(categories)
    if not len(together) == len(positions) == len(categories):
        raise Violation("rare categories must be listed for every column")
    for rare, position, known in zip(together, positions, categories):
        if rare is not None and (rare.min(initial=0) < 0 or rare.max(initial=0) >= len(known)):
            raise Violation("_infrequent_indices must be numbers of categories_")
        kept = len(known) - (0 if rare is None else len(rare) - 1)
        if position is not None and (
            len(position) != len(known) or position.min(initial=0) < 0 or position.max(initial=0) >= kept
        ):
            raise Violation("_default_to_infrequent_mappings must give every category its position")


def _counts_follow_from_categories(model: Mapping[str, Any], _: Sizes) -> None:
    if "_n_features_outs" not in model:
        return
    expected = []
    groups, dropped = model.get("_infrequent_indices"), model.get("_drop_idx_after_grouping")
    for i, known in enumerate(model["categories_"]):
        rare = None if groups is None else groups[i]
        gone = dropped is not None and dropped[i] is not None
        expected.append(len(known) - gone - (0 if rare is None or not len(rare) else len(rare) - 1))
    if list(model["_n_features_outs"]) != expected:
        raise Violation("_n_features_outs must be the number of columns that the categories give")


ENCODER: dict[str, Stored] = {
    **OUTPUT,
    "categories_": CATEGORIES,
    "_infrequent_enabled": TrueOrFalse(),
    "_infrequent_indices": sometimes(optional(ListOf(optional(ArrayOf(None, kind="i")), "n_features"))),
    "infrequent_categories_": sometimes(Anything()),
    "_default_to_infrequent_mappings": sometimes(optional(ListOf(optional(ArrayOf(None, kind="i")), "n_features"))),
}
CHECKS = (_indices_are_categories, _groups_are_of_categories)


def _edges_ascend(model: Mapping[str, Any], sizes: Sizes) -> None:
    for edges, count in zip(model.get("bin_edges_", []), model.get("n_bins_", [])):
        if not isinstance(edges, np.ndarray) or edges.dtype.kind != "f" or edges.ndim != 1 or len(edges) != count + 1:
            raise Violation("bin_edges_ must hold one more edge per column than it has bins")
        if np.any(np.diff(edges) < 0):
            raise Violation("bin_edges_ must ascend")
    encoder = model.get("_encoder")
    if encoder is not None and getattr(encoder, "n_features_in_", sizes["n_features"]) != sizes["n_features"]:
        raise Violation("_encoder must have been fitted to as many columns")


@cache
def _imputers_learn() -> frozenset[str]:
    """What an imputer of the installed scikit-learn knows after a fit: 1.7.0 has no ``_fill_dtype`` yet."""
    from sklearn.impute import SimpleImputer

    return frozenset(vars(SimpleImputer().fit([[0.0]])))


def _fill_dtype_is_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "_fill_dtype" not in model and "_fill_dtype" in _imputers_learn():
        raise Violation("_fill_dtype is missing, as in files of scikit-learn 1.7.0; this version needs it")


FORMS: Mapping[str, Form] = {
    "Pipeline": Form({**OUTPUT, **NO_COLUMNS}, [steps_are_named_models]),
    "ColumnTransformer": Form(
        {
            **OUTPUT,
            "transformers_": ListOf(ListOf(Anything())),
            "sparse_output_": TrueOrFalse(),
            "output_indices_": DictOf(StringOf(), Anything()),
            "_n_features": sometimes(Count(size="n_features")),
            "_remainder": Anything(),
            "_columns": Anything(),
            "_transformer_to_input_indices": DictOf(StringOf(), OneOf(ListOf(Count()), ArrayOf(None, kind="i", low=0))),
            "_name_to_fitted_passthrough": sometimes(DictOf(StringOf(), ModelWith())),
        }
    ),
    "TransformedTargetRegressor": Form(
        {
            **NO_COLUMNS,
            "regressor_": ModelWith(["predict"], columns="n_features"),
            "transformer_": ModelWith(["inverse_transform"]),
            "_training_dim": Count(low=1),
        }
    ),
    "SimpleImputer": Form(
        {
            **OUTPUT,
            "statistics_": ArrayOf("n_features", kind="labels", finite=False),
            "indicator_": optional(ModelWith(["transform"])),
            "_fit_dtype": Anything(),
            "_fill_dtype": sometimes(Anything()),
        },
        [_fill_dtype_is_there],
    ),
    "MissingIndicator": Form(
        {
            **OUTPUT,
            "features_": ArrayOf(None, kind="i", low=0, below="n_features"),
            "_n_features": sometimes(Count(size="n_features")),
            "_precomputed": TrueOrFalse(),
        }
    ),
    "StandardScaler": Form(
        {**OUTPUT, "mean_": PER_COLUMN, "var_": PER_COLUMN, "scale_": PER_COLUMN, "n_samples_seen_": SEEN}
    ),
    "MinMaxScaler": Form(
        {
            **OUTPUT,
            **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), PER_COLUMN),
            "n_samples_seen_": SEEN,
        }
    ),
    "KBinsDiscretizer": Form(
        {
            **OUTPUT,
            "bin_edges_": ArrayOf("n_features", kind="O"),
            "n_bins_": ArrayOf("n_features", kind="i", low=1, high=10**6),
            "_encoder": sometimes(ModelWith(["transform"])),
        },
        [_edges_ascend],
    ),
    "OneHotEncoder": Form(
        {
            **ENCODER,
            "drop_idx_": DROPPED,
            "_drop_idx_after_grouping": DROPPED,
            "_n_features_outs": ListOf(Count()),
        },
        [*CHECKS, _counts_follow_from_categories],
    ),
    "OrdinalEncoder": Form({**ENCODER, "_missing_indices": DictOf(Count(), Count())}, CHECKS),
    "FunctionTransformer": Form({**OUTPUT, **NO_COLUMNS}),
}
