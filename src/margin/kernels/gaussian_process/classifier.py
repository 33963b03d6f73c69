r"""Gaussian-process classification by Laplace's approximation, one class against the rest.

.. math:: f\sim GP(0,k_\theta),\qquad p(y=1\mid x) = \int\sigma(f)\,q(f\mid x, X, y)\,df .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Flag, Integer, Optional
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ListOf, ModelWith, Real, sometimes
from margin.core.notices import warn_user
from margin.core.number_range import validate_squarable
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.kernels.gaussian_process.bound_notices import warn_of_bounds
from margin.kernels.gaussian_process.class_searches import ClassSearches
from margin.kernels.gaussian_process.initial_kernel import initial_kernel, row_rules
from margin.kernels.gaussian_process.laplace import LaplaceApproximation, averaged_sigmoid
from margin.kernels.gaussian_process.latent_kernels import LatentKernels
from margin.kernels.gaussian_process.posterior import posterior_mean, posterior_variance
from margin.kernels.gaussian_process.search_parameters import SearchParameters
from margin.kernels.kernel import Kernel
from margin.kernels.one_vs_one import pairs_of, votes_with_confidence
from margin.kernels.stored import latent_functions

__all__ = ["GaussianProcessClassifier"]


class GaussianProcessClassifier(ClassifierMixin, SearchParameters, IterativeEstimator):
    r"""Probabilities that know how far a row is from the training rows; the kernels are learned.

    With two classes one latent function is learned; with more, one per class against the rest (or per pair of classes),
    each with its own kernel. Cost: a few times :math:`n^3` per evaluation and function. A record is one evaluation for
    every function whose search still runs: ``log_marginal_likelihood`` is the mean over the functions of the best so
    far, ``gradient_norm`` that of this round, ``running`` counts the functions.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> model = GaussianProcessClassifier().fit(X, X[:, 0] + 0.5 * rng.normal(size=60) > 0)
    >>> model.predict([[-1.0], [2.0]]).tolist(), bool(model.predict_proba([[2.0]])[0, 1] > 0.9)
    ([False, True], True)
    """

    _: KW_ONLY
    max_iter_predict: int = parameter(100, Integer(low=1), "Most Newton steps to a mode of the latent function.")
    warm_start: bool = parameter(
        False, Flag(), "Whether Newton's method begins at the mode of the evaluation before instead of zero."
    )
    copy_X_train: bool = parameter(True, Flag(), "Whether the model keeps a copy of the rows instead of a reference.")
    multi_class: str = parameter(
        "one_vs_rest",
        Choice("one_vs_rest", "one_vs_one"),
        "A function per class against the rest, or per pair of classes (faster, but without probabilities).",
    )
    n_jobs: int | None = parameter(
        None,
        Optional(Integer(low=-1)),
        "Threads that evaluate several functions; None as many as are worth it, -1 all.",
    )

    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The classes, sorted.")
    X_train_: np.ndarray = attribute(ArrayOf("n_samples", "n_features"), "The training rows.")
    kernels_: list[Kernel] = attribute(
        ListOf(ModelWith(["diag"]), "n_machines"), "The learned kernel of every latent function."
    )
    train_rows_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, kind="i", low=0), "n_machines"), "The training rows of every latent function."
    )
    dual_weights_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_machines"), "Gradients of the log-likelihood at the modes: weights of the rows."
    )
    root_weights_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None), "n_machines"), "Square roots of the negative Hessians of the log-likelihood."
    )
    factors_: list[np.ndarray] = attribute(
        ListOf(ArrayOf(None, None), "n_machines"), "Lower Cholesky factors of B, one per latent function."
    )
    log_marginal_likelihoods_: list[float] = attribute(
        ListOf(Real(), "n_machines"), "Approximate log evidence of every latent function."
    )
    log_marginal_likelihood_value_: float = attribute(sometimes(Real()), "Their mean.")
    n_iter_: int = attribute(sometimes(Count()), "Rounds of evaluations.")

    _stored_rules = (latent_functions,)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    @property
    def kernel_(self) -> Any:
        """The learned kernel for two classes, a list of kernels (with ``theta``) for more."""
        return self.kernels_[0] if len(self.kernels_) == 1 else LatentKernels(self.kernels_)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn, yielding a record per round of evaluations of the approximate marginal likelihood."""
        self._check_parameters()
        X, y = validate_squarable(self, X, y, **row_rules(self.kernel))
        check_classes(y)
        classes, codes = encode_classes(y)
        if len(classes) < 2:
            raise ValueError(
                f"GaussianProcessClassifier: y must hold at least two classes; got one class, {classes[0]}."
            )
        kernel = initial_kernel(self.kernel, X, self.ard, learned=False)
        self.classes_, self.X_train_ = classes, np.array(X) if self.copy_X_train else X
        self._loop = loop = ClassSearches(self, kernel, X, self._functions(codes, len(classes)), state)
        yield from loop.records(self)
        if self.optimizer is not None and not all(runs.converged for runs in loop.runs):
            warn_user(
                f"GaussianProcessClassifier: a search was stopped after max_iter={self.max_iter} evaluations.",
                ConvergenceWarning,
            )
        warn_of_bounds(self, self.kernels_)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """The mean of the latent functions: (n,) for two classes, else (n, classes), of pairs their votes."""
        means = self._means(self._check(X))
        if len(means) == 1:
            return means[0]
        if self.multi_class == "one_vs_rest":
            return np.column_stack(means)
        return votes_with_confidence(np.column_stack(means), len(self.classes_))

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes, (n, classes): the sigmoid averaged over the latent uncertainty."""
        at = self._check(X)
        if len(self.classes_) > 2 and self.multi_class == "one_vs_one":
            raise ValueError("GaussianProcessClassifier: multi_class='one_vs_one' has no probabilities of the classes.")
        columns = []
        parts = zip(self.kernels_, self.train_rows_, self.root_weights_, self.factors_, self._means(at))
        for kernel, rows, root, factor, mean in parts:
            columns.append(averaged_sigmoid(mean, posterior_variance(kernel, self.X_train_[rows], at, factor, root)))
        if len(columns) == 1:
            return np.column_stack([1 - columns[0], columns[0]])
        probabilities = np.column_stack(columns)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def latent_mean_and_variance(self, X: MatrixLike) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function of two classes at every row, (n,) each."""
        at = self._check(X)
        if len(self.kernels_) > 1:
            raise ValueError(
                f"GaussianProcessClassifier: latent_mean_and_variance needs two classes; got {len(self.classes_)}."
            )
        known, root, factor = self.X_train_[self.train_rows_[0]], self.root_weights_[0], self.factors_[0]
        return self._means(at)[0], posterior_variance(self.kernels_[0], known, at, factor, root)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The most probable class of every row."""
        if len(getattr(self, "kernels_", ())) == 1:
            # The averaged sigmoid is above one half exactly where the mean is positive.
            return self.classes_[(self.decision_function(X) > 0).astype(int)]
        by_votes = self.multi_class == "one_vs_one"
        chosen = (self.decision_function(X) if by_votes else self.predict_proba(X)).argmax(axis=1)
        return self.classes_[chosen]

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Approximate, at ``theta``; the mean over the latent functions if there are several.

        ``theta`` is that of one kernel, used by all functions, or those of all kernels one after another; the gradient
        needs the latter. Without ``theta`` the learned value.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        learned = np.concatenate([kernel.theta for kernel in self.kernels_])
        theta = learned if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape == self.kernels_[0].theta.shape and not eval_gradient:
            theta = np.tile(theta, len(self.kernels_))
        if theta.shape != learned.shape:
            raise ValueError(
                f"GaussianProcessClassifier: theta must have the shape {learned.shape}; got {theta.shape}."
            )
        values, gradients = [], []
        parts = zip(self.kernels_, self.train_rows_, self.dual_weights_, np.split(theta, len(self.kernels_)))
        for kernel, rows, weights, own in parts:
            # At the mode the weights are t - pi, positive exactly for the rows of the positive class.
            labels = np.where(weights > 0, 1.0, -1.0)
            approximation = LaplaceApproximation(
                kernel, self.X_train_[rows], labels, newton_steps=self.max_iter_predict
            )
            mode = approximation.at(own, gradient=eval_gradient)
            values.append(mode.value)
            gradients.append(mode.gradient / len(self.kernels_))
        value = float(np.mean(values))
        return (value, np.concatenate(gradients)) if eval_gradient else value

    def _functions(self, codes: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows and labels (-1 or 1) of every latent function."""
        everyone = np.arange(len(codes))
        if k == 2 or self.multi_class == "one_vs_rest":
            positive = [1] if k == 2 else list(range(k))
            return [(everyone, np.where(codes == c, 1.0, -1.0)) for c in positive]
        pairs = [(np.flatnonzero((codes == i) | (codes == j)), i) for i, j in pairs_of(k)]
        return [(rows, np.where(codes[rows] == first, 1.0, -1.0)) for rows, first in pairs]

    def _means(self, at: np.ndarray) -> list[np.ndarray]:
        parts = zip(self.kernels_, self.train_rows_, self.dual_weights_)
        return [posterior_mean(kernel, self.X_train_[rows], at, weights) for kernel, rows, weights in parts]

    def _check(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_squarable(self, X, reset=False, **row_rules(self.kernel))
