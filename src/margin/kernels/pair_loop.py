"""The running fit of a dual classifier: one problem for every pair of classes, solved a few working sets at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.core.threads import blas_threads
from margin.kernels.class_blocks import ClassBlocks
from margin.kernels.dual import WHOLE_ROWS, DualProblem
from margin.kernels.dual_records import describe, solve_some
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_columns import KernelColumns, columns_of, columns_of_matrix
from margin.kernels.kernel_model import columns_for
from margin.kernels.one_vs_one import pairs_of
from margin.kernels.precision import column_dtype

if TYPE_CHECKING:
    from margin.kernels.dual_classifier import DualClassifier

__all__ = ["NUMBERS", "PairLoop"]

# Small pairs are solved in a fraction of the time that a look at the model takes: a record stands for as many pairs as
# have this many kernel values together.
VALUES_PER_RECORD = 1 << 22
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
        self.seen: tuple[int, Any] = (0, 0.0)  # working sets and coefficients when a model last looked at the pair
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
