r"""The lasso and the elastic net: least squares with a penalty that makes coefficients exactly zero.

.. math:: \min_{\theta, \theta_0} \; \frac1{2W} \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2
          + \alpha \rho \lVert\theta\rVert_1 + \tfrac{\alpha (1 - \rho)}2 \lVert\theta\rVert_2^2
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.core.arguments import finite
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.parameters import COPY, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.linear.affine import AffinePrediction
from margin.linear.sparse_descent import SparseDescent
from margin.linear.sparse_problem import Columns, GramColumns, centered_gram, columns_of

__all__ = ["ElasticNet", "Lasso"]

INNER_FRACTION = 0.1  # of the gap that is wanted: a sweep that gains less ends a round of descent


class _CoordinateDescent(AffinePrediction, MultiOutputMixin, RegressorMixin, IterativeEstimator):
    """What the lasso and the elastic net have in common: all but the mixture of the penalties."""

    alpha: float = parameter(1.0, Number(low=0, search=(1e-4, 10), log=True), "Strength of the penalty.")
    _: KW_ONLY
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted; it carries no penalty.")
    precompute: Any = parameter(
        False,
        Either(Flag(), Array(ndim=2)),
        "True computes all inner products of columns whatever the shape, False only where p <= n; or these inner "
        "products (p, p), of the columns as they are or centered.",
    )
    max_iter: int = parameter(1000, Integer(low=1), "Most rounds of descent, each of which looks at all columns once.")
    copy_X: bool = parameter(True, Flag(), COPY)
    tol: float = parameter(
        1e-4,
        Number(low=0),
        "A fit ends when the duality gap, which bounds the distance from the minimum, is at most tol times the mean "
        "square of the (centered) y.",
    )
    warm_start: bool = parameter(False, Flag(), "Whether a fit starts from the coefficients of the last one.")
    positive: bool = parameter(False, Flag(), "Whether coefficients must not be negative.")
    random_state: RandomLike = parameter(None, Seed(), 'Draws the order of the columns for selection="random".')
    selection: str = parameter(
        "cyclic",
        Choice("cyclic", "random", search=False),
        "Whether a sweep visits the columns in their order or in a random one.",
    )

    coef_: np.ndarray = attribute("Weights of the columns with exact zeros, (p,) or (targets, p).")
    intercept_: float | np.ndarray = attribute("The constant, one number or one per target; 0 if none is fitted.")
    n_iter_: int | list[int] = attribute("Rounds of descent, one number or one per target.")
    dual_gap_: float | np.ndarray = attribute("Upper bound of the distance from the minimum, in units of objective_.")
    objective_: float | np.ndarray = attribute("The minimized function at the solution.")

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix, (1, p) or (targets, p)."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Learn from all rows; without ``check_input`` they are known to be finite, and not looked through for it."""
        return self._consume(self.iterate(X, y, sample_weight, check_input=check_input), X, y)

    def iterate(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        check_input: bool = True,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per round of descent."""
        self._check_parameters()
        X, Y, ndim, weights = self._rows(X, y, sample_weight, finite=check_input)
        if self.alpha == 0:
            warn_user(
                f"{type(self).__name__}: alpha=0 is no penalty, for which descent over columns is slow; use "
                "LinearRegression.",
                UserWarning,
            )
        try:
            self._loop = loop = _Targets(self, X, Y, weights)
        except FloatingPointError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        if state is not None:
            loop.restore(state)
        self._learn(loop, ndim)
        for record in loop.iterations():
            self._learn(loop, ndim)
            yield record

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, *, finite: bool
    ) -> tuple[Any, np.ndarray, int, np.ndarray | None]:
        """Checked X, y as columns, the dimensions that y had, and weights without zeros."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            y_numeric=True,
            multi_output=True,
        )
        y = np.asarray(y, dtype=np.float64)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            used = weights > 0
            X, y, weights = (X, y, weights) if used.all() else (X[used], y[used], weights[used])
        if not isinstance(self.precompute, bool | np.bool_):
            if np.shape(self.precompute) != (X.shape[1], X.shape[1]):
                raise ValueError(
                    f"{type(self).__name__}: precompute must have shape {(X.shape[1], X.shape[1])}; "
                    f"got {np.shape(self.precompute)}."
                )
            if weights is not None:
                raise ValueError(f"{type(self).__name__}: precompute with inner products takes no sample_weight.")
        return X, y.reshape(len(y), -1), y.ndim, weights

    @abstractmethod
    def _ratio(self) -> float:
        """The part of the penalty that is on absolute values."""

    def _learn(self, loop: _Targets, ndim: int) -> None:
        found = loop.solutions()
        single = len(found) == 1
        constants = np.array([part.constant for part in found]) if self.fit_intercept else np.zeros(len(found))
        constants = in_precision_of(loop.X, constants)
        self.coef_ = in_precision_of(loop.X, found[0].w if single else np.stack([part.w for part in found]))
        # As in scikit-learn, y of one column keeps its dimension in the constant.
        self.intercept_ = constants[0] if ndim == 1 or not self.fit_intercept else constants
        self.objective_ = found[0].objective if single else np.array([part.objective for part in found])
        self.dual_gap_ = found[0].gap if single else np.array([part.gap for part in found])
        self.n_iter_ = found[0].iterations if single else [part.iterations for part in found]


class ElasticNet(_CoordinateDescent):
    r"""Elastic net by coordinate descent on inner products of columns.

    A tall table costs one product of ``X`` with itself, a wide one a product of ``X`` with the residual per round.
    ``X`` may be sparse; several columns of ``y`` are fitted one after the other. Records carry ``objective``,
    ``duality_gap`` and ``nonzero`` (coefficients).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> ElasticNet(alpha=1.0, l1_ratio=0.5).fit(X, [3.0, -3.0, 1.0, -1.0]).coef_
    array([1., 0.])
    """

    _: KW_ONLY
    l1_ratio: float = parameter(
        0.5, Number(low=0, high=1, search=(0.05, 1)), "The part of the penalty that is on absolute values."
    )

    def _ratio(self) -> float:
        return float(self.l1_ratio)


class Lasso(_CoordinateDescent):
    r"""Lasso: the elastic net with absolute values only, :math:`\rho = 1`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> Lasso(alpha=0.5).fit(X, [3.0, -3.0, 1.0, -1.0]).coef_
    array([2., 0.])
    """

    def _ratio(self) -> float:
        return 1.0


class _Solution(NamedTuple):
    """What one target has been given so far."""

    w: np.ndarray
    constant: float
    objective: float
    gap: float
    iterations: int


class _Targets:
    """The running fit: target after target, each by rounds of descent at one penalty."""

    def __init__(self, model: _CoordinateDescent, X: Any, Y: np.ndarray, weights: np.ndarray | None):
        self.model, self.X, self.Y, self.weights = model, X, Y, weights
        self.rng = as_generator(model.random_state) if model.selection == "random" else None
        self.done: list[_Solution] = []
        self.iteration = 0
        self.start = self._start()
        self.now = self._begin()

    def iterations(self) -> Iterator[Record]:
        model, targets = self.model, self.Y.shape[1]
        while True:
            while not self.now.finished:
                self.now.step()
                self.iteration += 1
                yield Record(self.iteration, self.now.values(), total=targets * model.max_iter)
            if not self.now.converged:
                warn_user(
                    f"{type(model).__name__}: duality gap {self.now.gap:.3g} above {self.now.bound:.3g} after "
                    f"max_iter={model.max_iter}.",
                    ConvergenceWarning,
                )
            if len(self.done) + 1 == targets:
                return
            self.done.append(self._solution())
            self.now = self._begin()

    def solutions(self) -> list[_Solution]:
        """One per target; those still to come stand where they will start."""
        waiting = range(len(self.done) + 1, self.Y.shape[1])
        later = [_Solution(self.start[j], float("nan"), float("nan"), float("nan"), 0) for j in waiting]
        return [*self.done, self._solution(), *later]

    def state(self) -> dict[str, Any]:
        return {
            "done": [part._asdict() for part in self.done],
            "iteration": self.iteration,
            "start": self.start.copy(),
            "now": self.now.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.done = [_Solution(**part) for part in state["done"]]
        self.iteration, self.start = int(state["iteration"]), np.array(state["start"])
        self.now = self._begin()
        self.now.restore(state["now"])

    def _start(self) -> np.ndarray:
        shape = self.Y.shape[1], self.X.shape[1]
        before = getattr(self.model, "coef_", None) if self.model.warm_start else None
        if before is None or np.atleast_2d(before).shape != shape:
            return np.zeros(shape)
        w = finite(type(self.model).__name__, "coef_, from which warm_start goes on,", np.atleast_2d(before)).copy()
        return np.maximum(w, 0.0) if self.model.positive else w

    def _begin(self) -> _CoordinateFit:
        model, j = self.model, len(self.done)
        intercept, y = bool(model.fit_intercept), np.ascontiguousarray(self.Y[:, j])
        columns: Columns
        if isinstance(model.precompute, bool | np.bool_):
            columns = columns_of(self.X, y, self.weights, intercept=intercept, precompute=bool(model.precompute))
        else:
            gram = np.asarray(model.precompute, dtype=np.float64)
            gram = centered_gram(type(model).__name__, gram, self.X, intercept=intercept)
            columns = GramColumns.given(gram, self.X, y, intercept=intercept)
        descent = SparseDescent(columns, positive=bool(model.positive), rng=self.rng)
        if self.start[j].any():
            descent.begin_at(self.start[j])
        ratio = model._ratio()
        descent.aim(model.alpha * ratio, model.alpha * (1 - ratio))
        return _CoordinateFit(descent, model.tol, model.max_iter)

    def _solution(self) -> _Solution:
        columns, w = self.now.descent.columns, self.now.descent.w
        objective, gap = self.now.descent.gap()
        constant = float(columns.mean_y - columns.mean_x @ w)
        return _Solution(w.copy(), constant, objective, gap, max(self.now.iteration, 1))


class _CoordinateFit:
    """Rounds of descent for one target."""

    def __init__(self, descent: SparseDescent, tol: float, max_iter: int):
        self.descent = descent
        self.bound = tol * descent.columns.square
        self.inner = INNER_FRACTION * self.bound
        self.max_iter, self.iteration = max_iter, 0
        self.last = np.inf

    def step(self) -> None:
        gap = self.descent.step(self.inner).gap
        self.inner = self.inner / 10 if gap > self.last / 2 else self.inner
        self.last = gap
        self.iteration += 1

    @property
    def gap(self) -> float:
        return self.descent.gap().gap

    @property
    def converged(self) -> bool:
        # Where nothing moves any more, the gap that is left is rounding.
        return self.iteration > 0 and (self.gap <= self.bound or not self.descent.moved)

    @property
    def finished(self) -> bool:
        return self.converged or self.iteration >= self.max_iter

    def values(self) -> dict[str, float]:
        objective, gap = self.descent.gap()
        return {"objective": objective, "duality_gap": gap, "nonzero": float(np.count_nonzero(self.descent.w))}

    def state(self) -> dict[str, Any]:
        return {
            "descent": self.descent.state(),
            "iteration": self.iteration,
            "inner": self.inner,
            "last": float(min(self.last, np.finfo(float).max)),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.descent.restore(state["descent"])
        self.iteration, self.inner, self.last = int(state["iteration"]), float(state["inner"]), float(state["last"])
