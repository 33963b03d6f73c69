r"""The hard margin: the widest margin between two classes that are separable.

.. math:: \min_{w,b}\; \tfrac12\|w\|^2 \quad\text{s.t.}\quad y_i\bigl(w^\top\phi(x_i)+b\bigr) \ge 1 .

The planes :math:`w^\top\phi(x)+b=\pm1` are :math:`2/\|w\|` apart; the right-hand side 1 is a choice of the scale of
(w, b), not a property of the data.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margin.core.array_types import MatrixLike
from margin.core.invariants import sometimes
from margin.core.parameters import attribute, default
from margin.core.threads import blas_threads
from margin.kernels.dot_product import LinearKernel
from margin.kernels.dual import DualProblem
from margin.kernels.dual_classifier import DualClassifier
from margin.kernels.kernel_columns import KernelColumns
from margin.kernels.one_vs_one import votes_with_confidence
from margin.kernels.pair_loop import PairLoop
from margin.kernels.stored import PER_MACHINE, pairs_of_classes

__all__ = ["HardMarginSVC", "hull_distance", "is_separable"]

# A margin below this fraction of the size of the data cannot be told from none in floating point.
SMALLEST_MARGIN = 1e-7


def is_separable(X: NDArray[Any], labels: NDArray[Any]) -> bool:
    r"""Whether some plane has every row strictly on the side of its label (-1 or 1): a linear program.

    >>> is_separable(np.array([[0.0], [1.0], [2.0]]), np.array([1, -1, 1]))
    False
    """
    from scipy.optimize import linprog

    X, labels = np.asarray(X, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    spread = X.std(axis=0)
    rows = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    A = -labels[:, None] * np.column_stack([rows, np.ones(len(rows))])
    program = linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=(None, None), method="highs")
    return bool(program.status == 0)


def hull_distance(columns: KernelColumns, beta: NDArray[Any]) -> float:
    r"""The distance between a point in the convex hull of either class, weighted as ``beta``, in feature space.

    No margin is larger than half of it. Where there is none, coefficients grow without end along weights of two points
    that meet.
    """
    sides = np.maximum(beta, 0), np.maximum(-beta, 0)
    if not all(side.any() for side in sides):
        return np.inf
    weights = sides[0] / sides[0].sum() - sides[1] / sides[1].sum()
    used = np.flatnonzero(weights)
    with blas_threads(1):
        return float(np.sqrt(max(weights @ columns.combine(used, weights[used]), 0.0)))


class HardMarginSVC(DualClassifier):
    """Maximum-margin classifier without slack; classes that no plane separates are an error.

    With the linear kernel separability is decided beforehand by a linear program; with another kernel the fit stops
    when the margin gets smaller than rounding.

    >>> model = HardMarginSVC().fit([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    >>> model.coef_.round(4).tolist(), model.margin_.round(4).tolist(), model.support_.tolist()
    ([[1.0]], [1.0], [1, 2])
    """

    _: KW_ONLY
    kernel: Any = default("linear")
    tol: float = default(1e-6)

    margin_: NDArray[np.float64] = attribute(
        sometimes(PER_MACHINE), "Distance 1/|w| from the boundary to the nearest rows, per pair."
    )

    _stored_rules = (pairs_of_classes,)
    _may_be_empty = ("n_support",)

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """f(x) for two classes (n,), votes of the pairs per class for more."""
        values = self._pair_decisions(self._new_rows(X))
        return -values[:, 0] if len(self.classes_) == 2 else votes_with_confidence(values, len(self.classes_))

    def _bounds(self, weights: Any, codes: NDArray[np.intp], classes: NDArray[Any]) -> NDArray[np.float64]:
        return np.full(len(codes), np.inf)

    def _begin(self, loop: PairLoop, pair: int) -> None:
        members = loop.members(pair)
        labels = np.where(loop.codes[members] == loop.pairs[pair][0], 1, -1)
        loop.seen = 0, 0.0
        if isinstance(loop.kernel, LinearKernel) and not is_separable(loop.X[loop.rows[members]], labels):
            self._refuse(loop, pair)

    def _judge(self, loop: PairLoop, problem: DualProblem, finished: bool) -> None:
        pair = loop.pairs_done
        rows = loop.rows[loop.members(pair)]
        diagonal = loop.X[rows, rows] if isinstance(loop.kernel, str) else loop.kernel.diag(loop.X[rows])
        norm = np.sqrt(2 * max(problem.objective, 0.0))
        # The margin 1/|w| in feature space against the size of the rows there, the root of the largest k(x, x).
        smallest = SMALLEST_MARGIN * np.sqrt(max(diagonal.max(), 0.0))
        if not smallest or norm * smallest > 1 or (finished and not problem.solved):
            self._refuse(loop, pair)
        seen_at, seen = loop.seen
        if not finished and problem.iteration >= 2 * seen_at:
            grown = problem.beta - seen
            loop.seen = problem.iteration, problem.beta.copy()
            if hull_distance(problem.columns, grown) < 2 * smallest:
                self._refuse(loop, pair)

    def _refuse(self, loop: PairLoop, pair: int) -> None:
        first, second = (loop.classes.tolist()[code] for code in loop.pairs[pair])
        raise ValueError(
            f"HardMarginSVC: classes {first!r} and {second!r} are not separable with kernel={self.kernel!r}; "
            "use SVC, whose soft margin allows violations."
        )

    def _learn(self, loop: PairLoop) -> None:
        super()._learn(loop)
        with np.errstate(divide="ignore"):
            self.margin_ = 1 / np.sqrt(2 * np.maximum(self.objective_, 0.0))
