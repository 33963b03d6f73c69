"""What a fitted attribute may hold, declared once, so that arrays from a file can be checked before they are used.

Kernels trust their arrays: an index out of range would read foreign memory, two children that point at each other would
never end. So every class that a model file may hold has a :class:`Form`: one :class:`Stored` per attribute, with
dtype, shape and range. Shapes are written with names (``ArrayOf("n_classes", "n_features")``), and one name has one
size in the whole model. A learned attribute is declared with its form (:func:`margin.core.parameters.attribute`).

>>> import numpy as np
>>> form = Form({"classes_": ArrayOf("n_classes", kind="labels"), "coef_": ArrayOf("n_classes", "n_features")})
>>> form.check({"n_features_in_": 2, "classes_": np.array([0, 1]), "coef_": np.zeros((2, 2))})
>>> form.check({"n_features_in_": 2, "classes_": np.array([0, 1]), "coef_": np.zeros((3, 2))})
Traceback (most recent call last):
margin.core.invariants.sizes.Violation: coef_ has shape (3, 2): n_classes is 2 elsewhere, here it is 3
"""

from margin.core.invariants.arrays import ArrayOf, SparseOf
from margin.core.invariants.containers import DictOf, FieldsOf, ListOf, OneOf, Sometimes, optional, sometimes
from margin.core.invariants.form import NO_COLUMNS, Form
from margin.core.invariants.sizes import Sizes, Stored, Violation
from margin.core.invariants.values import (
    Anything,
    Count,
    ModelWith,
    NoneOnly,
    Real,
    StringOf,
    TrueOrFalse,
    steps_are_named_models,
)

__all__ = [
    "NO_COLUMNS",
    "Anything",
    "ArrayOf",
    "Count",
    "DictOf",
    "FieldsOf",
    "Form",
    "ListOf",
    "ModelWith",
    "NoneOnly",
    "OneOf",
    "Real",
    "Sizes",
    "Sometimes",
    "SparseOf",
    "Stored",
    "StringOf",
    "TrueOrFalse",
    "Violation",
    "optional",
    "sometimes",
    "steps_are_named_models",
]
