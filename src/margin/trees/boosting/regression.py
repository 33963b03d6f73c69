"""Gradient-boosted regression trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from margin.core.domains import Choice, Number
from margin.trees.boosting import losses
from margin.trees.boosting.base import SHARED_DOMAINS, BoostedTrees

__all__ = ["GradientBoostingRegressor"]


class GradientBoostingRegressor(RegressorMixin, BoostedTrees):
    """Gradient-boosted regression trees.

    ``loss`` is "squared_error", "absolute_error", "huber", "quantile" or "poisson" (log link, for counts); ``alpha``
    is the quantile, and for "huber" the share of residuals that is not cut. Leaf values minimize the loss within the
    leaf: exactly (means, medians, quantiles, Huber's location), for "poisson" by a Newton step.

    A tree is grown leaf by leaf on at most ``max_bins`` bins per column, up to ``max_leaf_nodes`` leaves; a split
    needs ``min_samples_leaf`` rows on both sides and a gain above ``min_gain``, the drop of the loss's quadratic
    model with ``l2_regularization`` added to the hessian. Every tree sees a share ``subsample`` of the rows, every
    node a share ``max_features`` of the columns. NaN is missing, and goes where the loss gains most.
    ``categorical_features`` (numbers, names or one flag per column, or "from_dtype": those of a data frame that hold
    strings or are of dtype category) are split into sets of categories, which may be words; one that training did not
    see counts as missing.
    ``monotonic_cst`` holds 1, -1 or 0 per column. ``early_stopping`` holds back ``validation_fraction`` of the rows
    and stops when their loss has not improved by more than ``tol`` for ``n_iter_no_change`` rounds. ``warm_start``
    continues a fitted model up to ``n_estimators`` rounds.

    Learned: ``trees_`` (flat arrays; ``tree(i)`` gives one), ``start_``, ``bins_``, ``train_loss_`` and
    ``validation_loss_`` (before the first round and after each), ``n_iter_``, ``feature_importances_``. One round costs
    O(n p) in the worst case, less by half or more because siblings share one count.

    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X, np.where(X[:, 0] < 100, 1.0, 3.0))
    >>> model.predict([[20.0], [150.0]]).round(2)
    array([1.01, 2.99])
    """

    domains = {
        "loss": Choice("squared_error", "absolute_error", "huber", "quantile", "poisson"),
        "alpha": Number(above=0, below=1),
        **SHARED_DOMAINS,
    }
    _y_rules = {"y_numeric": True}

    def __init__(
        self,
        loss: str = "squared_error",
        alpha: float = 0.9,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        min_gain: float = 0.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        max_features: float = 1.0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        super().__init__(
            n_estimators,
            learning_rate,
            max_leaf_nodes,
            max_depth,
            min_samples_leaf,
            l2_regularization,
            min_gain,
            max_bins,
            subsample,
            max_features,
            categorical_features,
            monotonic_cst,
            early_stopping,
            validation_fraction,
            n_iter_no_change,
            tol,
            warm_start,
            random_state,
        )
        self.loss = loss
        self.alpha = alpha

    def predict(self, X: Any) -> np.ndarray:
        """The predicted mean (or median, or quantile) for every row."""
        return self._loss().answer(self._raw(X)[0])

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """What :meth:`predict` would have said after every round."""
        for raw in self._staged(X):
            yield self._loss().answer(raw[0])

    def _loss(self) -> losses.Loss:
        return {
            "squared_error": losses.Squared(),
            "absolute_error": losses.Absolute(),
            "huber": losses.Huber(self.alpha),
            "quantile": losses.Quantile(self.alpha),
            "poisson": losses.Poisson(),
        }[self.loss]

    def _targets(self, y: np.ndarray, weight: np.ndarray) -> tuple[losses.Loss, np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64)
        if self.loss == "poisson" and (np.any(y < 0) or not np.sum(weight * y) > 0):
            raise ValueError(
                "GradientBoostingRegressor: loss='poisson' needs y >= 0 with a positive sum; got a minimum of "
                f"{float(y.min())!r}."
            )
        return self._loss(), y, weight
