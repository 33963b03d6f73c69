"""A fit that only loads: the first of a class in a process waits for imports that no later one waits for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from margin.core.watching import watch
from margin.selection.prepared import PreparedColumns
from margin.selection.trial import Candidate, Task, TrialData, run_trial

__all__ = ["few_rows", "warm_up"]

#: Rows to be fitted, about so many in all and at least so many of each class.
FEW_ROWS, FEW_OF_A_CLASS = 48, 3


def warm_up(candidate: Candidate, data: TrialData, train: np.ndarray, prepared: PreparedColumns) -> None:
    """Fit and ask the model once with a few rows, so that the fit that is timed finds everything loaded.

    One iteration does. Whatever goes wrong on so few rows says nothing: the trial itself will tell.
    """
    rows = few_rows(train, data.y, len(data.classes))
    with watch(lambda *_: True):
        run_trial(
            replace(candidate, make_for=None), replace(data, metrics=()), Task("", 0, rows, rows), prepared=prepared
        )


def few_rows(train: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """The first of the rows ``train``, or the first of every class.

    >>> few_rows(np.arange(9), np.array([0, 0, 0, 0, 0, 0, 0, 0, 1]), 2)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    if not n_classes:
        return train[:FEW_ROWS]
    _, codes = np.unique(y[train], return_inverse=True)
    each = max(FEW_OF_A_CLASS, FEW_ROWS // n_classes)
    return np.sort(np.concatenate([train[codes == code][:each] for code in range(codes.max() + 1)]))
