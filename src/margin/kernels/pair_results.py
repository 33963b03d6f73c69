"""What the pairs of classes learned, pair after pair, in arrays: a thousand classes have half a million pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.kernels.dual import DualProblem

__all__ = ["NUMBERS", "PairResults", "join", "nothing_learned", "result_of"]

NUMBERS = ("objective", "gap", "violation")
# ``rows`` and ``values`` are the rows with a coefficient and these, ``sizes`` of each pair; all else is one per pair.
PairResults = dict[str, NDArray[Any]]


def result_of(problem: DualProblem, members: NDArray[np.int64], numbers: dict[str, float]) -> PairResults:
    """Of one pair, whose variables are the rows ``members``."""
    used = np.flatnonzero(problem.beta)
    return {
        "rows": members[used],
        "values": problem.beta[used],
        "sizes": np.array([len(used)]),
        "offset": np.array([problem.offset]),
        "iteration": np.array([problem.iteration]),
        **{name: np.array([numbers[name]]) for name in NUMBERS},
    }


def nothing_learned(count: int) -> PairResults:
    """Of pairs that are not begun: machines that know nothing."""
    return {
        "rows": np.zeros(0, dtype=np.int64),
        "values": np.zeros(0),
        "sizes": np.zeros(count, dtype=np.int64),
        "offset": np.zeros(count),
        "iteration": np.zeros(count, dtype=np.int64),
        "objective": np.zeros(count),
        "gap": np.full(count, np.inf),
        "violation": np.full(count, np.inf),
    }


def join(parts: list[PairResults], like: PairResults | None = None) -> PairResults:
    """All parts in one, with the names that ``like``, else the first, has."""
    names = parts[0] if like is None else like
    return {name: np.concatenate([part[name] for part in parts]) for name in names}
