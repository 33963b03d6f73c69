"""A training table as codes: one per distinct value (exact splits) or one per bin (splits between bins)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from margin.trees.binning import MISSING, apply_bins, find_bins

if TYPE_CHECKING:
    from margin.trees.cart.kernel_types import ColumnCodes

__all__ = ["EXACT_ROWS", "binned_codes", "column_codes", "exact_codes"]

# Up to so many rows every distinct value has a code; beyond, histograms of 255 bins are several times faster.
EXACT_ROWS = 10_000


def column_codes(
    X: np.ndarray,
    max_bins: int | str | None,
    categorical: np.ndarray,
    rng: np.random.Generator,
    exact_rows: int = EXACT_ROWS,
) -> ColumnCodes:
    """The codes of float64 ``X`` (n, p): exact if ``max_bins`` is None, or "auto" and there are few rows."""
    if max_bins is None or (max_bins == "auto" and len(X) <= exact_rows):
        return exact_codes(X, categorical)
    return binned_codes(X, 255 if max_bins == "auto" else int(max_bins), categorical, rng)


def exact_codes(X: np.ndarray, categorical: Sequence[bool] | np.ndarray) -> ColumnCodes:
    """One code per distinct value."""
    from margin.trees.cart.kernel_types import ColumnCodes

    n, p = X.shape
    codes = np.empty((p, n), dtype=np.int32)
    values, missing_rows = [], []
    for j in range(p):
        known, position = np.unique(X[:, j], return_inverse=True, equal_nan=True)
        absent = np.isnan(X[:, j])
        if categorical[j]:
            known, position = np.arange(int(np.nanmax(X[:, j], initial=-1)) + 1.0), np.nan_to_num(X[:, j], nan=-1)
        else:
            known = known[~np.isnan(known)]
        codes[j] = position
        values.append(known)
        missing_rows.append(absent)
    missing = max(MISSING, max(map(len, values), default=0))
    for row, absent in zip(codes, missing_rows):
        row[absent] = missing
    flat = np.concatenate([np.zeros(0), *values])
    return ColumnCodes(
        codes=codes,
        by_row=np.ascontiguousarray(codes.T),
        ranges=np.stack([flat, flat]),
        offsets=np.concatenate([[0], np.cumsum([len(v) for v in values])]).astype(np.int64),
        flags=np.array([categorical, [absent.any() for absent in missing_rows]], dtype=bool),
        missing=int(missing),
    )


def binned_codes(
    X: np.ndarray, max_bins: int, categorical: Sequence[bool] | np.ndarray, rng: np.random.Generator | None
) -> ColumnCodes:
    """At most ``max_bins`` codes per column; where distinct values are fewer, the codes are the exact ones."""
    from margin.compiled.trees import value_ranges
    from margin.trees.cart.kernel_types import ColumnCodes

    categorical = np.asarray(categorical, dtype=bool)
    bins = find_bins(X, max_bins, categorical=np.zeros_like(categorical), rng=rng)
    codes = apply_bins(X, bins, "F").T
    for j in np.flatnonzero(categorical):
        codes[j] = np.nan_to_num(X[:, j], nan=MISSING)
    counts = np.where(categorical, MISSING, bins.n_bins)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ranges = np.empty((2, offsets[-1]))
    ranges[0], ranges[1] = np.inf, -np.inf
    value_ranges(np.ascontiguousarray(X), codes, offsets, ranges)
    return ColumnCodes(
        codes=codes,
        by_row=np.ascontiguousarray(codes.T),
        ranges=ranges,
        offsets=offsets,
        flags=np.array([categorical, [(row == MISSING).any() for row in codes]], dtype=bool),
        missing=MISSING,
    )
