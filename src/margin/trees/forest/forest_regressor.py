"""What forests that predict numbers share: the trees' predictions are averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY

import numpy as np
from sklearn.base import RegressorMixin

from margin.core.array_types import MatrixLike
from margin.core.invariants import ListOf
from margin.core.parameters import attribute, default, parameter
from margin.trees.cart.decision_tree import NUMBER_CRITERION, NUMBER_SENTENCE
from margin.trees.forest.forest import Forest
from margin.trees.stored import LEFT_OUT, TARGET_TREE, categories_are_coded

__all__ = ["ForestRegressor"]


class ForestRegressor(RegressorMixin, Forest):
    """A forest whose trees' predictions are averaged."""

    _: KW_ONLY
    criterion: str = parameter("squared_error", NUMBER_CRITERION, NUMBER_SENTENCE)
    max_features: int | float | str | None = default(1.0)

    trees_: list[Mapping[str, np.ndarray]] = attribute(
        ListOf(TARGET_TREE, own=("n_nodes", "n_sets")),
        "The trees, each a dict of arrays as in :mod:`margin.trees.cart.structure`.",
    )
    oob_prediction_: np.ndarray = attribute(
        LEFT_OUT,
        "Prediction for every training row by the trees that left it out, (n,) or (n, targets), if oob_score=True; "
        "NaN where all drew it.",
    )
    _stored_rules = (categories_are_coded,)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The average of the trees' predictions, (n,) or (n, targets)."""
        average = self._average(X)
        return average[:, 0] if average.shape[1] == 1 else average

    def _learn_averages(self, averages: np.ndarray) -> None:
        self.oob_prediction_ = averages[:, 0] if averages.shape[1] == 1 else averages
