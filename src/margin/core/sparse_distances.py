"""Distances given as a sparse matrix, such as a graph of neighbors: what is not stored is not known, and not zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.core.sparse_input import dense_rows

__all__ = ["GivenDistances", "check_neighbors_known", "check_zeros_kept", "distances_given"]

WITHOUT_ZEROS = ("dok", "bsr")  # formats that drop stored zeros, the distances of equal rows, or add others


class GivenDistances:
    """A model that takes distances in place of rows with ``metric="precomputed"``."""

    metric: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_format(self, X: Any) -> None:
        if self._precomputed:
            check_zeros_kept(type(self).__name__, X)

    def _dense(self, X: Any) -> np.ndarray:
        """Checked rows as an array; distances that a sparse ``X`` does not give are infinite."""
        owner = type(self).__name__
        return distances_given(owner, X) if sp.issparse(X) and self._precomputed else dense_rows(owner, X)


def check_zeros_kept(owner: str, X: Any) -> None:
    """Refuse the formats in which a distance of zero cannot be told from one that is not given."""
    if sp.issparse(X) and X.format in WITHOUT_ZEROS:
        raise TypeError(f"{owner}: a sparse X of distances must keep stored zeros, as csr does; got {X.format}.")


def distances_given(owner: str, X: Any) -> np.ndarray:
    """Distances from a sparse matrix, such as a graph of neighbors, as an array: infinite where none is stored.

    >>> from scipy.sparse import csr_array
    >>> distances_given("Isomap", csr_array([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [[inf, 2.0], [3.0, inf]]
    """
    if X.nnz and X.data.min() < 0:
        raise ValueError(f"{owner}: X must hold distances, positive or zero; got {X.data.min():g}.")
    distances = dense_rows(owner, X)
    pairs = X.tocoo()
    distances[:] = np.inf
    distances[pairs.row, pairs.col] = pairs.data
    return distances


def check_neighbors_known(owner: str, gaps: np.ndarray) -> None:
    """Refuse a sparse matrix that gives fewer distances to a row than the neighbors that are looked for, (m, k)."""
    known = np.isfinite(gaps).sum(axis=1)
    if known.min(initial=gaps.shape[1]) < gaps.shape[1]:
        row = int(known.argmin())
        raise ValueError(
            f"{owner}: X must give distances to {gaps.shape[1]} neighbors of every row; row {row} has {known[row]}."
        )
