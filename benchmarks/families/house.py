"""The house board: the first models against the libraries a user would pick instead."""

from __future__ import annotations

from benchmarks.families import classical, neural
from benchmarks.measuring.harness import Case

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    return classical.cases(quick) + neural.cases(quick)
