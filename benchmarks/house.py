"""The house board: one family after the other against the libraries a user would pick instead."""

from __future__ import annotations

import importlib
import importlib.util

from benchmarks.harness import Case

__all__ = ["FAMILIES", "cases"]

FAMILIES = ("classical", "neural")  # in this order


def cases(quick: bool) -> list[Case]:
    found: list[Case] = []
    for name in FAMILIES:
        if importlib.util.find_spec(f"benchmarks.{name}") is None:
            continue
        module = importlib.import_module(f"benchmarks.{name}")
        if getattr(module, "Case", None) is Case:  # speaks the harness; others are run by themselves
            found += module.cases(quick)
    return found
