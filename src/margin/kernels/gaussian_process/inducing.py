r"""Sparse Gaussian processes: n rows seen through m inducing points Z.

With :math:`Q = K_{xz}K_{zz}^{-1}K_{zx}`, whose rank is m, and :math:`\Lambda` diagonal,

.. math::
    F = \log N(y; 0, Q+\Lambda) - \tfrac12\sum_i c_i\,(k_{ii}-q_{ii}),\qquad
    \begin{cases}\Lambda=\sigma^2 I,\; c_i=\sigma^{-2} & \text{variational (a lower bound of the evidence)}\\
    \Lambda_{ii}=k_{ii}-q_{ii}+\sigma^2,\; c_i=0 & \text{FITC}\end{cases}

Written with :math:`K_{zz}=LL^\top`, :math:`V = L^{-1}K_{zx}`, :math:`S=V\Lambda^{-1}V^\top`, :math:`B=I+S` and
:math:`e=B^{-1}V\Lambda^{-1}y`, everything costs :math:`nm^2`, and the gradient is three contractions: of
:math:`\partial K_{zx}` with :math:`L^{-\top}\,\partial F/\partial V`, of :math:`\partial K_{zz}` with
:math:`-\tfrac12L^{-\top}HL^{-1}`, and of the diagonal :math:`\partial k_{ii}` with
:math:`g_i=\partial F/\partial(k_{ii}-q_{ii})`, where
:math:`\partial F/\partial V = (-B^{-1}V - ee^\top V + ey^\top)\Lambda^{-1} - 2V\mathrm{diag}(g)` and
:math:`H = B^{-1} - I + ee^\top - 2V\mathrm{diag}(g)V^\top`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from margin.kernels.gaussian_process.radial import (
    RadialForm,
    distance_factors,
    noise_variance,
    radial_form,
    signal_of,
    terms_of,
)
from margin.kernels.gaussian_process.triangular import factorize, log_determinant, solve_factored
from margin.kernels.kernel import Kernel
from margin.kernels.stationary import WhiteKernel

__all__ = ["SparseEvaluation", "SparseObjective", "spread_rows"]

Floats = NDArray[np.float64]

ROWS = 1024  # of a block: (m, ROWS) numbers are worked on at once


@dataclass(frozen=True)
class SparseEvaluation:
    """The objective at one theta and what predictions need: L, the factor of B, and e."""

    value: float
    gradient: Floats
    L: Floats
    B_factor: Floats
    e: Floats
    jitter: float


class SparseObjective:
    """F of y (n,) at X (n, d) for inducing points Z (m, d); ``kernel`` holds white noise, the :math:`\\sigma^2`."""

    def __init__(self, kernel: Kernel, X: Floats, y: Floats, Z: Floats, *, fitc: bool):
        self.kernel, self.X, self.y, self.Z, self.fitc = kernel, X, y, Z, fitc
        self._V = np.empty((len(Z), len(X)))

    def at(self, theta: Floats, *, gradient: bool = True) -> SparseEvaluation:
        """Value, and the gradient with respect to theta if wanted (else zeros)."""
        kernel = self.kernel.clone_with_theta(theta)
        signal, noise = signal_of(kernel), noise_variance(kernel)
        assert signal is not None
        m = len(self.Z)
        gram = signal(self.Z)
        L = np.tril(gram)
        jitter = factorize(gram, L, 0.0)
        if jitter is None:
            return _nothing(theta, m)
        slack, precision = self._fill(signal, noise, L)
        S, r = self._moments(precision)
        B_factor = np.tril(S)
        factorize(S, B_factor, 1.0)
        e = solve_factored(B_factor, r)
        value = -0.5 * (
            len(self.y) * np.log(2 * np.pi)
            - float(np.log(precision).sum())
            + log_determinant(B_factor)
            + float(precision @ self.y**2)
            - float(r @ e)
            + (0.0 if self.fitc else float(precision @ slack))
        )
        if not np.isfinite(value):
            return _nothing(theta, m)
        evaluation = SparseEvaluation(value, np.zeros(len(theta)), L, B_factor, e, jitter)
        if not gradient:
            return evaluation
        signal_slope, noise_slope = self._gradient(signal, evaluation, precision, slack)
        return replace(evaluation, gradient=_with_noise(kernel, signal_slope, noise_slope))

    def _fill(self, signal: Kernel, noise: float, L: Floats) -> tuple[Floats, Floats]:
        """Fills V; k_ii - q_ii, which the inducing points do not see, and the precisions 1 / Lambda_ii."""
        for rows in self._blocks():
            self._V[:, rows] = solve_triangular(L, signal(self.Z, self.X[rows]), lower=True, check_finite=False)
        slack = np.maximum(signal.diag(self.X) - np.einsum("ij,ij->j", self._V, self._V), 0.0)
        return slack, 1 / (slack + noise if self.fitc else np.full(len(self.X), noise))

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.X), ROWS):
            yield slice(start, min(start + ROWS, len(self.X)))

    def _moments(self, precision: Floats) -> tuple[Floats, Floats]:
        """S = V Lambda^{-1} V^T and V Lambda^{-1} y."""
        S, r = np.zeros((len(self.Z), len(self.Z))), np.zeros(len(self.Z))
        for rows in self._blocks():
            weighted = self._V[:, rows] * np.sqrt(precision[rows])
            S += weighted @ weighted.T
            r += self._V[:, rows] @ (precision[rows] * self.y[rows])
        return S, r

    def _gradient(
        self, signal: Kernel, evaluation: SparseEvaluation, precision: Floats, slack: Floats
    ) -> tuple[Floats, float]:
        """With respect to the parameters of the signal, and to the variance of the noise."""
        m, L, e = len(self.Z), evaluation.L, evaluation.e
        inner = -solve_factored(evaluation.B_factor, np.eye(m)) - np.outer(e, e)  # 2 dF/dS without the trace term
        contraction = _Contraction(signal, self.Z)
        spread, noise_slope = np.zeros((m, m)), 0.0
        for rows in self._blocks():
            V, w, y = self._V[:, rows], precision[rows], self.y[rows]
            turned = inner @ V
            of_weight = 0.5 * np.einsum("ij,ij->j", V, turned) + (e @ V) * y - 0.5 * y**2
            of_noise = -0.5 * w - w**2 * of_weight  # dF/dLambda_ii
            g = of_noise if self.fitc else -0.5 * w
            noise_slope += float(of_noise.sum()) + (0.0 if self.fitc else 0.5 * float(w**2 @ slack[rows]))
            of_V = (turned + np.outer(e, y)) * w - 2 * g * V
            spread += (V * g) @ V.T
            weights = solve_triangular(L, of_V, lower=True, trans="T", check_finite=False)
            contraction.add(self.X[rows], weights, g)
        H = -inner - np.eye(m) - 2 * spread  # B^{-1} + e e^T - I - 2 V diag(g) V^T
        half = solve_triangular(L, H, lower=True, trans="T", check_finite=False)
        outer = -0.5 * solve_triangular(L, half.T, lower=True, trans="T", check_finite=False)
        return contraction.finish(0.5 * (outer + outer.T)), noise_slope


class _Contraction:
    r"""Adds up :math:`\sum W_{ab}\,\partial k(z_a,x_b)/\partial\theta`, :math:`\sum g_b\,\partial k(x_b,x_b)` and
    :math:`\sum W_{ab}\,\partial k(z_a,z_b)` over blocks of rows; one matrix product per block for radial kernels."""

    def __init__(self, signal: Kernel, Z: Floats):
        self.signal, self.Z = signal, Z
        self.form = radial_form(signal)
        self.total, self.per_column = 0.0, np.zeros(Z.shape[1])
        self.slope = np.zeros(len(signal.theta))

    def add(self, X: Floats, weights: Floats, diagonal: Floats) -> None:
        if self.form is not None:
            self._radial(self.form, X, weights)
            self.total += self.form.amplitude * float(diagonal.sum())
            return
        # A rectangle is a part of a symmetric matrix, half of it on either side of the diagonal.
        m, size = len(self.Z), max(1, min(len(self.Z), len(X)))
        for start in range(0, len(X), size):
            part = slice(start, min(start + size, len(X)))
            stacked = np.zeros((m + part.stop - part.start,) * 2)
            stacked[:m, m:] = 0.5 * weights[:, part]
            stacked[m:, :m] = stacked[:m, m:].T
            stacked[np.arange(m, len(stacked)), np.arange(m, len(stacked))] = diagonal[part]
            self.slope += self.signal.gradient(np.concatenate([self.Z, X[part]]), stacked)

    def finish(self, weights: Floats) -> Floats:
        if self.form is None:
            return self.slope + self.signal.gradient(self.Z, weights)
        self._radial(self.form, self.Z, weights)
        return self.form.gradient(self.total, self.per_column, 0.0)

    def _radial(self, form: RadialForm, X: Floats, weights: Floats) -> None:
        z, x = form.scaled.scaled(self.Z), form.scaled.scaled(X)
        left, right = distance_factors(z, x)
        values, slopes = form.profile(np.maximum(left @ right.T, 0))
        self.total += float(np.vdot(weights, values))
        M = weights * slopes
        center = z.mean(axis=0)
        z, x = z - center, x - center
        self.per_column += M.sum(axis=1) @ z**2 + M.sum(axis=0) @ x**2 - 2 * np.einsum("ij,ij->j", z, M @ x)


def spread_rows(X: Floats, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """``m`` rows far from each other: each next one is drawn with probability proportional to its squared distance
    to those before (k-means++), in units of the standard deviation of every column."""
    spread = X.std(axis=0)
    scaled = X / np.where(spread > 0, spread, 1.0)
    chosen = [int(rng.integers(len(X)))]
    nearest = np.full(len(X), np.inf)
    for _ in range(m - 1):
        away = scaled - scaled[chosen[-1]]
        nearest = np.minimum(nearest, np.einsum("ij,ij->i", away, away))
        cumulative = np.cumsum(nearest)
        if cumulative[-1] <= 0:
            break  # fewer distinct rows than wanted
        chosen.append(
            int(np.searchsorted(cumulative, rng.uniform() * cumulative[-1], side="right").clip(max=len(X) - 1))
        )
    return np.sort(np.array(chosen, dtype=np.int64))


def _with_noise(kernel: Kernel, signal_slope: Floats, noise_slope: float) -> Floats:
    """The slopes of the signal's parameters and of the noise terms, in the order of the whole kernel."""
    parts, start = [np.zeros(0)], 0
    for term in terms_of(kernel):
        count = len(term.theta)
        if isinstance(term, WhiteKernel):
            parts.append(np.array([term.noise_level * noise_slope for _ in term.free]))
        else:
            parts.append(signal_slope[start : start + count])
            start += count
    return np.concatenate(parts)


def _nothing(theta: Floats, m: int) -> SparseEvaluation:
    return SparseEvaluation(-np.inf, np.zeros(len(theta)), np.eye(m), np.eye(m), np.zeros(m), np.nan)
