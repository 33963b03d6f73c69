"""Which form a class has: that of its declared attributes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from margin.core.invariants import Form, Violation
from margin.core.parameters import check_parameters, forms_of

__all__ = ["check_model", "form_of", "form_of_class"]

PLAIN = "biufcMmUO"  # kinds of arrays that hold data


def form_of(path: str) -> Form:
    """The form of the class at a dotted path of the registry; an empty one where none is declared.

    >>> form_of("margin.cluster.KMeans").attributes["cluster_centers_"].dims
    ('n_clusters', 'n_features')
    """
    package, _, name = path.rpartition(".")
    if package.startswith("sklearn"):
        from margin.store.scikit_learn import FORMS

        return FORMS.get(name, Form({}))
    return form_of_class(getattr(importlib.import_module(package), name))


def form_of_class(cls: type) -> Form:
    """What the declarations of a class and its bases say of a fitted model; a class made from one of scikit-learn's,
    which declares nothing, has its form in ``_stored_form``."""
    if "_stored_form" in vars(cls):
        return vars(cls)["_stored_form"]
    return Form(forms_of(cls), getattr(cls, "_stored_rules", ()), getattr(cls, "_may_be_empty", ()))


def check_model(model: Any, path: str, attributes: Mapping[str, Any] | None = None) -> None:
    """Raise a :class:`Violation` unless parameters and learned attributes are what the class declares.

    ``attributes`` are those that a file would hold, where ``model`` is one that is being fitted.
    """
    try:
        if path.startswith("sklearn"):
            model._validate_params()
        else:
            check_parameters(model)
    except (ValueError, TypeError) as error:
        raise Violation(" ".join(str(error).split())) from None
    form, attributes = form_of(path), vars(model) if attributes is None else attributes
    names = model.get_params(deep=False)
    form.check(attributes)
    for name in form.list_undeclared({key: value for key, value in attributes.items() if key not in names}):
        _check_plain(attributes[name], name)


def _check_plain(value: Any, where: str) -> None:
    """What can be said of any attribute: arrays hold numbers or strings."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in PLAIN:
        raise Violation(f"{where} must hold numbers or strings; got {value.dtype}")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_plain(item, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _check_plain(item, f"{where}[{i}]")
