r"""Laplace's approximation for Gaussian-process classification with two classes, :math:`y\in\{-1,1\}`.

The posterior of the latent f is replaced by a normal law at its mode,
:math:`\hat f = \arg\max_f \log p(y|f) - \tfrac12 f^\top K^{-1}f` with :math:`p(y|f)=\prod\sigma(y_if_i)`. With
:math:`\pi=\sigma(\hat f)`, :math:`W=\mathrm{diag}(\pi(1-\pi))`, :math:`a=\nabla\log p(y|\hat f)` and
:math:`B = I + W^{1/2}KW^{1/2} = LL^\top`,

.. math::
    \log q(y) = \log p(y|\hat f) - \tfrac12 a^\top\hat f - \tfrac12\log|B| .

Its gradient is a contraction of :math:`\partial K/\partial\theta` with one matrix:
:math:`\tfrac12(aa^\top - R) + \tfrac12(ua^\top+au^\top)`, where :math:`R=W^{1/2}B^{-1}W^{1/2}`,
:math:`u = s - RKs` and :math:`s_i = -\tfrac12\Sigma_{ii}\,\pi_i(1-\pi_i)(1-2\pi_i)` carries how the mode
moves with the kernel (:math:`\Sigma = (K^{-1}+W)^{-1}`, whose diagonal is :math:`(1-B^{-1}_{ii})/W_{ii}`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from margin.kernels.gaussian_process.likelihood import COMPILED_ROWS, contract
from margin.kernels.gaussian_process.radial import RadialForm, radial_form
from margin.kernels.gaussian_process.triangular import (
    cholesky_in_place,
    copy_lower,
    inverse_in_place,
    log_determinant,
    mirror,
    solve_factored,
    symmetric_product,
)
from margin.kernels.kernel import Kernel

__all__ = ["LaplaceApproximation", "Mode", "averaged_sigmoid"]

Floats = NDArray[np.float64]

NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-6  # movement of a latent value; convergence is quadratic, so what is left is about its square
ROUNDING = 1e-12  # fraction of the objective by which a good step may seem to lower it
HALVINGS = 20
ROWS = 256
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
GRID = np.arange(-40.0, 40.5, 0.5)  # the logistic density at its ends is 1e-17
GRID_WEIGHTS = 0.5 * expit(GRID) * expit(-GRID)
LEAST_WEIGHT = 1e-300  # pi(1-pi) of a latent far out underflows; it is divided by where it cancels


def averaged_sigmoid(mean: Floats, variance: Floats) -> Floats:
    r""":math:`E\,\sigma(f)` for :math:`f\sim N(\mu,v)`, to rounding error.

    Small variances by Gauss-Hermite quadrature. Large ones as :math:`E\,\Phi((\mu-T)/\sqrt v)` with T logistic (a
    sigmoid is the probability that T is below f), whose integrand is analytic and decays, so that the trapezoidal
    rule is exact.

    >>> averaged_sigmoid(np.array([0.0, 0.0]), np.array([0.5, 400.0])).round(12).tolist()
    [0.5, 0.5]
    """
    result = np.empty(len(mean))
    wide = variance > 1.0
    points = mean[~wide, None] + np.sqrt(variance[~wide])[:, None] * NODES
    result[~wide] = expit(points) @ NODE_WEIGHTS / NODE_WEIGHTS.sum()
    result[wide] = ndtr((mean[wide, None] - GRID) / np.sqrt(variance[wide])[:, None]) @ GRID_WEIGHTS
    return np.clip(result, 0.0, 1.0)


@dataclass(frozen=True)
class Mode:
    """The approximation at one theta: ``pull`` is the gradient a, ``root`` the square root of W, ``factor`` is L."""

    value: float
    gradient: Floats
    pull: Floats
    root: Floats
    factor: Floats


class LaplaceApproximation:
    """The approximate likelihood of labels y (-1 or 1) at X under ``kernel``.

    ``factor`` of a mode is overwritten by the next one unless it is kept by :meth:`keep`.
    """

    def __init__(
        self, kernel: Kernel, X: Floats, y: Floats, *, newton_steps: int = NEWTON_STEPS, warm_start: bool = False
    ):
        n = len(X)
        self.kernel, self.X, self.y = kernel, X, y
        self.newton_steps, self.warm_start = newton_steps, warm_start
        self.last_dual: Floats | None = None  # of the mode found last, where the next search may begin
        self.compiled = n > COMPILED_ROWS and radial_form(kernel) is not None
        self._gram, self._factor, self._inverse = np.empty((n, n)), np.zeros((n, n)), np.empty((n, n))
        self._spare: Floats | None = None

    def at(self, theta: Floats, *, gradient: bool = True) -> Mode:
        kernel = self.kernel.clone_with_theta(theta)
        form = radial_form(kernel) if self.compiled else None
        if form is not None:
            form.fill(self.X, self._gram, self._factor)
            np.fill_diagonal(self._gram, self._gram.diagonal() + form.noise)
        else:
            self._gram[:] = kernel(self.X)
        latent, fit = self._mode()
        probability = expit(latent)
        pull, root = (self.y + 1) / 2 - probability, np.sqrt(probability * (1 - probability))
        self._factorize(root)
        value = fit - 0.5 * log_determinant(self._factor)
        if not np.isfinite(value):
            return Mode(-np.inf, np.zeros(len(theta)), pull, root, self._factor)
        slope = self._gradient(kernel, form, pull, root, probability) if gradient else np.zeros(len(theta))
        return Mode(value, slope, pull, root, self._factor)

    def keep(self, mode: Mode) -> Floats:
        """The factor of ``mode``, which later ones leave alone until another is kept."""
        spare = self._spare if self._spare is not None else np.zeros_like(self._factor)
        self._factor, self._spare = spare, mode.factor
        return mode.factor

    def _mode(self) -> tuple[Floats, float]:
        """Newton's method on the dual a (f = K a), halved where the objective would fall."""
        dual = np.zeros_like(self.y)
        latent = np.zeros_like(self.y)
        if self.warm_start and self.last_dual is not None:
            dual = self.last_dual
            latent = symmetric_product(self._gram, dual)
        value = self._objective(dual, latent)
        for _ in range(self.newton_steps):
            probability = expit(latent)
            weight = probability * (1 - probability)
            root = np.sqrt(weight)
            self._factorize(root)
            b = weight * latent + (self.y + 1) / 2 - probability
            target = b - root * solve_factored(self._factor, root * symmetric_product(self._gram, b))
            change, before = target - dual, value
            moved = 0.0
            for _ in range(HALVINGS):
                trial = dual + change
                reached = symmetric_product(self._gram, trial)
                value = self._objective(trial, reached)
                if value >= before - ROUNDING * (1 + abs(before)):
                    moved = float(np.abs(reached - latent).max())
                    dual, latent = trial, reached
                    break
                change *= 0.5
            if not moved > NEWTON_TOLERANCE:
                break
        self.last_dual = dual
        return latent, self._objective(dual, latent)

    def _objective(self, dual: Floats, latent: Floats) -> float:
        return float(-np.logaddexp(0, -self.y * latent).sum() - 0.5 * dual @ latent)

    def _factorize(self, root: Floats) -> None:
        """L of B = I + W^{1/2} K W^{1/2}; its eigenvalues are at least 1, so no jitter is needed."""
        gram, factor = self._gram, self._factor
        for start in range(0, len(gram), ROWS):
            stop = min(start + ROWS, len(gram))
            block = gram[start:stop, :stop] * root[:stop] * root[start:stop, None]
            factor[start:stop, :start] = block[:, :start]
            factor[start:stop, start:stop] = np.tril(block[:, start:])
        np.fill_diagonal(factor, factor.diagonal() + 1.0)
        if not cholesky_in_place(factor):
            raise FloatingPointError("LaplaceApproximation: the kernel matrix is far from positive semi-definite.")

    def _gradient(
        self, kernel: Kernel, form: RadialForm | None, pull: Floats, root: Floats, probability: Floats
    ) -> Floats:
        gram, inverse = self._gram, self._inverse
        copy_lower(self._factor, inverse)
        inverse_in_place(inverse)
        kept = inverse.diagonal()
        variance = (1 - kept) / np.maximum(root**2, LEAST_WEIGHT)
        s = -0.5 * variance * root**2 * (1 - 2 * probability)
        moved = root * symmetric_product(inverse, root * symmetric_product(gram, s))
        left = 0.5 * pull + (s - moved)
        if form is None:
            pairs = np.outer(left, pull)
            weights = 0.5 * (pairs + pairs.T - root[:, None] * mirror(inverse) * root)
            return kernel.gradient(self.X, weights)
        diagonal = left * pull - 0.5 * root**2 * kept
        # The trace of R K is that of (B - I) B^{-1}.
        with_noise = float(left @ symmetric_product(gram, pull)) - 0.5 * (len(pull) - float(kept.sum()))
        total = with_noise - form.noise * float(diagonal.sum())
        per_column = contract(form, self.X, inverse, gram, left, pull, root)
        return form.gradient(total, per_column, float(diagonal.sum()))
