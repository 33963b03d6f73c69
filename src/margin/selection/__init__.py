"""Choosing between models by evidence: cross-validated scores with intervals, costs, and failures as rows; what the
errors of a learner are made of, and what more rows or another complexity would change.

Comparison knows models by ``fit`` and ``predict`` only. To read it in order: ``outputs`` (predictions and scores),
``trial`` (one model, one fold), ``folds`` (which rows), ``workers`` and ``schedule`` (where and when), ``comparison``
(all together), ``board`` (the result), ``ensembles`` and ``tuning`` (beyond the models as they are).
"""

from margin.selection.bias_variance import BiasVariance, bias_variance, expected_risk
from margin.selection.board import Standing, board
from margin.selection.comparison import Budget, open_workers, run_folds, screen
from margin.selection.corrected import corrected_interval, corrected_paired_test
from margin.selection.diagnosis import (
    LearningCurve,
    diagnose,
    generalization_gap,
    in_words,
    learning_curve,
    overfitting_starts,
)
from margin.selection.folds import FoldPlan, plan_folds
from margin.selection.holdout import HeldOut, best_of_many, train_test_split
from margin.selection.known_truth import ClassificationProblem, RegressionProblem
from margin.selection.outputs import Output
from margin.selection.resampling import (
    CrossValidation,
    NestedCrossValidation,
    cross_validate,
    nested_cross_validate,
    repeated_folds,
)
from margin.selection.trial import Candidate, Task, Trial, TrialData

__all__ = [
    "BiasVariance",
    "Budget",
    "Candidate",
    "ClassificationProblem",
    "CrossValidation",
    "FoldPlan",
    "HeldOut",
    "LearningCurve",
    "NestedCrossValidation",
    "Output",
    "RegressionProblem",
    "Standing",
    "Task",
    "Trial",
    "TrialData",
    "best_of_many",
    "bias_variance",
    "board",
    "corrected_interval",
    "corrected_paired_test",
    "cross_validate",
    "diagnose",
    "expected_risk",
    "generalization_gap",
    "in_words",
    "learning_curve",
    "nested_cross_validate",
    "open_workers",
    "overfitting_starts",
    "plan_folds",
    "repeated_folds",
    "run_folds",
    "screen",
    "train_test_split",
]
