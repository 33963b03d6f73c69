r"""Markov random fields: undirected products of factors, :math:`p(x) = \frac1Z \prod_f \phi_f(x_f)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from margin.core.randomness import RandomLike
from margin.graphical.elimination import log_partition, marginal, most_probable
from margin.graphical.factors import Factor, cardinalities
from margin.graphical.graphs import Name
from margin.graphical.sampling import gibbs_samples

__all__ = ["MarkovRandomField", "chain_factors", "ising_grid"]


@dataclass(frozen=True, init=False)
class MarkovRandomField:
    """Potentials over named variables.

    >>> field = ising_grid(2, 2, coupling=0.5)
    >>> field.marginal([(0, 0)]).values
    array([0.5, 0.5])
    """

    potentials: tuple[Factor, ...]

    def __init__(self, potentials: Sequence[Factor]) -> None:
        if not cardinalities(potentials):
            raise ValueError("MarkovRandomField: potentials must hold at least one variable.")
        object.__setattr__(self, "potentials", tuple(potentials))

    @property
    def variables(self) -> tuple[Name, ...]:
        return tuple(cardinalities(self.potentials))

    def log_partition(self) -> float:
        r""":math:`\log Z`, exactly."""
        return log_partition(self.potentials)

    def marginal(self, query: Sequence[Name], evidence: Mapping[Name, int] | None = None) -> Factor:
        """The exact distribution of some variables given others."""
        return marginal(self.potentials, query, evidence)

    def most_probable(self, evidence: Mapping[Name, int] | None = None) -> dict[Name, int]:
        """The most probable states of all variables."""
        return most_probable(self.potentials, evidence)

    def log_potential(self, states: np.ndarray) -> np.ndarray:
        r"""The logarithm of the product for every row of states, without :math:`\log Z`."""
        columns = {name: i for i, name in enumerate(self.variables)}
        total = np.zeros(len(states))
        with np.errstate(divide="ignore"):
            for factor in self.potentials:
                total += np.log(factor.values[tuple(states[:, columns[v]] for v in factor.variables)])
        return total

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, *, burn_in: int = 200, thin: int = 5):
        """Rows of states by Gibbs sampling, columns in the order of ``variables``; neighbors are correlated."""
        names, rows = gibbs_samples(self.potentials, n_samples, random_state, burn_in=burn_in, thin=thin)
        return rows[:, [names.index(v) for v in self.variables]]


def ising_grid(height: int, width: int, coupling: float, field: float = 0.0) -> MarkovRandomField:
    r"""Spins on a grid, :math:`p(s) \propto \exp(J \sum_{i \sim j} s_i s_j + h \sum_i s_i)`; state 1 is spin +1."""
    spins = np.array([-1.0, 1.0])
    pair, single = np.exp(coupling * np.outer(spins, spins)), np.exp(field * spins)
    potentials = [Factor([(i, j)], single) for i in range(height) for j in range(width)]
    potentials += [Factor([(i, j), (i, j + 1)], pair) for i in range(height) for j in range(width - 1)]
    potentials += [Factor([(i, j), (i + 1, j)], pair) for i in range(height - 1) for j in range(width)]
    return MarkovRandomField(potentials)


def chain_factors(log_emissions: np.ndarray, log_transition: np.ndarray, log_start: np.ndarray) -> list[Factor]:
    """A hidden Markov model or a linear-chain CRF on one sequence (T, states), as factors over the times 0, 1, ..."""
    times = range(len(log_emissions))
    singles = [Factor([t], np.exp(log_emissions[t] + (log_start if t == 0 else 0.0))) for t in times]
    return singles + [Factor([s, t], np.exp(log_transition)) for s, t in pairwise(times)]
