"""What fitted models of few labels hold."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import Anything, ArrayOf, Count, Form, ModelWith, Stored, StringOf, sometimes

__all__ = ["FORMS"]

COMMON: dict[str, Stored] = {
    "classes_": ArrayOf("n_classes", kind="labels"),
    "estimator_": ModelWith(["predict"], columns="n_features"),
    "n_iter_": Count(),
}
FORMS: Mapping[str, Form] = {
    "SelfTrainingClassifier": Form(
        {
            **COMMON,
            "labeled_iter_": ArrayOf(None, kind="i"),
            "termination_condition_": StringOf(),
            "transduction_": ArrayOf(None, kind="labels"),
        }
    ),
    "PseudoLabel": Form({**COMMON, "n_iter_": sometimes(Count()), "loss_curve_": sometimes(Anything())}),
}
