"""Decision trees and what is built from many of them: bagging, random forests, extremely randomized trees, boosting."""

from margin.trees.adaboost import AdaBoostClassifier, AdaBoostRegressor
from margin.trees.bagging import BaggingClassifier, BaggingRegressor
from margin.trees.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from margin.trees.c45 import C45
from margin.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from margin.trees.error_pruning import error_based_pruning, upper_error_rate
from margin.trees.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from margin.trees.gains import class_entropy, gain_ratio, information_gain, split_information
from margin.trees.id3 import ID3
from margin.trees.importance import permutation_importance
from margin.trees.partial_dependence import individual_curves, partial_dependence
from margin.trees.play_tennis import play_tennis
from margin.trees.random_forest import RandomForestClassifier, RandomForestRegressor
from margin.trees.shap import explain
from margin.trees.thresholds import Threshold, best_threshold

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
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Threshold",
    "best_threshold",
    "class_entropy",
    "error_based_pruning",
    "explain",
    "gain_ratio",
    "individual_curves",
    "information_gain",
    "partial_dependence",
    "permutation_importance",
    "play_tennis",
    "split_information",
    "upper_error_rate",
]
