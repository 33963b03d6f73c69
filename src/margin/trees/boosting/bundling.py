r"""Columns that are never above their lowest code in the same row share one stored column.

The columns of a one-hot table are such: in every row at most one of them is 1. If column :math:`j` with codes
:math:`c_{ij} \in \{0, \dots, m_j - 1\}` shares a stored column, that column holds

.. math:: s_i = b_j + c_{ij} \text{ for the one } j \text{ with } c_{ij} > 0, \qquad s_i = 0 \text{ if there is none,}

with bases :math:`b_j` that keep the ranges apart. Nothing is lost: the histogram of column :math:`j` is the part
:math:`b_j + 1, \dots, b_j + m_j - 1` of the stored one, and its lowest code has what the node has beyond that. So trees
are the same bit for bit, from fewer additions per row (G. Ke et al., LightGBM, 2017, where the exclusion may have
exceptions; here it has none).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.trees.boosting.kernel_types import COLUMN, MISSING

__all__ = ["Bundles", "bundle", "find_bundles", "stored_splits"]

CAPACITY = 254  # stored codes of a bundle beside 0; 255 stays the code of missing values
GLANCE = 1024  # rows that tell which columns are worth a closer look
SAMPLE = 2**16  # rows on which exclusive columns are looked for; whether they are is then asked of every row
DENSE = 0.9  # a column above its lowest code more often than this leaves no rows to others
TRIED = 32  # bundles that a column is tried in: bounds the search in a table of thousands of sparse columns


class Bundles(NamedTuple):
    """Which of the q stored columns holds each of the p columns of a table."""

    stored: np.ndarray  # (p,) int64, the stored column
    base: np.ndarray  # (p,) int64: code k > 0 is stored as base + k; -1 for a column that is stored alone
    members: np.ndarray  # (p,) int64, columns in the order of the stored ones
    first: np.ndarray  # (q + 1,) int64: stored column s holds members[first[s]:first[s + 1]]


def bundle(codes: np.ndarray, n_bins: np.ndarray, categorical: np.ndarray) -> tuple[np.ndarray, Bundles | None]:
    """The stored columns (n, q) of ``codes`` (n, p) and where each column is in them; ``codes`` and None if q = p.

    >>> codes = np.array([[1, 0, 0, 7], [0, 1, 0, 8], [0, 0, 2, 9]], dtype=np.uint8)
    >>> stored, bundles = bundle(codes, np.array([2, 2, 3, 10]), np.zeros(4, dtype=bool))
    >>> stored.tolist(), bundles.base.tolist()
    ([[1, 7], [2, 8], [4, 9]], [0, 1, 2, -1])
    """
    group = find_bundles(codes, n_bins, categorical)
    while len(np.unique(group)) < len(group):
        from margin.compiled.boosting import store

        bundles = _bundles(group, n_bins)
        stored = np.empty((len(codes), len(bundles.first) - 1), dtype=np.uint8)
        conflict = np.zeros(len(group), dtype=bool)
        columns = np.zeros(len(group), dtype=COLUMN)
        columns["stored"], columns["base"] = bundles.stored, bundles.base
        store(codes, columns, stored, conflict.view(np.uint8))
        if not conflict.any():
            return stored, bundles
        group = np.where(conflict, len(group) + np.arange(len(group)), group)  # each in a new one of its own
    return codes, None


def find_bundles(codes: np.ndarray, n_bins: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """The number of the bundle of every column (p,): greedy, in the order of the columns, on a sample of rows."""
    n, p = codes.shape
    group = np.arange(p)
    glance = codes[:: max(1, n // GLANCE)]
    sparse = (
        ~categorical & (n_bins <= CAPACITY) & ((glance > 0).mean(axis=0) <= DENSE) & ~(glance == MISSING).any(axis=0)
    )
    candidates = np.flatnonzero(sparse)
    if len(candidates) < 2:
        return group
    taken = _mark_taken(codes[:: max(1, n // SAMPLE)], candidates)
    open_bundles: list[tuple[int, np.ndarray, int]] = []  # number, rows taken, stored codes left
    for column, rows in zip(candidates, taken, strict=True):
        needed = int(n_bins[column]) - 1
        for at, (number, occupied, left) in enumerate(open_bundles):
            if needed <= left and not (occupied & rows).any():
                group[column], open_bundles[at] = number, (number, occupied | rows, left - needed)
                break
        else:
            open_bundles = [*open_bundles, (int(column), rows, CAPACITY - needed)][-TRIED:]
    return group


def _mark_taken(codes: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """In which rows each candidate is above its lowest code, as bits (candidates, n / 8)."""
    blocks = [np.packbits(codes[low : low + GLANCE][:, candidates] > 0, axis=0) for low in range(0, len(codes), GLANCE)]
    return np.ascontiguousarray(np.concatenate(blocks).T)


def _bundles(group: np.ndarray, n_bins: np.ndarray) -> Bundles:
    _, stored, sizes = np.unique(group, return_inverse=True, return_counts=True)
    members = np.argsort(stored, kind="stable")
    first = np.concatenate([[0], np.cumsum(sizes)])
    base = np.full(len(group), -1)
    for bundle in np.flatnonzero(sizes > 1):
        own = members[first[bundle] : first[bundle + 1]]
        base[own] = np.cumsum(n_bins[own] - 1) - (n_bins[own] - 1)
    return Bundles(stored=stored, base=base, members=members, first=first)


def stored_splits(trees: dict[str, np.ndarray], bundles: Bundles | None, n_bins: np.ndarray) -> dict[str, np.ndarray]:
    """Trees that split the stored columns: a threshold of a column that shares one becomes a set of stored codes."""
    if bundles is None:
        return trees
    feature, inner = trees["feature"], trees["feature"] >= 0
    shared = np.flatnonzero(inner & (bundles.base[feature] >= 0))
    column = feature[shared]
    low = bundles.base[column] + trees["code"][shared]
    high = bundles.base[column] + n_bins[column] - 1
    codes = np.arange(MISSING + 1)
    left = (codes <= low[:, None]) | (codes > high[:, None])
    row, sets = trees["category_row"].copy(), trees["category_set"]
    row[shared] = len(sets) + np.arange(len(shared))
    return {
        **trees,
        "feature": np.where(inner, bundles.stored[feature], -1),
        "category_row": row,
        "category_set": np.concatenate([sets, np.packbits(left, axis=1, bitorder="little")]),
    }
