r"""Cubic smoothing splines with generalized cross-validation, one per column, added up.

.. math::
    \min_f \sum_i w_i \Bigl(y_i - b - \sum_j f_j(x_{ij})\Bigr)^2 + \lambda \sum_j u_j^3 \int f_j''(t)^2\,dt,\qquad
    \mathrm{GCV}(\lambda) = \frac{W\,\mathrm{RSS}(\lambda)}{(W - 1 - \mathrm{df}(\lambda))^2} .

The minimizer in one variable is a natural cubic spline with a knot at every value. It is solved for as a straight line
plus curves by their second derivatives (``bent_basis``), and kept as its values at the knots. With several columns
:math:`u_j` is the span of a column divided by the geometric mean of all spans: one penalty then means the same for
columns in meters and in seconds. With one column it is 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Integer, Number
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, ListOf, Real
from margin.core.number_range import finite_values, power_of_two
from margin.core.parameters import attribute, parameter
from margin.core.targets import numeric_target
from margin.linear.bent_basis import bent_design, bent_roughness, bent_values
from margin.linear.moments import moments
from margin.linear.stored import NUMBER_OR_ROW, knots_ascend

__all__ = ["SplineRegression", "natural_spline_design", "roughness"]

# Directions in which the data and the roughness together are smaller than this, relative to the largest, are left out:
# lines and curves that no row tells apart.
DEPENDENT = 1e-9
ROUNDING = 1e-10  # of the sum of squares: residuals below it are noise, and the smoothest such fit is the best
SMALLEST_FREEDOM = 0.05  # fraction of the rows that a fit must leave as degrees of freedom to be judged by GCV
SMOOTHING_GRID = np.logspace(-12, 6, 145)  # penalties tried, relative to the balance of fit and roughness
# Of the span of a column: of values nearer than this only the first is a knot. The spline is off by as much then, and
# its values at nearer knots would not determine its slope between them in double precision.
NEAREST = 1e-8
MOST_KNOTS = 10_000  # of all columns: their values are solved for together, which takes gigabytes and minutes beyond
SPANS = (1e-101, 1e101)  # of the largest less the smallest value of a column: cubes of spans are numbers, too


def roughness(knots: np.ndarray) -> np.ndarray:
    r"""(K, K) so that :math:`\int f''(t)^2 dt = g^\top K g` for the natural spline with values g at ``knots``.

    >>> knots = np.array([0.0, 1.0, 2.0, 4.0])
    >>> bool(np.allclose(roughness(knots) @ (3 - 2 * knots), 0))  # a straight line is not rough
    True
    """
    h = np.diff(knots)
    inner = len(knots) - 2
    if inner < 1:
        return np.zeros((len(knots), len(knots)))
    at = np.arange(inner)
    Q, R = np.zeros((len(knots), inner)), np.zeros((inner, inner))
    Q[at, at], Q[at + 1, at], Q[at + 2, at] = 1 / h[:-1], -1 / h[:-1] - 1 / h[1:], 1 / h[1:]
    R[at, at] = (h[:-1] + h[1:]) / 3
    R[at[:-1], at[1:]] = R[at[1:], at[:-1]] = h[1:-1] / 6
    return Q @ np.linalg.solve(R, Q.T)


def natural_spline_design(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(n, K): a row times values at ``knots`` is the natural cubic spline at ``x``, straight outside the knots."""
    from scipy.interpolate import CubicSpline

    if len(knots) == 1:
        return np.ones((len(x), 1))
    if len(knots) == 2:
        fraction = (x - knots[0]) / (knots[1] - knots[0])
        return np.column_stack([1 - fraction, fraction])
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    return spline(inside) + (x - inside)[:, None] * spline(inside, 1)


class SplineRegression(RegressorMixin, Estimator):
    r"""Additive cubic smoothing splines.

    With fewer distinct values than ``n_knots`` every value is a knot, and then one column gives the exact smoothing
    spline. Outside the data the prediction goes on along straight lines.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> model = SplineRegression().fit(x, np.sin(x[:, 0]))
    >>> bool(np.abs(model.predict(x) - np.sin(x[:, 0])).max() < 1e-3)
    True
    """

    smoothing: Any = parameter(
        "gcv",
        Either(Choice("gcv"), Number(above=0, search=(1e-6, 1e4), log=True)),
        'The penalty on roughness, or "gcv": the one with the least generalized cross-validation error.',
    )
    _: KW_ONLY
    n_knots: int = parameter(100, Integer(low=2), "Most knots per column, taken at quantiles.")

    knots_: list[np.ndarray] = attribute(ListOf(ArrayOf(None), "n_features"), "The knots, one array per column.")
    values_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_features"), "The values of the splines at their knots."
    )
    intercept_: float = attribute(NUMBER_OR_ROW, "The constant.")
    smoothing_: float = attribute(Real(), "The penalty that was used.")
    df_: float = attribute(Real(), "Effective degrees of freedom besides the intercept.")
    gcv_: float = attribute(Real(), "The generalized cross-validation error.")

    _stored_rules = (knots_ascend,)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SplineRegression:
        """Learn from all rows."""
        self._check_parameters()
        X, y = validate_data(self, X, numeric_target(self, y), dtype=np.float64, order="C", y_numeric=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            used = weights > 0
            X, y, weights = X[used], y[used], weights[used]
        self._check_spans(X)
        y = np.asarray(y, dtype=np.float64)
        unit = power_of_two(np.abs(y).max(initial=0.0))  # values are linear in y: its squares need not overflow
        self.knots_ = self._knots_of_all(X, weights)
        columns = list(zip(X.T, self.knots_))
        design = np.hstack([_line(x, k)[:, None] for x, k in columns] + [bent_design(x, k) for x, k in columns])
        m = moments(design, y[:, None] / unit, weights)
        slopes, bends, self.smoothing_, self.df_, gcv = _smooth(
            m.xx, m.xy[:, 0], float(m.yy[0]), m.weight, _comparable_roughness(self.knots_), self.smoothing
        )
        if np.isfinite(gcv):  # infinite where no degree of freedom is left
            gcv = float(finite_values("SplineRegression", "y", y, lambda: gcv * np.square(unit)))  # a square of y
        self.gcv_ = gcv
        self.intercept_ = float(unit * (m.mean_y[0] - m.mean_x @ np.concatenate([slopes, bends])))
        bends_by_column = np.split(bends, np.cumsum([max(len(k) - 2, 0) for k in self.knots_])[:-1])
        self.values_ = [
            unit * (slope * _line(k, k) + bent_values(k) @ bend)
            for slope, bend, k in zip(slopes, bends_by_column, self.knots_)
        ]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The intercept plus the spline of every column."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        columns = list(zip(X.T, self.knots_, self.values_))
        return finite_values(
            "SplineRegression",
            "X",
            X,
            lambda: self.intercept_ + np.sum([natural_spline_design(x, k) @ g for x, k, g in columns], axis=0),
        )

    def _check_spans(self, X: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            spans = X.max(axis=0) - X.min(axis=0)
        outside = np.flatnonzero((spans > 0) & ((spans < SPANS[0]) | (spans > SPANS[1])))
        if len(outside):
            raise ValueError(
                f"SplineRegression: every column of X must span 0 or a number from {SPANS[0]:g} to {SPANS[1]:g}, since "
                f"its cube is used; got {spans[outside[0]]:.3g} in column {outside[0]}; scale it first."
            )

    def _knots_of_all(self, X: np.ndarray, weights: np.ndarray | None) -> list[np.ndarray]:
        """The knots of every column, few enough in all to solve for their values."""
        knots: list[np.ndarray] = []
        total = 0
        for column in X.T:
            knots.append(self._knots(column, weights))
            total += len(knots[-1])
            if total > MOST_KNOTS:
                raise ValueError(
                    f"SplineRegression: {X.shape[1]:,} columns have more than {MOST_KNOTS:,} knots in all, {total:,} "
                    f"in the first {len(knots):,}; take fewer columns or fewer knots for each (n_knots={self.n_knots})."
                )
        return knots

    def _knots(self, x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        distinct, index = np.unique(x, return_inverse=True)
        if len(distinct) <= self.n_knots:
            return _apart(distinct)
        # Quantiles by weight, so that a row of weight two counts as two rows.
        mass = np.cumsum(np.bincount(index, weights))
        wanted = np.linspace(mass[0], mass[-1], self.n_knots)
        return _apart(distinct[np.unique(np.minimum(np.searchsorted(mass, wanted * (1 - 1e-12)), len(distinct) - 1))])


def _apart(knots: np.ndarray) -> np.ndarray:
    """Without those that are nearer than NEAREST of the span to the one kept before; the last one stays."""
    least = NEAREST * (knots[-1] - knots[0])
    if (np.diff(knots) > least).all():
        return knots
    kept = [knots[0]]
    for knot in knots[1:-1]:
        if knot - kept[-1] > least < knots[-1] - knot:
            kept.append(knot)
    return np.array([*kept, knots[-1]])


def _comparable_roughness(knots: list[np.ndarray]) -> np.ndarray:
    """The roughness of the bent curves of all columns, each in units of its own span."""
    spans = np.array([k[-1] - k[0] if len(k) > 1 else 1.0 for k in knots])
    units = spans / np.exp(np.log(spans).mean())
    return block_diag(*(unit**3 * bent_roughness(k) for unit, k in zip(units, knots)))


def _line(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """The straight line of a column, which no penalty touches: a rise of 1 over the knots, where its mean is zero."""
    return (x - knots.mean()) / np.ptp(knots) if len(knots) > 1 else np.zeros(len(x))


def _pseudo_inverse(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Of the scatter of lines, and its rank: a line that is a sum of others counts once."""
    size = np.where(A.diagonal() > 0, np.sqrt(np.maximum(A.diagonal(), 0.0)), 1.0)
    values, axes = np.linalg.eigh(A / np.outer(size, size))
    kept = values > DEPENDENT
    T = axes[:, kept] / np.sqrt(values[kept]) / size[:, None]
    return T @ T.T, int(kept.sum())


def _smooth(
    S: np.ndarray, b: np.ndarray, yy: float, weight: float, K: np.ndarray, smoothing: Any
) -> tuple[np.ndarray, np.ndarray, float, float, float]:
    """Slopes, bends, penalty, degrees of freedom, GCV error: scatter ``S`` of lines and curves, roughness ``K``."""
    p = len(S) - len(K)
    # Lines are fitted first and taken out of the curves and the target: no penalty touches them.
    along = S[p:, :p]
    inverse, n_lines = _pseudo_inverse(S[:p, :p])
    slopes = inverse @ b[:p]
    bent, left = S[p:, p:] - along @ inverse @ along.T, b[p:] - along @ slopes
    # From the curves as they are: where lines fit every row, what is left of the curves is rounding.
    trace = float(np.trace(S[p:, p:]))
    balance = trace / float(np.trace(K)) if trace > 0 else 1.0
    size, axes = np.linalg.eigh(bent + balance * K)
    kept = size > DEPENDENT * size.max(initial=0.0)
    T = axes[:, kept] / np.sqrt(size[kept])
    # In these coordinates the rest is diag(s) and balance K is diag(1 - s): every penalty is solved by division.
    s, U = np.linalg.eigh(T.T @ bent @ T)
    s = np.clip(s, 0.0, 1.0)
    turned = U.T @ (T.T @ left)
    tried = SMOOTHING_GRID if isinstance(smoothing, str) else np.array([smoothing / balance])
    shrink = 1.0 / (s[:, None] + tried * (1.0 - s[:, None]))  # (m, k)
    df = n_lines + (s[:, None] * shrink).sum(axis=0)
    rss = yy - slopes @ b[:p]
    rss = rss - (2 * turned[:, None] ** 2 * shrink - s[:, None] * (turned[:, None] * shrink) ** 2).sum(axis=0)
    # Where hardly a degree of freedom is left both parts of the ratio vanish, and it says nothing about new rows.
    freedom = weight - 1.0 - df
    usable = freedom > SMALLEST_FREEDOM * weight
    error = np.where(usable, weight * np.maximum(rss, ROUNDING * yy) / np.where(usable, freedom, 1.0) ** 2, np.inf)
    best = int(np.argmin(error)) if usable.any() else len(tried) - 1
    bends = T @ (U @ (turned * shrink[:, best]))
    slopes = slopes - inverse @ (along.T @ bends)
    return slopes, bends, float(tried[best] * balance), float(df[best]), float(error[best])
