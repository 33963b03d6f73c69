r"""Linear discriminant analysis: normal classes with one covariance, and the directions that part them best.

.. math::
    \delta_c(x) = x^\top \Sigma^{-1}\mu_c - \tfrac12 \mu_c^\top \Sigma^{-1} \mu_c + \log\pi_c,\qquad
    \max_v \frac{v^\top S_b v}{v^\top \Sigma v},\quad S_b = \sum_c \pi_c (\mu_c - \mu)(\mu_c - \mu)^\top .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.bayes.discriminants import Discriminant, TrainingRows
from margin.bayes.factors import centered_factor, shrunk_covariance
from margin.core.domains import Choice, Either, Integer, Number, Optional
from margin.core.domains import Sequence as SequenceOf

__all__ = ["Directions", "LinearDiscriminantAnalysis", "directions_by_eigenvalues", "directions_by_svd"]


class Directions(NamedTuple):
    r"""Columns v with :math:`v^\top \Sigma v = 1`, by falling ratio :math:`v^\top S_b v`, and these ratios.

    The first ``classes - 1`` of them carry everything that linear discrimination knows.
    """

    scalings: np.ndarray  # (d, rank)
    ratios: np.ndarray  # (rank,)


def directions_by_svd(R: np.ndarray, n: float, spread: np.ndarray, tol: float) -> Directions:
    """Directions from the factor ``R`` of ``n`` rows less their class means and from ``spread`` (classes, d).

    Of weighted rows, ``n`` is the weight. ``spread`` holds the rows sqrt(prior) (class mean - overall mean). Columns
    are scaled to variance one within classes; singular values of the scaled rows up to ``tol`` are taken for zero, so
    dependent columns do no harm.
    """
    scale = np.sqrt((R**2).sum(axis=0) / n)
    scale[scale == 0] = 1.0
    _, singular, Vt = np.linalg.svd(R / scale / np.sqrt(n), full_matrices=False)
    rank = int((singular > tol).sum())
    whitener = (Vt[:rank] / scale).T / singular[:rank]  # (d, rank): covariance one
    _, ratios, Wt = np.linalg.svd(spread @ whitener, full_matrices=False)
    kept = int((ratios > tol * ratios[0]).sum()) if len(ratios) else 0
    return Directions(_signed(whitener @ Wt[:kept].T), ratios[:kept] ** 2)


def directions_by_eigenvalues(within: np.ndarray, spread: np.ndarray) -> Directions:
    r"""Directions from :math:`S_b v = \lambda \Sigma v`, with :math:`\Sigma` = ``within`` positive definite."""
    values, vectors = eigh(spread.T @ spread, within)
    kept = min(len(spread) - 1, len(within))
    return Directions(_signed(vectors[:, ::-1][:, :kept]), np.maximum(values[::-1][:kept], 0.0))


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Classifies by normal classes of one covariance; transforms to the directions that separate the classes best.

    ``solver`` "svd" works on the factor of the centered rows and drops dependent columns (singular values of the
    scaled rows up to ``tol``); "eigen" solves a generalized eigenproblem with the mean of the class covariances, which
    is faster and needed for ``shrinkage``, a number between 0 and 1 or "auto" by Ledoit and Wolf. Covariances have
    divisor n. ``priors`` are learned by default.
    ``n_components`` (at most classes - 1) is the number of columns of ``transform``; classification uses all.

    Learned: ``classes_``, ``means_`` (classes, d), ``priors_``, ``xbar_``, ``scalings_`` (d, directions),
    ``explained_variance_ratio_``, ``coef_``, ``intercept_`` (one row per class, one in all for two classes).
    Cost: n d^2.

    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 5.0], [3.0, 0.0], [4.0, 1.0], [3.0, 5.0]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.5, 9.0], [3.5, -9.0]]), model.transform(X).shape
    (array([0, 1]), (6, 1))
    """

    domains = {
        "solver": Choice("svd", "eigen"),
        "shrinkage": Optional(Either(Choice("auto"), Number(low=0, high=1))),
        "priors": Optional(SequenceOf(Number(low=0, high=1))),
        "n_components": Optional(Integer(low=1)),
        "tol": Number(above=0),
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        tol: float = 1e-4,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearDiscriminantAnalysis:
        """Learn means, directions and the linear rule; a row of weight two counts as two rows."""
        rows = self._training_rows(X, y, sample_weight)
        priors, labels = self._class_priors(rows), rows.labels
        self._check_sizes(rows.X, len(labels))
        means = rows.class_means()
        center = priors @ means
        spread = np.sqrt(priors)[:, None] * (means - center)
        found = self._directions(rows, means, spread, priors)
        self.classes_, self.means_, self.priors_, self.xbar_ = labels, means, priors, center
        self.scalings_ = found.scalings
        total = found.ratios.sum()
        self.explained_variance_ratio_ = found.ratios / total if total else found.ratios
        self._set_rule()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates along the directions, centered at the overall mean, (n, n_components)."""
        check_is_fitted(self)
        return (self._rows(X) - self.xbar_) @ self.scalings_[:, : self.n_components]

    @property
    def _n_features_out(self) -> int:
        return self.scalings_[:, : self.n_components].shape[1]

    def _check_sizes(self, X: np.ndarray, classes: int) -> None:
        n, d = X.shape
        if n <= classes:
            raise ValueError(f"{self._name}: there must be more rows than classes; got {n} rows of {classes} classes.")
        if self.n_components is not None and self.n_components > min(classes - 1, d):
            raise ValueError(
                f"{self._name}: n_components must be at most min(classes - 1, columns) = {min(classes - 1, d)}; "
                f"got {self.n_components}."
            )
        if self.solver == "svd" and self.shrinkage is not None:
            raise ValueError(f"{self._name}: shrinkage needs solver 'eigen'; got solver 'svd'.")

    def _directions(self, rows: TrainingRows, means: np.ndarray, spread: np.ndarray, priors: np.ndarray) -> Directions:
        if self.solver == "svd":
            factor = centered_factor(rows.X, rows.codes, means, rows.weights)
            return directions_by_svd(factor, float(rows.counts.sum()), spread, self.tol)
        parts = map(rows.of_class, range(len(means)))
        covariances = [shrunk_covariance(X, self.shrinkage, weights) for X, weights in parts]
        within = np.einsum("c,cij->ij", priors, covariances)
        try:
            return directions_by_eigenvalues(within, spread)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{self._name}: the covariance within classes is singular (columns depend on each other or rows are "
                "few); set shrinkage, or use solver 'svd'."
            ) from None

    def _set_rule(self) -> None:
        r"""The rule :math:`z^\top m_c - \tfrac12 \lVert m_c \rVert^2 + \log\pi_c` with z and m along the directions."""
        m = (self.means_ - self.xbar_) @ self.scalings_
        with np.errstate(divide="ignore"):
            constant = np.log(self.priors_) - 0.5 * (m**2).sum(axis=1)
        coef = m @ self.scalings_.T
        intercept = constant - coef @ self.xbar_
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        score = self._rows(X) @ self.coef_.T + self.intercept_
        return np.hstack([np.zeros_like(score), score]) if len(self.classes_) == 2 else score


def _signed(columns: np.ndarray) -> np.ndarray:
    """Columns with their largest entry positive: a direction has no sign of its own."""
    if not columns.size:
        return columns
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0)
    return columns * np.where(largest < 0, -1.0, 1.0)
