r"""The linear support vector machine in the primal: made for many rows.

.. math::
    \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i\,\ell\bigl(y_i(w^\top x_i+b)\bigr),\qquad
    \ell(m) = \max(0,1-m)\ \text{ or }\ \max(0,1-m)^2 .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.class_counts import count_classes
from margin.core.class_weights import ClassWeight, row_weights
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, OneOf, SparseOf, sometimes
from margin.core.kept_rows import keep_rows
from margin.core.new_rows import require_fitted, validate_new_rows
from margin.core.notices import warn_user
from margin.core.number_range import finite_values, validate_squarable
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, seed_from
from margin.core.records import Record
from margin.core.sparse_coefficients import SparseCoefficients, linear_scores
from margin.core.streaming import Stream
from margin.core.summaries import learn_columns
from margin.core.threads import blas_threads
from margin.core.training_rows import validate_weights
from margin.kernels.crammer_singer import CrammerSinger
from margin.kernels.hinge import Hinge
from margin.kernels.l1_squared_hinge import L1SquaredHinge
from margin.kernels.squared_hinge import DIRECT_COLUMNS, SquaredHinge
from margin.kernels.stored import PER_MACHINE
from margin.kernels.stream_squared_hinge import HingeRows, StreamMachines, sample_of

__all__ = ["LinearSVC"]

LOOKED_AT = 1000  # rows that mostly show that no column is so far
FAR = 100.0  # times its spread: how far from zero a column may lie before it is centered


class LinearSVC(SparseCoefficients, ClassifierMixin, IterativeEstimator):
    """Linear machine; several classes by one machine against the rest each, or by one machine of all of them.

    The squared hinge is solved by Newton's method (``tol`` bounds the norm of the gradient relative to that at zero),
    the hinge by an interior-point method (``tol`` bounds the duality gap relative to the objective). X may be sparse. A
    step costs a few passes and a product of the active rows with themselves, n d^2 with memory d^2 besides the data;
    the squared hinge with more than 1500 columns needs products with X alone, and memory n + d. The hinge keeps a
    matrix of the smaller of n and d squared: where both are large, ``SVC(kernel="linear")`` solves the same problem.
    With the L1 penalty many weights are exactly zero; a step works on the columns that are not.

    The machine of all classes is solved by coordinate descent in the dual (``tol`` bounds the relative duality gap).

    Records carry the objective, ``measure`` (what is compared with ``tol``) and the machine's number.

    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> model = LinearSVC(C=1000.0, loss="hinge").fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(2).tolist(), model.intercept_.round(2).tolist()
    ([[1.0]], [-2.0])
    """

    penalty: str = parameter("l2", Choice("l2", "l1"), "Half the squared norm of w, or the sum of its absolute values.")
    loss: str = parameter("squared_hinge", Choice("squared_hinge", "hinge"), "Cost of a margin below one.")
    _: KW_ONLY
    dual: bool | str = parameter(
        "auto",
        Either(Choice("auto"), Flag()),
        "Whether steps solve systems of n (dual) or of d unknowns (primal); 'auto' takes what is cheaper.",
    )
    tol: float = parameter(1e-4, Number(above=0), "Relative gradient or duality gap at which a machine is solved.")
    C: float = parameter(1.0, Number(above=0, search=(1e-4, 1e3), log=True), "Cost of a violated margin.")
    multi_class: str = parameter(
        "ovr",
        Choice("ovr", "crammer_singer"),
        "One machine per class against the rest, or one of all classes, whose loss is the hinge of the smallest "
        "margin over another class; loss and dual say nothing about it.",
    )
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant b is fitted.")
    intercept_scaling: float | None = parameter(
        None,
        Optional(Number(above=0)),
        "None leaves b free; a number s penalizes it as the weight b / s of a constant column s, as 1 does in the "
        "machine of all classes if this is None.",
    )
    class_weight: Any = parameter(None, ClassWeight(), "Factor of C for the rows of a class.")
    verbose: bool | int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(
        None, Seed(), "Draws the part of many rows on which the squared hinge starts; None takes every k-th row."
    )
    max_iter: int = parameter(1000, Integer(low=1), "Most steps for each machine.")

    classes_: NDArray[Any] = attribute(ArrayOf("n_classes", kind="labels"), "The classes, sorted.")
    coef_: NDArray[np.float64] = attribute(
        OneOf(ArrayOf("n_machines", "n_features"), SparseOf("n_machines", "n_features")),
        "Weights of the columns, (1, d) or (classes, d).",
    )
    intercept_: NDArray[np.float64] = attribute(ArrayOf("n_machines"), "The constants.")
    objective_: NDArray[np.float64] = attribute(sometimes(PER_MACHINE), "Objective of every machine.")
    n_iter_: int = attribute(sometimes(OneOf(Count(), ArrayOf(None, kind="i", low=0))), "Most steps of any machine.")

    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> LinearSVC:
        """Learn from rows X and their classes y."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per step of every machine."""
        self._check_parameters()
        if self.penalty == "l1" and (self.loss == "hinge" or self.dual is True):
            raise ValueError(
                "LinearSVC: penalty='l1' goes with loss='squared_hinge' and dual=False or 'auto'; got "
                f"loss={self.loss!r} and dual={self.dual!r}."
            )
        if self.penalty == "l1" and self.multi_class == "crammer_singer":
            raise ValueError("LinearSVC: multi_class='crammer_singer' goes with penalty='l2'; got 'l1'.")
        X, y = validate_squarable(self, X, y, dtype=np.float64, order="C", accept_sparse="csr")
        check_classes(y)
        weights = validate_weights(sample_weight, X)
        classes, codes = encode_classes(y[weights > 0])
        if len(classes) < 2:
            raise ValueError(
                f"LinearSVC: y must have at least two classes in rows of positive weight; got {len(classes)} class."
            )
        if (weights == 0).any():
            X, weights = X[weights > 0], weights[weights > 0]
        bounds = self.C * row_weights("LinearSVC", self.class_weight, classes, codes, weights)
        if not bounds.min() > 0:  # a class weight of zero
            X, codes, bounds = X[bounds > 0], codes[bounds > 0], bounds[bounds > 0]
        if codes.min() == codes.max():
            raise ValueError("LinearSVC: class_weight must leave at least two classes with weight.")
        loop = self._machines(self._with_constant(X), codes, bounds, classes)
        if state is not None:
            loop.restore(state)
        yield from self._steps(loop)

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """The same minimum by Newton's method, a pass over the stream per step of all machines."""
        self._check_parameters()
        if (self.penalty, self.loss, self.multi_class) != ("l2", "squared_hinge", "ovr") or self.dual is True:
            raise ValueError(
                "LinearSVC: of a stream penalty='l2', loss='squared_hinge', multi_class='ovr' and dual=False or 'auto' "
                f"are solved; got {self.penalty!r}, {self.loss!r}, {self.multi_class!r} and {self.dual!r}."
            )
        stream = keep_rows(stream)
        learn_columns(self, stream)
        if self.n_features_in_ > DIRECT_COLUMNS:
            raise ValueError(
                f"LinearSVC: of a stream at most {DIRECT_COLUMNS} columns are taken; got {self.n_features_in_}."
            )
        found = count_classes("LinearSVC", stream)
        weights = found.weights("LinearSVC", self.class_weight)
        if (weights == 0).any():
            raise ValueError("LinearSVC: of a stream class_weight must be above 0 for every class.")
        center = None if state is None else state["center"]
        if state is None:
            sample = sample_of(self, stream, self.n_features_in_, seed_from(self.random_state or 0))
            center = _far_center(sample.X) if self._free_intercept else None
        constant = float(self.intercept_scaling or 1.0) if self._penalizes_intercept else None
        labels = (1,) if len(found.labels) == 2 else tuple(range(len(found.labels)))
        rows = HingeRows(clone(self), found.labels, self.C * weights, labels, self._free_intercept, constant, center)
        loop = StreamMachines(self, stream, found, rows)
        yield from self._steps(loop.start(sample) if state is None else loop.restore(state))

    def _steps(self, loop: Any) -> Iterator[Record]:
        self._loop = loop
        for record in loop.iterations():
            self._learn(loop)
            yield record
        self._learn(loop)
        if loop.unsolved:
            stalled = getattr(loop, "stalled", 0) == loop.unsolved
            limit = "the limit of rounding" if stalled else f"max_iter={self.max_iter} steps"
            warn_user(
                f"LinearSVC: {loop.unsolved} of {len(loop.labels)} machines reached {limit} "
                f"before tol; scale the columns or {'take a smaller C' if stalled else 'allow more'}.",
                ConvergenceWarning,
            )

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """w x + b for two classes (n,), or per class (n, k)."""
        require_fitted(self)
        X = validate_new_rows(self, X, dtype=np.float64, accept_sparse="csr")
        values = finite_values("LinearSVC", "X", X, lambda: linear_scores(X, self.coef_, self.intercept_))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class of the largest value; of two classes the first if the value is 0 or less."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[chosen]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _penalizes_intercept(self) -> bool:
        at_once = self.multi_class == "crammer_singer"
        return bool(self.fit_intercept) and (at_once or self.intercept_scaling is not None)

    @property
    def _free_intercept(self) -> bool:
        return bool(self.fit_intercept) and not self._penalizes_intercept

    def _machines(self, X: Any, codes: Any, bounds: Any, classes: Any) -> _OneVsRest | CrammerSinger:
        if self.multi_class == "ovr":
            return _OneVsRest(self, X, codes, bounds, classes)
        seed = seed_from(self.random_state)
        return CrammerSinger(X, codes, bounds, classes, tol=self.tol, max_iter=self.max_iter, seed=seed)

    def _with_constant(self, X: Any) -> Any:
        """X with a last column of the number that scales a penalized intercept."""
        if not self._penalizes_intercept:
            return X
        column = np.full((X.shape[0], 1), float(self.intercept_scaling or 1.0))
        return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])

    def _learn(self, loop: _OneVsRest | CrammerSinger | StreamMachines) -> None:
        results = loop.results()
        thetas = np.array([result["theta"] for result in results])
        if not np.isfinite(thetas).all():
            raise ValueError("LinearSVC: numbers overflow; scale the columns of X, or take smaller C and weights.")
        d = thetas.shape[1] - bool(self.fit_intercept)
        scale = float(self.intercept_scaling or 1.0) if self._penalizes_intercept else 1.0
        self.classes_ = loop.classes
        self.coef_ = thetas[:, :d].copy()
        self.intercept_ = scale * thetas[:, d] if self.fit_intercept else np.zeros(len(results))
        self.objective_ = np.array([result["objective"] for result in results])
        self.n_iter_ = int(max(result["iteration"] for result in results))


class _OneVsRest:
    """The running fit: machines that are done and the one at work."""

    def __init__(self, model: LinearSVC, X: Any, codes: Any, bounds: Any, classes: Any):
        self.model, self.codes, self.bounds, self.classes = model, codes, bounds, classes
        self.labels = [1] if len(classes) == 2 else list(range(len(classes)))
        self.done: list[dict[str, Any]] = []
        self.solver: Any = None
        self.iteration, self.unsolved, self.stalled = 0, 0, 0
        self.free_intercept = model._free_intercept
        self.center = _far_center(X) if self.free_intercept and not sp.issparse(X) else None
        self.X = X if self.center is None else X - self.center
        self.seed = None if model.random_state is None else seed_from(model.random_state)

    def iterations(self) -> Iterator[Record]:
        while len(self.done) < len(self.labels):
            if self.solver is None:
                self.solver = self._solver()
            solver = self.solver
            with blas_threads(1), np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
                solver.step()
            self.iteration += 1
            values = {"objective": solver.objective, "measure": solver.measure, "machine": float(len(self.done))}
            stalled = getattr(solver, "stalled", False)
            solved = solver.solved  # asked once: it costs a pass
            if solved or stalled or solver.iteration >= self.model.max_iter:
                self.unsolved += not solved
                self.stalled += stalled and not solved
                self.done.append(self._result(solver))
                self.solver = None
            yield Record(self.iteration, values, total=len(self.labels) * self.model.max_iter)

    def results(self) -> list[dict[str, Any]]:
        finished = self.done + ([] if self.solver is None else [self._result(self.solver)])
        size = self.X.shape[1] + self.free_intercept
        nothing = {"theta": np.zeros(size), "objective": np.inf, "iteration": 0}
        return finished + [nothing] * (len(self.labels) - len(finished))

    def state(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "unsolved": self.unsolved,
            "stalled": self.stalled,
            "seed": self.seed,
            "done": [result | {"theta": result["theta"].copy()} for result in self.done],
            "solver": None if self.solver is None else self.solver.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.unsolved = int(state["iteration"]), int(state["unsolved"])
        self.stalled = int(state["stalled"])
        self.seed = state["seed"]
        self.done = [dict(result) for result in state["done"]]
        if state["solver"] is not None:
            self.solver = self._solver().restore(state["solver"])

    def _solver(self) -> Any:
        labels = np.where(self.codes == self.labels[len(self.done)], 1.0, -1.0)
        settings: dict[str, Any] = {"intercept": self.free_intercept, "tol": self.model.tol}
        with blas_threads(1):
            if self.model.penalty == "l1":
                return L1SquaredHinge(self.X, labels, self.bounds, **settings)
            if self.model.loss == "hinge":
                return Hinge(self.X, labels, self.bounds, dual=self.model.dual, **settings)
            return SquaredHinge(self.X, labels, self.bounds, dual=self.model.dual, seed=self.seed, **settings)

    def _result(self, solver: Any) -> dict[str, Any]:
        theta = solver.theta.copy()
        if self.center is not None:
            theta[-1] -= float(theta[:-1] @ self.center)
        return {"theta": theta, "objective": solver.objective, "iteration": solver.iteration}


def _far_center(X: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The middle of every column if one lies so far from zero that its spread has few digits left; None if none does.

    A free intercept makes up for any shift of the columns. Where all rows are far, so are some of them.
    """
    for rows in (X[:: 1 + len(X) // LOOKED_AT], X):
        low, high = rows.min(axis=0), rows.max(axis=0)
        far = np.maximum(np.abs(low), np.abs(high)) > FAR * (high - low)
        if not far.any():
            return None
    return np.where(far, 0.5 * low + 0.5 * high, 0.0)
