"""Decision trees and what is built from many of them: bagging, random forests, extremely randomized trees, boosting."""

from margin.trees.boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
