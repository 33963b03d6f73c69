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

from margin.bayes.class_scatter import ClassScatter
from margin.bayes.discriminants import Discriminant
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Flag, Integer, Learner, Number, Optional
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf, sometimes
from margin.core.number_range import finite_values, in_safe_units
from margin.core.parameters import attribute, parameter
from margin.core.precision import in_precision_of
from margin.core.refusals import Unsupported
from margin.foundations.linalg import svd
from margin.foundations.linalg.minimum_norm import DEPENDENT, minimum_norm_from_gram

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
    _, scale = in_safe_units(lambda part: (np.zeros(part.shape[1]), np.sqrt((part**2).sum(axis=0) / n)), R)
    scale[scale == 0] = 1.0
    _, singular, V = svd(R / scale / np.sqrt(n))
    rank = int((singular > tol).sum())
    whitener = (V.T[:rank] / scale).T / singular[:rank]  # (d, rank): covariance one
    _, ratios, Wt = np.linalg.svd(spread @ whitener, full_matrices=False)
    kept = int((ratios > tol * ratios[0]).sum()) if len(ratios) else 0
    return Directions(_fix_signs(whitener @ Wt[:kept].T), ratios[:kept] ** 2)


def directions_by_eigenvalues(within: np.ndarray, spread: np.ndarray) -> Directions:
    r"""Directions from :math:`S_b v = \lambda \Sigma v`, with :math:`\Sigma` = ``within`` positive definite."""
    scale = np.sqrt(np.diag(within))
    if not scale.all():
        raise np.linalg.LinAlgError("a column does not vary within classes")
    spectrum = np.linalg.eigvalsh(within / np.outer(scale, scale))
    if spectrum[0] <= DEPENDENT**2 * spectrum[-1]:  # positive definite by rounding only
        raise np.linalg.LinAlgError("columns depend on each other")
    values, vectors = eigh(spread.T @ spread, within)
    kept = min(len(spread) - 1, len(within))
    return Directions(_fix_signs(vectors[:, ::-1][:, :kept]), np.maximum(values[::-1][:kept], 0.0))


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Classifies by normal classes of one covariance; transforms to the directions that separate the classes best.

    Covariances have divisor n. The cost is n p^2.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 5.0], [3.0, 0.0], [4.0, 1.0], [3.0, 5.0]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.5, 9.0], [3.5, -9.0]]), model.transform(X).shape
    (array([0, 1]), (6, 1))
    """

    solver: str = parameter(
        "svd",
        Choice("svd", "lsqr", "eigen", search=False),
        '"svd" works on the factor of the centered rows and drops dependent columns; "eigen" solves a generalized '
        'eigenproblem with the mean of the class covariances; "lsqr" solves for the rule alone, without directions.',
    )
    shrinkage: Any = parameter(
        None,
        Optional(Either(Choice("auto"), Number(low=0, high=1))),
        'How far covariances are moved towards a sphere, or "auto" by Ledoit and Wolf; not for solver "svd".',
    )
    priors: Any = parameter(
        None, Optional(SequenceOf(Number(low=0, high=1))), "Probabilities of the classes; None learns them."
    )
    n_components: int | None = parameter(
        None,
        Optional(Integer(low=1)),
        "Columns of transform, at most classes - 1; classification uses all directions.",
    )
    store_covariance: bool = parameter(
        False, Flag(), 'Whether covariance_ is kept for solver "svd", which does not need it; others keep it.'
    )
    tol: float = parameter(
        1e-4, Number(low=0), 'Singular values of the scaled rows up to this are taken for zero by solver "svd".'
    )
    covariance_estimator: Any = parameter(
        None,
        Optional(Learner("fit")),
        'An object whose fit learns covariance_, used for every class instead of shrinkage; not for solver "svd".',
    )

    means_: np.ndarray = attribute(ArrayOf("n_classes", "n_features"), "Means of the classes, (classes, p).")
    priors_: np.ndarray = attribute(ArrayOf("n_classes", low=0), "Probabilities of the classes.")
    xbar_: np.ndarray = attribute(sometimes(ArrayOf("n_features")), "The overall mean.")
    scalings_: np.ndarray = attribute(sometimes(ArrayOf("n_features", None)), "Directions in columns, (p, directions).")
    explained_variance_ratio_: np.ndarray = attribute(
        sometimes(ArrayOf(None, finite=False)), "The part of the variance between classes along each direction."
    )
    covariance_: np.ndarray = attribute(
        sometimes(ArrayOf("n_features", "n_features")), "The covariance within classes, (p, p), where it is kept."
    )
    coef_: np.ndarray = attribute(
        ArrayOf("n_rows", "n_features"), "Weights of the linear rule, a row per class, one in all for two classes."
    )
    intercept_: np.ndarray = attribute(ArrayOf("n_rows"), "Constants of the linear rule.")

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LinearDiscriminantAnalysis:
        """Learn means, directions and the linear rule; a row of weight two counts as two rows."""
        rows = self._training_rows(X, y, sample_weight)
        self._forget()
        self._learn(rows)
        self.coef_, self.intercept_ = in_precision_of(X, self.coef_), in_precision_of(X, self.intercept_)
        return self

    def _learn(self, rows: ClassScatter) -> LinearDiscriminantAnalysis:
        priors, labels, means = self._class_priors(rows), rows.labels, rows.class_means()
        self._check_sizes(int(rows.n_rows.sum()), *means.shape)
        center = priors @ means
        spread = np.sqrt(priors)[:, None] * (means - center)
        within = self._within(rows, means, priors)
        rule = self._rule_by_solving(within, means, priors) if self.solver == "lsqr" else None
        directions = None if rule is not None else self._directions(rows, means, spread, within)
        for name in ("covariance_", "scalings_", "explained_variance_ratio_", "xbar_"):
            self.__dict__.pop(name, None)
        self.classes_, self.means_, self.priors_ = labels, means, priors
        if within is not None:
            self.covariance_ = within
        if directions is None:
            assert rule is not None
            self._store_rule(*rule)
            return self
        self.xbar_, self.scalings_ = center, directions.scalings
        total = directions.ratios.sum()
        self.explained_variance_ratio_ = directions.ratios / total if total else directions.ratios
        self._store_rule(*self._rule_along_directions())
        return self

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Coordinates along the directions, centered at the overall mean, (n, n_components)."""
        check_is_fitted(self)
        if not hasattr(self, "scalings_"):
            raise NotImplementedError("LinearDiscriminantAnalysis: solver 'lsqr' finds no directions to transform to.")
        return (self._rows(X) - self.xbar_) @ self.scalings_[:, : self.n_components]

    @property
    def _n_features_out(self) -> int:
        return self.scalings_[:, : self.n_components].shape[1]

    def _check_sizes(self, n: int, classes: int, d: int) -> None:
        if n <= classes:
            raise ValueError(f"{self._name}: there must be more rows than classes; got {n} rows of {classes} classes.")
        if self.n_components is not None and self.n_components > min(classes - 1, d):
            raise ValueError(
                f"{self._name}: n_components must be at most min(classes - 1, columns) = {min(classes - 1, d)}; "
                f"got {self.n_components}."
            )
        for name in ("shrinkage", "covariance_estimator"):
            if self.solver == "svd" and getattr(self, name) is not None:
                raise Unsupported(f"{self._name}: {name} needs solver 'eigen' or 'lsqr'; got solver 'svd'.")
        if self.shrinkage is not None and self.covariance_estimator is not None:
            raise ValueError(f"{self._name}: give shrinkage or covariance_estimator, not both.")

    def _within(self, rows: ClassScatter, means: np.ndarray, priors: np.ndarray) -> np.ndarray | None:
        """The mean of the class covariances, where it is needed or to be kept."""
        if self.solver == "svd" and not self.store_covariance:
            return None
        estimate = self.covariance_estimator
        covariances = [rows.covariance(self._name, c, self.shrinkage, estimate) for c in range(len(means))]
        return np.einsum("c,cij->ij", priors, covariances)

    def _directions(
        self, rows: ClassScatter, means: np.ndarray, spread: np.ndarray, within: np.ndarray | None
    ) -> Directions:
        if self.solver == "svd":
            return directions_by_svd(rows.within_factor(means), float(rows.counts.sum()), spread, self.tol)
        assert within is not None
        try:
            return directions_by_eigenvalues(within, spread)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(  # a ValueError too
                f"{self._name}: the covariance within classes is singular (columns depend on each other or rows are "
                "few); set shrinkage, or use solver 'svd'."
            ) from None

    @staticmethod
    def _rule_by_solving(
        within: np.ndarray | None, means: np.ndarray, priors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""The rule with :math:`\Sigma^{-1}\mu_c` by least squares, as a singular covariance allows."""
        assert within is not None
        coef = minimum_norm_from_gram(within, means.T).solution.T
        with np.errstate(divide="ignore"):
            return coef, np.log(priors) - 0.5 * np.einsum("cj,cj->c", coef, means)

    def _rule_along_directions(self) -> tuple[np.ndarray, np.ndarray]:
        r"""The rule :math:`z^\top m_c - \tfrac12 \lVert m_c \rVert^2 + \log\pi_c` with z and m along the directions."""
        m = (self.means_ - self.xbar_) @ self.scalings_
        with np.errstate(divide="ignore"):
            constant = np.log(self.priors_) - 0.5 * (m**2).sum(axis=1)
        coef = m @ self.scalings_.T
        return coef, constant - coef @ self.xbar_

    def _store_rule(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _joint_log_probability(self, X: Any) -> np.ndarray:
        rows = self._rows(X)
        score = finite_values(self._name, "X", rows, lambda: rows @ self.coef_.T) + self.intercept_
        return np.hstack([np.zeros_like(score), score]) if len(self.classes_) == 2 else score


def _fix_signs(columns: np.ndarray) -> np.ndarray:
    """Columns with their largest entry positive: a direction has no sign of its own."""
    if not columns.size:
        return columns
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=0)[None], axis=0)
    return columns * np.where(largest < 0, -1.0, 1.0)
