r"""Gaussian-process classification by Laplace's approximation, one class against the rest.

.. math:: f\sim GP(0,k_\theta),\qquad p(y=1\mid x) = \int\sigma(f)\,q(f\mid x, X, y)\,df .
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.notices import warn_user
from margin.core.randomness import as_generator, spawn_seeds
from margin.core.records import Record
from margin.kernels.gaussian_process.hyperparameter_search import EvaluationRequest, Restarts, SearchPlan, plan_searches
from margin.kernels.gaussian_process.initial_kernel import KERNEL_DOMAIN, initial_kernel
from margin.kernels.gaussian_process.laplace import LaplaceApproximation, Mode, averaged_sigmoid
from margin.kernels.gaussian_process.posterior import posterior_mean, posterior_variance
from margin.kernels.kernel import Kernel

__all__ = ["GaussianProcessClassifier"]


class GaussianProcessClassifier(ClassifierMixin, IterativeEstimator):
    r"""Probabilities that know how far a row is from the training rows; the kernels are learned.

    With two classes one latent function is learned; with more, one per class against the rest, each with its own
    kernel, and their probabilities are normalized. ``kernel``, ``ard``, ``optimizer``, ``n_restarts``, ``tol`` and
    ``max_iter`` (evaluations of each search) are as in :class:`GaussianProcessRegressor`.

    Cost: a few times :math:`n^3` per evaluation and class. A record is one evaluation for every class whose search
    still runs: ``log_marginal_likelihood`` is the sum over the classes of the best so far, ``gradient_norm`` that of
    this round, ``running`` counts the classes.

    Learned: ``classes_``, and for every latent function ``kernels_``, ``pulls_`` (gradients of the log-likelihood at
    the mode, the dual weights), ``roots_``, ``factors_`` (Cholesky factors) and ``log_marginal_likelihoods_``;
    ``log_marginal_likelihood_value_`` (their sum), ``X_train_``, ``n_iter_``.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> model = GaussianProcessClassifier().fit(X, X[:, 0] + 0.5 * rng.normal(size=60) > 0)
    >>> model.predict([[-1.0], [2.0]]).tolist(), bool(model.predict_proba([[2.0]])[0, 1] > 0.9)
    ([False, True], True)
    """

    domains = {
        "kernel": KERNEL_DOMAIN,
        "ard": Flag(),
        "optimizer": Optional(Choice("bfgs")),
        "n_restarts": Integer(low=0),
        "max_iter": Integer(low=1),
        "tol": Number(low=0),
        "random_state": Seed(),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        ard: bool = False,
        optimizer: str | None = "bfgs",
        n_restarts: int = 0,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.ard = ard
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per round of evaluations of the approximate marginal likelihood."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"GaussianProcessClassifier: y must hold at least two classes; got one class, {classes[0]}."
            )
        kernel = initial_kernel("GaussianProcessClassifier", self.kernel, X, self.ard)
        self.classes_, self.X_train_ = classes, X
        positive = classes[1:] if len(classes) == 2 else classes
        self._loop = loop = _ClassSearches(self, kernel, X, [np.where(y == c, 1.0, -1.0) for c in positive], state)
        yield from loop.records(self)
        if self.optimizer is not None and not all(runs.converged for runs in loop.runs):
            warn_user(
                f"GaussianProcessClassifier: a search was stopped after max_iter={self.max_iter} evaluations.",
                ConvergenceWarning,
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """The mean of the latent functions: (n,) for two classes, else (n, classes)."""
        at = self._checked(X)
        means = [posterior_mean(k, self.X_train_, at, pull) for k, pull in zip(self.kernels_, self.pulls_)]
        return means[0] if len(means) == 1 else np.column_stack(means)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (n, classes): the sigmoid averaged over the latent uncertainty."""
        at = self._checked(X)
        columns = []
        for kernel, pull, root, factor in zip(self.kernels_, self.pulls_, self.roots_, self.factors_):
            mean = posterior_mean(kernel, self.X_train_, at, pull)
            columns.append(averaged_sigmoid(mean, posterior_variance(kernel, self.X_train_, at, factor, root)))
        if len(columns) == 1:
            return np.column_stack([1 - columns[0], columns[0]])
        probabilities = np.column_stack(columns)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row."""
        if len(getattr(self, "kernels_", ())) == 1:
            # The averaged sigmoid is above one half exactly where the mean is positive.
            return self.classes_[(self.decision_function(X) > 0).astype(int)]
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Approximate, of the latent function of two classes at ``theta``; without ``theta`` the learned value."""
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if len(self.kernels_) > 1:
            raise ValueError(
                "GaussianProcessClassifier: log_marginal_likelihood takes theta for two classes; "
                f"got {len(self.kernels_)} classes with a kernel each."
            )
        kernel = self.kernels_[0]
        theta = kernel.theta if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != kernel.theta.shape:
            raise ValueError(
                f"GaussianProcessClassifier: theta must have the shape {kernel.theta.shape}; got {theta.shape}."
            )
        # At the mode the pull is t - pi, positive exactly for the rows of the second class.
        labels = np.where(self.pulls_[0] > 0, 1.0, -1.0)
        found = LaplaceApproximation(kernel, self.X_train_, labels).at(theta, gradient=eval_gradient)
        return (found.value, found.gradient) if eval_gradient else found.value

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")


class _ClassSearches:
    """The running fit: one set of searches per latent function, taking turns."""

    def __init__(
        self,
        model: GaussianProcessClassifier,
        kernel: Kernel,
        X: np.ndarray,
        labels: list[np.ndarray],
        state: dict[str, Any] | None,
    ):
        self.kernel, self.learns, self.iteration = kernel, model.optimizer is not None, 0
        self.problems = [LaplaceApproximation(kernel, X, y) for y in labels]
        self.found: list[Mode | None] = [None] * len(labels)
        model.kernels_ = [kernel] * len(labels)
        if state is None:
            seeds = spawn_seeds(as_generator(model.random_state), len(labels))
            plans = [self._plan(model, len(X), seed) for seed in seeds]
        else:
            plans = [SearchPlan(np.array(part["starts"])) for part in state["runs"]]
        most = model.max_iter if self.learns else 1
        self.runs = [Restarts(plan, kernel.bounds, len(X), tol=model.tol, max_iter=most) for plan in plans]
        if state is not None:
            self._replay(model, state)

    def records(self, model: GaussianProcessClassifier) -> Iterator[Record]:
        total = max(runs.count for runs in self.runs) * self.runs[0].max_iter
        while any(asked := [runs.question() for runs in self.runs]):
            squares, running = 0.0, 0
            for c, question in enumerate(asked):
                if question is None:
                    continue
                mode = self.problems[c].at(question.theta, gradient=self.learns)
                squares, running = squares + float(mode.gradient @ mode.gradient), running + 1
                if self.runs[c].tell(-mode.value, -mode.gradient):
                    self._publish(model, c, question, mode)
            self.iteration += 1
            self._finish(model)
            values = {
                "log_marginal_likelihood": model.log_marginal_likelihood_value_,
                "gradient_norm": squares**0.5,
                "running": running,
            }
            yield Record(self.iteration, values, total=total)

    def state(self) -> dict[str, Any]:
        return {"runs": [runs.state() for runs in self.runs], "iteration": self.iteration}

    def _plan(self, model: GaussianProcessClassifier, n: int, seed: int) -> SearchPlan:
        restarts = model.n_restarts if self.learns else 0
        theta, bounds = self.kernel.theta, self.kernel.bounds
        return plan_searches(theta, bounds, n, n_restarts=restarts, warm_up=None, rng=as_generator(seed))

    def _replay(self, model: GaussianProcessClassifier, state: dict[str, Any]) -> None:
        self.iteration = int(state["iteration"])
        for c, part in enumerate(state["runs"]):

            def publish(question: EvaluationRequest, c: int = c) -> None:
                self._publish(model, c, question, self.problems[c].at(question.theta, gradient=False))

            self.runs[c].replay(part["told"], publish)
        self._finish(model)

    def _publish(self, model: GaussianProcessClassifier, c: int, question: EvaluationRequest, mode: Mode) -> None:
        self.problems[c].keep(mode)
        self.found[c] = mode
        model.kernels_[c] = self.kernel.clone_with_theta(question.theta)

    def _finish(self, model: GaussianProcessClassifier) -> None:
        modes = [mode for mode in self.found if mode is not None]
        model.pulls_ = [mode.pull for mode in modes]
        model.roots_ = [mode.root for mode in modes]
        model.factors_ = [mode.factor for mode in modes]
        model.log_marginal_likelihoods_ = [mode.value for mode in modes]
        model.log_marginal_likelihood_value_ = float(sum(model.log_marginal_likelihoods_))
        model.n_iter_ = self.iteration
