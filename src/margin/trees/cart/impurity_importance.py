r"""How much columns matter by the impurity that their splits remove.

.. math:: I_j = \sum_{t:\,j(t)=j} W_t\,i(t) - W_{t_L}\,i(t_L) - W_{t_R}\,i(t_R)

It comes free with the fit and favors columns with many values; :mod:`margin.interpretation.permutation` measures on any
rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from margin.trees.cart.structure import TreeArrays

__all__ = ["impurity_importance", "mean_importance"]


def impurity_importance(tree: TreeArrays, columns: int, *, normalize: bool = True) -> np.ndarray:
    """The weighted decrease of impurity by every column's splits, (columns,); of sum one if ``normalize``."""
    inner = np.flatnonzero(tree["feature"] >= 0)
    left, right = tree["left"][inner], tree["right"][inner]
    mass = tree["weight"] * tree["impurity"]
    gains = np.maximum(mass[inner] - mass[left] - mass[right], 0.0)
    importance = np.bincount(tree["feature"][inner], gains, minlength=columns) / tree["weight"][0]
    total = importance.sum()
    return importance / total if normalize and total > 0 else importance


def mean_importance(trees: Sequence[TreeArrays], columns: int) -> np.ndarray:
    """The average over trees, scaled to sum to one; trees of one leaf have nothing to say."""
    importance = np.sum([impurity_importance(tree, columns) for tree in trees], axis=0)
    total = importance.sum()
    return importance / total if total > 0 else importance
