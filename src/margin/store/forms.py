"""Which form a class has: that of its declared attributes, or where a family lists its forms, of its ``stored.py``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.invariants import Form, Violation
from margin.core.parameters import check_parameters, forms_of

__all__ = ["check_model", "form_of"]

PACKAGES = Path(__file__).parents[1]
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
    return _listed(package, name) or form_of_class(getattr(importlib.import_module(package), name))


def form_of_class(cls: type) -> Form:
    """What the declarations of a class and its bases say of a fitted model; a class made from one of scikit-learn's,
    which declares nothing, has its form in ``_stored_form``."""
    if "_stored_form" in vars(cls):
        return vars(cls)["_stored_form"]
    return Form(forms_of(cls), getattr(cls, "_stored_rules", ()), getattr(cls, "_may_be_empty", ()))


def _listed(package: str, name: str) -> Form | None:
    """The form that the ``FORMS`` of a package have for a class."""
    module = _declaring_module(package)
    if module == "margin.stored":
        return None
    forms = getattr(importlib.import_module(module), "FORMS", {})
    if name not in forms and importlib.util.find_spec(f"{module}_networks"):  # apart, since reading them loads torch
        forms = importlib.import_module(f"{module}_networks").FORMS
    return forms.get(name)


def _declaring_module(package: str) -> str:
    """The ``stored.py`` of a package, or of the nearest one around it that has one; nothing is imported to find it."""
    folders = package.split(".")[1:]
    while folders and not PACKAGES.joinpath(*folders, "stored.py").is_file():
        folders.pop()
    return ".".join(["margin", *folders, "stored"])


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
    for name in form.undeclared({key: value for key, value in attributes.items() if key not in names}):
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
