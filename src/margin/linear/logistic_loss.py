r"""The negative log-likelihood of class labels under a linear model of the scores, with its derivatives.

.. math::
    z_i = W^\top x_i + b,\qquad
    \ell(z, y) = \log\sum_k e^{z_k} - z_y,\qquad
    \nabla_W = \sum_i w_i\, x_i (p_i - e_{y_i})^\top,\quad p_i = \operatorname{softmax}(z_i) .

Two classes need one score, :math:`\ell(z, y) = \log(1 + e^z) - y z` and :math:`p = \sigma(z)`. Parameters are an array
``theta`` (p + 1, k): one column per score, the last row the intercepts (held at zero when there are none). Rows are
visited in blocks that stay in the cache, chunks of them on several threads; their sums are added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from margin.core.chunks import map_row_chunks

__all__ = ["LabeledRows", "Likelihood", "binary_terms", "softmax_terms"]

BLOCK_BYTES = 2**20  # a block of rows is read twice, for scores and for the gradient: the second time from the cache


class LabeledRows(NamedTuple):
    """Examples ``X`` (n, p; dense or CSR), class positions ``y`` (n,) and weights (n,) or None."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None

    @property
    def total(self) -> float:
        return float(len(self.y) if self.weights is None else self.weights.sum())

    def every(self, step: int) -> LabeledRows:
        """One row in ``step``, next to each other in memory: they are read many times."""
        X = self.X[::step] if sp.issparse(self.X) else np.ascontiguousarray(self.X[::step])
        return LabeledRows(X, self.y[::step], None if self.weights is None else self.weights[::step])


def binary_terms(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Per row: loss :math:`\log(1 + e^z) - y z`, residual :math:`\sigma(z) - y`, probability; no overflow anywhere.

    >>> loss, residual, p = binary_terms(np.array([0.0, 800.0]), np.array([1, 1]))
    >>> loss.round(3), residual
    (array([0.693, 0.   ]), array([-0.5,  0. ]))
    """
    small = np.exp(-np.abs(z))
    loss = np.log1p(small) + np.maximum(z, 0.0) - y * z
    p = np.where(z >= 0, 1.0, small) / (1.0 + small)
    return loss, p - y, p


def softmax_terms(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per row of scores ``z`` (n, K): loss (n,), residual (n, K), probabilities (n, K)."""
    turned = np.ascontiguousarray(z.T)  # (K, n): sums over a few classes go along whole vectors
    turned = turned - turned.max(axis=0)
    own = y * len(y) + np.arange(len(y))  # of the labels, in the flat array
    at_label = turned.take(own)
    p = np.exp(turned, out=turned)
    sums = p.sum(axis=0)
    loss = np.log(sums) - at_label
    p /= sums
    residual = p.copy()
    residual.reshape(-1)[own] -= 1.0
    return loss, residual.T, p.T


@dataclass(frozen=True)
class Likelihood:
    """Mean loss of ``rows`` plus ``ridge``/2 times the squared length of the coefficients (not of the intercepts)."""

    rows: Any  # LabeledRows, or the shape of those of a stream
    columns: int  # scores: 1 for two classes, K for more
    ridge: float
    intercept: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.X.shape[1] + 1, self.columns

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient, one pass over the rows."""

        def block(X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> tuple[Any, ...]:
            loss, residual, _ = self._terms(X, y, theta)
            if w is not None:
                loss, residual = w * loss, w[:, None] * residual
            return loss.sum(dtype=np.float64), residual.T @ X, residual.sum(axis=0, dtype=np.float64)

        loss, slope, offset = self._sum(block)
        gradient = np.vstack([slope.T, offset if self.intercept else np.zeros(self.columns)]) / self.rows.total
        coef = theta[:-1]
        gradient[:-1] += self.ridge * coef
        return float(loss) / self.rows.total + self.ridge / 2 * float(np.vdot(coef, coef)), gradient

    def hessian(self, theta: np.ndarray, column: int = 0) -> np.ndarray:
        r"""(p + 1, p + 1) derivatives of second order: :math:`\sum_i w_i p_i (1 - p_i)\, x_i x_i^\top / W` + ridge."""

        def curvature(X: np.ndarray, y: np.ndarray) -> np.ndarray:
            p = self._terms(X, y, theta)[2]
            return p[:, column] * (1.0 - p[:, column])

        return self._gram(curvature)

    def second_moments(self) -> np.ndarray:
        r"""(p + 1, p + 1) :math:`\sum_i w_i x_i x_i^\top / W` + ridge, with a last entry 1 in every row x."""
        return self._gram(None)

    def typical_hessian(self) -> np.ndarray:
        r"""(p + 1, p + 1) one block for all of K scores, :math:`c \sum_i w_i x_i x_i^\top / W` + ridge.

        At equal probabilities c is :math:`\tfrac1K (1 - \tfrac1K)`; it falls as rows become certain, to about a third.
        """
        moments = replace(self, ridge=0.0).second_moments() * self._typical_curvature
        moments.flat[: -1 : len(moments) + 1] += self.ridge
        return moments

    def typical_diagonal(self) -> np.ndarray:
        """The diagonal of :meth:`typical_hessian`, for tables with too many columns for the matrix."""
        return self.curvature_diagonal()[0]

    def curvature_diagonal(self, theta: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        r"""(p + 1,) the diagonal of :meth:`hessian` at ``theta`` for one score, or of :meth:`typical_hessian`; and
        (p + 1,) the number of rows that carry each entry, :math:`(\sum_i c_i)^2 / \sum_i c_i^2` for contributions c.

        A rare indicator is carried by a few rows only, however large its standardized values are.
        """

        def block(X: Any, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
            squares = X.multiply(X) if sp.issparse(X) else X * X
            fourths = squares.multiply(squares) if sp.issparse(X) else squares * squares
            d = np.ones(len(y)) if w is None else w
            if theta is not None:
                p = self._terms(X, y, theta)[2][:, 0]
                d = d * p * (1.0 - p)
            return np.append(squares.T @ d, d.sum()), np.append(fourths.T @ (d * d), d @ d)

        first, second = self._sum(block)
        carried = first * first / np.where(second > 0, second, 1.0)
        diagonal = first * (self._typical_curvature if theta is None else 1.0) / self.rows.total
        diagonal[:-1] += self.ridge
        diagonal[-1] = diagonal[-1] if self.intercept else 1.0
        return diagonal, carried

    def product(self, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian at ``theta`` times ``direction``, both (p + 1, k), without the matrix: one pass over the rows."""

        def block(X: Any, y: np.ndarray, w: np.ndarray | None) -> tuple[Any, ...]:
            p = self._terms(X, y, theta)[2]
            turned = self._scores(X, direction)
            bent = p * (1.0 - p) * turned if self.columns == 1 else p * (turned - (p * turned).sum(axis=1)[:, None])
            bent = bent if w is None else w[:, None] * bent
            return bent.T @ X, bent.sum(axis=0, dtype=np.float64)

        slope, offset = self._sum(block)
        product = np.vstack([slope.T, offset if self.intercept else np.zeros(self.columns)]) / self.rows.total
        product[:-1] += self.ridge * direction[:-1]
        return product

    def joint_hessian(self, theta: np.ndarray) -> np.ndarray:
        r"""((p + 1) k, (p + 1) k) all derivatives of second order, block (c, d) being
        :math:`\sum_i w_i p_{ic} ([c = d] - p_{id})\, x_i x_i^\top / W`; score after score."""
        k, m = self.columns, self.shape[0]
        full = np.empty((k, m, k, m))
        for c in range(k):
            for d in range(c + 1):
                pair = self._pair_gram(theta, c, d)
                full[c, :, d], full[d, :, c] = pair, pair.T
        return full.reshape(k * m, k * m)

    def _pair_gram(self, theta: np.ndarray, c: int, d: int) -> np.ndarray:
        if c == d:
            return self.hessian(theta, c)

        def both(X: np.ndarray, y: np.ndarray) -> np.ndarray:
            p = self._terms(X, y, theta)[2]
            return p[:, c] * p[:, d]

        mixed = -replace(self, ridge=0.0)._gram(both)
        if not self.intercept:
            mixed[-1, -1] = 0.0
        return mixed

    @property
    def _typical_curvature(self) -> float:
        classes = max(self.columns, 2)
        return (1 - 1 / classes) / classes / 3

    def probabilities(self, theta: np.ndarray) -> np.ndarray:
        """(n, k) the probability of every class, or of the second one when there are two."""
        return self._each(lambda X, y: self._terms(X, y, theta)[2])

    def margins(self, theta: np.ndarray) -> np.ndarray:
        """By how much the score of the right class exceeds the largest other one, for every row."""

        def block(X: Any, y: np.ndarray) -> np.ndarray:
            z = self._scores(X, theta)
            if self.columns == 1:
                return np.where(y == 1, z[:, 0], -z[:, 0])
            right = z[np.arange(len(y)), y]
            z[np.arange(len(y)), y] = -np.inf
            return right - z.max(axis=1)

        return self._each(block)

    def few(self, rows: int) -> Likelihood:
        """The likelihood of about so many rows, evenly spread over the table."""
        return replace(self, rows=self.rows.every(max(1, len(self.rows.y) // rows)))

    def _scores(self, X: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """(n, k), each column together: what is done next goes along whole columns."""
        coef = np.ascontiguousarray(theta[:-1], dtype=X.dtype)  # by columns the product may take twice as long
        turned = np.ascontiguousarray((X @ coef).T)
        turned += theta[-1, :, None].astype(X.dtype, copy=False)
        return turned.T

    def _terms(self, X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        z = self._scores(X, theta)
        if self.columns > 1:
            return softmax_terms(z, y)
        loss, residual, p = binary_terms(z[:, 0], y)
        return loss, residual[:, None], p[:, None]

    def _gram(self, curvature: Callable[[Any, np.ndarray], np.ndarray] | None) -> np.ndarray:
        """Second moments of the rows (x, 1), each times its weight and its ``curvature``, plus ridge."""

        def block(X: Any, y: np.ndarray, w: np.ndarray | None) -> tuple[Any, ...]:
            d = np.ones(len(y), dtype=X.dtype) if curvature is None else curvature(X, y)
            d = d if w is None else d * w
            gram: Any = 0.0
            for cut in _cuts(0, len(d), _dense_rows(X)):  # of sparse rows, which come in larger blocks
                dense = X[cut].toarray() if sp.issparse(X) else X[cut]
                scaled = dense if curvature is None and w is None else dense * np.sqrt(d[cut])[:, None]
                gram = gram + scaled.T @ scaled  # the same array twice: NumPy calls syrk
            return gram, d @ X, d.sum(dtype=np.float64)

        gram, cross, corner = self._sum(block)
        full = np.empty((len(gram) + 1, len(gram) + 1))
        full[:-1, :-1], full[:-1, -1], full[-1, :-1], full[-1, -1] = gram, cross, cross, corner
        full /= self.rows.total
        full.flat[: -1 : len(full) + 1] += self.ridge  # every diagonal entry but the last, the intercept's
        if not self.intercept:
            full[-1], full[:, -1] = 0.0, 0.0
            full[-1, -1] = 1.0
        return full

    def _sum(self, block: Callable[..., tuple[Any, ...]]) -> list[Any]:
        def chunk(rows: slice) -> list[Any]:
            totals: list[Any] = []
            for parts in self._blocks(rows, block):
                totals = [part + 0.0 for part in parts] if not totals else [a + b for a, b in zip(totals, parts)]
            return totals

        chunks = map_row_chunks(chunk, *self._work())
        return [
            sum((part[i] for part in chunks[1:]), start=np.asarray(chunks[0][i], dtype=np.float64))
            for i in range(len(chunks[0]))
        ]

    def _each(self, function: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
        """One result per row, whatever the weights."""
        parts = map_row_chunks(lambda rows: list(self._blocks(rows, lambda X, y, _: function(X, y))), *self._work())
        return np.concatenate([part for chunk in parts for part in chunk])

    def _blocks(self, rows: slice, function: Callable[..., Any]) -> Any:
        X, y, w = self.rows
        for cut in _cuts(rows.start, rows.stop, _sparse_rows(X) if sp.issparse(X) else _dense_rows(X)):
            yield function(X[cut], y[cut], None if w is None else w[cut])

    def _work(self) -> tuple[int, float]:
        return len(self.rows.y), 4.0 * self.rows.X.size * self.columns


def _cuts(start: int, stop: int, size: int) -> Iterator[slice]:
    for low in range(start, stop, size):
        yield slice(low, min(low + size, stop))


def _dense_rows(X: Any) -> int:
    """Rows of a block of a dense table."""
    return max(64, BLOCK_BYTES // (X.dtype.itemsize * max(X.shape[1], 1)))


def _sparse_rows(X: Any) -> int:
    """Rows of a block of sparse ones: to cut them out takes longer than to read a few thousand entries."""
    entry = X.dtype.itemsize + X.indices.itemsize
    return max(64, X.shape[0] * BLOCK_BYTES // max(1, entry * X.nnz))
