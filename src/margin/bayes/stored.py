"""What fitted naive Bayes models and discriminants hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import ArrayOf, Form, ListOf, Sizes, Stored, Violation, sometimes

__all__ = ["FORMS"]

CLASSES: dict[str, Stored] = {"classes_": ArrayOf("n_classes", kind="labels")}
COUNTS: dict[str, Stored] = {**CLASSES, "class_count_": ArrayOf("n_classes", low=0)}
COUNTED = Form({**COUNTS, "feature_count_": ArrayOf("n_classes", "n_features", low=0)})


def _categories_ascend(model: Mapping[str, Any], _: Sizes) -> None:
    for values, counts in zip(model.get("categories_", []), model.get("_value_count", [])):
        if counts.shape[1] != len(values) or np.any(np.diff(values) <= 0):
            raise Violation("categories_ must ascend, with one column of counts for each")


FORMS: Mapping[str, Form] = {
    "GaussianNB": Form(
        {**COUNTS, "theta_": ArrayOf("n_classes", "n_features"), "scatter_": ArrayOf("n_classes", "n_features", low=0)}
    ),
    "MultinomialNB": COUNTED,
    "BernoulliNB": COUNTED,
    "CategoricalNB": Form(
        {
            **COUNTS,
            "categories_": ListOf(ArrayOf(None), "n_features"),
            "_value_count": ListOf(ArrayOf("n_classes", None, low=0), "n_features"),
        },
        [_categories_ascend],
    ),
    "LinearDiscriminantAnalysis": Form(
        {
            **CLASSES,
            "means_": ArrayOf("n_classes", "n_features"),
            "priors_": ArrayOf("n_classes", low=0),
            "xbar_": sometimes(ArrayOf("n_features")),
            "scalings_": sometimes(ArrayOf("n_features", None)),
            "explained_variance_ratio_": sometimes(ArrayOf(None, finite=False)),
            "coef_": ArrayOf("n_rows", "n_features"),
            "intercept_": ArrayOf("n_rows"),
            "covariance_": sometimes(ArrayOf("n_features", "n_features")),
        }
    ),
    "QuadraticDiscriminantAnalysis": Form(
        {
            **CLASSES,
            "means_": ArrayOf("n_classes", "n_features"),
            "priors_": ArrayOf("n_classes", low=0),
            "rotations_": ArrayOf("n_classes", "n_features", "n_axes"),
            "scalings_": ArrayOf("n_classes", "n_axes"),
            "covariance_": sometimes(ListOf(ArrayOf("n_features", "n_features"), "n_classes")),
        }
    ),
}
