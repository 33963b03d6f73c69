r"""What a network reads of a table: scaled numbers, which of them are missing, and a 0 or 1 for every category.

.. math:: x \mapsto \left(u_1, \dots, u_p,\; [x_j \text{ missing}],\; [x_j = c]\right)

A missing number is read as the median of its column. Columns in which the fit missed some have an input that says so;
elsewhere a missing value is nothing but typical. A category that the fit did not see is none of those it saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from margin.neural.robust_scaling import RobustScaling

__all__ = ["TableInputs", "number_of_inputs"]


def number_of_inputs(n_columns: int, missing: Any, categories: Mapping[int, Any]) -> int:
    """Inputs of a network for a table of ``n_columns``, those in ``categories`` with a code for each of them.

    >>> number_of_inputs(3, np.array([True, False, False]), {2: ["blue", "red"]})
    5
    """
    return n_columns - len(categories) + int(np.sum(missing)) + sum(map(len, categories.values()))


class TableInputs(NamedTuple):
    """``missing`` (p,) are the columns of numbers with an input for what is missing, ``categories`` the others.

    >>> X = np.array([[1.0, 0.0], [np.nan, 1.0], [3.0, np.nan]])
    >>> TableInputs.of(X, {1: ["blue", "red"]}).apply(X).round(2)
    array([[-0.49,  0.  ,  1.  ,  0.  ],
           [ 0.  ,  1.  ,  0.  ,  1.  ],
           [ 0.49,  0.  ,  0.  ,  0.  ]])
    """

    scaling: RobustScaling
    missing: np.ndarray
    categories: Mapping[int, Any]

    @classmethod
    def of(cls, X: np.ndarray, categories: Mapping[int, Any], weight: np.ndarray | None = None) -> TableInputs:
        """What a fit to the rows ``X``, categories as codes, reads of them."""
        missing = np.array([bool(np.isnan(x).any()) for x in X.T])
        missing[list(categories)] = False
        scaling = RobustScaling.of(X, weight)
        for part, none in ((scaling.center, 0.0), (scaling.scale, 1.0)):
            part[list(categories)] = none
        return cls(scaling, missing, categories)

    @property
    def n_inputs(self) -> int:
        """Inputs of a network."""
        return number_of_inputs(len(self.missing), self.missing, self.categories)

    @property
    def plain(self) -> bool:
        """Whether every column is one input."""
        return not self.categories and not self.missing.any()

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, p) as inputs (n, q)."""
        hidden = np.isnan(X)
        known = np.where(hidden, self.scaling.center, X).astype(X.dtype, copy=False) if hidden.any() else X
        inputs = self.scaling.apply(known)
        if self.plain:
            return inputs
        numbers = np.setdiff1d(np.arange(X.shape[1]), list(self.categories))
        parts = [inputs[:, numbers], hidden[:, self.missing]]
        parts += [X[:, j, None] == np.arange(len(known)) for j, known in sorted(self.categories.items())]
        return np.concatenate(parts, axis=1, dtype=X.dtype)
