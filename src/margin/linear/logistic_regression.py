r"""Logistic regression: a linear model of the log-odds of classes.

.. math::
    P(y = 1 \mid x) = \sigma(\theta_0 + \theta^\top x),\qquad
    \min_\theta \; \sum_i w_i\, \ell_i(\theta) + \frac1C \Bigl(\tfrac{1 - \rho}2 \lVert\theta\rVert_2^2
    + \rho \lVert\theta\rVert_1\Bigr),\qquad \ell_i = -\log P(y_i \mid x_i) .

More than two classes have one score each, :math:`P(y = k \mid x) \propto e^{\theta_{0k} + \theta_k^\top x}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from margin.core.arguments import finite
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.class_counts import ClassCounts, count_classes
from margin.core.class_weights import ClassWeight, row_weights
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Either, Flag, Integer, Jobs, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import Anything, ArrayOf, OneOf, SparseOf, sometimes
from margin.core.kept_rows import keep_rows
from margin.core.new_rows import validate_new_rows
from margin.core.notices import warn_user
from margin.core.number_range import finite_values, validate_squarable
from margin.core.parameters import N_JOBS, VERBOSE, attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.core.sparse_coefficients import SparseCoefficients, dense_coefficients, linear_scores
from margin.core.sparse_input import narrow_indices
from margin.core.streaming import Stream
from margin.core.summaries import checked_sample, learn_columns
from margin.core.threads import thread_limit
from margin.linear.logistic_descent import PreconditionedQuasiNewton
from margin.linear.logistic_fit import SOLVERS, LogisticFit, strengths
from margin.linear.logistic_loss import LabeledRows
from margin.linear.logistic_stream import SAMPLE_ROWS, StreamLikelihood, StreamShape
from margin.linear.logistic_threshold import choose_threshold
from margin.linear.stored import ITERATIONS, PER_TARGET
from margin.linear.summary import LogisticSummary, summarize_logistic

__all__ = ["LogisticRegression"]


class LogisticRegression(SparseCoefficients, ClassifierMixin, IterativeEstimator):
    r"""Logistic regression for two or more classes, by the method that suits the shape of the table.

    The intercept carries no penalty; a row of weight two counts as two rows; ``X`` may be sparse. Without a penalty
    separable classes have no maximum-likelihood estimate: the fit then stops at coefficients that separate them, warns,
    and ``separable_`` is True. Records carry ``objective`` and ``gradient_norm``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LogisticRegression().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist(), model.predict_proba([[1.5]]).round(6).tolist()
    (['no', 'yes'], [[0.5, 0.5]])
    """

    penalty: str | None = parameter(
        "auto",
        Optional(Choice("auto", "l2", "l1", "elasticnet", search=False)),
        'The kind of penalty: "auto" and "elasticnet" mix both by l1_ratio, "l2" and "l1" take one, None takes none.',
    )
    _: KW_ONLY
    C: float = parameter(
        1.0,
        Either(Number(above=0, search=(1e-4, 1e4), log=True), Choice(np.inf)),
        "Inverse strength of the penalty; infinite for none.",
    )
    l1_ratio: float = parameter(
        0.0, Number(low=0, high=1), "The part of the penalty on absolute values: 0 is pure L2, 1 pure L1."
    )
    dual: bool = parameter(
        False,
        Flag(),
        "Whether coefficients are sought in the span of the rows, with n unknowns instead of p: the same solution, "
        "sooner for tables with more columns than rows. Needs a pure L2 penalty.",
    )
    tol: float = parameter(
        1e-4,
        Number(low=0),
        "A fit ends when no entry of the gradient of the mean objective (of its smallest subgradient, for L1) exceeds "
        "this, or, where the mean objective is below 0.025, as small a part of this as it is of 0.025; "
        'for "sag" and "saga" when no coefficient changes by more, relative to the largest.',
    )
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted.")
    intercept_scaling: float = parameter(
        1, Number(above=0), 'Value of the constant column whose coefficient solver "liblinear" penalizes.'
    )
    class_weight: Any = parameter(None, ClassWeight(), 'Weights of the classes; "balanced" makes them count equally.')
    random_state: RandomLike = parameter(None, Seed(), 'Draws the rows that "sag" and "saga" visit.')
    solver: str = parameter(
        "auto",
        Choice(*SOLVERS, search=False),
        '"auto" takes "newton-cholesky" for two classes in small tables, else "lbfgs" (preconditioned by the curvature '
        "of the rows; after 50 slow steps on a small table of several classes, Newton's method goes on), and "
        '"proximal" where the penalty has a corner. "newton-cg" takes products with the Hessian, '
        '"sag" and "saga" visit one random row at a time, "liblinear" penalizes the intercept.',
    )
    max_iter: int = parameter(100, Integer(low=0), "Most iterations; 0 shows what the first one starts from.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    warm_start: bool = parameter(False, Flag(), "Whether a fit starts from the coefficients of the last one.")
    n_jobs: int | None = parameter(None, Jobs(), N_JOBS)

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The labels, sorted.")
    coef_: np.ndarray = attribute(
        OneOf(ArrayOf("n_rows", "n_features"), SparseOf("n_rows", "n_features")),
        "Weights of the columns, (1, p) for two classes, else (classes, p).",
    )
    intercept_: np.ndarray = attribute(ArrayOf("n_rows"), "The constants, (1,) or (classes,).")
    n_iter_: np.ndarray = attribute(sometimes(ITERATIONS), "Iterations that were run, (1,).")
    objective_: float = attribute(sometimes(PER_TARGET), "The minimized sum at the solution.")
    separable_: bool | None = attribute(
        sometimes(Anything()),
        "Whether a hyperplane separates the classes, so that no maximum exists; None where that was not decided: with "
        "a penalty, or if large scores came up in a table too large to decide.",
    )

    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> LogisticRegression:
        """Learn from all rows."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        state: dict[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Learn, yielding a record per iteration."""
        self._check_parameters()
        rows, classes = self._rows(X, y, sample_weight)
        if self.penalty is None and self.C != 1.0:
            warn_user(f"LogisticRegression: penalty=None leaves no use for C; got C={self.C:g}.", UserWarning)
        if self.l1_ratio not in {"l1": (0, 1), "l2": (0,)}.get(self.penalty or "", (self.l1_ratio,)):
            warn_user(
                f"LogisticRegression: penalty={self.penalty!r} does not mix; l1_ratio={self.l1_ratio:g} is unused."
            )
        yield from self._steps(LogisticFit(self, rows, len(classes), self._start(classes)), classes, state)

    def iterate_stream(self, stream: Stream, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """The same minimum by quasi-Newton steps, each a pass or two over the stream."""
        self._check_parameters()
        if self.solver not in ("auto", "lbfgs") or self.dual or strengths(self, 1.0)[0] > 0:
            raise ValueError(
                "LogisticRegression: of a stream the smooth problem is solved by solver 'auto' or 'lbfgs'; got "
                f"solver={self.solver!r}, penalty={self.penalty!r}, l1_ratio={self.l1_ratio:g}, dual={self.dual!r}."
            )
        stream = keep_rows(stream)
        learn_columns(self, stream)
        found = count_classes("LogisticRegression", stream)
        likelihood = self._stream_likelihood(stream, found)
        loop = LogisticFit(
            self,
            likelihood.rows,
            len(found.labels),
            self._start(found.labels),
            lambda ridge: PreconditionedQuasiNewton(replace(likelihood, ridge=ridge)),
        )
        yield from self._steps(loop, found.labels, state)

    def _stream_likelihood(self, stream: Stream, found: ClassCounts) -> StreamLikelihood:
        classes, counts = found
        weights = None if self.class_weight is None else found.weights("LogisticRegression", self.class_weight)
        total = float(counts.sum() if weights is None else counts @ weights)
        rows = StreamShape((int(counts.sum()), self.n_features_in_), total)
        scores = 1 if len(classes) == 2 else len(classes)
        likelihood = StreamLikelihood(rows, scores, 0.0, bool(self.fit_intercept), stream, classes, weights)
        checker = clone(self)
        sample = checked_sample(stream, SAMPLE_ROWS, 0, lambda rows: likelihood.label_rows(checker, rows))
        return replace(likelihood, sample=sample)

    def _steps(self, loop: LogisticFit, classes: np.ndarray, state: dict[str, Any] | None) -> Iterator[Record]:
        self._loop = loop
        with thread_limit(self.n_jobs):
            if state is not None:
                loop.restore(state)
            else:
                loop.start()
        self.classes_ = classes
        self._learn(loop)
        while not loop.finished:
            with thread_limit(self.n_jobs):
                loop.step()
            self._learn(loop)
            yield Record(loop.iteration, loop.values(), total=self.max_iter)
        self.separable_ = loop.separable()
        if self.separable_:
            warn_user(
                "LogisticRegression: the classes are linearly separable, so without a penalty the likelihood has no "
                "maximum; the coefficients are where the fit stopped. A penalty makes them unique.",
                ConvergenceWarning,
            )
        elif not loop.converged:
            warn_user(
                f"LogisticRegression: gradient {loop.solver.residual:.2g} above {loop.wanted:.2g}, which "
                f"tol={self.tol:g} asks for, after {loop.iteration} iterations; raise max_iter or scale the columns.",
                ConvergenceWarning,
            )

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """The log-odds of the second of two classes, (n,), or one score per class, (n, K)."""
        check_is_fitted(self)
        X = validate_new_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        scores = finite_values("LogisticRegression", "X", X, lambda: linear_scores(X, self.coef_, self.intercept_))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Log-probabilities of the classes, (n, K), without overflow or rounding to minus infinity."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes, (n, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike, threshold: float | None = None) -> np.ndarray:
        """The most probable class, or the second of two where its probability is at least ``threshold``."""
        scores = self.decision_function(X)
        if threshold is not None:
            self._two_classes("threshold")
            return self.classes_[(np.exp(log_expit(scores)) >= threshold).astype(int)]
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def choose_threshold(
        self, X: MatrixLike, y: ArrayLike, *, precision: float | None = None, recall: float | None = None
    ) -> float:
        """The threshold for :meth:`predict` that reaches the wanted precision (or recall) on these rows, and has the
        largest recall (or precision) among those that do."""
        self._two_classes("choose_threshold")
        positive = np.asarray(y) == self.classes_[1]
        return choose_threshold(positive, self.predict_proba(X)[:, 1], precision=precision, recall=recall)

    def odds(self, X: MatrixLike) -> np.ndarray:
        r"""Odds :math:`P(y=1|x) / P(y=0|x) = e^{\theta_0 + \theta^\top x}` of the second of two classes."""
        self._two_classes("odds")
        return np.exp(self.decision_function(X))

    def summary(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, level: float = 0.95
    ) -> LogisticSummary:
        """Standard errors, z, p-values, intervals and odds ratios at the learned coefficients, for two classes."""
        self._two_classes("summary")
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        rows, classes = self._rows(X, y, sample_weight, first=False)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"LogisticRegression: summary needs both classes {self.classes_.tolist()} in y.")
        return summarize_logistic(
            dense_coefficients(self.coef_)[0], float(self.intercept_[0]), rows, names, self.fit_intercept, level
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, first: bool = True) -> tuple[LabeledRows, np.ndarray]:
        X, y = validate_squarable(
            self,
            X,
            y,
            reset=first,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )
        X = narrow_indices("LogisticRegression", X)
        check_classes(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if weights is not None and not weights.all():  # a row of weight zero is no row
            used = weights > 0
            X, y, weights = X[used], y[used], weights[used]
        classes, index = encode_classes(y)
        if len(classes) < 2:
            raise ValueError(
                "LogisticRegression: y must hold at least two classes in rows of positive weight (the intercept of "
                f"one alone has no best value); got one class, {classes.tolist()}."
            )
        weights = row_weights("LogisticRegression", self.class_weight, classes, index, weights)
        return LabeledRows(X, index, weights), classes

    def _start(self, classes: np.ndarray) -> np.ndarray | None:
        """The parameters (p + 1, k) of the last fit, if this one is to begin with them and they fit."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        shape = (1 if len(classes) == 2 else len(classes)), self.n_features_in_
        if self.coef_.shape != shape:
            return None
        return finite(
            "LogisticRegression",
            "coef_ over intercept_, from which warm_start goes on,",
            np.vstack([dense_coefficients(self.coef_).T, self.intercept_]),
        )

    def _learn(self, loop: LogisticFit) -> None:
        theta = loop.theta
        self.coef_ = np.ascontiguousarray(in_precision_of(loop, theta[:-1].T))
        self.intercept_ = in_precision_of(loop, theta[-1].copy())
        self.n_iter_ = np.array([max(loop.iteration, min(1, self.max_iter))], dtype=np.int32)
        self.objective_ = loop.objective

    def _two_classes(self, what: str) -> None:
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError(f"LogisticRegression: {what} needs two classes; got {len(self.classes_)}.")
