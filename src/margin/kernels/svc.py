r"""Support vector classification with a soft margin, any kernel.

.. math::
    \min_{w,b,\xi}\; \tfrac12\|w\|^2 + \sum_i C_i\xi_i
    \quad\text{s.t.}\quad y_i\bigl(w^\top\phi(x_i)+b\bigr) \ge 1-\xi_i,\;\; \xi_i \ge 0,

solved through its dual (:mod:`margin.kernels.dual`): :math:`f(x) = \sum_i y_i\alpha_i k(x_i, x) + b`. A larger C
punishes violations more and gives a narrower margin.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from margin.core.array_types import MatrixLike
from margin.core.class_weights import ClassWeight, row_weights
from margin.core.domains import Choice, Flag, Number, Seed
from margin.core.invariants import ArrayOf, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.data.folds import stratified_fold_numbers
from margin.kernels.cost import COST, finite_cost
from margin.kernels.dual_classifier import DualClassifier
from margin.kernels.dual_records import solve_some
from margin.kernels.kernel_model import expansion
from margin.kernels.one_vs_one import couple_probabilities, pairs_of, votes, votes_with_confidence
from margin.kernels.pair_loop import PairLoop
from margin.kernels.platt import fit_sigmoid, sigmoid_probability
from margin.kernels.stored import pairs_of_classes

__all__ = ["SVC"]

FOLDS = 5  # of the cross-validation behind probabilities
PLAIN_SIGMOID = (-1.0, 0.0)  # slope and shift of a pair that is not calibrated yet


def _wants_probability(model: SVC) -> bool:
    if not model.probability:
        raise AttributeError("SVC: predict_proba needs probability=True.")
    return True


class SVC(DualClassifier):
    """Kernel support vector machine; several classes by one machine for every pair.

    The bound of a row in the dual is ``C`` times its sample weight times its class weight. X may be sparse with a
    linear, polynomial, sigmoid, cosine, Gaussian or Laplace kernel and sums and products of them; support vectors are
    then sparse too.

    Time grows with support vectors times rows. Problems of more than 2000 rows are solved a working set at a time;
    ``shrinking`` and ``cache_size`` belong to them. Records carry the dual objective, the duality gap and the violation
    of optimality.

    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = SVC(kernel="rbf", gamma=1.0, C=10.0).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.1, 0.1], [0.1, 0.9]]).tolist(), model.n_support_.tolist()
    ([0, 1], [2, 2])
    """

    takes_sparse = True

    _: KW_ONLY
    C: float = parameter(
        1.0, COST, "Cost of a violated margin; larger means a narrower margin. Infinite is as good as 1e10."
    )
    shrinking: bool = parameter(
        True, Flag(), "Whether rows that rest on a bound leave the problem until it is solved without them."
    )
    probability: bool = parameter(
        False, Flag(), "Whether every pair is calibrated by a sigmoid on five held-out folds, for predict_proba."
    )
    cache_size: float = parameter(
        200, Number(above=0), "Megabytes for columns of the kernel matrix; a working set's are kept in any case."
    )
    class_weight: Any = parameter(None, ClassWeight(), "Factor of C for the rows of a class.")
    decision_function_shape: str = parameter(
        "ovr", Choice("ovr", "ovo"), "Whether decision_function gives a value per class (votes of pairs) or per pair."
    )
    break_ties: bool = parameter(
        False, Flag(), "Whether equal votes are settled by the sums of decision values instead of the first class."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the folds of ``probability``.")

    sigmoids_: NDArray[np.float64] = attribute(
        sometimes(ArrayOf("n_machines", 2, finite=False)),
        "Slope and shift of the sigmoid of every pair, with ``probability``.",
    )

    _stored_rules = (pairs_of_classes,)
    _may_be_empty = ("n_support",)

    @property
    def probA_(self) -> NDArray[np.float64]:
        """Slopes of the sigmoids, with ``probability``; empty otherwise."""
        return self.sigmoids_[:, 0] if hasattr(self, "sigmoids_") else np.zeros(0)

    @property
    def probB_(self) -> NDArray[np.float64]:
        """Shifts of the sigmoids, with ``probability``; empty otherwise."""
        return self.sigmoids_[:, 1] if hasattr(self, "sigmoids_") else np.zeros(0)

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class of every row: by sign for two classes, by votes of the pairs for more."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("SVC: break_ties=True needs decision_function_shape='ovr'; got 'ovo'.")
        rows = self._new_rows(X)
        by_confidence = len(self.classes_) == 2 or self.break_ties
        return self._judge_pairs(rows, self._classes_by_confidence if by_confidence else self._most_votes)

    def _most_votes(self, values: NDArray[np.float64]) -> NDArray[Any]:
        return self.classes_[np.argmax(votes(values, len(self.classes_)), axis=1)]

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """f(x) for two classes (n,), else one column per class or per pair."""
        rows, k = self._new_rows(X), len(self.classes_)
        if k == 2:
            return -self._pair_decisions(rows)[:, 0]
        if self.decision_function_shape == "ovo":
            return self._pair_decisions(rows)
        return self._judge_pairs(rows, partial(votes_with_confidence, n_classes=k))

    @available_if(_wants_probability)
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Probabilities of the classes, (n, k), from the calibrated pairs."""
        values, k = self._pair_decisions(self._new_rows(X)), len(self.classes_)
        if not hasattr(self, "sigmoids_"):
            raise NotFittedError("SVC: predict_proba needs a fit with probability=True; the last one was without.")
        pairwise = np.zeros((len(values), k, k))
        for column, (i, j), (slope, shift) in zip(values.T, pairs_of(k), self.sigmoids_):
            pairwise[:, i, j] = sigmoid_probability(column, slope, shift)
            pairwise[:, j, i] = 1 - pairwise[:, i, j]
        return pairwise[:, [0, 1], [1, 0]] if k == 2 else couple_probabilities(pairwise)

    @available_if(_wants_probability)
    def predict_log_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _bounds(
        self, weights: NDArray[np.float64], codes: NDArray[np.intp], classes: NDArray[Any]
    ) -> NDArray[np.float64]:
        bounds = finite_cost(self.C) * row_weights("SVC", self.class_weight, classes, codes, weights)
        empty = np.bincount(codes, bounds, minlength=len(classes)) == 0
        if empty.any():
            raise ValueError(f"SVC: class_weight leaves no weight to class {classes[empty].tolist()[0]!r}.")
        return bounds

    def _learn(self, loop: PairLoop) -> None:
        super()._learn(loop)
        self.__dict__.pop("sigmoids_", None)  # those of an earlier fit
        if self.probability:
            slopes, shifts = ([part[name] for part in loop.done] for name in ("slope", "shift"))
            missing = len(loop.pairs) - loop.pairs_done
            known = np.column_stack([np.concatenate([[], *slopes]), np.concatenate([[], *shifts])])
            self.sigmoids_ = np.concatenate([known, np.tile(PLAIN_SIGMOID, (missing, 1))])

    def _takes_pairs_at_once(self) -> bool:
        return not self.probability and self.max_iter != 0

    def _calibration(self, loop: PairLoop, pair: int) -> dict[str, float]:
        if not self.probability:
            return {}
        members = loop.members(pair)
        positive = loop.codes[members] == loop.pairs[pair][0]
        folds = min(FOLDS, int(positive.sum()), int((~positive).sum()))
        # Too few rows to hold any out: the machine's own values, which flatter it.
        decision = self._own_decisions(loop, pair) if folds < 2 else self._held_out_decisions(loop, pair, folds)
        slope, shift = fit_sigmoid(decision, positive, loop.bounds[members] / finite_cost(self.C))
        return {"slope": slope, "shift": shift}

    def _own_decisions(self, loop: PairLoop, pair: int) -> NDArray[np.float64]:
        problem = loop.problem
        assert problem is not None
        return problem.target - problem.score + problem.offset

    def _held_out_decisions(self, loop: PairLoop, pair: int, folds: int) -> NDArray[np.float64]:
        members = loop.members(pair)
        positive = loop.codes[members] == loop.pairs[pair][0]
        # A generator of its own for each pair: a resumed fit draws the same folds.
        fold = stratified_fold_numbers(positive, folds, as_generator(loop.seed + pair))
        decision = np.empty(len(members))
        for held in (fold == f for f in range(folds)):
            problem = loop.problem_of(pair, ~held)
            while not solve_some(problem, self.max_iter):
                pass
            used = problem.beta != 0
            new, known = loop.rows[members[held]], loop.rows[members[~held][used]]
            if isinstance(loop.kernel, str):
                values = loop.X[np.ix_(new, known)] @ problem.beta[used]
            else:
                values = expansion(loop.kernel, loop.X[new], loop.X[known], problem.beta[used][None, :])[:, 0]
            decision[held] = values + problem.offset
        return decision
