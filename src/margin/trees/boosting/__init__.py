"""Gradient boosting: losses and their derivatives, trees grown on histograms of them, and the estimators."""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.trees.boosting.additive_model import AdditiveModel, gradient_boosting
    from margin.trees.boosting.gradient_boosted_trees import GradientBoostingClassifier, GradientBoostingRegressor
    from margin.trees.boosting.hist_gradient_boosting import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from margin.trees.boosting.losses import (
        AbsoluteLoss,
        ExponentialLoss,
        GammaLoss,
        HuberLoss,
        LogisticLoss,
        Loss,
        MultinomialLoss,
        PoissonLoss,
        QuantileLoss,
        SquaredLoss,
        pseudo_residuals,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "AbsoluteLoss",
    "AdditiveModel",
    "ExponentialLoss",
    "GammaLoss",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "HuberLoss",
    "LogisticLoss",
    "Loss",
    "MultinomialLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SquaredLoss",
    "gradient_boosting",
    "pseudo_residuals",
]
