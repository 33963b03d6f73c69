"""What fitted models of few labels hold."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import Anything, Array, Count, Form, Model, Stored, Text

__all__ = ["FORMS"]

COMMON: dict[str, Stored] = {
    "classes_": Array("n_classes", kind="labels"),
    "estimator_": Model(["predict"], columns="n_features"),
    "n_iter_": Count(),
}
FORMS: Mapping[str, Form] = {
    "SelfTraining": Form(
        {
            **COMMON,
            "labeled_iter_": Array(None, kind="i"),
            "termination_condition_": Text(),
            "transduction_": Array(None, kind="labels"),
        }
    ),
    "PseudoLabel": Form({**COMMON, "loss_curve_": Anything()}),
}
