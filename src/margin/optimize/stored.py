"""What parts of optimization hold in a model file: parameters only, which their domains check."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import Form

__all__ = ["FORMS"]

FORMS: Mapping[str, Form] = {}
