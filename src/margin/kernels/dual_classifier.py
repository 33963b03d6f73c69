"""Classification by solving the dual for every pair of classes: what soft and hard margins have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Either, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ListOf, OneOf, SparseOf
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.records import Record
from margin.core.training_rows import validate_weights
from margin.kernels.dual import DualProblem
from margin.kernels.kernel_model import KernelModel, as_rows, dense, kept_rows, linear_weights
from margin.kernels.one_vs_one import pair_coefficients, pair_decisions, support_table, votes_with_confidence
from margin.kernels.pair_loop import PairLoop
from margin.kernels.pair_results import NUMBERS
from margin.kernels.stored import PER_MACHINE, ROWS

__all__ = ["DualClassifier"]

DECISIONS_AT_A_TIME = 1 << 23  # 64 MB


class DualClassifier(ClassifierMixin, KernelModel, IterativeEstimator):
    """Abstract: a subclass says how the bounds of the dual follow from weights."""

    shrinking = True
    cache_size = 200.0

    _: KW_ONLY
    tol: float = parameter(1e-3, Number(above=0), "Violation of optimality at which a problem is solved.")
    max_iter: int = parameter(-1, Integer(low=-1), "Most working sets for each pair of classes; -1 means no limit.")
    verbose: bool | int = parameter(False, Either(Flag(), Integer(low=0)), VERBOSE)

    classes_: NDArray[Any] = attribute(ArrayOf("n_classes", kind="labels"), "The classes, sorted.")
    support_: NDArray[np.int64] = attribute(
        ArrayOf("n_support", kind="i", low=0), "Rows that are support vectors, ordered by class."
    )
    support_vectors_: Any = attribute(ROWS, "The support vectors, empty for a precomputed kernel.")
    n_support_: NDArray[np.int64] = attribute(
        ArrayOf("n_classes", kind="i", low=0), "Number of support vectors of every class."
    )
    dual_coef_: Any = attribute(
        OneOf(ArrayOf("n_lines", "n_support"), SparseOf("n_lines", "n_support")),
        "Coefficients of the support vectors, (classes - 1, n_support), sparse if the rows are.",
    )
    intercept_: NDArray[np.float64] = attribute(ArrayOf("n_machines"), "Constant of every pair of classes.")
    objective_: NDArray[np.float64] = attribute(PER_MACHINE, "Dual objective of every pair of classes.")
    gap_: NDArray[np.float64] = attribute(PER_MACHINE, "Primal minus dual objective of every pair.")
    violation_: NDArray[np.float64] = attribute(PER_MACHINE, "What is left of the violation of optimality, per pair.")
    n_iter_: NDArray[np.int64] = attribute(
        OneOf(Count(), ArrayOf(None, kind="i", low=0)), "Working sets that every pair took."
    )
    fit_status_: int = attribute(Count(), "0 if all problems were solved, else 1.")
    shape_fit_: tuple[int, int] = attribute(ListOf(Count()), "Rows and columns of the training table.")

    @property
    def coef_(self) -> Any:
        """Weights of the columns, (pairs, p), of the linear kernel, sparse if the rows are."""
        return linear_weights(self, pair_coefficients(dense(self.dual_coef_), self.n_support_))

    @abstractmethod
    def _bounds(
        self, weights: NDArray[np.float64], codes: NDArray[np.intp], classes: NDArray[Any]
    ) -> NDArray[np.float64]:
        """The largest coefficient of every row."""

    def _takes_pairs_at_once(self) -> bool:
        """Whether small pairs may be solved together, none being looked at by the three methods that follow."""
        return False

    def _begin(self, loop: PairLoop, pair: int) -> None:
        """A pair is about to be solved."""

    def _judge(self, loop: PairLoop, problem: DualProblem, finished: bool) -> None:
        """A subclass may refuse what it sees."""

    def _calibration(self, loop: PairLoop, pair: int) -> dict[str, float]:
        """What a subclass learns besides when a pair is done."""
        return {}

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows X and their classes y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record every few working sets of every pair of classes."""
        self._check_parameters()
        X, y = self._check(X, y)
        check_classes(y)
        weights = validate_weights(sample_weight, X)
        classes, codes = encode_classes(y[weights > 0])
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__}: y must have at least two classes in rows of positive weight; got "
                f"{len(classes)} class."
            )
        counted = np.flatnonzero(weights > 0)
        kernel = self._kernel_for(X, weights)
        self._refuse_huge_values(kernel, X)
        bounds = self._bounds(weights[counted], codes, classes)
        self._loop = loop = PairLoop(self, X, counted, codes, classes, bounds, kernel)
        if state is not None:
            loop.restore(state)
        learned = False
        for record in loop.iterations():
            self._learn(loop)
            learned = True
            yield record
        if not learned:  # the state of a finished fit
            self._learn(loop)
        if loop.unsolved:
            limit = "the limit of rounding" if self.max_iter < 0 else f"max_iter={self.max_iter} working sets"
            warn_user(
                f"{type(self).__name__}: {loop.unsolved} of {len(loop.pairs)} problems reached {limit} before "
                "tol; scale the columns or allow more.",
                ConvergenceWarning,
            )

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class of every row: by sign for two classes (the first if the value is 0 or less), by votes for more."""
        return self._judge_pairs(self._new_rows(X), self._classes_by_confidence)

    def _classes_by_confidence(self, values: NDArray[np.float64]) -> NDArray[Any]:
        if len(self.classes_) == 2:
            return self.classes_[(-values[:, 0] > 0).astype(int)]
        return self.classes_[np.argmax(votes_with_confidence(values, len(self.classes_)), axis=1)]

    def _judge_pairs(self, X: Any, judge: Callable[[NDArray[np.float64]], NDArray[Any]]) -> NDArray[Any]:
        """What ``judge`` makes of the decisions of all pairs, some rows at a time: 1,000 classes have 499,500 pairs."""
        step = max(1, DECISIONS_AT_A_TIME // len(self.intercept_))
        parts = [judge(self._pair_decisions(X[start : start + step])) for start in range(0, X.shape[0], step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pair_decisions(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Decision values of all pairs, positive for the first class of the pair, (n, k(k-1)/2)."""
        judge = partial(pair_decisions, dual_coef=dense(self.dual_coef_), counts=self.n_support_)
        values = self._judge_values(X, self.support_, self.support_vectors_, judge, len(self.intercept_))
        values += self.intercept_
        return -values if len(self.classes_) == 2 else values

    def _learn(self, loop: PairLoop) -> None:
        self.classes_ = loop.classes
        results = loop.results()
        local, counts, dual_coef = support_table(
            results["rows"], results["values"], results["sizes"], loop.codes, len(loop.classes)
        )
        # With two classes positive values stand for the second, as scikit-learn's users expect.
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        self.kernel_ = loop.kernel
        self.support_ = loop.rows[local]
        self.n_support_ = counts
        self.support_vectors_ = kept_rows(loop.kernel, loop.X, self.support_)
        self.dual_coef_ = as_rows(sign * dual_coef, self.support_vectors_)
        self.intercept_ = sign * results["offset"]
        self.objective_, self.gap_, self.violation_ = (results[name] for name in NUMBERS)
        self.n_iter_ = results["iteration"]
        self.fit_status_ = int(loop.unsolved > 0)
        self.shape_fit_ = (int(loop.X.shape[0]), int(loop.X.shape[1]))
