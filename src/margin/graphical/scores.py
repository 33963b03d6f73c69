r"""Scores of a network structure on discrete data; all are sums of one local score per variable.

.. math::
    \mathrm{loglik}(i, pa) &= \sum_{j,k} N_{ijk} \log\frac{N_{ijk}}{N_{ij}} \\
    \mathrm{BIC}(i, pa) &= \mathrm{loglik}(i, pa) - \tfrac{\log n}{2}\, q_i (r_i - 1) \\
    \mathrm{BDeu}(i, pa) &= \sum_j \Bigl[\log\frac{\Gamma(\alpha/q_i)}{\Gamma(\alpha/q_i + N_{ij})}
        + \sum_k \log\frac{\Gamma(\alpha/(q_i r_i) + N_{ijk})}{\Gamma(\alpha/(q_i r_i))}\Bigr]

with :math:`N_{ijk}` rows in which variable i is in state k and its parents in combination j, :math:`q_i` combinations
and :math:`r_i` states. BIC counts free parameters, not edges. Here higher is better; :func:`bic` is the criterion on
its usual scale, where lower is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from margin.graphical.network import row_index

__all__ = ["SCORES", "FamilyScores", "bdeu_score", "bic", "family_counts", "log_likelihood_score", "structure_score"]

LARGEST_FAMILY = 2**24  # entries of a table of counts

Local = Callable[[np.ndarray], float]


def bic(log_likelihood: float, n_parameters: int, n_rows: int) -> float:
    r"""Bayesian information criterion :math:`k \log n - 2 \log L`; lower is better.

    >>> round(bic(-10.0, 2, 100), 3)
    29.21
    """
    return float(n_parameters * np.log(n_rows) - 2 * log_likelihood)


def family_counts(
    rows: np.ndarray, sizes: Sequence[int], child: int, parents: Sequence[int], weights: np.ndarray | None = None
) -> np.ndarray:
    """Counts (combinations of parents, states of the child) of rows without a missing state (-1) among them."""
    columns = [*parents, child]
    known = (rows[:, columns] >= 0).all(axis=1)
    if not known.all():
        rows = rows[known]
        weights = None if weights is None else weights[known]
    index, total = row_index(rows, columns, [sizes[c] for c in columns])
    if total > LARGEST_FAMILY:
        raise ValueError(
            f"family_counts: the table of column {child} with {len(parents)} parents has {total:.3g} entries; "
            "allow fewer parents or fewer states."
        )
    return np.bincount(index, weights, minlength=total).astype(np.float64).reshape(-1, sizes[child])


def log_likelihood_score(counts: np.ndarray) -> float:
    """The largest log-likelihood of a child given its parents."""
    return float(xlogy(counts, counts).sum() - xlogy(counts.sum(axis=1), counts.sum(axis=1)).sum())


def penalized_score(counts: np.ndarray, penalty: Callable[[float], float]) -> float:
    """Log-likelihood minus ``penalty(n)`` for every free parameter."""
    parameters = counts.shape[0] * (counts.shape[1] - 1)
    return log_likelihood_score(counts) - penalty(max(float(counts.sum()), 1.0)) * parameters


def bdeu_score(counts: np.ndarray, equivalent_sample_size: float = 10.0) -> float:
    """Log marginal likelihood under Dirichlet priors that together weigh as much as so many rows."""
    q, r = counts.shape
    by_state, by_combination = equivalent_sample_size / (q * r), equivalent_sample_size / q
    return float(
        (gammaln(by_state + counts) - gammaln(by_state)).sum()
        - (gammaln(by_combination + counts.sum(axis=1)) - gammaln(by_combination)).sum()
    )


SCORES: Mapping[str, Local] = {
    "bic": partial(penalized_score, penalty=lambda n: 0.5 * float(np.log(n))),
    "aic": partial(penalized_score, penalty=lambda _: 1.0),
    "bdeu": bdeu_score,
    "loglik": log_likelihood_score,
}


class FamilyScores:
    """Local scores of one data set, each computed once."""

    def __init__(
        self,
        rows: Any,
        sizes: Sequence[int],
        score: str = "bic",
        equivalent_sample_size: float = 10.0,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        if score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(SCORES)}; got {score!r}.")
        self.rows, self.sizes, self.sample_weight = np.asarray(rows), tuple(sizes), sample_weight
        self._local: Local = SCORES[score]
        if score == "bdeu":
            self._local = partial(bdeu_score, equivalent_sample_size=equivalent_sample_size)
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def __call__(self, child: int, parents: frozenset[int]) -> float:
        key = child, parents
        if key not in self._known:
            counts = family_counts(self.rows, self.sizes, child, sorted(parents), self.sample_weight)
            self._known[key] = self._local(counts)
        return self._known[key]


def structure_score(
    parents: Mapping[int, Sequence[int]], rows: Any, sizes: Sequence[int], score: str = "bic", **settings: Any
) -> float:
    """The score of a whole graph over columns 0, 1, ...: the sum of its local scores."""
    local = FamilyScores(rows, sizes, score, **settings)
    return sum(local(child, frozenset(above)) for child, above in parents.items())
