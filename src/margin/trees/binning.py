r"""Columns as small integers: the split of a tree is searched among at most 255 bins per column.

A numeric column is cut at edges :math:`e_0 < e_1 < \dots`, and the code of a value is the number of edges below it,

.. math:: c(x) = \#\{k : e_k < x\}, \qquad c(x) \le k \iff x \le e_k ,

so a split of codes is a split of values. A categorical column has one code per category. A missing value, and a
category never seen, has the code :data:`MISSING`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from margin.core.parallel import over_ranges, parallel_map
from margin.core.threads import threads_for

__all__ = ["MISSING", "Bins", "apply_bins", "find_bins", "midpoint"]

MISSING = 255
MAX_BINS = 255
SUBSAMPLE = 200_000  # rows from which edges are taken: a quantile of so many is off by about 0.1 percent

CHUNK = 2048  # rows that are worth a thread


@dataclass(frozen=True)
class Bins:
    """Plain arrays: column ``j`` has the edges (or categories) ``edges[offsets[j]:offsets[j + 1]]``, ascending.

    ``exact[j]`` says that every distinct value of the column has a bin of its own.

    >>> bins = find_bins(np.array([[1.0, 7], [2, 7], [np.nan, 9]]), categorical=[False, True])
    >>> bins.of(0), bins.of(1), bins.n_bins
    (array([1.5]), array([7., 9.]), array([2, 2]))
    """

    edges: np.ndarray  # (all edges,) float64
    offsets: np.ndarray  # (p + 1,) int64
    categorical: np.ndarray  # (p,) bool
    exact: np.ndarray  # (p,) bool

    def of(self, column: int) -> np.ndarray:
        """The edges of a numeric column, the categories of a categorical one."""
        return self.edges[self.offsets[column] : self.offsets[column + 1]]

    @property
    def n_bins(self) -> np.ndarray:
        """Codes in use per column, the missing one not counted: one more than edges, or the number of categories."""
        return np.diff(self.offsets) + ~self.categorical

    def table(self) -> np.ndarray:
        """The edges as rows of 256 numbers, filled with infinity: what a search of fixed depth reads, (p, 256)."""
        padded = np.full((len(self.categorical), MAX_BINS + 1), np.inf)
        for column, row in enumerate(padded):
            own = self.of(column)
            row[: len(own)] = own
        return padded


def find_bins(
    X: np.ndarray,
    max_bins: int = MAX_BINS,
    sample_weight: np.ndarray | None = None,
    categorical: Sequence[bool] | np.ndarray | None = None,
    rng: np.random.Generator | None = None,
    subsample: int | None = SUBSAMPLE,
) -> Bins:
    """Bins of (weighted) equal frequency for float64 ``X`` (n, p), NaN being missing.

    A column with at most ``max_bins`` distinct values gets one bin each, with edges halfway between neighbors; values
    that would fill more than two bins alone get their own. Of a categorical column the ``max_bins`` heaviest
    categories are kept. At most ``subsample`` rows are looked at, drawn by ``rng`` (seed 0 if None); rows of weight
    zero never are.
    """
    if X.ndim != 2:
        raise ValueError(f"find_bins: X must have two dimensions; got shape {X.shape}.")
    if not 2 <= max_bins <= MAX_BINS:
        raise ValueError(f"find_bins: max_bins must be from 2 to {MAX_BINS}; got {max_bins!r}.")
    is_category = np.zeros(X.shape[1], dtype=bool) if categorical is None else np.array(categorical, dtype=bool)
    if is_category.shape != (X.shape[1],):
        raise ValueError(f"find_bins: categorical must have one flag per column; got shape {is_category.shape}.")
    rows, whole = _sampled_rows(len(X), sample_weight, rng, subsample)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[rows]

    def one(column: int) -> tuple[np.ndarray, bool]:
        values, totals = _distinct(X[rows, column], weights)
        if is_category[column]:
            return _heaviest(values, totals, max_bins), len(values) <= max_bins
        return _cuts(values, totals, max_bins), len(values) <= max_bins

    found = _over_columns(one, X.shape[1], work=30.0 * X.shape[1] * min(len(X), subsample or len(X)))
    lengths = [len(edges) for edges, _ in found]
    return Bins(
        edges=np.concatenate([np.zeros(0), *(edges for edges, _ in found)]),
        offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
        categorical=is_category,
        exact=np.array([exact for _, exact in found], dtype=bool) & whole,
    )


def apply_bins(X: np.ndarray, bins: Bins, order: str = "C") -> np.ndarray:
    """The codes of float64 ``X`` (n, p) as uint8 (n, p), rows together ("C") or columns together ("F").

    >>> bins = find_bins(np.array([[1.0], [2.0], [4.0]]))
    >>> apply_bins(np.array([[0.0], [1.5], [1.6], [9.0], [np.nan]]), bins).ravel()
    array([  0,   0,   1,   2, 255], dtype=uint8)
    """
    if X.ndim != 2 or X.shape[1] != len(bins.categorical):
        raise ValueError(f"apply_bins: X must have shape (n, {len(bins.categorical)}); got {X.shape}.")
    from margin.compiled.trees import fill_codes_by_column, fill_codes_by_row

    X = np.ascontiguousarray(X, dtype=np.float64)
    codes = np.empty(X.shape, dtype=np.uint8, order="F" if order == "F" else "C")
    fill = fill_codes_by_column if order == "F" else fill_codes_by_row
    given = X, bins.table(), bins.categorical.view(np.uint8), codes.T if order == "F" else codes
    threads = max(1, min(threads_for(20.0 * X.size), len(X) // CHUNK))
    over_ranges(lambda first, last: fill(*given, first, last), len(X), threads)
    return codes


def midpoint(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers t with low <= t < high, halfway where that can be represented; no overflow."""
    middle = low / 2 + high / 2
    return np.where((middle >= high) | (middle < low), low, middle)


def _sampled_rows(
    n: int, weights: np.ndarray | None, rng: np.random.Generator | None, subsample: int | None
) -> tuple[slice | np.ndarray, bool]:
    """The rows to look at, and whether these are all rows that weigh anything."""
    kept = None if weights is None or np.all(weights > 0) else np.flatnonzero(np.asarray(weights) > 0)
    size = n if kept is None else len(kept)
    if subsample is None or size <= subsample:
        return (slice(None) if kept is None else kept), True
    rng = np.random.default_rng(0) if rng is None else rng
    drawn = np.sort(rng.choice(size, size=subsample, replace=False))
    return (drawn if kept is None else kept[drawn]), False


def _distinct(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Distinct known values, ascending, and the weight of each."""
    if weights is None:
        x = np.sort(x)  # missing values come last
    else:
        order = np.argsort(x, kind="stable")
        x, weights = x[order], weights[order]
    known = len(x) - int(np.isnan(x).sum()) if len(x) and np.isnan(x[-1]) else len(x)
    x = x[:known]
    changes = x[1:] != x[:-1]
    if weights is None and changes.all():
        return x, np.ones(known)
    starts = np.flatnonzero(np.concatenate([np.ones(min(known, 1), dtype=bool), changes]))
    if weights is None:
        return x[starts], np.diff(np.append(starts, known)).astype(np.float64)
    return x[starts], np.add.reduceat(weights[:known], starts) if known else np.zeros(0)


def _heaviest(values: np.ndarray, weights: np.ndarray, max_bins: int) -> np.ndarray:
    kept = np.argsort(-weights, kind="stable")[:max_bins]
    return np.sort(values[kept])


def _cuts(values: np.ndarray, weights: np.ndarray, max_bins: int) -> np.ndarray:
    """At most ``max_bins - 1`` edges between distinct ``values`` such that bins weigh about the same."""
    if len(values) <= max_bins:
        return midpoint(values[:-1], values[1:])
    total = weights.sum()
    heavy = weights > 2 * total / max_bins  # fewer than half of the bins, so each can be fenced on both sides
    if not heavy.any():
        before = np.cumsum(weights) - weights / 2
        last = np.searchsorted(before, total * np.arange(max_bins) / max_bins) - 1  # from -1 on, ascending
        last = last[1:][(last[1:] > last[:-1]) & (last[1:] < len(values) - 1)]
        return midpoint(values[last], values[last + 1])
    light = np.where(heavy, 0.0, weights)
    before = np.cumsum(light) - light / 2
    bins = max_bins - int(heavy.sum())
    while True:
        group = np.minimum((before * (bins / light.sum())).astype(np.int64), bins - 1)
        cut = (group[1:] != group[:-1]) | heavy[1:] | heavy[:-1]
        excess = int(cut.sum()) - (max_bins - 1)
        if excess <= 0:
            return midpoint(values[:-1][cut], values[1:][cut])
        bins = max(1, bins - excess)


def _over_columns(
    one: Callable[[int], tuple[np.ndarray, bool]], columns: int, work: float
) -> list[tuple[np.ndarray, bool]]:
    return parallel_map(one, range(columns), threads_for(work))  # sorting releases the interpreter lock
