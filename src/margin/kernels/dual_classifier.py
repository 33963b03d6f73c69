"""Classification by solving the dual for every pair of classes: what soft and hard margins have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from margin.core.domains import Choice, Domain, Either, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.core.threads import blas_threads
from margin.kernels.class_blocks import ClassBlocks
from margin.kernels.dual import WHOLE_ROWS, DualProblem, objectives
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_columns import KernelColumns, columns_of, columns_of_matrix
from margin.kernels.kernel_model import KernelModel, as_rows, columns_for, dense, kept_rows, linear_weights
from margin.kernels.one_vs_one import pair_coefficients, pair_decisions, pairs_of, support_table, votes_with_confidence
from margin.kernels.precision import column_dtype

__all__ = ["COST", "DualClassifier", "PairLoop", "describe", "finite_cost", "solve_some"]

MAX_ITER = Integer(low=-1)
COST: Domain = Either(Number(above=0, search=(1e-2, 1e3), log=True), Choice(np.inf))
LARGEST_COST = 1e10  # what an infinite cost becomes: with more, products with kernel values lose all digits
SETS_PER_RECORD = 8  # working sets solved between two records: looking at the model costs about as much as one
# Small pairs are solved in a fraction of the time that a look at the model takes: a record stands for as many pairs as
# have this many kernel values together.
VALUES_PER_RECORD = 1 << 22
DECISIONS_AT_A_TIME = 1 << 23  # 64 MB


def finite_cost(C: float) -> float:
    """The cost that a problem is solved with."""
    return min(float(C), LARGEST_COST)


def solve_some(problem: DualProblem, max_iter: int) -> bool:
    """A few working sets, BLAS being held at one thread; True when the problem is solved or has had ``max_iter``."""
    for _ in range(SETS_PER_RECORD):
        if problem.over(max_iter):
            break
        problem.step_on_one_thread()
    finished = problem.over(max_iter)
    if finished:
        problem.complete()
    return finished


def describe(problem: DualProblem) -> dict[str, float]:
    """The numbers of a record: dual objective, duality gap, violation of optimality, pair steps so far."""
    primal, dual = objectives(problem)
    return {
        "objective": dual,
        "gap": primal - dual,
        "violation": problem.violation,
        "steps": float(problem.steps),
    }


class DualClassifier(ClassifierMixin, KernelModel, IterativeEstimator):
    """Abstract: a subclass says how the bounds of the dual follow from weights."""

    shrinking = True
    cache_size = 200.0

    _: KW_ONLY
    tol: float = parameter(1e-3, Number(above=0), "Violation of optimality at which a problem is solved.")
    max_iter: int = parameter(-1, MAX_ITER, "Most working sets for each pair of classes; -1 means no limit.")
    verbose: bool | int = parameter(False, Either(Flag(), Integer(low=0)), VERBOSE)

    classes_: NDArray[Any] = attribute("The classes, sorted.")
    support_: NDArray[np.int64] = attribute("Rows that are support vectors, ordered by class.")
    support_vectors_: Any = attribute("The support vectors, empty for a precomputed kernel.")
    n_support_: NDArray[np.int64] = attribute("Number of support vectors of every class.")
    dual_coef_: Any = attribute(
        "Coefficients of the support vectors, (classes - 1, n_support), sparse if the rows are."
    )
    intercept_: NDArray[np.float64] = attribute("Constant of every pair of classes.")
    objective_: NDArray[np.float64] = attribute("Dual objective of every pair of classes.")
    gap_: NDArray[np.float64] = attribute("Primal minus dual objective of every pair.")
    violation_: NDArray[np.float64] = attribute("What is left of the violation of optimality, per pair.")
    n_iter_: NDArray[np.int64] = attribute("Working sets that every pair took.")
    fit_status_: int = attribute("0 if all problems were solved, else 1.")
    shape_fit_: tuple[int, int] = attribute("Rows and columns of the training table.")

    @property
    def coef_(self) -> Any:
        """Weights of the columns, (pairs, p), of the linear kernel, sparse if the rows are."""
        return linear_weights(self, pair_coefficients(dense(self.dual_coef_), self.n_support_))

    @abstractmethod
    def _bounds(
        self, weights: NDArray[np.float64], codes: NDArray[np.intp], classes: NDArray[Any]
    ) -> NDArray[np.float64]:
        """The largest coefficient of every row."""

    def _begin(self, loop: PairLoop, pair: int) -> None:
        """A pair is about to be solved."""

    def _judge(self, loop: PairLoop, problem: DualProblem, finished: bool) -> None:
        """A subclass may refuse what it sees."""

    def _calibration(self, loop: PairLoop, pair: int) -> dict[str, float]:
        """What a subclass learns besides when a pair is done."""
        return {}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X and their classes y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record every few working sets of every pair of classes."""
        self._check_parameters()
        X, y = self._checked(X, y)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        classes, codes = np.unique(y[weights > 0], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__}: y must have at least two classes in rows of positive weight; got "
                f"{len(classes)} class."
            )
        counted = np.flatnonzero(weights > 0)
        kernel = self._kernel_for(X, weights)
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

    def predict(self, X: Any) -> NDArray[Any]:
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
        local, counts, dual_coef = support_table(loop.coefficients(), loop.codes, len(loop.classes))
        # With two classes positive values speak for the second, as scikit-learn's users expect.
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        self.kernel_ = loop.kernel
        self.support_ = loop.rows[local]
        self.n_support_ = counts
        self.support_vectors_ = kept_rows(loop.kernel, loop.X, self.support_)
        self.dual_coef_ = as_rows(sign * dual_coef, self.support_vectors_)
        self.intercept_ = sign * np.array(loop.offsets())
        self.objective_, self.gap_, self.violation_ = (np.array(loop.numbers(name)) for name in NUMBERS)
        self.n_iter_ = np.array(loop.numbers("iteration"), dtype=np.int64)
        self.fit_status_ = int(loop.unsolved > 0)
        self.shape_fit_ = (int(loop.X.shape[0]), int(loop.X.shape[1]))


NUMBERS = ("objective", "gap", "violation")


class PairLoop:
    """The running fit: results of the pairs that are done, and the problem of the pair at work.

    ``rows`` are the rows of X that count, ``codes`` and ``bounds`` belong to them.
    """

    def __init__(
        self,
        model: DualClassifier,
        X: Any,
        rows: NDArray[np.int64],
        codes: NDArray[np.intp],
        classes: NDArray[Any],
        bounds: NDArray[np.float64],
        kernel: Kernel | str,
    ):
        self.model, self.X, self.kernel = model, X, kernel
        self.rows, self.codes, self.bounds = rows, codes, bounds
        self.classes, self.pairs = classes, pairs_of(len(classes))
        self.seed = seed_from(getattr(model, "random_state", 0))
        self.iteration, self.unsolved = 0, 0
        self.done: list[dict[str, Any]] = []
        self.problem: DualProblem | None = None
        self.class_members = [np.flatnonzero(codes == code) for code in range(len(classes))]
        self.blocks: ClassBlocks | None = None
        if isinstance(kernel, Kernel) and len(self.pairs) > 1 and len(rows) <= WHOLE_ROWS:
            ordered = rows[np.concatenate(self.class_members)]
            self.blocks = ClassBlocks(columns_of(kernel, X[ordered]), [len(part) for part in self.class_members])

    def iterations(self) -> Iterator[Record]:
        while len(self.done) < len(self.pairs):
            with blas_threads(1):
                values, computed = self._advance()
                while computed < VALUES_PER_RECORD and self.problem is None and len(self.done) < len(self.pairs):
                    values, more = self._advance()
                    computed += more
            self.iteration += 1
            yield Record(self.iteration, values)

    def _advance(self) -> tuple[dict[str, float], int]:
        """A few working sets of the pair at work: numbers for the record, and how many kernel values it has."""
        pair = len(self.done)
        if self.problem is None:
            self.problem = self.problem_of(pair)
            self.model._begin(self, pair)
        problem = self.problem
        finished = solve_some(problem, self.model.max_iter)
        values = describe(problem) | {"pair": float(pair)}
        self.model._judge(self, problem, finished)
        if finished:
            self.unsolved += not problem.solved
            self.done.append(self.result(problem, pair, values) | self.model._calibration(self, pair))
            self.problem = None
        return values, problem.columns.n**2

    def members(self, pair: int) -> NDArray[np.int64]:
        """Positions (among the counted rows) of the first class of a pair, then of the second."""
        first, second = self.pairs[pair]
        return np.concatenate([self.class_members[first], self.class_members[second]])

    def problem_of(self, pair: int, kept: NDArray[np.bool_] | None = None) -> DualProblem:
        """The dual of a pair, or of the ``kept`` ones of its rows."""
        members = self.members(pair)
        members = members if kept is None else members[kept]
        bounds = self.bounds[members]
        positive = self.codes[members] == self.pairs[pair][0]
        columns = self._columns(pair, members, kept, float(bounds.max()))
        low, high = np.where(positive, 0.0, -bounds), np.where(positive, bounds, 0.0)
        model, labels = self.model, np.where(positive, 1.0, -1.0)
        return DualProblem(columns, labels, low, high, 0.0, model.tol, bool(model.shrinking), float(model.cache_size))

    def _columns(
        self, pair: int, members: NDArray[np.int64], kept: NDArray[np.bool_] | None, largest_bound: float
    ) -> KernelColumns:
        if self.blocks is not None:
            matrix = self.blocks.pair(*self.pairs[pair])
            return columns_of_matrix(matrix if kept is None else matrix[np.ix_(kept, kept)])
        rows, dtype = self.rows[members], np.float64
        if isinstance(self.kernel, Kernel):
            dtype = column_dtype(self.kernel, self.X[rows], largest_bound, self.model.tol)
        return columns_for(self.kernel, self.X, rows, dtype)

    def result(self, problem: DualProblem, pair: int, numbers: dict[str, float]) -> dict[str, Any]:
        used = np.flatnonzero(problem.beta)
        return {
            "rows": self.members(pair)[used],
            "values": problem.beta[used],
            "offset": problem.offset,
            "iteration": problem.iteration,
            **{name: numbers[name] for name in NUMBERS},
        }

    def results(self) -> list[dict[str, Any]]:
        """Of all pairs: done, at work, or not begun (a machine that knows nothing)."""
        found = list(self.done)
        if self.problem is not None:
            found.append(self.result(self.problem, len(self.done), describe(self.problem)))
        nothing = {"rows": np.zeros(0, dtype=np.int64), "values": np.zeros(0), "offset": 0.0, "iteration": 0}
        nothing |= {"objective": 0.0, "gap": np.inf, "violation": np.inf}
        return found + [nothing] * (len(self.pairs) - len(found))

    def coefficients(self) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        return [(result["rows"], result["values"]) for result in self.results()]

    def offsets(self) -> list[float]:
        return [result["offset"] for result in self.results()]

    def numbers(self, name: str) -> list[float]:
        return [result[name] for result in self.results()]

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "iteration": self.iteration,
            "unsolved": self.unsolved,
            "done": [{name: np.copy(value)[()] for name, value in result.items()} for result in self.done],
            "problem": None if self.problem is None else self.problem.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.seed = int(state["seed"])
        self.iteration, self.unsolved = int(state["iteration"]), int(state["unsolved"])
        self.done = [dict(result) for result in state["done"]]
        if state["problem"] is not None:
            with blas_threads(1):
                self.problem = self.problem_of(len(self.done)).restore(state["problem"])
            self.model._begin(self, len(self.done))
