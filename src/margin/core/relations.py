"""Our classes as virtual subclasses of scikit-learn's, for functions of its own that ask for their instances.

Making the relation imports the module of the other class, and with it most of scikit-learn: half a second that a
command which predicts one row does not have. Such a process asks for :func:`relate_to_loaded_alone` first.
"""

from __future__ import annotations

import importlib
import sys

__all__ = ["counts_as", "relate_to_loaded_alone"]

_loads = True


def counts_as(ours: type, module: str, name: str) -> None:
    """Let ``isinstance`` and ``issubclass`` take ``ours`` for the abstract class ``name`` of ``module``."""
    if _loads or module in sys.modules:
        getattr(importlib.import_module(module), name).register(ours)


def relate_to_loaded_alone() -> None:
    """From now on no module is imported for a relation: for processes that only predict."""
    global _loads
    _loads = False
