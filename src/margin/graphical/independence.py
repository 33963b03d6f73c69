r"""Tests of conditional independence from samples.

The G-test compares the counts of a, b and every state c of the condition with what independence would give,

.. math:: G = 2 \sum_{a,b,c} N_{abc} \log\frac{N_{abc} N_c}{N_{ac} N_{bc}},

which is :math:`2n` times the conditional mutual information and, if they are independent, has about a chi-squared
distribution with :math:`(r_a - 1)(r_b - 1)\,q_c` degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from margin.graphical.network import row_index

__all__ = ["IndependenceTest", "ci_test"]


class IndependenceTest(NamedTuple):
    """The statistic, its degrees of freedom, and the probability of one as large under independence."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


def ci_test(rows: Any, first: int, second: int, given: Sequence[int] = ()) -> IndependenceTest:
    """Whether two columns of integer states are independent given others; small p-values are evidence against it."""
    from scipy.stats import chi2

    states = np.asarray(rows)
    if states.ndim != 2 or states.dtype.kind not in "iu" or len(states) == 0 or states.min() < 0:
        raise ValueError("ci_test: rows must be a table of states 0, 1, ... as integers.")
    columns = [*given, first, second]
    if len(set(columns)) < len(columns) or not all(0 <= c < states.shape[1] for c in columns):
        raise ValueError(f"ci_test: columns must be different and below {states.shape[1]}; got {columns}.")
    sizes = [int(states[:, c].max()) + 1 for c in columns]
    index, total = row_index(states, columns, sizes)
    counts = np.bincount(index, minlength=total).reshape(-1, sizes[-2], sizes[-1]).astype(np.float64)
    by_a, by_b, by_c = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
    statistic = 2 * float(
        xlogy(counts, counts).sum() + xlogy(by_c, by_c).sum() - xlogy(by_a, by_a).sum() - xlogy(by_b, by_b).sum()
    )
    # Only conditions and states that occur can differ from what independence expects.
    freedom = int((np.maximum((by_a > 0).sum(axis=1) - 1, 0) * np.maximum((by_b > 0).sum(axis=1) - 1, 0)).sum())
    return IndependenceTest(statistic, freedom, float(chi2.sf(statistic, freedom)) if freedom else 1.0)
