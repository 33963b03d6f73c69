"""Margin: every method of five sets of machine-learning notes under one scikit-learn-compatible API.

Importing this package is cheap. The names below, and every estimator of the catalog by its class name, are
resolved when they are first used, so torch, Numba and scikit-learn are loaded only by what needs them.
"""

from __future__ import annotations

import importlib
from typing import Any

from margin import catalog

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in catalog.FUNCTIONS:
        return getattr(importlib.import_module(catalog.FUNCTIONS[name]), name)
    if name[:1].isupper():  # a class; lower-case names are submodules, which the import system finds itself
        for entry in catalog.ENTRIES:
            if entry.class_name == name:
                return catalog.class_of(entry.name)
    raise AttributeError(f"module 'margin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *catalog.FUNCTIONS, *(entry.class_name for entry in catalog.ENTRIES)])
