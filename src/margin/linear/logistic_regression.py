r"""Logistic regression: a linear model of the log-odds of classes.

.. math::
    P(y = 1 \mid x) = \sigma(\theta_0 + \theta^\top x),\qquad
    \min_\theta \; \sum_i w_i\, \ell_i(\theta) + \frac1C \Bigl(\tfrac{1 - \rho}2 \lVert\theta\rVert_2^2
    + \rho \lVert\theta\rVert_1\Bigr),\qquad \ell_i = -\log P(y_i \mid x_i) .

More than two classes have one score each, :math:`P(y = k \mid x) \propto e^{\theta_{0k} + \theta_k^\top x}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.class_weights import ClassWeight, row_weights
from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.records import Record
from margin.linear.logistic_descent import Newton, QuasiNewton
from margin.linear.logistic_loss import LabeledRows, Likelihood
from margin.linear.logistic_proximal import ProximalNewton
from margin.linear.logistic_threshold import choose_threshold
from margin.linear.separation import separating_direction
from margin.linear.summary import LogisticSummary, summarize_logistic

__all__ = ["LogisticRegression"]

NEWTON_WORK = 3e8  # n p^2 up to which a Newton step with all rows is cheaper than setting up anything else
SEPARATION_WORK = 2_000_000  # entries of X up to which the linear program that decides about separation is run
SUSPICIOUS_SCORE = 8.0  # a margin this large without a penalty is an outlier or a sign of separation


class LogisticRegression(ClassifierMixin, IterativeEstimator):
    r"""Logistic regression for two or more classes, by the method that suits the shape of the table.

    ``penalty`` is "l2", "l1", "elasticnet" (with ``l1_ratio``, the :math:`\rho` above) or None; the intercept carries
    none. ``C`` is the inverse strength as in scikit-learn. ``class_weight`` is None, "balanced" or a dict; a row of
    weight two counts as two rows. A fit ends when no entry of the gradient of the mean objective exceeds ``tol`` (for
    "l1": of its smallest subgradient) or after ``max_iter`` iterations. ``solver`` "auto" takes "newton" for two
    classes in small tables, else "lbfgs" (preconditioned, started on a sample of the rows), and "proximal" where the
    penalty has a corner; it costs a few passes over the rows.

    Without a penalty separable classes have no maximum-likelihood estimate: the fit then stops at coefficients that
    separate them, warns, and ``separable_`` is True. It is False where the estimate exists, and None where that was
    not decided: with a penalty, or if large scores came up in a table too large to decide.

    Learned: ``classes_``, ``coef_`` (1 or K, p), ``intercept_`` (1 or K,), ``n_iter_``, ``objective_`` (the sum above),
    ``separable_``. Records carry ``objective`` and ``gradient_norm``.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LogisticRegression().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist(), model.predict_proba([[1.5]]).round(6).tolist()
    (['no', 'yes'], [[0.5, 0.5]])
    """

    domains = {
        "penalty": Optional(Choice("l2", "l1", "elasticnet")),
        "C": Number(above=0, search=(1e-4, 1e4), log=True),
        "l1_ratio": Number(low=0, high=1),
        "fit_intercept": Flag(),
        "class_weight": ClassWeight(),
        "solver": Choice("auto", "newton", "lbfgs", "proximal"),
        "tol": Number(low=0),
        "max_iter": Integer(low=1),
    }

    def __init__(
        self,
        penalty: str | None = "l2",
        C: float = 1.0,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Learn from all rows."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn, yielding a record per iteration."""
        self._check_parameters()
        rows, classes = self._rows(X, y, sample_weight)
        self._loop = loop = _LogisticFit(self, rows, len(classes))
        if state is not None:
            loop.restore(state)
        else:
            loop.start()
        self.classes_ = classes
        self._learn(loop)
        while not loop.finished:
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
                f"LogisticRegression: gradient {loop.solver.residual:.2g} above tol={self.tol:g} after "
                f"{loop.iteration} iterations; raise max_iter or scale the columns.",
                ConvergenceWarning,
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds of the second of two classes, (n,), or one score per class, (n, K)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        scores = np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities of the classes, (n, K), without overflow or rounding to minus infinity."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (n, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any, threshold: float | None = None) -> np.ndarray:
        """The most probable class, or the second of two where its probability is at least ``threshold``."""
        scores = self.decision_function(X)
        if threshold is not None:
            self._two_classes("threshold")
            return self.classes_[(np.exp(log_expit(scores)) >= threshold).astype(int)]
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def choose_threshold(self, X: Any, y: Any, *, precision: float | None = None, recall: float | None = None) -> float:
        """The threshold for :meth:`predict` that reaches the wanted precision (or recall) on these rows, and has the
        largest recall (or precision) among those that do."""
        self._two_classes("choose_threshold")
        positive = np.asarray(y) == self.classes_[1]
        return choose_threshold(positive, self.predict_proba(X)[:, 1], precision=precision, recall=recall)

    def odds(self, X: Any) -> np.ndarray:
        r"""Odds :math:`P(y=1|x) / P(y=0|x) = e^{\theta_0 + \theta^\top x}` of the second of two classes."""
        self._two_classes("odds")
        return np.exp(self.decision_function(X))

    def summary(self, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> LogisticSummary:
        """Standard errors, z, p-values, intervals and odds ratios at the learned coefficients, for two classes."""
        self._two_classes("summary")
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        rows, classes = self._rows(X, y, sample_weight, first=False)
        if not np.array_equal(classes, self.classes_):
            raise ValueError(f"LogisticRegression: summary needs both classes {self.classes_.tolist()} in y.")
        return summarize_logistic(self.coef_[0], float(self.intercept_[0]), rows, names, self.fit_intercept, level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, first: bool = True) -> tuple[LabeledRows, np.ndarray]:
        X, y = validate_data(
            self,
            X,
            y,
            reset=first,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=False,
        )
        check_classification_targets(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if weights is not None and not weights.all():  # a row of weight zero is no row
            used = weights > 0
            X, y, weights = X[used], y[used], weights[used]
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"LogisticRegression: y must hold at least two classes; got one class, {classes.tolist()}."
            )
        weights = row_weights("LogisticRegression", self.class_weight, classes, index, weights)
        return LabeledRows(X, index, weights), classes

    def _learn(self, loop: _LogisticFit) -> None:
        theta = loop.solver.theta
        self.coef_ = np.ascontiguousarray(theta[:-1].T)
        self.intercept_ = theta[-1].copy()
        self.n_iter_ = max(loop.iteration, 1)
        self.objective_ = loop.objective

    def _two_classes(self, what: str) -> None:
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError(f"LogisticRegression: {what} needs two classes; got {len(self.classes_)}.")


class _LogisticFit:
    """The running fit: a solver, how often it stepped, and when it is done."""

    def __init__(self, model: LogisticRegression, rows: LabeledRows, classes: int):
        self.model, self.iteration = model, 0
        self.parted = False  # without a penalty: the present scores separate the classes
        scores = 1 if classes == 2 else classes
        l1, l2 = _strengths(model, rows.total)
        name = _solver_name(model, rows, scores, l1)
        if name == "proximal":
            smooth = Likelihood(rows, scores, 0.0, bool(model.fit_intercept))
            self.solver: Any = ProximalNewton(smooth, l1, l2)
        else:
            smooth = Likelihood(rows, scores, l2, bool(model.fit_intercept))
            self.solver = Newton(smooth) if name == "newton" else QuasiNewton(smooth)

    def start(self) -> None:
        self.solver.start()

    def step(self) -> None:
        self.solver.step()
        self.iteration += 1
        # Rows that are all on the right side have a loss below log 2 each; a far smaller mean makes it worth a look.
        if self.model.penalty is None and self.solver.value < 0.1:
            self.parted = bool(self._margins().min() > 0)

    @property
    def converged(self) -> bool:
        return bool(self.solver.residual <= self.model.tol or self.solver.stuck)

    @property
    def finished(self) -> bool:
        return self.parted or self.converged or self.iteration >= self.model.max_iter

    @property
    def objective(self) -> float:
        return float(self.solver.value * self.solver.likelihood.rows.total)

    def values(self) -> dict[str, float]:
        return {"objective": self.objective, "gradient_norm": self.solver.residual}

    def separable(self) -> bool | None:
        if self.model.penalty is not None:
            return None
        if self.parted:
            return True
        if np.abs(self._margins()).max() < SUSPICIOUS_SCORE and self.converged:
            return False
        X, y, _ = self.solver.likelihood.rows
        classes = len(self.model.classes_)
        if X.shape[0] * X.shape[1] * (classes - 1) ** 2 > SEPARATION_WORK:
            return None
        return separating_direction(X, y, classes, intercept=bool(self.model.fit_intercept)) is not None

    def state(self) -> dict[str, Any]:
        return {"iteration": self.iteration, "parted": self.parted, "solver": self.solver.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.parted = int(state["iteration"]), bool(state["parted"])
        self.solver.restore(state["solver"])

    def _margins(self) -> np.ndarray:
        return self.solver.likelihood.margins(self.solver.theta)


def _strengths(model: LogisticRegression, total: float) -> tuple[float, float]:
    """L1 and L2 strengths beside the mean loss."""
    ratio = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": model.l1_ratio}[model.penalty]
    whole = 0.0 if model.penalty is None else 1.0 / (model.C * total)
    return whole * ratio, whole * (1.0 - ratio)


def _solver_name(model: LogisticRegression, rows: LabeledRows, scores: int, l1: float) -> str:
    n, p = rows.X.shape
    if model.solver == "auto":
        if l1 > 0:
            return "proximal"
        return "newton" if scores == 1 and n * (p + 1.0) ** 2 <= NEWTON_WORK and p <= n + 100 else "lbfgs"
    if l1 > 0 and model.solver != "proximal":
        raise ValueError(
            f"LogisticRegression: solver={model.solver!r} cannot take a penalty with a corner; got "
            f"penalty={model.penalty!r}, which needs 'auto' or 'proximal'."
        )
    if model.solver == "newton" and scores > 1:
        raise ValueError(f"LogisticRegression: solver='newton' is for two classes; got {scores}.")
    return str(model.solver)
