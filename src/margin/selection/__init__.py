"""Choosing between models by evidence: cross-validated scores with intervals, costs, and failures as rows; what the
errors of a learner are made of, and what more rows or another complexity would change.

Comparison knows models by ``fit`` and ``predict`` only.
"""

from margin.selection.bias_variance import BiasVariance, bias_variance, expected_risk
from margin.selection.board import Standing, board, corrected_interval
from margin.selection.comparison import Candidate, compare
from margin.selection.diagnosis import LearningCurve, diagnose, generalization_gap, learning_curve, overfitting_starts
from margin.selection.holdout import HeldOut, best_of_many, train_test_split
from margin.selection.known_truth import ClassificationProblem, RegressionProblem
from margin.selection.resampling import (
    CrossValidation,
    NestedCrossValidation,
    corrected_paired_test,
    cross_validate,
    nested_cross_validate,
    repeated_folds,
)
from margin.selection.trial import Trial

__all__ = [
    "BiasVariance",
    "Candidate",
    "ClassificationProblem",
    "CrossValidation",
    "HeldOut",
    "LearningCurve",
    "NestedCrossValidation",
    "RegressionProblem",
    "Standing",
    "Trial",
    "best_of_many",
    "bias_variance",
    "board",
    "compare",
    "corrected_interval",
    "corrected_paired_test",
    "cross_validate",
    "diagnose",
    "expected_risk",
    "generalization_gap",
    "learning_curve",
    "nested_cross_validate",
    "overfitting_starts",
    "repeated_folds",
    "train_test_split",
]
