r"""Joint laws of several discrete variables as a table, and the rules that take them apart.

.. math:: p(x) = \sum_y p(x, y), \qquad p(x\mid y) = \frac{p(x, y)}{p(y)}, \qquad
          p(x_1,\dots,x_m) = \prod_i p(x_i\mid x_1,\dots,x_{i-1})
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import SIMPLEX_TOLERANCE, Array, freeze, numbers

__all__ = ["Joint", "marginal_density"]


@dataclass(frozen=True, eq=False, init=False)
class Joint:
    """``table[i, j, ...]`` is the probability that the first variable takes its i-th value, the second its j-th, ...

    >>> joint = Joint([[0.1, 0.3], [0.2, 0.4]])
    >>> joint.marginal(0).table.round(12).tolist()
    [0.4, 0.6]
    >>> joint.conditional(given=0).round(12).tolist()
    [[0.25, 0.75], [0.333333333333, 0.666666666667]]
    """

    table: Array

    def __init__(self, table: ArrayLike) -> None:
        table = numbers("Joint", "table", table)
        if table.ndim == 0 or table.size == 0 or not np.all(table >= 0):
            raise ValueError(f"Joint: table must be a non-empty array of probabilities; got shape {table.shape}.")
        if not abs(table.sum() - 1) <= SIMPLEX_TOLERANCE:
            raise ValueError(f"Joint: table must sum to 1; got a sum of {table.sum():.6g}.")
        object.__setattr__(self, "table", freeze(table / table.sum()))

    def marginal(self, keep: int | Sequence[int]) -> Joint:
        """The law of the variables ``keep``, in the order given: all others summed out."""
        axes = self._axes("marginal", keep)
        summed = self.table.sum(axis=tuple(set(range(self.table.ndim)) - set(axes)))
        order = np.argsort(np.argsort(axes))
        return Joint(np.transpose(summed, order))

    def conditional(self, given: int | Sequence[int]) -> Array:
        """p(the rest | given), shaped like the table; every slice at fixed ``given`` sums to one.

        A value of ``given`` that never occurs has no conditional law and is reported.
        """
        evidence = self._keep(self._axes("conditional", given))
        if np.any(evidence == 0):
            where = np.argwhere(evidence == 0)[0]
            values = [int(where[axis]) for axis in self._axes("conditional", given)]
            raise ValueError(f"Joint.conditional: the value {values} of variables {given} has probability zero.")
        return self.table / evidence

    def chain_factors(self, order: Sequence[int] | None = None) -> list[Array]:
        """The factors p(x_i | those before it in ``order``); they broadcast, and multiplied they are the table.

        Where a condition never occurs its factor is 0: the product is 0 there already.
        """
        axes = self._axes("chain_factors", range(self.table.ndim) if order is None else order)
        if len(axes) != self.table.ndim:
            raise ValueError(f"Joint.chain_factors: order must name all {self.table.ndim} variables; got {order!r}.")
        prefixes = [self._keep(axes[: i + 1]) for i in range(len(axes))]
        before = [np.ones_like(prefixes[0][:1]), *prefixes[:-1]]
        return [np.divide(p, q, out=np.zeros_like(p + q), where=(q > 0)) for p, q in zip(prefixes, before)]

    def expectation(self, g: ArrayLike) -> float:
        """E[g] of a table of values ``g`` shaped like (or broadcasting to) the joint."""
        return float(np.sum(self.table * numbers("Joint.expectation", "g", g)))

    def conditional_expectation(self, g: ArrayLike, given: int | Sequence[int]) -> Array:
        """E[g | given] as a table over ``given``, other axes kept with length one."""
        axes = self._axes("conditional_expectation", given)
        rest = tuple(set(range(self.table.ndim)) - set(axes))
        return np.sum(self.conditional(given) * numbers("Joint", "g", g), axis=rest, keepdims=True)

    def _keep(self, axes: Sequence[int]) -> Array:
        return self.table.sum(axis=tuple(set(range(self.table.ndim)) - set(axes)), keepdims=True)

    def _axes(self, method: str, axes: int | Sequence[int]) -> list[int]:
        chosen = [axes] if isinstance(axes, int) else list(axes)
        if len(set(chosen)) != len(chosen) or not all(0 <= axis < self.table.ndim for axis in chosen):
            raise ValueError(f"Joint.{method}: variables must be distinct and below {self.table.ndim}; got {axes!r}.")
        return chosen


def marginal_density(
    joint: Callable[[float, float], float], x: float, low: float = -np.inf, high: float = np.inf
) -> float:
    r"""The continuous sum rule :math:`p(x) = \int p(x, y)\,dy` at one x, by adaptive quadrature.

    Parameters
    ----------
    joint : callable
        Density of x and y.
    x : float
        The point.
    low : float
        Least value of y.
    high : float
        Largest value of y.

    Examples
    --------
    >>> uniform_triangle = lambda x, y: 2.0 if 0 <= y <= x <= 1 else 0.0
    >>> round(marginal_density(uniform_triangle, 0.25, 0, 0.25), 9)
    0.5
    """
    from scipy import integrate

    return float(integrate.quad(lambda y: joint(x, y), low, high, epsabs=1e-12, epsrel=1e-10, limit=200)[0])
