"""What fitted naive Bayes models and discriminants hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Array, Form, Items, Sizes, Stored, Violation

__all__ = ["FORMS"]

CLASSES: dict[str, Stored] = {"classes_": Array("n_classes", kind="labels")}
COUNTS: dict[str, Stored] = {**CLASSES, "class_count_": Array("n_classes", low=0)}
COUNTED = Form({**COUNTS, "feature_count_": Array("n_classes", "n_features", low=0)})


def _categories_ascend(model: Mapping[str, Any], _: Sizes) -> None:
    for values, counts in zip(model.get("categories_", []), model.get("category_count_", [])):
        if counts.shape[1] != len(values) or np.any(np.diff(values) <= 0):
            raise Violation("categories_ must ascend, with one column of counts for each")


FORMS: Mapping[str, Form] = {
    "GaussianNB": Form(
        {**COUNTS, "theta_": Array("n_classes", "n_features"), "scatter_": Array("n_classes", "n_features", low=0)}
    ),
    "MultinomialNB": COUNTED,
    "BernoulliNB": COUNTED,
    "CategoricalNB": Form(
        {
            **COUNTS,
            "categories_": Items(Array(None), "n_features"),
            "category_count_": Items(Array("n_classes", None, low=0), "n_features"),
        },
        [_categories_ascend],
    ),
    "LinearDiscriminantAnalysis": Form(
        {
            **CLASSES,
            "means_": Array("n_classes", "n_features"),
            "priors_": Array("n_classes", low=0),
            "xbar_": Array("n_features"),
            "scalings_": Array("n_features", None),
            "explained_variance_ratio_": Array(None, finite=False),
            "coef_": Array("n_rows", "n_features"),
            "intercept_": Array("n_rows"),
            "covariance_": Array("n_features", "n_features"),
        }
    ),
    "QuadraticDiscriminantAnalysis": Form(
        {
            **CLASSES,
            "means_": Array("n_classes", "n_features"),
            "priors_": Array("n_classes", low=0),
            "rotations_": Array("n_classes", "n_features", "n_axes"),
            "scalings_": Array("n_classes", "n_axes"),
            "covariance_": Items(Array("n_features", "n_features"), "n_classes"),
        }
    ),
}
