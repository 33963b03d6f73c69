r"""How much columns matter by what a prediction loses without them.

.. math:: P_j = s(X, y) - \tfrac1R\sum_r s(X^{(j,r)}, y),

where :math:`X^{(j,r)}` has column :math:`j` shuffled: measured on any rows, best on those the model has not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.randomness import RandomLike, as_generator
from margin.interpretation.columns import TableColumns

__all__ = ["permutation_importance"]


def permutation_importance(
    model: Any,
    X: MatrixLike,
    y: ArrayLike,
    *,
    n_repeats: int = 5,
    scoring: Callable[[Any, Any, Any], float] | None = None,
    random_state: RandomLike = None,
) -> np.ndarray:
    """The drop of ``scoring(model, X, y)`` (the model's own score if None) as each column is shuffled.

    ``X`` is an array, or a data frame as a pipeline takes it: then the columns are those before any encoding. Returns
    one row per column and one number per repeat, (columns, n_repeats).

    >>> from margin.trees import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> drops = permutation_importance(DecisionTreeRegressor().fit(X, X[:, 0]), X, X[:, 0], random_state=0)
    >>> bool(drops[0].min() > 1), bool(np.abs(drops[1]).max() < 0.1)
    (True, True)
    """
    if n_repeats < 1:
        raise ValueError(f"permutation_importance: n_repeats must be at least 1; got {n_repeats!r}.")
    columns = TableColumns(X)
    score = scoring or (lambda fitted, rows, truth: float(fitted.score(rows, truth)))
    unshuffled = [np.arange(columns.n_rows)] * len(columns)
    baseline, rng = score(model, columns.compose(unshuffled), y), as_generator(random_state)
    drops = np.empty((len(columns), n_repeats))
    for column in range(len(columns)):
        for repeat in range(n_repeats):
            rows = list(unshuffled)
            rows[column] = rng.permutation(columns.n_rows)
            drops[column, repeat] = baseline - score(model, columns.compose(rows), y)
    return drops
