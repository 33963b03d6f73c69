"""All of trees: single ones and forests, then boosting, on the same tables."""

from __future__ import annotations

from benchmarks.families import boosting, forests
from benchmarks.measuring.harness import Case

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    return forests.cases(quick) + boosting.cases(quick)
