"""Gradient boosting: losses and their derivatives, trees grown on histograms of them, and the estimators."""

from margin.trees.boosting.classification import GradientBoostingClassifier
from margin.trees.boosting.descent import Descent, gradient_boosting
from margin.trees.boosting.losses import (
    Absolute,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    Quantile,
    Squared,
    pseudo_residuals,
)
from margin.trees.boosting.regression import GradientBoostingRegressor

__all__ = [
    "Absolute",
    "Descent",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Huber",
    "Logistic",
    "Loss",
    "Multinomial",
    "Poisson",
    "Quantile",
    "Squared",
    "gradient_boosting",
    "pseudo_residuals",
]
