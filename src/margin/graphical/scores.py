r"""Scores of a network structure on discrete data; all are sums of one local score per variable.

.. math::
    \mathrm{loglik}(i, pa) &= \sum_{j,k} N_{ijk} \log\frac{N_{ijk}}{N_{ij}} \\
    \mathrm{BIC}(i, pa) &= \mathrm{loglik}(i, pa) - \tfrac{\log n}{2}\, q_i (r_i - 1) \\
    \mathrm{BDeu}(i, pa) &= \sum_j \Bigl[\log\frac{\Gamma(\alpha/q_i)}{\Gamma(\alpha/q_i + N_{ij})}
        + \sum_k \log\frac{\Gamma(\alpha/(q_i r_i) + N_{ijk})}{\Gamma(\alpha/(q_i r_i))}\Bigr]

with :math:`N_{ijk}` rows in which variable i is in state k and its parents in combination j, :math:`q_i` combinations
and :math:`r_i` states. BIC counts free parameters, not edges. Here higher is better;
:func:`margin.foundations.statistics.bic` is the criterion on its usual scale, where lower is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from margin.graphical.network import row_index

__all__ = ["SCORES", "FamilyScores", "bdeu_score", "family_counts", "log_likelihood_score", "structure_score"]

LARGEST_FAMILY = 2**24  # entries of a table of counts

Local = Callable[[np.ndarray], float]


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
    _refuse_large(child, len(parents), total)
    return np.bincount(index, weights, minlength=total).astype(np.float64).reshape(-1, sizes[child])


def _refuse_large(child: int, n_parents: int, n_cells: int) -> None:
    if n_cells > LARGEST_FAMILY:
        raise ValueError(
            f"family_counts: the table of column {child} with {n_parents} parents has {n_cells:.3g} entries; "
            "allow fewer parents or fewer states."
        )


def log_likelihood_score(counts: np.ndarray) -> float:
    """The largest log-likelihood of a child given its parents."""
    return float(xlogy(counts, counts).sum() - xlogy(counts.sum(axis=1), counts.sum(axis=1)).sum())


def penalized_score(counts: np.ndarray, penalty: Callable[[float], float]) -> float:
    """Log-likelihood minus ``penalty(n)`` for every free parameter."""
    parameters = counts.shape[0] * (counts.shape[1] - 1)
    return log_likelihood_score(counts) - penalty(max(float(counts.sum()), 1.0)) * parameters


def _half_log(n: float) -> float:
    return 0.5 * float(np.log(n))


def _one(_: float) -> float:
    return 1.0


def _nothing(_: float) -> float:
    return 0.0


def bdeu_score(counts: np.ndarray, equivalent_sample_size: float = 10.0) -> float:
    """Log marginal likelihood under Dirichlet priors that together weigh as much as so many rows."""
    q, r = counts.shape
    by_state, by_combination = equivalent_sample_size / (q * r), equivalent_sample_size / q
    return float(
        (gammaln(by_state + counts) - gammaln(by_state)).sum()
        - (gammaln(by_combination + counts.sum(axis=1)) - gammaln(by_combination)).sum()
    )


#: What a free parameter costs, of the number of rows.
PENALTIES: Mapping[str, Callable[[float], float]] = {"bic": _half_log, "aic": _one, "loglik": _nothing}
SCORES: Mapping[str, Local] = {
    **{name: partial(penalized_score, penalty=penalty) for name, penalty in PENALTIES.items()},
    "bdeu": bdeu_score,
}
WORTH_COMPILING = 2_000_000  # rows times pairs of variables: below it, loading compiled code costs more than it saves
MOST_STATES = 2**15  # of a variable in compiled code


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
        self._penalty = PENALTIES.get(score)

    def __call__(self, child: int, parents: frozenset[int]) -> float:
        key = child, parents
        if key not in self._known:
            self._known[key] = self._local(self._counts(child, sorted(parents)))
        return self._known[key]

    def _counts(self, child: int, parents: Sequence[int]) -> np.ndarray:
        if self._columns is None:
            return family_counts(self.rows, self.sizes, child, parents, self.sample_weight)
        family, n_cells = self._family(child, parents)
        return np.bincount(family, minlength=n_cells).astype(np.float64).reshape(-1, self.sizes[child])

    def _family(self, child: int, parents: Sequence[int]) -> tuple[np.ndarray, int]:
        """The position of every row in the table of parents and child, and the number of positions."""
        assert self._columns is not None
        n_cells = prod(self.sizes[c] for c in (*parents, child))
        _refuse_large(child, len(parents), n_cells)
        family = np.zeros(len(self.rows), dtype=np.int32)
        for column in (*parents, child):
            family *= self.sizes[column]
            family += self._columns[column]
        return family, n_cells

    def with_one_more(self, child: int, parents: frozenset[int], others: Sequence[int]) -> np.ndarray:
        """The scores of ``child`` with ``parents`` and each of ``others`` in turn."""
        if len(others) and self._columns is not None:
            return self._run_compiled(child, parents, others)
        return np.array([self(child, parents | {other}) for other in others])

    @cached_property
    def _columns(self) -> np.ndarray | None:
        """States column by column for compiled code; None where it does not apply or is not worth loading."""
        if self._penalty is None or self.sample_weight is not None or len(self.sizes) == 0:
            return None
        if len(self.rows) * len(self.sizes) ** 2 < WORTH_COMPILING or max(self.sizes) > MOST_STATES:
            return None
        return None if self.rows.min() < 0 else np.ascontiguousarray(self.rows.T, dtype=np.int16)

    @cached_property
    def _k_log_k(self) -> np.ndarray:
        counts = np.arange(len(self.rows) + 1.0)
        return xlogy(counts, counts)

    def _run_compiled(self, child: int, parents: frozenset[int], others: Sequence[int]) -> np.ndarray:
        from margin.compiled.graphical import log_likelihoods_with_one_more

        assert self._columns is not None
        assert self._penalty is not None
        sizes = np.array(self.sizes, dtype=np.int64)
        family, n_cells = self._family(child, sorted(parents))
        cells = n_cells * sizes[others]
        _refuse_large(child, len(parents) + 1, int(cells.max()))
        states, given = self.sizes[child], np.array(others, dtype=np.int64)
        log_likelihoods = np.empty(len(given))
        log_likelihoods_with_one_more(
            *(self._columns, sizes, family.astype(np.int64, copy=False), states, n_cells, given, self._k_log_k),
            *(np.empty((4, int(cells.max(initial=0))), dtype=np.int32), log_likelihoods),
        )
        return log_likelihoods - self._penalty(float(len(self.rows))) * (cells // states * (states - 1))


def structure_score(
    parents: Mapping[int, Sequence[int]], rows: Any, sizes: Sequence[int], score: str = "bic", **settings: Any
) -> float:
    """The score of a whole graph over columns 0, 1, ...: the sum of its local scores."""
    local = FamilyScores(rows, sizes, score, **settings)
    return sum(local(child, frozenset(above)) for child, above in parents.items())
