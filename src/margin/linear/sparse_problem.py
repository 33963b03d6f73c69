r"""The elastic net as a problem about inner products of columns, and its duality gap.

.. math:: P(w) = \tfrac1{2W} \sum_i w_i (y_i - b - w^\top x_i)^2 + \lambda_1 \lVert w \rVert_1
          + \tfrac{\lambda_2}2 \lVert w \rVert_2^2 = \tfrac12 w^\top Q w - q^\top w + \tfrac12 v + \dots

With centered columns :math:`Q = X^\top X/W`, :math:`q = X^\top y/W`, :math:`v = y^\top y/W`. The *slack*
:math:`q - Q w = X^\top r / W` says which columns could still help: at the minimum :math:`|q - Qw - \lambda_2 w|` is
:math:`\lambda_1` where w is not zero and at most that elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from margin.linear.moments import RegressionMoments, moments, varies

__all__ = [
    "ActiveColumns",
    "Columns",
    "Gap",
    "GramColumns",
    "centered_gram",
    "columns_of",
    "duality_gap",
    "elastic_net_objective",
]

MOST_GRAM_COLUMNS = 4096  # a full Gram matrix of more columns costs more than the few columns that matter


class Gap(NamedTuple):
    """The objective at w and an upper bound of how far it is above the minimum."""

    objective: float
    gap: float


class Columns(Protocol):
    """Centered columns, known by their inner products."""

    mean_x: np.ndarray
    mean_y: float
    q: np.ndarray  # (p,) the slack at w = 0
    square: float  # v: the mean square of the centered target
    ahead: int  # penalties of a path that are solved between two looks at all columns

    def gram(self, working: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A matrix of inner products and which column (m,) each of its first m rows and columns belongs to; it has at
        least the ``working`` ones."""

    def slacks(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k, p) the slack at every row of ``W`` (k, p) and (k,) the mean squared residuals."""

    def history(self) -> list[np.ndarray]:
        """What has been computed so far, so that the same can be computed again in the same order."""

    def repeat(self, history: list[np.ndarray]) -> None: ...


def elastic_net_objective(residual_square: float, w: np.ndarray, l1: float, l2: float) -> float:
    r""":math:`\tfrac12 \overline{r^2} + \lambda_1 \lVert w \rVert_1 + \tfrac{\lambda_2}2 \lVert w \rVert_2^2`."""
    return 0.5 * residual_square + l1 * float(np.abs(w).sum()) + l2 / 2 * float(w @ w)


def duality_gap(
    w: np.ndarray,
    slack: np.ndarray,
    residual_square: float,
    target_product: float,
    l1: float,
    l2: float,
    positive: bool = False,
) -> Gap:
    r"""The objective at ``w`` and its distance from a point of the dual, which bounds its distance from the minimum.

    With :math:`\sqrt{\lambda_2} I` below the rows this is a lasso with residual :math:`\tilde r`; the dual point is
    :math:`c\,\tilde r`, shrunk until :math:`\lVert \tilde X^\top c \tilde r \rVert_\infty \le \lambda_1`:

    .. math:: P - D = \tfrac{1 + c^2}2 \lVert\tilde r\rVert^2 + \lambda_1 \lVert w\rVert_1 - c\,\tilde y^\top \tilde r

    ``target_product`` is :math:`\tilde y^\top \tilde r = y^\top r / W`. With ``positive`` only a product above
    :math:`\lambda_1` violates the dual's constraint, not one below its negative.
    """
    length = residual_square + l2 * float(w @ w)
    pull = slack - l2 * w
    steepest = float((pull if positive else np.abs(pull)).max(initial=0.0))
    if l1 == 0.0 and l2 > 0.0:  # no corner: strong convexity bounds the distance by the gradient
        return Gap(0.5 * length, float(pull @ pull) / (2.0 * l2))
    c = 1.0 if steepest <= l1 else l1 / steepest
    absolute = l1 * float(np.abs(w).sum())
    gap = 0.5 * (1.0 + c * c) * length + absolute - c * target_product
    return Gap(0.5 * length + absolute, max(gap, 0.0))


def centered_gram(owner: str, given: np.ndarray, X: Any, *, intercept: bool) -> np.ndarray:
    """Inner products of the columns of ``X`` as the problem needs them: of centered columns if there is an intercept.

    ``given`` may be of the columns as they are or centered already; which it is, or that it belongs to other columns,
    is recognized by its diagonal and the entries beside it, up to float32's rounding.
    """
    n, mean = X.shape[0], np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    shifts = np.outer(mean, mean) * n
    plain = _products_beside(X, 0), _products_beside(X, 1)
    diagonals = given.diagonal(), given.diagonal(1)
    scale = np.sqrt(np.maximum(plain[0], 0.0))
    slack = 1e-4 * scale * scale, 1e-4 * scale[:-1] * scale[1:]
    if intercept and all(
        np.all(np.abs(f - p + shifts.diagonal(k)) <= s) for k, (f, p, s) in enumerate(zip(diagonals, plain, slack))
    ):
        return given
    if all(np.all(np.abs(f - p) <= s) for f, p, s in zip(diagonals, plain, slack)):
        return given - shifts if intercept else given
    raise ValueError(f"{owner}: precompute must hold the inner products of the columns of X; it belongs to others.")


def _products_beside(X: Any, distance: int) -> np.ndarray:
    """Inner products of every column with the one ``distance`` further."""
    left, right = X[:, : X.shape[1] - distance], X[:, distance:]
    if sp.issparse(X):
        return np.asarray(left.multiply(right).sum(axis=0), dtype=np.float64).ravel()
    return np.einsum("ij,ij->j", left, right, dtype=np.float64)


def columns_of(
    X: Any, y: np.ndarray, weights: np.ndarray | None, *, intercept: bool, precompute: bool = False
) -> Columns:
    """The representation that suits the shape: all inner products for tall tables (and with ``precompute``), only those
    needed for wide ones. ``X`` (n, p) is dense or sparse."""
    n, p = X.shape
    if precompute or p <= min(n, MOST_GRAM_COLUMNS):
        return GramColumns(moments(X, y[:, None], weights, centered=intercept))
    return ActiveColumns(X, y, weights, intercept=intercept)


class GramColumns:
    """All p x p inner products, from one pass over the rows."""

    ahead = 2**31  # all: a descent on every column needs no second look

    def __init__(self, m: RegressionMoments):
        if not m.finite:
            raise FloatingPointError("X holds a value that is not finite, or squares overflow.")
        self.mean_x, self.mean_y = m.mean_x, float(m.mean_y[0])
        self.Q, self.q, self.square = m.xx / m.weight, m.xy[:, 0] / m.weight, float(m.yy[0]) / m.weight
        constant = ~varies(np.sqrt(np.maximum(m.xx.diagonal(), 0.0)), m.mean_x, m.weight)
        if constant.any():  # what is left of them is rounding, which without a penalty would get a coefficient
            self.Q = np.where(constant | constant[:, None], 0.0, self.Q)
            self.q = np.where(constant, 0.0, self.q)

    @classmethod
    def from_gram(cls, gram: np.ndarray, X: Any, y: np.ndarray, *, intercept: bool) -> GramColumns:
        """With the inner products ``gram`` (p, p) of the centered columns known beforehand."""
        center = np.asarray(X.mean(axis=0)).ravel() if intercept else np.zeros(X.shape[1])
        middle = float(y.mean()) if intercept else 0.0
        gaps = y - middle
        xy = np.asarray(X.T @ gaps).ravel() - center * gaps.sum()
        n = len(y)
        return cls(
            RegressionMoments(n, float(n), center, np.array([middle]), gram, xy[:, None], np.array([gaps @ gaps]))
        )

    def gram(self, working: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.Q, np.arange(len(self.q))

    def slacks(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slacks = self.q - W @ self.Q
        return slacks, np.maximum(self.square - np.einsum("kj,kj->k", W, self.q + slacks), 0.0)

    def history(self) -> list[np.ndarray]:
        return []

    def repeat(self, history: list[np.ndarray]) -> None:
        """Nothing grows here."""


class ActiveColumns:
    """The inner products of the columns that were ever looked at; a slack is one product of ``X`` with the residual."""

    # A product with one residual waits for memory, one with a few costs no more; beyond, too many columns are guessed.
    ahead = 4

    def __init__(self, X: Any, y: np.ndarray, weights: np.ndarray | None, *, intercept: bool):
        n, p = X.shape
        self.X = sp.csc_array(X) if sp.issparse(X) else X
        self.total = float(n if weights is None else weights.sum())
        fraction = np.full(n, 1.0 / self.total) if weights is None else weights / self.total
        self.mean_y = float(fraction @ y) if intercept else 0.0
        self.root = np.sqrt(fraction)  # rows times this: inner products are means
        self.y = self.root * (y - self.mean_y)
        self.square = float(self.y @ self.y)
        with np.errstate(over="ignore", invalid="ignore"):
            means, self.q = np.asarray(np.stack([fraction, self.root * self.y]) @ self.X, dtype=np.float64)
        if not (np.isfinite(means).all() and np.isfinite(self.q).all()):
            raise FloatingPointError("X holds a value that is not finite, or squares overflow.")
        self.mean_x = means if intercept else np.zeros(p)
        self.q -= (self.root @ self.y) * self.mean_x  # zero but for rounding
        self.position = np.full(p, -1)  # position of a column among those stored
        self.grown: list[np.ndarray] = []
        self.count = 0
        self.columns = np.empty((64, n))  # stored columns as rows, centered and times the root
        self.products = np.empty((64, 64))

    def gram(self, working: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        new = working[self.position[working] < 0]
        if len(new):
            self._grow(new)
        return self.products, np.concatenate(self.grown)

    def slacks(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known = np.concatenate([np.empty(0, dtype=np.intp), *self.grown])
        residuals = self.y - W[:, known] @ self.columns[: self.count]  # (k, n): one look at X serves them all
        return self._correlations(residuals), np.einsum("kn,kn->k", residuals, residuals)

    def history(self) -> list[np.ndarray]:
        return [part.copy() for part in self.grown]

    def repeat(self, history: list[np.ndarray]) -> None:
        for part in history:
            self._grow(np.asarray(part))

    def _correlations(self, residuals: np.ndarray) -> np.ndarray:
        weighted = self.root * residuals
        return np.asarray(weighted @ self.X, dtype=np.float64) - weighted.sum(axis=1)[:, None] * self.mean_x

    def _grow(self, new: np.ndarray) -> None:
        first, last = self.count, self.count + len(new)
        if last > len(self.columns):
            size = max(last, 2 * len(self.columns))
            columns, products = np.empty((size, self.columns.shape[1])), np.empty((size, size))
            columns[:first], products[:first, :first] = self.columns[:first], self.products[:first, :first]
            self.columns, self.products = columns, products
        chosen = self.X[:, new].toarray() if sp.issparse(self.X) else self.X[:, new]
        self.columns[first:last] = (chosen.T - self.mean_x[new, None]) * self.root
        block = self.columns[first:last] @ self.columns[:last].T
        self.products[first:last, :last], self.products[:first, first:last] = block, block[:, :first].T
        self.position[new] = np.arange(first, last)
        self.count = last
        self.grown.append(new.copy())
