"""Pairs of few rows, as many at once as one class has with later ones that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.kernels.class_blocks import ClassBlocks, values_kept
from margin.kernels.dual import PART, STEPS_PER_VARIABLE, WHOLE_ROWS

__all__ = ["SMALL_PAIR", "end_of_small_pairs", "fits_blocks", "solve_with_later_classes"]

FEW_PAIRS = 10  # up to here, another kernel to compile at the first fit costs more than it saves later
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
    from margin.kernels.small_pairs_kernels import GAP, OBJECTIVE, OFFSET, STEPS, VIOLATION, solve_small_pairs

    sizes, start, after = blocks.ends - blocks.starts, blocks.starts[first], blocks.ends[first]
    pair_sizes = sizes[first] + sizes[second:last]
    beta, place = np.empty(pair_sizes.sum()), np.empty(pair_sizes.sum(), dtype=np.int64)
    numbers, largest = np.empty((last - second, 5)), int(pair_sizes.max())
    solved = solve_small_pairs(
        blocks.within(first),
        blocks.across(first),
        blocks.all_within(),
        blocks.block_starts[second:last],
        np.append(blocks.starts[second:last], blocks.ends[last - 1]) - after,
        bounds[start:],
        tol,
        STEPS_PER_VARIABLE * PART,
        beta,
        place,
        numbers,
        np.empty(largest**2),
        np.empty(8 * largest),
    )
    pair_sizes, numbers = pair_sizes[:solved], numbers[:solved]
    beta, place = beta[: pair_sizes.sum()], place[: pair_sizes.sum()]
    used = beta != 0
    return {
        "members": pair_sizes,
        "rows": start + place[used],
        "values": beta[used],
        "sizes": np.bincount(np.repeat(np.arange(solved), pair_sizes)[used], minlength=solved),
        "offset": numbers[:, OFFSET],
        "iteration": (numbers[:, STEPS] > 0).astype(np.int64),
        "objective": numbers[:, OBJECTIVE],
        "gap": numbers[:, GAP],
        "violation": numbers[:, VIOLATION],
        "steps": numbers[:, STEPS].astype(np.int64),
    }
