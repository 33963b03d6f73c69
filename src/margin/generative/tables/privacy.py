"""Do made rows give away training rows? Nearest neighbors among rows that were learned from and rows that were not.

If nothing is memorized, training rows and as many held-out rows of the same law are exchangeable for a made row: its
nearest neighbor among both is a training row with probability one half.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from margin.core.randomness import RandomLike, as_generator

__all__ = ["PrivacyCheck", "nearest_neighbor_privacy"]


class PrivacyCheck(NamedTuple):
    """What nearest neighbors say about memorization.

    ``copies`` is the fraction of made rows that equal a training row, ``nearer_to_training`` that of rows nearer to one
    than to any held-out row (one half if nothing is memorized; ties count half), with its standard error ``error``.
    ``distance_ratio`` is the median distance to training rows over that to held-out rows: 1, or less if rows are
    copied.
    """

    copies: float
    nearer_to_training: float
    error: float
    distance_ratio: float

    @property
    def memorizes(self) -> bool:
        """Whether made rows are nearer to training rows than chance explains, by more than four standard errors."""
        return self.nearer_to_training > 0.5 + 4 * self.error


def nearest_neighbor_privacy(
    made: Any, training: Any, held_out: Any, *, random_state: RandomLike = None
) -> PrivacyCheck:
    """Compare made rows with rows that a model was fitted to and rows of the same law that it never saw.

    All are numbers in comparable units (standardized, or coordinates of an encoder). Of the larger of the two sets a
    random part is used, so that both have equally many rows.

    >>> rng = np.random.default_rng(0)
    >>> training, held_out, fresh = rng.normal(size=(3, 500, 2))
    >>> nearest_neighbor_privacy(fresh, training, held_out, random_state=0).memorizes
    False
    >>> nearest_neighbor_privacy(training[:100] + 0.001, training, held_out, random_state=0).memorizes
    True
    """
    made, training, held_out = (np.asarray(rows, dtype=np.float64) for rows in (made, training, held_out))
    shapes = [rows.shape for rows in (made, training, held_out)]
    if any(len(shape) != 2 or not len(rows) for shape, rows in zip(shapes, (made, training, held_out))) or (
        len({shape[1] for shape in shapes}) != 1
    ):
        raise ValueError(
            "nearest_neighbor_privacy: made, training and held_out must be tables of the same columns with at least "
            f"one row; got shapes {shapes}."
        )
    copies = float((KDTree(training).query(made)[0] == 0).mean())
    rng = as_generator(random_state)
    n = min(len(training), len(held_out))
    to_training, to_held_out = (
        KDTree(rows[rng.permutation(len(rows))[:n]]).query(made)[0] for rows in (training, held_out)
    )
    nearer = float(((to_training < to_held_out) + 0.5 * (to_training == to_held_out)).mean())
    medians = float(np.median(to_training)), float(np.median(to_held_out))
    # Made rows share their neighbors: no more of them count than there are rows to be near to.
    error = 0.5 / math.sqrt(min(len(made), n))
    return PrivacyCheck(copies, nearer, error, medians[0] / medians[1] if medians[1] else 1.0)
