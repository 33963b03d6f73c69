r"""A residual network as the sum of its paths.

Each of K blocks is passed through or passed by, so :math:`2^K` paths lead from input to output. For linear blocks

.. math:: (I + F_K)\cdots(I + F_1)\,x = \sum_{S \subseteq \{1..K\}} \Bigl(\prod_{k \in S} F_k\Bigr) x
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

__all__ = ["path_outputs", "residual_paths"]


def residual_paths(n_blocks: int) -> list[tuple[int, ...]]:
    """The blocks that every path goes through, shortest paths first.

    >>> residual_paths(2)
    [(), (0,), (1,), (0, 1)]
    """
    return [path for length in range(n_blocks + 1) for path in combinations(range(n_blocks), length)]


def path_outputs(blocks: Sequence[np.ndarray], x: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """What every path contributes for linear ``blocks`` (d, d) and an input (d,)."""
    outputs = {}
    for path in residual_paths(len(blocks)):
        h = x
        for k in path:
            h = blocks[k] @ h
        outputs[path] = h
    return outputs
