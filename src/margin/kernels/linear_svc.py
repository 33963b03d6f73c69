r"""The linear support vector machine in the primal: made for many rows.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i\,\ell\bigl(y_i(w^\top x_i+b)\bigr),\qquad
    \ell(m) = \max(0,1-m)\ \text{ or }\ \max(0,1-m)^2 .
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.class_weights import ClassWeight, row_weights
from margin.core.domains import Choice, Flag, Integer, Number
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.records import Record
from margin.core.threads import blas_threads
from margin.kernels.hinge import Hinge
from margin.kernels.squared_hinge import SquaredHinge

__all__ = ["LinearSVC"]

SOLVERS: dict[str, Any] = {"hinge": Hinge, "squared_hinge": SquaredHinge}


class LinearSVC(ClassifierMixin, IterativeEstimator):
    """Linear machine with a penalty on w alone (b is free); several classes by one machine against the rest each.

    ``loss`` "squared_hinge" is solved by Newton's method (``tol`` bounds the norm of the gradient relative to that at
    zero), "hinge" by an interior-point method (``tol`` bounds the duality gap relative to the objective).
    ``max_iter`` is the most steps for each class. X may be sparse. A step costs a few passes and a product of the
    active rows with themselves, n d^2 with memory d^2 besides the data; the squared hinge with more than 1500 columns
    needs products with X alone, and memory n + d. The hinge keeps a matrix of the smaller of n and d squared: where
    both are large, ``SVC(kernel="linear")`` solves the same problem.

    Learned: ``coef_`` (1 or k, d), ``intercept_``, ``objective_`` per machine, ``n_iter_``. Records carry the
    objective, ``measure`` (what is compared with ``tol``) and the machine's number.

    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> model = LinearSVC(C=1000.0, loss="hinge").fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[1.0]], [-2.0])
    """

    domains = {
        "loss": Choice("squared_hinge", "hinge"),
        "C": Number(above=0, search=(1e-4, 1e3), log=True),
        "fit_intercept": Flag(),
        "class_weight": ClassWeight(),
        "tol": Number(above=0),
        "max_iter": Integer(low=1),
    }

    def __init__(
        self,
        loss: str = "squared_hinge",
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ):
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Learn from rows X and their classes y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per step of every machine."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", accept_sparse="csr")
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        classes, codes = np.unique(y[weights > 0], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"LinearSVC: y must have at least two classes in rows of positive weight; got {len(classes)} class."
            )
        if (weights == 0).any():
            X, weights = X[weights > 0], weights[weights > 0]
        bounds = self.C * row_weights("LinearSVC", self.class_weight, classes, codes, weights)
        if not bounds.min() > 0:  # a class weight of zero
            X, codes, bounds = X[bounds > 0], codes[bounds > 0], bounds[bounds > 0]
        if len(np.unique(codes)) < 2:
            raise ValueError("LinearSVC: class_weight must leave at least two classes with weight.")
        self._loop = loop = _OneVsRest(self, X, codes, bounds, classes)
        if state is not None:
            loop.restore(state)
        for record in loop.iterations():
            self._learn(loop)
            yield record
        self._learn(loop)
        if loop.unsolved:
            warn_user(
                f"LinearSVC: {loop.unsolved} of {len(loop.labels)} machines reached max_iter={self.max_iter} steps "
                "before tol; scale the columns or allow more.",
                ConvergenceWarning,
            )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w x + b for two classes (n,), or per class (n, k)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        values = X @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest value; of two classes the first if the value is 0 or less."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[chosen]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _learn(self, loop: _OneVsRest) -> None:
        found = loop.results()
        d = loop.X.shape[1]
        thetas = np.array([result["theta"] for result in found])
        self.classes_ = loop.classes
        self.coef_ = thetas[:, :d].copy()
        self.intercept_ = thetas[:, d].copy() if self.fit_intercept else np.zeros(len(found))
        self.objective_ = np.array([result["objective"] for result in found])
        self.n_iter_ = int(max(result["iteration"] for result in found))


class _OneVsRest:
    """The running fit: machines that are done and the one at work."""

    def __init__(self, model: LinearSVC, X: Any, codes: Any, bounds: Any, classes: Any):
        self.model, self.X, self.codes, self.bounds, self.classes = model, X, codes, bounds, classes
        self.labels = [1] if len(classes) == 2 else list(range(len(classes)))
        self.done: list[dict[str, Any]] = []
        self.solver: Any = None
        self.iteration, self.unsolved = 0, 0

    def iterations(self) -> Iterator[Record]:
        while len(self.done) < len(self.labels):
            if self.solver is None:
                self.solver = self._solver()
            solver = self.solver
            with blas_threads(1):
                solver.step()
            self.iteration += 1
            values = {"objective": solver.objective, "measure": solver.measure, "machine": float(len(self.done))}
            if solver.solved or solver.iteration >= self.model.max_iter:
                self.unsolved += not solver.solved
                self.done.append(self._result(solver))
                self.solver = None
            yield Record(self.iteration, values, total=len(self.labels) * self.model.max_iter)

    def results(self) -> list[dict[str, Any]]:
        found = self.done + ([] if self.solver is None else [self._result(self.solver)])
        size = self.X.shape[1] + bool(self.model.fit_intercept)
        nothing = {"theta": np.zeros(size), "objective": np.inf, "iteration": 0}
        return found + [nothing] * (len(self.labels) - len(found))

    def state(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "unsolved": self.unsolved,
            "done": [result | {"theta": result["theta"].copy()} for result in self.done],
            "solver": None if self.solver is None else self.solver.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.unsolved = int(state["iteration"]), int(state["unsolved"])
        self.done = [dict(result) for result in state["done"]]
        if state["solver"] is not None:
            self.solver = self._solver().restore(state["solver"])

    def _solver(self) -> Any:
        labels = np.where(self.codes == self.labels[len(self.done)], 1.0, -1.0)
        model = self.model
        with blas_threads(1):
            return SOLVERS[model.loss](self.X, labels, self.bounds, intercept=bool(model.fit_intercept), tol=model.tol)

    @staticmethod
    def _result(solver: Any) -> dict[str, Any]:
        return {"theta": solver.theta.copy(), "objective": solver.objective, "iteration": solver.iteration}
