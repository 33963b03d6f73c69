"""Decision trees and what is built from many of them: bagging, random forests, extremely randomized trees, boosting."""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.trees.boosting import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from margin.trees.boosting.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from margin.trees.cart.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from margin.trees.forest.bagging import BaggingClassifier, BaggingRegressor
    from margin.trees.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from margin.trees.forest.random_forest import RandomForestClassifier, RandomForestRegressor
    from margin.trees.multiway.c45 import C45
    from margin.trees.multiway.error_pruning import error_based_pruning, upper_error_rate
    from margin.trees.multiway.gains import class_entropy, gain_ratio, information_gain, split_information
    from margin.trees.multiway.id3 import ID3
    from margin.trees.multiway.play_tennis import play_tennis
    from margin.trees.multiway.thresholds import Threshold, best_threshold
    from margin.trees.shap import explain
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "C45",
    "ID3",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Threshold",
    "best_threshold",
    "class_entropy",
    "error_based_pruning",
    "explain",
    "gain_ratio",
    "information_gain",
    "play_tennis",
    "split_information",
    "upper_error_rate",
]
