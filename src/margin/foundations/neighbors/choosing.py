"""Which search algorithm "auto" takes: a tree pays up to so many columns, and after so many queries. All give the same
neighbors, so nothing but the time depends on it. Measured in processor time on uniform and normal points."""

from __future__ import annotations

import math

__all__ = ["QUERIES_PER_CALL", "QUERIES_PER_TREE", "TREE_COLUMNS", "tile_columns", "waits"]

TREE_COLUMNS = 6  # up to which SciPy's tree wins against the comparison of all pairs
# A tree of tiles wins up to 7 columns of 5000 points, and up to 2 more for every ten times as many points: of more
# points more lie outside the ball through the last neighbor.
COLUMNS_PER_TENFOLD, COLUMNS_OF_ONE = 2.0, -0.3

SMALL_TABLE = 5000  # rows up to which a tree is made within a millisecond
QUERIES_PER_TREE = 400  # queries in one call that cost, against all points, what making a tree costs
QUERIES_PER_CALL = 40  # the same for a call, whatever it asks


def tile_columns(n_points: int) -> int:
    """Columns up to which a tree of tiles answers many queries faster than a comparison of all pairs.

    >>> [tile_columns(n) for n in (100, 5000, 50_000, 500_000)]
    [6, 7, 9, 11]
    """
    return max(TREE_COLUMNS, math.floor(COLUMNS_PER_TENFOLD * math.log10(n_points) + COLUMNS_OF_ONE))


def waits(n_points: int, n_queries: int, n_calls: int) -> bool:
    """Whether to compare all pairs once more instead of making a tree, after so many queries in so many calls.

    A tree is made when as much time has been spent without it: whatever is still asked, that is at most twice what the
    better way would have taken.

    >>> waits(50_000, 1, 1), waits(50_000, 10, 10), waits(50_000, 1000, 1), waits(500, 1, 1)
    (True, False, False, False)
    """
    spent = n_queries + QUERIES_PER_CALL * n_calls
    return n_points > SMALL_TABLE and spent < QUERIES_PER_TREE
