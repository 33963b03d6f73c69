r"""Factors: non-negative tables over a few named variables, multiplied and summed.

Bayesian networks, Markov random fields, hidden Markov models and conditional random fields are all products of them,

.. math:: p(x) = \frac1Z \prod_f \phi_f(x_f),

so one elimination answers the queries of all four.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from margin.graphical.graphs import Name

__all__ = ["Factor", "cardinalities", "product", "restrict"]


@dataclass(frozen=True, eq=False, init=False)
class Factor:
    """A table with one axis per variable.

    >>> rain = Factor(["rain"], [0.8, 0.2])
    >>> wet = Factor(["rain", "wet"], [[0.9, 0.1], [0.2, 0.8]])
    >>> (rain * wet).sum_out(["rain"]).values.round(2)
    array([0.76, 0.24])
    """

    variables: tuple[Name, ...]
    values: np.ndarray

    def __init__(self, variables: Sequence[Name], values: Any) -> None:
        table = np.asarray(values, dtype=np.float64)
        names = tuple(variables)
        if len(set(names)) < len(names) or table.ndim != len(names):
            raise ValueError(f"Factor: values need one axis for each of the variables {names}; got {table.ndim} axes.")
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise ValueError(f"Factor: values over {names} must be finite and non-negative.")
        object.__setattr__(self, "variables", names)
        object.__setattr__(self, "values", table)

    @classmethod
    def of_checked(cls, variables: tuple[Name, ...], values: np.ndarray) -> Factor:
        """A factor whose table is known to be right because it was made of checked ones: inference makes thousands."""
        factor = object.__new__(cls)
        factor.__dict__.update(variables=variables, values=values)
        return factor

    def __mul__(self, other: Factor) -> Factor:
        names = self.variables + tuple(v for v in other.variables if v not in self.variables)
        return Factor.of_checked(names, self.over(names) * other.over(names))

    def over(self, names: Sequence[Name]) -> np.ndarray:
        """The table with its axes in the order of ``names``, of length 1 for variables that it lacks."""
        if names == self.variables:
            return self.values
        present = [name for name in names if name in self.variables]
        table = self.values.transpose([self.variables.index(name) for name in present])
        sizes = dict(zip(present, table.shape))
        return table.reshape([sizes.get(name, 1) for name in names])

    def sum_out(self, out: Iterable[Name]) -> Factor:
        """The table with the variables ``out`` summed out."""
        return self._without(out, np.add.reduce)

    def maximize(self, out: Iterable[Name]) -> Factor:
        """The table with the variables ``out`` maximized out."""
        return self._without(out, np.maximum.reduce)

    def condition(self, evidence: Mapping[Name, int]) -> Factor:
        """The part of the table where variables have the states of ``evidence``, which lose their axes."""
        if evidence.keys().isdisjoint(self.variables):
            return self
        index = tuple(evidence.get(name, slice(None)) for name in self.variables)
        left = tuple(name for name in self.variables if name not in evidence)
        return Factor.of_checked(left, np.asarray(self.values[index]))

    def normalize(self) -> Factor:
        total = float(self.values.sum())
        if total <= 0:
            raise ValueError(f"Factor: the table over {self.variables} is zero; the evidence has probability 0.")
        return Factor.of_checked(self.variables, self.values / total)

    def reorder(self, names: Sequence[Name]) -> Factor:
        """The same factor with its axes in the order of ``names``."""
        return Factor.of_checked(tuple(names), self.over(tuple(names)))

    def _without(self, out: Iterable[Name], operation: Any) -> Factor:
        dropped = set(out)
        axes = tuple(i for i, name in enumerate(self.variables) if name in dropped)
        if not axes:
            return self
        kept = tuple(name for name in self.variables if name not in dropped)
        return Factor.of_checked(kept, np.asarray(operation(self.values, axis=axes)))


def product(factors: Iterable[Factor]) -> Factor:
    """The product of all factors; that of none is the number 1."""
    listed = list(factors)
    return reduce(mul, listed) if listed else Factor((), 1.0)


def cardinalities(factors: Iterable[Factor]) -> dict[Name, int]:
    """Number of states of every variable; factors that disagree are an error."""
    sizes: dict[Name, int] = {}
    for factor in factors:
        for name, size in zip(factor.variables, factor.values.shape):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"factors: {name!r} has {sizes[name]} states in one factor and {size} in another.")
    return sizes


def restrict(factors: Iterable[Factor], evidence: Mapping[Name, int], caller: str) -> list[Factor]:
    """The factors given the evidence, whose variables and states are checked first."""
    factors = list(factors)
    sizes = cardinalities(factors)
    for name, state in evidence.items():
        if name not in sizes:
            raise ValueError(f"{caller}: there is no variable {name!r}; there are {', '.join(map(str, sizes))}.")
        if isinstance(state, bool) or not isinstance(state, int | np.integer) or not 0 <= state < sizes[name]:
            raise ValueError(
                f"{caller}: the state of {name!r} must be an integer from 0 to {sizes[name] - 1}; got {state!r}."
            )
    return [factor.condition(evidence) for factor in factors]
