"""Which form a class has: every package of models declares its own in ``stored.py``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.invariants import Form, Violation
from margin.core.parameters import check_parameters

__all__ = ["check_model", "form_of"]

PACKAGES = Path(__file__).parents[1]
PLAIN = "biufcMmUO"  # kinds of arrays that hold data


def form_of(path: str) -> Form:
    """The form of the class at a dotted path of the registry; an empty one where none is declared.

    >>> sorted(form_of("margin.cluster.KMeans").attributes)
    ['cluster_centers_', 'inertia_', 'labels_', 'n_iter_']
    """
    package, _, name = path.rpartition(".")
    module = "margin.store.scikit_learn" if package.startswith("sklearn") else _declaring_module(package)
    forms = importlib.import_module(module).FORMS
    if name not in forms and importlib.util.find_spec(f"{module}_networks"):  # apart, since reading them loads torch
        forms = importlib.import_module(f"{module}_networks").FORMS
    return forms.get(name, Form({}))


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
