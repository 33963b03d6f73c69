"""Pairs of few rows, as many at once as one class has with later ones that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.kernels.class_blocks import ClassBlocks, values_kept
from margin.kernels.dual import PART, STEPS_PER_VARIABLE, WHOLE_ROWS

__all__ = ["SMALL_PAIR", "end_of_small_pairs", "fits_blocks", "solve_with_later_classes"]

FEW_PAIRS = 10  # up to here a tenth of the time would be gained, and the records of the steps of each lost
SMALL_PAIR = 128  # rows; solving a larger one takes longer than what Python does for a pair


def fits_blocks(sizes: NDArray[np.int64]) -> bool:
    """Whether the blocks of all classes may be in memory at once: of few rows, or of many classes of few rows each."""
    return sizes.sum() <= WHOLE_ROWS or (2 * sizes.max() <= SMALL_PAIR and values_kept(sizes) <= WHOLE_ROWS**2)


def end_of_small_pairs(blocks: ClassBlocks, first: int, second: int) -> int:
    """The first class from ``second`` on, or their number, whose pair with class ``first`` is not small."""
    sizes = blocks.ends - blocks.starts
    if len(sizes) * (len(sizes) - 1) // 2 <= FEW_PAIRS:
        return second
    large = np.flatnonzero(sizes[first] + sizes[second:] > SMALL_PAIR)
    return second + int(large[0]) if len(large) else len(sizes)


def solve_with_later_classes(
    blocks: ClassBlocks, bounds: NDArray[np.float64], first: int, second: int, last: int, tol: float
) -> dict[str, NDArray[Any]]:
    """What the small pairs of class ``first`` with ``second`` and the classes after it, before ``last``, learn, up to
    the first that one working set does not solve (none, if ``second`` is that).

    ``bounds`` are those of the rows in the order of the blocks, and so are the numbers of ``rows`` in what is returned.
    """
    from margin.compiled.svm import SmallPairs, Solutions, solve_small_pairs

    sizes, start, after = blocks.ends - blocks.starts, blocks.starts[first], blocks.ends[first]
    pair_sizes = sizes[first] + sizes[second:last]
    pairs = SmallPairs(
        blocks.within(first),
        blocks.across(first),
        blocks.all_within(),
        blocks.block_starts[second:last],
        np.append(blocks.starts[second:last], blocks.ends[last - 1]) - after,
        bounds[start:],
    )
    beta, rows = np.empty(pair_sizes.sum()), np.empty(pair_sizes.sum(), dtype=np.int64)
    offset, objective, gap, violation = np.empty((4, last - second))
    steps, largest = np.empty(last - second, dtype=np.int64), int(pair_sizes.max())
    solutions = Solutions(beta, rows, offset, objective, gap, violation, steps)
    memory = np.empty((largest, largest)), np.empty((8, largest))
    solved = solve_small_pairs(pairs, tol, int(STEPS_PER_VARIABLE * PART), solutions, *memory)
    pair_sizes = pair_sizes[:solved]
    beta, rows = beta[: pair_sizes.sum()], rows[: pair_sizes.sum()]
    used = beta != 0
    return {
        "members": pair_sizes,
        "rows": start + rows[used],
        "values": beta[used],
        "sizes": np.bincount(np.repeat(np.arange(solved), pair_sizes)[used], minlength=solved),
        "offset": offset[:solved],
        "iteration": (steps[:solved] > 0).astype(np.int64),
        "objective": objective[:solved],
        "gap": gap[:solved],
        "violation": violation[:solved],
        "steps": steps[:solved],
    }
