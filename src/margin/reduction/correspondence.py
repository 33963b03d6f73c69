r"""Correspondence analysis: the rows and columns of a table of counts as points in one picture.

With fractions :math:`P = N/n`, masses :math:`r = P\mathbf 1` and :math:`c = P^\top \mathbf 1`, the residuals of
independence measured in their own spread are decomposed:

.. math::
    D_r^{-1/2}(P - r c^\top) D_c^{-1/2} = U \Sigma V^\top, \qquad F = D_r^{-1/2} U \Sigma,\; G = D_c^{-1/2} V \Sigma

Distances between rows of F are chi-squared distances of profiles; the total inertia :math:`\sum \sigma_k^2` is
:math:`\chi^2 / n`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.arguments import finite
from margin.core.domains import Integer
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Real
from margin.core.parameters import attribute, parameter
from margin.foundations.linalg import svd

__all__ = ["Correspondence", "CorrespondenceAnalysis", "correspondence_analysis"]


class Correspondence(NamedTuple):
    """Principal coordinates of rows (n, k) and columns (p, k), singular values (k,), masses, and the total inertia."""

    rows: np.ndarray
    columns: np.ndarray
    singular_values: np.ndarray
    row_masses: np.ndarray
    column_masses: np.ndarray
    inertia: float


def correspondence_analysis(table: Any, k: int | None = None) -> Correspondence:
    r"""Correspondence analysis of a table of counts (n, p) in ``k`` axes (all min(n, p) - 1 if None).

    A row or column without any count has no profile; it gets mass zero and stands at the origin.

    >>> found = correspondence_analysis([[10, 0], [0, 10]])
    >>> round(found.inertia, 12), found.rows.round(6).tolist()
    (1.0, [[1.0], [-1.0]])
    """
    N = finite("correspondence_analysis", "table", table)
    if N.ndim != 2 or N.size == 0 or N.min() < 0 or N.sum() <= 0:
        raise ValueError(f"correspondence_analysis: table must hold counts of at least zero; got shape {N.shape}.")
    most = max(min(N.shape) - 1, 1)
    k = most if k is None else k
    if not 1 <= k <= most:
        raise ValueError(f"correspondence_analysis: k must be from 1 to {most}; got {k}.")
    P = N / N.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    row_scale, column_scale = _inverse_root(r), _inverse_root(c)
    residuals = row_scale[:, None] * (P - np.outer(r, c)) * column_scale
    U, singular, V = svd(residuals)
    U, V = U[:, :k], V[:, :k]
    signs = np.where(V[np.abs(V).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    singular_k = singular[:k]
    return Correspondence(
        row_scale[:, None] * U * (signs * singular_k),
        column_scale[:, None] * V * (signs * singular_k),
        singular_k,
        r,
        c,
        float(singular @ singular),
    )


class CorrespondenceAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Rows of counts as points whose distances are chi-squared distances of their profiles.

    New rows are placed by their profiles.

    >>> model = CorrespondenceAnalysis(n_components=1).fit([[10, 2, 1], [1, 8, 9]])
    >>> model.row_coordinates_.shape, round(float(model.explained_inertia_ratio_[0]), 9)
    ((2, 1), 1.0)
    """

    n_components: int = parameter(
        2, Integer(low=1, search=(1, 10)), "Number of axes; min(n, p) - 1 are learned if there are no more."
    )

    row_coordinates_: np.ndarray = attribute(
        ArrayOf("n_samples", "n_components"), "Principal coordinates of the rows, (n, k)."
    )
    column_coordinates_: np.ndarray = attribute(
        ArrayOf("n_features", "n_components"), "Principal coordinates of the columns, (p, k)."
    )
    singular_values_: np.ndarray = attribute(
        ArrayOf("n_components"), "Singular values of the residuals of independence."
    )
    inertia_: float = attribute(Real(), "Total inertia: chi squared over the number of counts.")
    explained_inertia_ratio_: np.ndarray = attribute(
        ArrayOf("n_components", finite=False), "Fraction of the inertia along each axis."
    )
    row_masses_: np.ndarray = attribute(ArrayOf("n_samples"), "Fraction of the counts in each row.")
    column_masses_: np.ndarray = attribute(ArrayOf("n_features"), "Fraction of the counts in each column.")

    def fit(self, X: Any, y: Any = None) -> CorrespondenceAnalysis:
        """Learn the axes from the table of counts ``X``; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        self._check_counts(X)
        if X.sum() <= 0:
            raise ValueError("CorrespondenceAnalysis: X must hold at least one positive count; got none.")
        analysis = correspondence_analysis(X, min(self.n_components, max(min(X.shape) - 1, 1)))
        self.row_coordinates_, self.column_coordinates_ = analysis.rows, analysis.columns
        self.singular_values_, self.inertia_ = analysis.singular_values, analysis.inertia
        self.row_masses_, self.column_masses_ = analysis.row_masses, analysis.column_masses
        squares = analysis.singular_values**2
        self.explained_inertia_ratio_ = squares / analysis.inertia if analysis.inertia > 0 else np.zeros_like(squares)
        return self

    def transform(self, X: Any) -> np.ndarray:
        r"""Coordinates of rows by their profiles, :math:`D_r^{-1}P\, G \Sigma^{-1}`; a row of zeros at the origin."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        self._check_counts(X)
        totals = X.sum(axis=1, keepdims=True)
        profiles = np.divide(X, totals, out=np.tile(self.column_masses_, (len(X), 1)), where=totals > 0)
        standard = np.divide(
            self.column_coordinates_,
            self.singular_values_,
            out=np.zeros_like(self.column_coordinates_),
            where=self.singular_values_ > 0,
        )
        return (profiles - self.column_masses_) @ standard

    @property
    def _n_features_out(self) -> int:
        return len(self.singular_values_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_counts(self, X: np.ndarray) -> None:
        if X.min(initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to CorrespondenceAnalysis: X must hold counts; got {X.min():g}."
            )


def _inverse_root(masses: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(masses), out=np.zeros_like(masses), where=masses > 0)
