"""Errors of rows that a ridge regression did not see, each by a fit of its own."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.linear.penalized_least_squares import leave_one_out


@oracle("margin.linear.penalized_least_squares.leave_one_out")
def one_fit_for_every_row(seed: int) -> Verdict:
    """Two targets and three penalties, with weights that count copies: one copy of the row is left out."""
    rng = np.random.default_rng(seed)
    X, Y, alphas = rng.normal(1.0, 1.0, size=(9, 3)), rng.normal(size=(9, 2)), [0.1, 1.0, 7.0]
    copies = rng.integers(1, 4, 9)
    expected, plain = np.empty((9, 2, 3)), np.empty((9, 2, 3))
    for i in range(9):
        for k, alpha in enumerate(alphas):
            weight = copies - (np.arange(9) == i)
            expected[i, :, k] = Y[i] - Ridge(alpha).fit(X, Y, sample_weight=weight).predict(X[i : i + 1])[0]
            rest = np.arange(9) != i
            plain[i, :, k] = Y[i] - Ridge(alpha, fit_intercept=False).fit(X[rest], Y[rest]).predict(X[i : i + 1])[0]
    return every(
        copies=near(leave_one_out(X, Y, alphas, copies.astype(float)), expected, tolerance=1e-8),
        through_the_origin=near(leave_one_out(X, Y, alphas, intercept=False), plain, tolerance=1e-8),
    )
