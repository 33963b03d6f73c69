"""Margin: every method of five sets of machine-learning notes under one scikit-learn-compatible API.

Importing this package is cheap. The names below, every estimator of the catalog by its class name and every package are
resolved when they are first used, so torch and scikit-learn are loaded only by what needs them.
"""

from __future__ import annotations

import importlib
from typing import Any

from margin import catalog

__version__ = "1.0.0"

__all__ = [
    *sorted(catalog.FUNCTIONS),
    *sorted(entry.class_name for entry in catalog.ENTRIES),
    *catalog.PACKAGES,
]


def __getattr__(name: str) -> Any:
    if name in catalog.FUNCTIONS:
        return getattr(importlib.import_module(catalog.FUNCTIONS[name]), name)
    if name in catalog.PACKAGES:
        return importlib.import_module(f"margin.{name}")
    if name[:1].isupper():
        for entry in catalog.ENTRIES:
            if entry.class_name == name:
                return catalog.class_of(entry.name)
    raise AttributeError(f"module 'margin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
