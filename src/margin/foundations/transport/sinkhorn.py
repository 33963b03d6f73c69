"""Entropic transport by Sinkhorn's algorithm, in the log domain at the speed of matrix-vector products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.core.records import Record
from margin.foundations.transport.arguments import as_cost, as_masses, check_equal_mass
from margin.foundations.transport.log_domain import log_sum_exp

__all__ = ["EntropicTransport", "Sinkhorn", "round_to_coupling", "sinkhorn"]

Array = NDArray[np.float64]

# Scalings are folded into the potentials before they leave [e^-100, e^100]. Kernel entries lost to underflow are
# below e^-708, so even after two scalings they stay below e^-508 of a mass.
LARGEST_SCALING = float(np.exp(100.0))
# Rows of the kernel taken at once: both products with a block of half a megabyte find it in the cache.
BLOCK_ENTRIES = 65536


@dataclass(frozen=True)
class EntropicTransport:
    """The plan exp((f + g - M) / reg), its transport cost, its potentials and how it was reached."""

    plan: Array
    cost: float
    f: Array
    g: Array
    n_iter: int
    marginal_error: float
    converged: bool


class Sinkhorn:
    r"""The alternating updates of the entropic problem, one :class:`~margin.core.records.Record` per sweep.

    .. math:: \min_{T \in \Gamma(a, b)} \langle T, M \rangle + \varepsilon \sum_{ij} T_{ij} (\log T_{ij} - 1),
       \qquad T_{ij} = e^{(f_i + g_j - M_{ij}) / \varepsilon}

    .. math:: f_i = \varepsilon \log a_i - \varepsilon \log \sum_j e^{(g_j - M_{ij}) / \varepsilon}, \qquad
       g_j = \varepsilon \log b_j - \varepsilon \log \sum_i e^{(f_i - M_{ij}) / \varepsilon}

    After every record ``f`` and ``g`` are usable and the rows of the plan sum to ``a`` exactly.

    >>> problem = Sinkhorn([0.5, 0.5], [0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]], reg=0.1)
    >>> next(problem.iterate(10))["marginal_error"] < 1e-12
    True
    """

    def __init__(self, a: ArrayLike, b: ArrayLike, M: ArrayLike, reg: float) -> None:
        a, b = np.atleast_1d(a), np.atleast_1d(b)
        self.a, self.b = as_masses("sinkhorn", "a", a, a.size), as_masses("sinkhorn", "b", b, b.size)
        check_equal_mass("sinkhorn", self.a, self.b)
        self.M = as_cost("sinkhorn", M, a.size, b.size)
        if isinstance(reg, str) or not (np.isfinite(reg) and reg > 0):
            raise ValueError(f"sinkhorn: reg must be a positive number; got {reg!r}.")
        self.reg = float(reg)
        # An empty source or sink has potential -inf and takes no part: sweep over the others.
        self._rows, self._columns = np.flatnonzero(self.a), np.flatnonzero(self.b)
        all_take_part = self.a.all() and self.b.all()
        inner = self.M if all_take_part else self.M[np.ix_(self._rows, self._columns)]
        matched = self.b[self._columns] * (self.a.sum() / self.b.sum())
        self._sweeps = _Sweeps(self.a[self._rows], matched, inner, self.reg)

    def iterate(self, max_iter: int) -> Iterator[Record]:
        """One record per sweep; ``marginal_error`` is the L1 distance of the column sums from ``b``."""
        for iteration in range(1, max_iter + 1):
            error = self._sweeps.sweep()
            yield Record(iteration, {"marginal_error": error}, total=max_iter)

    @property
    def f(self) -> Array:
        """Potentials of the sources, shape (m,)."""
        potentials = np.full(self.a.size, -np.inf)
        potentials[self._rows] = self._sweeps.potentials()[0]
        return potentials

    @property
    def g(self) -> Array:
        """Potentials of the sinks, shape (n,)."""
        potentials = np.full(self.b.size, -np.inf)
        potentials[self._columns] = self._sweeps.potentials()[1]
        return potentials

    def plan(self) -> Array:
        """The current plan, shape (m, n)."""
        return _plan(self.f, self.g, self.M, self.reg)


def sinkhorn(
    a: ArrayLike, b: ArrayLike, M: ArrayLike, reg: float, tol: float = 1e-9, max_iter: int = 10_000
) -> EntropicTransport:
    """Entropic transport until the column sums are within ``tol`` of ``b`` in L1, relative to the total mass.

    Parameters
    ----------
    a : array-like of shape (m,)
        Masses of the source.
    b : array-like of shape (n,)
        Masses of the target.
    M : array-like of shape (m, n)
        Costs.
    reg : float
        Strength of the entropy.
    tol : float
        Error of the column sums at which it ends.
    max_iter : int
        Most sweeps.

    Examples
    --------
    >>> answer = sinkhorn([0.5, 0.5], [0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]], reg=0.1)
    >>> answer.converged, answer.plan.round(3).tolist()
    (True, [[0.5, 0.0], [0.0, 0.5]])
    """
    if max_iter < 1:
        raise ValueError(f"sinkhorn: max_iter must be at least 1; got {max_iter}.")
    problem = Sinkhorn(a, b, M, reg)
    limit = tol * problem.a.sum()
    for record in problem.iterate(max_iter):
        if record["marginal_error"] <= limit:
            break
    error = record["marginal_error"]
    plan = problem.plan()
    cost = float(np.vdot(plan, problem.M))
    return EntropicTransport(plan, cost, problem.f, problem.g, record.iteration, error, bool(error <= limit))


def round_to_coupling(T: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    r"""A coupling near ``T``: rows, then columns, are scaled down to their masses and the rest is added as a product.

    After J. Altschuler, J. Weed, P. Rigollet, Near-linear time approximation algorithms for optimal transport, 2017.

    Parameters
    ----------
    T : array-like of shape (m, n)
        A nonnegative matrix.
    a : array-like of shape (m,)
        Row sums of the coupling.
    b : array-like of shape (n,)
        Column sums of the coupling.

    Examples
    --------
    >>> round_to_coupling([[0.4, 0.2], [0.2, 0.3]], [0.5, 0.5], [0.5, 0.5]).sum(axis=0).tolist()
    [0.5, 0.5]
    """
    near = np.array(T, dtype=np.float64)
    wanted_rows, wanted_columns = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    tiny = np.finfo(np.float64).tiny  # an empty row stays empty
    near *= np.minimum(wanted_rows / np.maximum(near.sum(axis=1), tiny), 1.0)[:, None]
    near *= np.minimum(wanted_columns / np.maximum(near.sum(axis=0), tiny), 1.0)
    missing_rows, missing_columns = wanted_rows - near.sum(axis=1), wanted_columns - near.sum(axis=0)
    missing = missing_rows.sum()
    return near + np.outer(missing_rows, missing_columns) / missing if missing > 0 else near


class _Sweeps:
    """Sinkhorn sweeps on a kernel that has the potentials folded in, so that its scalings stay near one."""

    def __init__(self, a: Array, b: Array, M: Array, reg: float) -> None:
        self.a, self.b, self.M, self.reg = a, b, M, reg
        self.columns: Array | None = None  # K^T u of the last sweep
        # Every row and every column of the first kernel has an entry of one and none above.
        self.f = M.min(axis=1)
        self.g = (M - self.f[:, None]).min(axis=0)
        self._fold()

    def sweep(self) -> float:
        """Make the columns exact, then the rows, and say by how much the columns then miss ``b``."""
        if self.columns is not None:
            self._scale_columns(self.columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.u, columns = self._scale_rows()
        if not (np.isfinite(self.u).all() and np.isfinite(columns).all() and (columns > 0).all()):
            # A row or column of the kernel underflowed: take this sweep in logs instead.
            self._sweep_in_logs()
            self.u, columns = self._scale_rows()
        self.columns = columns
        return float(np.abs(self.v * columns - self.b).sum())

    def _scale_columns(self, columns: Array) -> None:
        self.v = self.b / columns
        largest = max(self.u.max(), self.v.max(), 1.0 / self.u.min(), 1.0 / self.v.min())
        if largest > LARGEST_SCALING:
            self.f, self.g = self.potentials()
            self._fold()

    def potentials(self) -> tuple[Array, Array]:
        return self.f + self.reg * np.log(self.u), self.g + self.reg * np.log(self.v)

    def _scale_rows(self) -> tuple[Array, Array]:
        """u = a / (K v) and K^T u in one pass over the kernel."""
        u, columns = np.empty(len(self.a)), np.zeros(len(self.b))
        step = max(1, BLOCK_ENTRIES // len(self.b))
        for start in range(0, len(self.a), step):
            block = slice(start, start + step)
            u[block] = self.a[block] / (self.kernel[block] @ self.v)
            columns += u[block] @ self.kernel[block]
        return u, columns

    def _sweep_in_logs(self) -> None:
        f = self.reg * (np.log(self.a) - log_sum_exp((self.g - self.M) / self.reg, axis=1))
        self.g = self.reg * (np.log(self.b) - log_sum_exp((f[:, None] - self.M) / self.reg, axis=0))
        self.f = f
        self._fold()

    def _fold(self) -> None:
        self.u, self.v = np.ones(len(self.a)), np.ones(len(self.b))
        self.kernel = _plan(self.f, self.g, self.M, self.reg)


def _plan(f: Array, g: Array, M: Array, reg: float) -> Array:
    exponent = f[:, None] + g
    exponent -= M
    exponent /= reg
    return np.exp(exponent, out=exponent)
