"""When a node may be split: the parameters that all trees and forests share, and the rules they become for a fit."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.category_encoding import CATEGORICAL
from margin.core.domains import Choice, Domain, Either, Integer, Number, Optional, Seed
from margin.core.parameters import Declared, parameter
from margin.core.randomness import RandomLike
from margin.trees.columns import MAX_FEATURES, MONOTONE, feature_count

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import GrowthRules
    from margin.trees.cart.training_data import TrainingData

__all__ = ["GrowthLimits", "growth_rules"]

MAX_BINS: Domain = Optional(Either(Choice("auto"), Integer(low=2, high=255)))
NO_LIMIT = 2**31 - 1


class GrowthLimits(Declared):
    """How a tree may grow."""

    _: KW_ONLY
    max_depth: int | None = parameter(
        None,
        Optional(Integer(low=1, search=(2, 30))),
        "Most questions between the root and a leaf; None sets no limit.",
    )
    min_samples_split: int | float = parameter(
        2,
        Either(Integer(low=2), Number(above=0, below=1), Choice(1.0)),
        "Rows that a node needs to be split, as a count or a fraction of all rows.",
    )
    min_samples_leaf: int | float = parameter(
        1,
        Either(Integer(low=1, search=(1, 50), log=True), Number(above=0, below=1)),
        "Rows that each side of a split needs, as a count or a fraction of all rows.",
    )
    min_weight_fraction_leaf: float = parameter(
        0.0, Number(low=0, high=0.5), "Fraction of the total weight that each side of a split needs."
    )
    max_features: int | float | str | None = parameter(
        None,
        MAX_FEATURES,
        "Columns looked at per split: a count, a fraction, 'sqrt', 'log2', 'third' (p / 3, rounded down) or None for "
        "all. More are looked at until one offers a split.",
    )
    max_leaf_nodes: int | None = parameter(
        None,
        Optional(Integer(low=2)),
        "Most leaves; with a limit the node that gains most is split first, without one growth is depth-first.",
    )
    min_impurity_decrease: float = parameter(
        0.0, Number(low=0), "What a split must remove of the impurity, times the node's fraction of the weight."
    )
    ccp_alpha: float = parameter(
        0.0,
        Number(low=0, search=(1e-5, 0.05), log=True),
        "Price of a leaf in minimal cost-complexity pruning after growth; 0 does not prune.",
    )
    max_bins: int | str | None = parameter(
        "auto",
        MAX_BINS,
        "Thresholds looked at per column: None for every one, or those between so many bins of equal frequency; 'auto' "
        "takes 255 bins when a single tree has over 10,000 rows, a forest over 1,000.",
    )
    categorical_features: Any = parameter(
        "from_dtype",
        CATEGORICAL,
        "Columns to be split into two sets of categories: numbers, names or one flag per column; 'from_dtype' takes "
        "those of a data frame that hold strings or are of dtype category. A category that training did not see is "
        "missing.",
    )
    monotonic_cst: Any = parameter(
        None, MONOTONE, "1, -1 or 0 per column: the prediction may only rise, or fall, with it, or is free."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws columns, thresholds and samples of rows.")


def growth_rules(model: Any, data: TrainingData, *, random: bool) -> GrowthRules:
    """The limits that the parameters of ``model`` (a :class:`GrowthLimits`) set for ``data``, in rows and weight."""
    from margin.trees.cart.kernel_types import GrowthRules

    n, columns = data.X.shape
    total = float(data.weight.sum())
    monotone = np.zeros(columns, dtype=np.int8) if data.monotone is None else data.monotone.astype(np.int8)
    return GrowthRules(
        mode=_mode(type(model).__name__, model.criterion, data),
        classes=data.channels(model.criterion),
        max_depth=NO_LIMIT if model.max_depth is None else int(model.max_depth),
        max_leaves=0 if model.max_leaf_nodes is None else int(model.max_leaf_nodes),
        min_split=max(2, row_count(model.min_samples_split, n)),
        min_leaf=row_count(model.min_samples_leaf, n),
        min_weight=float(model.min_weight_fraction_leaf) * total,
        min_decrease=float(model.min_impurity_decrease) * total,
        max_features=feature_count(model.max_features, columns),
        random=random,
        weight_is_count=False,
        exact=False,
        constrained=bool(monotone.any()),
        monotone=monotone,
    )


def _mode(owner: str, criterion: str, data: TrainingData) -> int:
    """The kernels that follow ``criterion`` for one target or several."""
    from margin.trees.cart import kernel_types as modes

    if criterion == "poisson":
        return modes.POISSON
    one = {"squared_error": modes.SQUARED_ERROR, "friedman_mse": modes.SQUARED_ERROR}
    one |= {"absolute_error": modes.ABSOLUTE_ERROR, "gini": modes.GINI}
    if data.target.ndim == 1:
        return one.get(criterion, modes.ENTROPY)
    if criterion == "absolute_error":
        raise ValueError(f"{owner}: criterion 'absolute_error' takes one target; got {data.target.shape[1]}.")
    if data.classes is None:
        return modes.MULTI_SQUARED_ERROR
    return modes.MULTI_GINI if criterion == "gini" else modes.MULTI_ENTROPY


def row_count(given: int | float, n: int) -> int:
    """Rows that a count, or a fraction of ``n`` rows (rounded up), asks for.

    >>> row_count(5, 30), row_count(0.1, 31)
    (5, 4)
    """
    return ceil(given * n) if isinstance(given, float | np.floating) else int(given)
