"""What fitted blends hold, checked when a model file is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Form, ListOf, ModelWith, Sizes, Violation

__all__ = ["FORMS"]


def _every_member_is_there(model: Mapping[str, Any], _: Sizes) -> None:
    if "estimators_" in model and len(model["estimators_"]) != len(model["estimators"]):
        raise Violation("estimators_ must hold one fitted member for every one of estimators")
    if model["weights"] is not None and len(model["weights"]) != len(model["estimators"]):
        raise Violation("weights must hold one number for every one of estimators")


FORMS: Mapping[str, Form] = {
    "BlendClassifier": Form(
        {
            "estimators_": ListOf(ModelWith(["predict_proba"], columns="n_features")),
            "classes_": ArrayOf("n_classes", kind="labels"),
        },
        [_every_member_is_there],
    ),
    "BlendRegressor": Form(
        {"estimators_": ListOf(ModelWith(["predict"], columns="n_features"))}, [_every_member_is_there]
    ),
}
