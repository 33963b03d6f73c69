"""What :class:`GradientBoostingRegressor` and :class:`GradientBoostingClassifier` declare alike."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from margin.core.domains import Choice, Either, Flag, Integer, Nested, Number, Optional, Seed
from margin.core.parameters import VERBOSE, Declared, parameter
from margin.core.randomness import RandomLike

__all__ = ["GradientBoostingParameters"]


class GradientBoostingParameters(Declared):
    """Parameters of boosting with trees that are fitted to the gradient."""

    _: KW_ONLY
    learning_rate: float = parameter(
        0.1, Number(low=0, search=(0.01, 0.3), log=True), "Factor by which every tree's values are shrunk."
    )
    n_estimators: int = parameter(100, Integer(low=1, search=(50, 500)), "Rounds of boosting, at most.")
    subsample: float = parameter(
        1.0, Number(above=0, high=1, search=(0.5, 1.0)), "Fraction of the rows drawn for every round."
    )
    criterion: str = parameter(
        "squared_error",
        Choice("squared_error", "friedman_mse"),
        "What a split lowers: the squared error of the gradient. Both names mean the same splits.",
    )
    min_samples_split: int | float = parameter(
        2,
        Either(Integer(low=2), Number(above=0, high=1)),
        "Rows that a node needs to be split, as a count or a fraction of all rows.",
    )
    min_samples_leaf: int | float = parameter(
        1,
        Either(Integer(low=1, search=(1, 100), log=True), Number(above=0, below=1)),
        "Rows that a leaf needs, as a count or a fraction of all rows.",
    )
    min_weight_fraction_leaf: float = parameter(
        0.0, Number(low=0, high=0.5), "Fraction of the total weight that a leaf needs."
    )
    max_depth: int | None = parameter(
        3, Optional(Integer(low=1, search=(1, 8))), "Most questions between the root and a leaf; None sets no limit."
    )
    min_impurity_decrease: float = parameter(
        0.0, Number(low=0), "What a split must take off the mean squared error of all rows, at least."
    )
    init: Any = parameter(
        None,
        Optional(Either(Choice("zero"), Nested("fit", "predict"))),
        "What the first round starts from: None is the best constant, 'zero' is zero, an estimator its predictions.",
    )
    max_features: int | float | str | None = parameter(
        None,
        Optional(Either(Choice("sqrt", "log2"), Integer(low=1), Number(above=0, high=1, search=(0.3, 1.0)))),
        "Columns drawn for every split: a count, a fraction, 'sqrt', 'log2' or None for all.",
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    max_leaf_nodes: int | None = parameter(
        None,
        Optional(Integer(low=2, search=(7, 127), log=True)),
        "Most leaves of a tree, which is then grown where the gain is largest.",
    )
    warm_start: bool = parameter(False, Flag(), "Whether fit continues a fitted model up to n_estimators rounds.")
    validation_fraction: float = parameter(
        0.1, Number(above=0, below=1), "Fraction of the rows held back to watch, if n_iter_no_change is given."
    )
    n_iter_no_change: int | None = parameter(
        None, Optional(Integer(low=1)), "Rounds without improvement after which the fit ends; None never ends it early."
    )
    tol: float = parameter(1e-4, Number(low=0), "What counts as an improvement.")
    ccp_alpha: float = parameter(
        0.0, Number(low=0), "Cost-complexity pruning: splits that take off less error than this per leaf are undone."
    )
    random_state: RandomLike = parameter(
        None,
        Seed(),
        "Draws the rows of rounds, the columns of splits, one of several columns that gain the same, and the rows held "
        "back.",
    )
