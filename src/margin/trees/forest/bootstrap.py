r"""Bootstrap samples of many trees at once, from a generator that needs no state.

Draw :math:`i` of tree :math:`k` is a hash (SplitMix64) of :math:`i` and of a key, itself a hash of :math:`k` and the
forest's seed: any tree's sample can be drawn again without those before it, and those of a small forest are drawn in a
few passes over one array. A generator per tree takes longer to seed than a small tree to grow.
"""

from __future__ import annotations

import numpy as np

__all__ = ["sample_counts", "tree_keys"]

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # SplitMix64's multipliers
UNIT = 2.0**-53


def _hash(state: np.ndarray) -> np.ndarray:
    """SplitMix64's output function, uint64 to uint64."""
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))


def tree_keys(seed: int, first: int, last: int) -> np.ndarray:
    """64 bits for each of the trees ``first`` to ``last - 1`` of the forest of this ``seed``.

    >>> (tree_keys(7, 0, 5)[3:] == tree_keys(7, 3, 5)).all(), (tree_keys(7, 0, 5) == tree_keys(8, 0, 5)).any()
    (np.True_, np.False_)
    """
    base = np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64)
    return _hash(base + np.arange(first + 1, last + 1, dtype=np.uint64) * STEP)


def sample_counts(keys: np.ndarray, n: int, draws: int) -> np.ndarray:
    """How often every tree draws each of ``n`` rows in ``draws`` draws with replacement, float64 (trees, n).

    >>> sample_counts(tree_keys(0, 0, 2), 4, 1000).sum(axis=1)
    array([1000., 1000.])
    """
    bits = _hash(keys[:, None] + np.arange(1, draws + 1, dtype=np.uint64) * STEP)
    rows = ((bits >> np.uint64(11)) * UNIT * n).astype(np.int64)
    rows += np.arange(len(keys))[:, None] * n
    return np.bincount(rows.ravel(), minlength=len(keys) * n).astype(np.float64).reshape(len(keys), n)
