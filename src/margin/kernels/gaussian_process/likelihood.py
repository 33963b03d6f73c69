r"""The marginal likelihood of Gaussian-process regression and its gradient.

With :math:`C = k(X,X)+\mathrm{diag}(\alpha)` and :math:`w = C^{-1}y`,

.. math::
    \log p(y) = -\tfrac12 y^\top w - \tfrac12\log|C| - \tfrac n2\log 2\pi,\qquad
    \frac{\partial\log p}{\partial\theta} =
    \tfrac12\sum_{ij}\bigl(w_iw_j - C^{-1}_{ij}\bigr)\frac{\partial C_{ij}}{\partial\theta} .

One evaluation is a kernel matrix, a Cholesky factorization (:math:`n^3/3`), an inverse from it (:math:`2n^3/3`) and one
pass over the lower triangle for all gradients; no array larger than (n, n) is made, and those are made once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margin.kernels.gaussian_process.radial import TILE, RadialForm, radial_form
from margin.kernels.gaussian_process.triangular import (
    copy_lower,
    factorize,
    inverse_in_place,
    log_determinant,
    mirror,
    solve_factored,
)
from margin.kernels.kernel import Kernel

__all__ = ["Evaluation", "MarginalLikelihood", "contract"]

Floats = NDArray[np.float64]

COMPILED_ROWS = 256  # fewer are done before compiled code is even loaded


@dataclass(frozen=True)
class Evaluation:
    """The log marginal likelihood at one theta; ``value`` is -inf where no factorization exists."""

    value: float
    gradient: Floats
    weights: Floats
    factor: Floats
    jitter: float


class MarginalLikelihood:
    """The likelihood of y (n,), or of the columns of y (n, q), at X (n, d) under ``kernel``, with the variances
    ``alpha`` added to the diagonal.

    ``factor`` of an evaluation is a buffer that the next one overwrites, unless :meth:`keep` is called in between.

    >>> from margin.kernels import RBF
    >>> likelihood = MarginalLikelihood(RBF(1.0), np.array([[0.0], [1.0]]), np.array([1.0, 1.0]), 0.0)
    >>> round(likelihood.at(np.log([1.0])).value, 3)
    -2.231
    """

    def __init__(self, kernel: Kernel, X: Floats, y: Floats, alpha: Floats | float):
        self.kernel, self.X, self.y, self.alpha = kernel, X, y, alpha
        self.compiled = len(X) > COMPILED_ROWS and radial_form(kernel) is not None
        self._gram = np.empty((0, 0))
        self._factor = np.empty((0, 0))
        self._spare: Floats | None = None

    def at(self, theta: Floats, *, gradient: bool = True) -> Evaluation:
        """Value, and the gradient with respect to theta if wanted (else zeros)."""
        kernel = self.kernel.clone_with_theta(theta)
        gram, factor, noise, form = self._fill(kernel)
        jitter = factorize(gram, factor, noise + self.alpha)
        if jitter is None:
            return Evaluation(-np.inf, np.zeros(len(theta)), np.zeros_like(self.y), factor, np.nan)
        weights = solve_factored(factor, self.y)
        targets = 1 if self.y.ndim == 1 else self.y.shape[1]
        constant = log_determinant(factor) + len(self.y) * np.log(2 * np.pi)
        value = -0.5 * float(np.vdot(self.y, weights) + targets * constant)
        if not np.isfinite(value):
            return Evaluation(-np.inf, np.zeros(len(theta)), weights, factor, jitter)
        slope = self._gradient(kernel, form, factor, weights, jitter) if gradient else np.zeros(len(theta))
        return Evaluation(value, slope, weights, factor, jitter)

    def keep(self, evaluation: Evaluation) -> Floats:
        """The factor of ``evaluation``, which later ones leave alone until another is kept."""
        self._factor, self._spare = self._spare if self._spare is not None else np.empty((0, 0)), evaluation.factor
        return evaluation.factor

    def _fill(self, kernel: Kernel) -> tuple[Floats, Floats, Floats | float, RadialForm | None]:
        n = len(self.X)
        if len(self._gram) != n:
            self._gram = np.empty((n, n))
        if len(self._factor) != n:
            self._factor = np.zeros((n, n))  # what is above the diagonal stays zero
        if not self.compiled:
            self._gram[:] = kernel(self.X)
            copy_lower(self._gram, self._factor)
            return self._gram, self._factor, 0.0, None
        form = radial_form(kernel)
        assert form is not None
        form.fill(self.X, self._gram, self._factor)
        return self._gram, self._factor, form.noise, form

    def _gradient(
        self, kernel: Kernel, form: RadialForm | None, factor: Floats, weights: Floats, jitter: float
    ) -> Floats:
        gram = self._gram
        added = jitter * float(np.mean(gram.diagonal() + self.alpha + (form.noise if form else 0.0)))
        copy_lower(factor, gram)
        inverse_in_place(gram)
        columns = [np.ascontiguousarray(w) for w in weights.reshape(len(weights), -1).T]
        if form is None:
            outer = sum((np.outer(w, w) for w in columns), np.zeros_like(gram))
            return 0.5 * kernel.gradient(self.X, outer - len(columns) * mirror(gram))
        pull = sum((w**2 - gram.diagonal() for w in columns), np.zeros(len(gram)))  # the diagonal of W
        # W o C sums to y.w - n, and what is not amplitude times profile in C is on its diagonal.
        outside = float(np.sum(pull * (form.noise + self.alpha + added)))
        total = 0.5 * (float(np.vdot(self.y, weights)) - weights.size - outside)
        ones = np.ones(len(weights))
        parts = [contract(form, self.X, gram, gram, 0.5 * w, w, ones) for w in columns]
        per_column = sum(parts, np.zeros(self.X.shape[1]))
        return form.gradient(total, per_column, 0.5 * float(pull.sum()))


def contract(
    form: RadialForm, X: Floats, inverse: Floats, slope: Floats, left: Floats, right: Floats, scale: Floats
) -> Floats:
    r""":math:`\sum_{ij}W_{ij}\,\partial K_{ij}/\partial\log\ell_k` with
    :math:`W = \tfrac12(lr^\top+rl^\top-\mathrm{diag}(s)A\,\mathrm{diag}(s))`, for all k."""
    from margin.compiled.svm import contract_triangle

    if not form.scaled.free:
        return np.zeros(X.shape[1])
    columns = np.ascontiguousarray(form.scaled.scaled(X).T)
    sums, result = np.zeros((len(columns), TILE)), np.zeros(len(columns))
    contract_triangle(inverse, slope, columns, left, right, scale, sums, result)
    return result
