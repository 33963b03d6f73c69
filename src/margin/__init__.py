"""Margin: every method of five sets of machine-learning notes under one scikit-learn-compatible API.

Importing this package is cheap. The names below, and every estimator of the catalog by its class name, are
resolved when they are first used, so torch, Numba and scikit-learn are loaded only by what needs them.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "save": "margin.store",
    "load": "margin.store",
    "fit": "margin.runs",
    "Run": "margin.runs",
    "watch": "margin.core.watching",
    "Record": "margin.core.records",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name[:1].isupper():  # a class; lower-case names are submodules, which the import system finds itself
        from margin import catalog

        for entry in catalog.ENTRIES:
            if entry.class_name == name:
                return catalog.class_of(entry.name)
    raise AttributeError(f"module 'margin' has no attribute {name!r}")


def __dir__() -> list[str]:
    from margin import catalog

    return sorted([*globals(), *_LAZY, *(entry.class_name for entry in catalog.ENTRIES)])
