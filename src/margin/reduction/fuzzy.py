r"""Fuzzy neighborhood graphs, the equations of UMAP (McInnes, Healy and Melville 2018).

Every row measures distance on its own scale, so that its nearest neighbor is at distance zero and its k neighbors
together weigh :math:`\log_2 k`:

.. math:: w_{j|i} = \exp\Bigl(-\frac{\max(0, d_{ij} - \rho_i)}{\sigma_i}\Bigr),\qquad
          \sum_{j} w_{j|i} = \log_2 k,\qquad w_{ij} = w_{j|i} + w_{i|j} - w_{j|i} w_{i|j} .

On the map, :math:`v_{ij} = 1 / (1 + a \lVert y_i - y_j \rVert^{2b})`, and the positions minimize the cross-entropy

.. math:: \sum_{i<j} w_{ij} \log\frac{w_{ij}}{v_{ij}} + (1 - w_{ij}) \log\frac{1 - w_{ij}}{1 - v_{ij}} .

With a few random pushes for every pull, as usual, the second part counts far less than written here (Damrich and
Hamprecht 2021): maps are tighter than the minimum of this sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import curve_fit
from scipy.special import rel_entr

from margin.core.arguments import finite, integer
from margin.foundations.probability.kernels import squared_distances
from margin.reduction.graphs import nearest_rows

__all__ = ["curve_parameters", "fuzzy_cross_entropy", "fuzzy_graph", "local_scales", "memberships"]

HALVINGS = 64  # of an interval of float64
SMALLEST_SCALE = 1e-3  # of the mean distance: rows with many equal neighbors would have none


def local_scales(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""(:math:`\rho`, :math:`\sigma`) of every row, from the distances ``gaps`` (n, k) to its nearest neighbors.

    >>> rho, sigma = local_scales(np.array([[1.0, 2.0, 3.0, 4.0]]))
    >>> float(rho[0]), round(float(np.exp(-(np.arange(4.0)) / sigma[0]).sum()), 12)
    (1.0, 2.0)
    """
    above_zero = np.where(gaps > 0, gaps, np.inf).min(axis=1)
    rho = np.where(np.isfinite(above_zero), above_zero, 0.0)
    beyond = np.maximum(gaps - rho[:, None], 0.0)
    target = np.log2(gaps.shape[1])
    low, high = np.zeros(len(gaps)), np.full(len(gaps), np.inf)
    sigma = np.ones(len(gaps))
    for _ in range(HALVINGS):
        with np.errstate(over="ignore"):
            much = np.exp(-beyond / sigma[:, None]).sum(axis=1) > target
        low, high = np.where(much, low, sigma), np.where(much, sigma, high)
        with np.errstate(invalid="ignore"):
            sigma = np.where(np.isfinite(high), (low + high) / 2, 2 * sigma)
    mean = gaps.mean(axis=1) if gaps.any() else np.ones(len(gaps))
    return rho, np.maximum(sigma, SMALLEST_SCALE * np.where(mean > 0, mean, gaps.mean() or 1.0))


def memberships(gaps: np.ndarray, rho: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """How much every neighbor belongs to a row, (n, k)."""
    return np.exp(-np.maximum(gaps - rho[:, None], 0.0) / sigma[:, None])


def fuzzy_graph(X: Any, k: int) -> sp.csr_array:
    """The symmetric weights (n, n) of rows and their ``k`` nearest neighbors.

    >>> fuzzy_graph([[0.0], [1.0], [3.0]], 2).toarray().round(2).max(axis=1).tolist()
    [1.0, 1.0, 1.0]
    """
    rows, k = finite("fuzzy_graph", "X", X), integer("fuzzy_graph", "k", k, low=2)
    if rows.ndim != 2 or k >= len(rows):
        raise ValueError(f"fuzzy_graph: k must be below the number of rows; got {k} for shape {rows.shape}.")
    gaps, index = nearest_rows(rows, k)
    weights = memberships(gaps, *local_scales(gaps))
    one_way = sp.csr_array((weights.ravel(), index.ravel(), np.arange(0, index.size + 1, k)), shape=(len(rows),) * 2)
    other_way = sp.csr_array(one_way.T)
    both = sp.csr_array(one_way + other_way - one_way * other_way)
    both.sort_indices()
    return both


def curve_parameters(min_dist: float, spread: float) -> tuple[float, float]:
    r"""(a, b) for which :math:`1 / (1 + a x^{2b})` is nearest to 1 up to ``min_dist`` m, :math:`e^{-(x - m)/s}` beyond.

    >>> a, b = curve_parameters(0.1, 1.0)
    >>> round(a, 2), round(b, 2)
    (1.58, 0.9)
    """
    x = np.linspace(0, 3 * spread, 300)
    target = np.where(x < min_dist, 1.0, np.exp(-(x - min_dist) / spread))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), x, target, p0=(1.0, 1.0))
    return float(a), float(b)


def fuzzy_cross_entropy(W: np.ndarray, Y: np.ndarray, a: float, b: float) -> float:
    """The objective over all pairs, from a dense ``W`` (n, n) and positions ``Y`` (n, d)."""
    pairs = np.triu_indices(len(Y), 1)
    w = np.asarray(W)[pairs]
    v = np.clip(1 / (1 + a * squared_distances(Y, Y)[pairs] ** b), 1e-12, 1 - 1e-12)
    return float((rel_entr(w, v) + rel_entr(1 - w, 1 - v)).sum())
