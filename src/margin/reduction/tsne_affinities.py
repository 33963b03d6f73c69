"""Affinities of rows and their nearest neighbors, as t-SNE holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from margin.core.number_range import power_of_two
from margin.core.sparse_distances import check_neighbors_known
from margin.reduction.affinities import precisions_for, row_affinities
from margin.reduction.distances import is_euclidean, nearest_by_metric
from margin.reduction.graphs import nearest_rows

if TYPE_CHECKING:
    from margin.reduction.tsne import TSNE

__all__ = ["conditional_affinities", "metric_neighbors", "neighbor_count", "reachable_perplexity", "sparse_affinities"]

ALMOST_UNIFORM = 0.999  # of all neighbors: the largest perplexity that has a bandwidth


def sparse_affinities(model: TSNE, X: np.ndarray) -> sp.csr_array:
    """Joint affinities (n, n) of rows and their nearest neighbors, three times the perplexity of them or all."""
    n, k = len(X), neighbor_count(model, len(X) - 1)
    gaps, index = metric_neighbors(model, X, k)
    weights = conditional_affinities(gaps, model.perplexity)
    conditional = sp.csr_array((weights.ravel(), index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = sp.csr_array((conditional + conditional.T) / (2 * n))
    joint.sort_indices()
    return joint


def conditional_affinities(gaps: np.ndarray, perplexity: float) -> np.ndarray:
    """Affinities (m, k) of rows to neighbors at distances ``gaps``: at one perplexity, no matter in which unit."""
    squares = (gaps / power_of_two(gaps.max(initial=0.0))) ** 2
    return row_affinities(squares, precisions_for(squares, reachable_perplexity(perplexity, squares)))


def metric_neighbors(
    model: TSNE, X: np.ndarray, k: int, queries: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    if is_euclidean(model.metric, model.metric_params):
        return nearest_rows(X, k, queries)
    gaps, index = nearest_by_metric(X, k, model.metric, model.metric_params, queries)
    if gaps.min(initial=0.0) < 0:
        raise ValueError(f"TSNE: metric must give distances, positive or zero; got {gaps.min():g}.")
    check_neighbors_known("TSNE", gaps)
    return gaps, index


def reachable_perplexity(perplexity: float, squares: np.ndarray) -> float:
    """The perplexity that a distribution over so many neighbors can have: at most their number, if all weigh alike."""
    return min(perplexity, ALMOST_UNIFORM * squares.shape[1])


def neighbor_count(model: TSNE, most: int) -> int:
    return most if model.method == "exact" else min(most, int(np.ceil(3 * model.perplexity)) + 1)
