"""Gradient boosting as Friedman wrote it: small trees fitted to the gradient, then the best value of every leaf."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from math import ceil
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import encode_classes
from margin.core.domains import Choice, Either, Nested, Number, Optional
from margin.core.estimator import RUNNING
from margin.core.invariants import Count, ModelWith, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.randomness import seed_estimator
from margin.trees.boosting import losses
from margin.trees.boosting.boosted_prediction import BoostedClassifier, BoostedRegressor
from margin.trees.boosting.boosted_trees import BoostedTrees
from margin.trees.boosting.boosting_rounds import BoostingData, BoostingRounds, BoostingSettings
from margin.trees.boosting.early_stopping import NoneWorse
from margin.trees.boosting.gradient_boosting_parameters import GradientBoostingParameters
from margin.trees.boosting.growing import UNLIMITED
from margin.trees.boosting.kernel_types import SplitLimits
from margin.trees.boosting.losses import Loss
from margin.trees.cart.decision_tree import DecisionTreeRegressor
from margin.trees.columns import feature_count
from margin.trees.members import MemberSequence
from margin.trees.stored import CURVE, SCORE

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

SMALLEST_WEIGHT = 1e-12  # of a leaf, relative to all rows: below lies rounding
SMALLEST_PROBABILITY = 1e-7  # of init's predictions: the log-odds of zero are infinite


class _GradientBoosting(GradientBoostingParameters, MemberSequence, BoostedTrees):
    """How the parameters of boosting on gradients act."""

    train_score_: np.ndarray = attribute(CURVE, "Loss of the rows that a round learned from, after it, (rounds,).")
    oob_improvement_: np.ndarray = attribute(
        CURVE, "What every round took off the loss of the rows it did not draw, (rounds,); only with subsample < 1."
    )
    oob_scores_: np.ndarray = attribute(CURVE, "Loss of the rows that a round did not draw; only with subsample < 1.")
    oob_score_: float = attribute(SCORE, "The last of oob_scores_.")
    init_: Any = attribute(
        sometimes(ModelWith(["predict"], columns="n_features")),
        "The fitted estimator that the first round starts from, if init is one.",
    )
    max_features_: int = attribute(sometimes(Count(low=1)), "Columns drawn for every split.")

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        monitor: Callable[..., Any] | None = None,
    ) -> Self:
        """Grow all rounds; with ``warm_start`` only those that a fitted model does not have yet.

        ``monitor`` is called after every round with its number from 0, the model and the values of the round's record;
        the fit ends when it says True.
        """
        if monitor is None:
            return super().fit(X, y, sample_weight)
        self._check_parameters()
        state = self._fitted_state() if self.warm_start and hasattr(self, "trees_") else None
        for record in self._watch(self.iterate(X, y, sample_weight, state=state), X, y):
            if monitor(record.iteration - 1, self, record.values):
                break
        for name in RUNNING:
            self.__dict__.pop(name, None)
        return self

    @property
    def n_estimators_(self) -> int:
        """Rounds done."""
        return self.n_iter_

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as single models, (rounds, trees per round); rounds add ``learning_rate`` times what they say."""
        check_is_fitted(self)
        members = np.empty(self.n_trees_, dtype=object)
        members[:] = [self._single(number) for number in range(self.n_trees_)]
        return members.reshape(-1, len(self.start_))

    def _single(self, number: int) -> DecisionTreeRegressor:
        model, tree = DecisionTreeRegressor(), dict(self.tree(number))
        model.set_params(**{name: getattr(self, name) for name in model.get_params() if name in self.get_params()})
        rate = self.learning_rate or 1.0  # values of a rate of zero are zero; impurities of gradients are not kept
        model._tree = tree | {"value": tree["value"] / rate, "impurity": np.full(len(tree["feature"]), np.nan)}
        model.n_features_in_, model.categories_ = self.n_features_in_, {}
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def _draws(self, n: int) -> bool:
        return True

    def _held_size(self, n: int) -> float | None:
        return None if self.n_iter_no_change is None else self.validation_fraction

    def _settings(self, data: BoostingData, categorical: np.ndarray, seed: int) -> BoostingSettings:
        n, p, total = len(data.y), len(categorical), float(data.weight.sum())
        sample_size = None if self.subsample == 1.0 else max(1, int(self.subsample * n))
        drawn = n if sample_size is None else sample_size
        min_leaf = self.min_samples_leaf
        min_leaf = int(min_leaf) if isinstance(min_leaf, int | np.integer) else ceil(min_leaf * drawn)
        min_split = self.min_samples_split
        min_split = int(min_split) if isinstance(min_split, int | np.integer) else max(2, ceil(min_split * drawn))
        self.max_features_ = feature_count(self.max_features, p)
        return BoostingSettings(
            n_rounds=self.n_estimators,
            learning_rate=self.learning_rate,
            limits=SplitLimits(
                best_first=self.max_leaf_nodes is not None,
                max_leaves=UNLIMITED if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
                max_depth=UNLIMITED if self.max_depth is None else int(self.max_depth),
                min_split=max(min_split, 2 * min_leaf),
                min_leaf=min_leaf,
                min_hessian=max(self.min_weight_fraction_leaf, SMALLEST_WEIGHT) * total,
                l2=0.0,
                min_gain=0.5 * self.min_impurity_decrease * total,
                feature_fraction=self.max_features_ / p,
                # The same column in every round would make small ensembles worse.
                random_ties=True,
                pooled_below=1,
            ),
            l2=0.0,
            hessian_splits=False,
            monotone=np.zeros(p, dtype=np.int64),
            groups=None,
            sample_size=sample_size,
            ccp_alpha=self.ccp_alpha,
            stopping=None if self.n_iter_no_change is None else NoneWorse(self.n_iter_no_change, self.tol),
            seed=seed,
        )

    def _fit_start(
        self, loss: Loss, X: np.ndarray, y: np.ndarray, weight: np.ndarray, learned: np.ndarray, seed: int
    ) -> np.ndarray:
        self.__dict__.pop("init_", None)
        if self.init is None:
            return super()._fit_start(loss, X, y, weight, learned, seed)
        self.start_ = np.zeros(loss.outputs)
        if hasattr(self.init, "fit"):
            self.init_ = clone(self.init)
            seed_estimator(self.init_, np.random.default_rng([seed, 4]))
            if has_fit_parameter(self.init_, "sample_weight"):
                self.init_.fit(X[learned], self._labels(y[learned]), sample_weight=weight[learned])
            elif np.all(weight == 1.0):
                self.init_.fit(X[learned], self._labels(y[learned]))
            else:
                raise ValueError(
                    f"{type(self).__name__}: init must take sample_weight in fit if there are weights; "
                    f"{type(self.init).__name__} does not."
                )
        return self._start(X)

    def _start(self, X: np.ndarray) -> np.ndarray:
        return super()._start(X) if not hasattr(self, "init_") else self._raw_of_init(X)

    def _labels(self, y: np.ndarray) -> np.ndarray:
        return y

    def _raw_of_init(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.init_.predict(X), dtype=np.float64).reshape(1, -1)

    def _learn_scores(self, loop: BoostingRounds) -> None:
        factor = self._factor()
        self.train_score_ = loop.in_bag.times(factor)
        if loop.out_of_bag:
            self.oob_improvement_ = loop.improvement.times(factor)
            self.oob_scores_ = loop.out_of_bag.times(factor)
            self.oob_score_ = float(self.oob_scores_[-1])
        else:  # those of an earlier fit say nothing about this one
            for name in ("oob_improvement_", "oob_scores_", "oob_score_"):
                self.__dict__.pop(name, None)

    def _factor(self) -> float:
        """scikit-learn reports twice the loss where it is half a square or half a deviance."""
        return 2.0 if self._is_half_loss() else 1.0

    @abstractmethod
    def _is_half_loss(self) -> bool:
        """Whether the loss is half a square or half a deviance."""

    def _fitted_state(self) -> dict[str, Any]:
        if self.n_iter_ > self.n_estimators:
            raise ValueError(
                f"{type(self).__name__}: n_estimators must be at least {self.n_iter_}, the rounds that warm_start "
                f"continues; got {self.n_estimators}."
            )
        factor = self._factor()
        scores = (self.train_score_ / factor).tolist()
        drawn = hasattr(self, "oob_scores_")
        return {
            "seed": self.seed_,
            "bins": self.bins_,
            "trees": self.trees_,
            "losses": [np.nan, *scores],
            "held_losses": [np.inf] if self.n_iter_no_change is not None else [],  # the patience begins anew
            "in_bag": scores,
            "out_of_bag": (self.oob_scores_ / factor).tolist() if drawn else [],
            "improvement": (self.oob_improvement_ / factor).tolist() if drawn else [],
            "scores": [],
        }


class GradientBoostingRegressor(_GradientBoosting, BoostedRegressor):
    """Gradient-boosted regression trees: small trees, each fitted to the gradient of the loss.

    Leaf values minimize the loss within the leaf exactly: means, medians, quantiles, Huber's location. Thresholds are
    looked for among at most 255 quantiles of every column: all of them where a column has no more distinct values.
    Missing values (NaN) go where the squared error falls most.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X, np.where(X[:, 0] < 100, 1.0, 3.0))
    >>> model.predict([[20.0], [150.0]]).round(2)
    array([1.01, 2.99])
    """

    _: KW_ONLY
    loss: str = parameter("squared_error", Choice("squared_error", "absolute_error", "huber", "quantile"), "The loss.")
    alpha: float = parameter(
        0.9,
        Number(above=0, below=1),
        "The quantile of loss='quantile'; for 'huber' the fraction of residuals that count with their square.",
    )

    def _loss(self) -> Loss:
        return {
            "squared_error": losses.SquaredLoss(),
            "absolute_error": losses.AbsoluteLoss(),
            "huber": losses.HuberLoss(self.alpha),
            "quantile": losses.QuantileLoss(self.alpha),
        }[self.loss]

    def _is_half_loss(self) -> bool:
        return self.loss == "squared_error"


class GradientBoostingClassifier(_GradientBoosting, BoostedClassifier):
    r"""Gradient-boosted classification trees: small trees, each fitted to the gradient of the loss.

    A leaf's value is a Newton step of the loss. More than two classes take one tree each per round, with values
    multiplied by :math:`(K-1)/K` as Friedman has it. All else is as in :class:`GradientBoostingRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200.0)[:, None]
    >>> model = GradientBoostingClassifier(n_estimators=50).fit(X, np.where(X[:, 0] < 100, "low", "high"))
    >>> model.predict([[20.0], [150.0]]).tolist()
    ['low', 'high']
    """

    _: KW_ONLY
    loss: str = parameter(
        "log_loss", Choice("log_loss", "exponential"), "The loss; 'exponential', AdaBoost's, takes two classes."
    )
    init: Any = parameter(
        None,
        Optional(Either(Choice("zero"), Nested("fit", "predict_proba"))),
        "What the first round starts from: None is the best constant, 'zero' is zero, a classifier its probabilities.",
    )

    def apply(self, X: MatrixLike) -> np.ndarray:
        """The leaf in which every row ends in every tree, (n, rounds, trees per round)."""
        leaves = super().apply(X)
        return leaves.reshape(len(leaves), -1, len(self.start_))

    def _loss_of(self, classes: int) -> Loss:
        if self.loss == "exponential":
            if classes > 2:
                raise ValueError(f"{type(self).__name__}: loss='exponential' needs two classes; got {classes}.")
            return losses.ExponentialLoss()
        if classes == 2:
            return losses.LogisticLoss()
        return losses.MultinomialLoss(classes, leaf_factor=(classes - 1) / classes)

    def _is_half_loss(self) -> bool:
        return self.loss == "log_loss" and len(self.classes_) == 2

    def _hold_back(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        held = super()._hold_back(y, rng)
        known, learned = len(encode_classes(y)[0]), len(encode_classes(y[~held])[0])
        if learned < known:
            raise ValueError(
                f"{type(self).__name__}: validation_fraction={self.validation_fraction} leaves rows of {learned} of "
                f"{known} classes to learn from; hold back fewer rows."
            )
        return held

    def _labels(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y.astype(np.int64)]

    def _raw_of_init(self, X: np.ndarray) -> np.ndarray:
        probability = np.clip(self.init_.predict_proba(X), SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        if len(self.start_) > 1:
            logs = np.log(probability)
            return np.ascontiguousarray((logs - logs.mean(axis=1, keepdims=True)).T)
        log_odds = np.log(probability[:, 1] / probability[:, 0])
        return (0.5 * log_odds if self.loss == "exponential" else log_odds).reshape(1, -1)
