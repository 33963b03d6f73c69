r"""The lasso and the elastic net: least squares with a penalty that makes coefficients exactly zero.

.. math:: \min_{\theta, \theta_0} \; \frac1{2W} \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2
          + \alpha \rho \lVert\theta\rVert_1 + \tfrac{\alpha (1 - \rho)}2 \lVert\theta\rVert_2^2
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Array, Choice, Either, Flag, Integer, Number, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, OneOf, sometimes
from margin.core.notices import warn_user
from margin.core.parameters import COPY, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.core.streaming import Stream
from margin.core.summaries import learn_columns
from margin.core.targets import numeric_target
from margin.linear.elastic_net_fit import TargetsInTurn
from margin.linear.moment_summary import MomentSummary
from margin.linear.moments import RegressionMoments
from margin.linear.stored import ITERATIONS, NUMBER_OR_ROW, PER_TARGET

__all__ = ["CoordinateDescent", "ElasticNet", "Lasso"]


class CoordinateDescent(MomentSummary, MultiOutputMixin, RegressorMixin, IterativeEstimator):
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

    coef_: np.ndarray = attribute(
        OneOf(ArrayOf("n_features"), ArrayOf("n_targets", "n_features")),
        "Weights of the columns with exact zeros, (p,) or (targets, p).",
    )
    intercept_: float | np.ndarray = attribute(
        NUMBER_OR_ROW, "The constant, one number or one per target; 0 if none is fitted."
    )
    n_iter_: int | list[int] = attribute(sometimes(ITERATIONS), "Rounds of descent, one number or one per target.")
    dual_gap_: float | np.ndarray = attribute(
        sometimes(PER_TARGET), "Upper bound of the distance from the minimum, in units of objective_."
    )
    objective_: float | np.ndarray = attribute(sometimes(PER_TARGET), "The minimized function at the solution.")

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix, (1, p) or (targets, p)."""
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Learn from all rows; without ``check_input`` they are known to be finite, and not looked through for it."""
        return self._consume(self.iterate(X, y, sample_weight, check_input=check_input), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        check_input: bool = True,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per round of descent."""
        self._check_parameters()
        X, Y, ndim, weights = self._rows(X, y, sample_weight, finite=check_input)
        self._tell_of_no_penalty()
        try:
            loop = TargetsInTurn(self, X, Y, weights)
        except FloatingPointError as error:
            self._refuse_overflow(X, Y)
            raise ValueError(f"{type(self).__name__}: {error}") from None
        yield from self._rounds(loop, ndim, state)

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """One pass over the stream for the inner products of its columns, then the same rounds of descent."""
        self._check_parameters()
        self._refuse_given_products()
        learn_columns(self, stream)
        self._tell_of_no_penalty()
        summary = stream.reduce(self.summarize, self.merge)
        yield from self._rounds(TargetsInTurn.of_moments(self, summary), 1, state)

    def partial_fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Learn from these rows and those of earlier calls, of which only the moments were kept; one target."""
        self._refuse_given_products()
        return super().partial_fit(X, y)

    def solve(self, summary: RegressionMoments) -> Self:
        """Learn from the moments of all rows: all rounds of descent."""
        self._tell_of_no_penalty()
        for _ in self._rounds(TargetsInTurn.of_moments(self, summary), 1, None):
            pass
        self.__dict__.pop("_loop", None)
        return self

    def _refuse_given_products(self) -> None:
        if not isinstance(self.precompute, bool | np.bool_):
            raise ValueError(
                f"{type(self).__name__}: of a stream or of pieces inner products are computed; precompute must be True "
                "or False; got an array."
            )

    def _tell_of_no_penalty(self) -> None:
        if self.alpha == 0:
            warn_user(
                f"{type(self).__name__}: alpha=0 is no penalty, for which descent over columns is slow; use "
                "LinearRegression.",
                UserWarning,
            )

    def _rounds(self, loop: TargetsInTurn, ndim: int, state: dict[str, Any] | None) -> Iterator[Record]:
        self._loop = loop
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
            numeric_target(self, y),
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

    def _learn(self, loop: TargetsInTurn, ndim: int) -> None:
        self._forget()
        solutions = loop.solutions()
        single = len(solutions) == 1
        constants = np.array([part.constant for part in solutions]) if self.fit_intercept else np.zeros(len(solutions))
        constants = in_precision_of(loop.X, constants)
        self.coef_ = in_precision_of(loop.X, solutions[0].w if single else np.stack([part.w for part in solutions]))
        # As in scikit-learn, y of one column keeps its dimension in the constant.
        self.intercept_ = constants[0] if ndim == 1 or not self.fit_intercept else constants
        self.objective_ = solutions[0].objective if single else np.array([part.objective for part in solutions])
        self.dual_gap_ = solutions[0].gap if single else np.array([part.gap for part in solutions])
        self.n_iter_ = solutions[0].iterations if single else [part.iterations for part in solutions]


class ElasticNet(CoordinateDescent):
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


class Lasso(CoordinateDescent):
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
