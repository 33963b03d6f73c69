"""What forests that classify share: trees vote with the fractions of the classes in their leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.invariants import ListOf
from margin.core.parameters import attribute, default, parameter
from margin.trees.cart import walking
from margin.trees.cart.decision_tree import CLASS_CRITERION
from margin.trees.cart.several_targets import (
    CLASS_WEIGHT_SENTENCE,
    ForestClassWeights,
    TargetClasses,
    fraction_parts,
    labels_of,
    logarithms,
    stacked_fractions,
)
from margin.trees.cart.training_data import encoded_rows
from margin.trees.forest.forest import Forest
from margin.trees.stored import CLASS_TREE, LEFT_OUT, TARGET_CLASSES, categories_are_coded, fractions_belong_to_classes

__all__ = ["ForestClassifier"]


class ForestClassifier(ClassifierMixin, Forest):
    """A forest whose trees vote with the fractions of the classes in their leaves."""

    _: KW_ONLY
    criterion: str = parameter("gini", CLASS_CRITERION, "Impurity of a node; 'log_loss' is the same as 'entropy'.")
    max_features: int | float | str | None = default("sqrt")
    class_weight: Any = parameter(
        None,
        ForestClassWeights(),
        f"{CLASS_WEIGHT_SENTENCE} 'balanced_subsample' balances the classes in the sample of every tree.",
    )

    trees_: list[Mapping[str, np.ndarray]] = attribute(
        ListOf(CLASS_TREE, own=("n_nodes", "n_sets")),
        "The trees, each a dict of arrays as in :mod:`margin.trees.cart.structure`.",
    )
    classes_: TargetClasses = attribute(TARGET_CLASSES, "The classes, ascending; of several targets a list of them.")
    oob_decision_function_: np.ndarray = attribute(
        LEFT_OUT,
        "Class probabilities of every training row by the trees that left it out, (n, classes) or (n, classes, "
        "targets), if oob_score=True; NaN where all drew it.",
    )
    _stored_rules = (categories_are_coded, fractions_belong_to_classes)

    @property
    def n_classes_(self) -> int | np.ndarray:
        """Number of classes, of several targets an array."""
        check_is_fitted(self)
        return self._single(self.trees_[0]).n_classes_

    def predict_proba(self, X: MatrixLike) -> Any:
        """The average over trees of the class fractions in a row's leaf, (n, classes); of several targets a list."""
        parts = fraction_parts(self._average(X), self.classes_)
        return parts if isinstance(self.classes_, list) else parts[0]

    def predict_log_proba(self, X: MatrixLike) -> Any:
        """The logarithm of :meth:`predict_proba`."""
        return logarithms(self.predict_proba(X))

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class with the largest average fraction, (n,) or (n, targets)."""
        return labels_of(self._average(X), self.classes_)

    def votes(self, X: MatrixLike) -> Any:
        """How many trees vote for each class, (n, classes); of several targets a list."""
        rows = encoded_rows(self, X)
        classes = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        counts = [np.zeros((len(rows), len(labels)), dtype=np.int64) for labels in classes]
        for tree in self.trees_:
            for count, part in zip(counts, fraction_parts(walking.predict(tree, rows), self.classes_)):
                count[np.arange(len(rows)), part.argmax(axis=1)] += 1
        return counts if isinstance(self.classes_, list) else counts[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _learn_averages(self, averages: np.ndarray) -> None:
        if isinstance(self.classes_, list):
            averages = stacked_fractions(averages, self.classes_).transpose(0, 2, 1)
        self.oob_decision_function_ = averages
