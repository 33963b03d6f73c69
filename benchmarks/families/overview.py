"""Least squares, k-means, mixtures and networks in one run: a first look at how we compare."""

from __future__ import annotations

from benchmarks.families import classical, neural
from benchmarks.measuring.harness import Case

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    return classical.cases(quick) + neural.cases(quick)
