r"""Regression on basis functions, :math:`f(x) = \theta_0 + \sum_j \theta_j \varphi_j(x)`, by least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Flag, Integer, Number, Sequence
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, OneOf
from margin.core.number_range import finite_values, power_of_two, require_squares
from margin.core.parameters import attribute, parameter
from margin.core.targets import numeric_target
from margin.linear.basis import (
    MOST_TERMS,
    NAMED,
    check_terms,
    fourier_basis,
    monomial_powers,
    monomials,
    radial_basis,
    without_constants,
)
from margin.linear.penalized_least_squares import ridge
from margin.linear.stored import BASIS, NUMBER_OR_ROW, basis_is_of_its_size

__all__ = ["BasisRegression"]


class BasisRegression(MultiOutputMixin, RegressorMixin, Estimator):
    """Least squares on basis functions of the columns, with a ridge penalty on their coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> model = BasisRegression(basis=("exp",), alpha=0.0).fit(x, 2 + 3 * np.exp(x[:, 0]))
    >>> round(model.intercept_, 9), model.coef_.round(9)
    (2.0, array([3.]))
    """

    basis: Any = parameter(
        "radial",
        Either(Choice("polynomial", "radial", "fourier"), Sequence(Choice(*NAMED), min_length=1)),
        '"polynomial" (monomials up to degree order), "radial" (Gaussian bumps at rows spread evenly over the data, '
        'as wide as twice their mean distance to the next), "fourier" (waves up to order periods in the range of each '
        "column), or a list of named functions of a column.",
    )
    _: KW_ONLY
    order: int = parameter(10, Integer(low=1, search=(1, 12)), "Degree, number of bumps or number of periods.")
    alpha: float = parameter(
        1e-3, Number(low=0, search=(1e-6, 10), log=True), "Strength of the L2 penalty on the coefficients."
    )
    fit_intercept: bool = parameter(True, Flag(), "Whether a constant is fitted.")

    coef_: np.ndarray = attribute(
        OneOf(ArrayOf(None), ArrayOf("n_targets", None)),
        "Weights of the basis functions, (terms,) or (targets, terms).",
    )
    intercept_: float | np.ndarray = attribute(NUMBER_OR_ROW, "The constant, one number or one per target.")
    basis_: dict[str, Any] = attribute(BASIS, "What the basis functions need: powers, centers and width, or periods.")

    _stored_rules = (basis_is_of_its_size,)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows."""
        self._check_parameters()
        X, y = validate_data(
            self, X, numeric_target(self, y), dtype=np.float64, order="C", y_numeric=True, multi_output=True
        )
        Y = np.asarray(y, dtype=np.float64)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.basis, str) and self.basis == "radial":
            require_squares(type(self).__name__, "X", X)
        basis = self._prepare_basis(X if weights is None else X[weights > 0])
        known = without_constants(X) if basis["kind"] == "polynomial" else X
        terms = finite_values(type(self).__name__, "X", X, lambda: self._terms(known, basis))
        unit = power_of_two(np.abs(Y).max(initial=0.0))  # coefficients are linear in y: its squares need not overflow
        targets = Y.reshape(len(Y), -1) / unit
        try:
            solution = ridge(terms, targets, float(self.alpha), weights, intercept=bool(self.fit_intercept))
        except FloatingPointError:
            raise ValueError(
                f"{type(self).__name__}: X must be small enough that squares of its basis functions do not overflow; "
                f"got {np.abs(X).max():.3g}; scale it first."
            ) from None
        self.basis_ = basis
        intercept = unit * solution.intercept if self.fit_intercept else np.zeros(solution.coef.shape[1])
        coef = unit * solution.coef
        self.coef_ = coef[:, 0].copy() if Y.ndim == 1 else np.ascontiguousarray(coef.T)
        self.intercept_ = float(intercept[0]) if Y.ndim == 1 else intercept
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The basis expansion of every row times the coefficients."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return finite_values(
            type(self).__name__, "X", X, lambda: self._terms(X, self.basis_) @ self.coef_.T + self.intercept_
        )

    def _prepare_basis(self, X: np.ndarray) -> dict[str, Any]:
        """What of the basis depends on the data."""
        if self.basis == "polynomial":
            check_terms(type(self).__name__, X.shape[1], self.order)
            return {"kind": "polynomial", "powers": monomial_powers(X.shape[1], self.order)}
        low, high = X.min(axis=0), X.max(axis=0)
        if self.basis == "fourier":
            if 2 * self.order * X.shape[1] > MOST_TERMS:
                raise ValueError(
                    f"{type(self).__name__}: order {self.order} in {X.shape[1]} columns has "
                    f"{2 * self.order * X.shape[1]} terms; at most {MOST_TERMS} are possible."
                )
            return {"kind": "fourier", "low": low, "period": np.where(high > low, high - low, 1.0), "order": self.order}
        if self.basis == "radial":
            centers = _spread_rows(X, self.order)
            gaps = np.sqrt(((centers[:, None] - centers) ** 2).sum(axis=2)) + np.diag(np.full(len(centers), np.inf))
            nearest = gaps.min(axis=1) if len(centers) > 1 else np.ones(1)
            return {"kind": "radial", "centers": centers, "width": float(2.0 * nearest.mean()) or 1.0}
        return {"kind": "named", "names": list(self.basis)}

    def _terms(self, X: np.ndarray, basis: dict[str, Any]) -> np.ndarray:
        if basis["kind"] == "polynomial":
            return monomials(X, basis["powers"])
        if basis["kind"] == "fourier":
            return fourier_basis(X, basis["low"], basis["period"], int(basis["order"]))
        if basis["kind"] == "radial":
            return radial_basis(X, basis["centers"], basis["width"])
        with np.errstate(all="ignore"):
            terms = np.hstack([NAMED[name](X) for name in basis["names"]])
        if not np.isfinite(terms).all():
            bad = basis["names"][int(np.argmax(~np.isfinite(terms).all(axis=0))) // X.shape[1]]
            raise ValueError(f"{type(self).__name__}: basis function {bad!r} is not finite on these values of X.")
        return terms


def _spread_rows(X: np.ndarray, k: int) -> np.ndarray:
    """At most ``k`` distinct rows, each the farthest from those before it; the first is nearest the mean."""
    distance = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    chosen = [int(distance.argmin())]
    gap = ((X - X[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < k and gap.max() > 0:
        chosen.append(int(gap.argmax()))
        gap = np.minimum(gap, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
    return X[chosen]
