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
from margin.kernels.dual import DualProblem
from margin.kernels.dual_records import describe, solve_some
from margin.kernels.kernel import Kernel
from margin.kernels.kernel_columns import KernelColumns, columns_of, columns_of_matrix
from margin.kernels.kernel_model import columns_for
from margin.kernels.one_vs_one import pairs_of
from margin.kernels.pair_results import PairResults, join, nothing_learned, result_of
from margin.kernels.precision import column_dtype
from margin.kernels.small_pairs import end_of_small_pairs, fits_blocks, solve_with_later_classes

if TYPE_CHECKING:
    from margin.kernels.dual_classifier import DualClassifier

__all__ = ["PairLoop"]

# Small pairs are solved in a fraction of the time that a look at the model takes: a record stands for as many pairs as
# have this many kernel values together.
VALUES_PER_RECORD = 1 << 22


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
        self.done: list[PairResults] = []
        self.pairs_done = 0
        self.problem: DualProblem | None = None
        self.seen: tuple[int, Any] = (0, 0.0)  # working sets and coefficients when a model last looked at the pair
        self.ordered = np.argsort(codes, kind="stable")  # by class
        sizes = np.bincount(codes, minlength=len(classes))
        self.class_members = np.split(self.ordered, np.cumsum(sizes)[:-1])
        self.blocks: ClassBlocks | None = None
        if isinstance(kernel, Kernel) and len(self.pairs) > 1 and fits_blocks(sizes):
            self.blocks = ClassBlocks(columns_of(kernel, X[rows[self.ordered]]), sizes)

    def iterations(self) -> Iterator[Record]:
        while self.pairs_done < len(self.pairs):
            with blas_threads(1):
                values, computed = self._advance()
                while computed < VALUES_PER_RECORD and self.problem is None and self.pairs_done < len(self.pairs):
                    values, more = self._advance()
                    computed += more
            self.iteration += 1
            yield Record(self.iteration, values)

    def _advance(self) -> tuple[dict[str, float], int]:
        """Some small pairs, or a few working sets of a larger one: numbers for the record, how many kernel values."""
        if self.problem is None and self.blocks is not None and self.model._takes_pairs_at_once():
            first, second = self.pairs[self.pairs_done]
            last = end_of_small_pairs(self.blocks, first, second)
            if last > second:
                bounds, tol = self.bounds[self.ordered], self.model.tol
                found = solve_with_later_classes(self.blocks, bounds, first, second, last, tol)
                if len(found["sizes"]):
                    return self._accept(found)
        return self._work_on_pair()

    def _accept(self, found: dict[str, NDArray[Any]]) -> tuple[dict[str, float], int]:
        """The results of small pairs."""
        values = {name: float(found[name][-1]) for name in ("objective", "gap", "violation", "steps")}
        count = int(np.square(found["members"]).sum())
        kept = {name: found[name] for name in nothing_learned(0)}
        self._finish(kept | {"rows": self.ordered[found["rows"]]})
        return values | {"pair": float(self.pairs_done - 1)}, count

    def _work_on_pair(self) -> tuple[dict[str, float], int]:
        pair = self.pairs_done
        if self.problem is None:
            self.problem = self.problem_of(pair)
            self.model._begin(self, pair)
        problem = self.problem
        finished = solve_some(problem, self.model.max_iter)
        values = describe(problem) | {"pair": float(pair)}
        self.model._judge(self, problem, finished)
        if finished:
            self.unsolved += not problem.solved
            learned = {name: np.array([value]) for name, value in self.model._calibration(self, pair).items()}
            self._finish(result_of(problem, self.members(pair), values) | learned)
            self.problem = None
        return values, problem.columns.n**2

    def _finish(self, found: PairResults) -> None:
        self.done.append(found)
        self.pairs_done += len(found["sizes"])

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

    def results(self) -> PairResults:
        """Of all pairs: done, at work, or not begun."""
        found = list(self.done)
        if self.problem is not None:
            found.append(result_of(self.problem, self.members(self.pairs_done), describe(self.problem)))
        begun = sum(len(part["sizes"]) for part in found)
        nothing = nothing_learned(len(self.pairs) - begun)
        return join([*found, nothing], like=nothing)

    def state(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "iteration": self.iteration,
            "unsolved": self.unsolved,
            "done": join(self.done) if self.done else None,
            "problem": None if self.problem is None else self.problem.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.seed = int(state["seed"])
        self.iteration, self.unsolved = int(state["iteration"]), int(state["unsolved"])
        if state["done"] is not None:
            self._finish({name: np.array(values) for name, values in state["done"].items()})
        if state["problem"] is not None:
            with blas_threads(1):
                self.problem = self.problem_of(self.pairs_done).restore(state["problem"])
            self.model._begin(self, self.pairs_done)
