r"""Approximate inference by sampling: likelihood weighting and Gibbs.

Likelihood weighting draws every variable after its parents, sets those of the evidence, and weighs the row with their
probability, :math:`w = \prod_{e} p(x_e \mid x_{pa(e)})`. Gibbs draws one variable after the other from its conditional
distribution given all others, :math:`p(x_i \mid x_{-i}) \propto \prod_{f \ni i} \phi_f(x_f)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.factors import Factor, cardinalities, restrict
from margin.graphical.graphs import Name, topological_order
from margin.graphical.network import DiscreteNetwork, draw_states, row_index

__all__ = ["WeightedStates", "flat_factors", "gibbs_samples", "likelihood_weighting"]


class WeightedStates(NamedTuple):
    """Rows of states (n, variables) and their weights, of mean p(evidence)."""

    states: np.ndarray
    weights: np.ndarray

    @property
    def effective_size(self) -> float:
        """Number of equally weighted rows that would be as good."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    def marginal(self, column: int, n_states: int) -> np.ndarray:
        """The estimated distribution of one column given the evidence."""
        total = self.weights.sum()
        if total <= 0:
            raise ValueError("likelihood_weighting: every drawn row contradicts the evidence; draw more rows.")
        return np.bincount(self.states[:, column], self.weights, minlength=n_states) / total


def likelihood_weighting(
    network: DiscreteNetwork, evidence: Mapping[Name, int], n_samples: int, random_state: RandomLike = None
) -> WeightedStates:
    """Rows drawn with the evidence set, and their weights."""
    restrict(network.factors(), evidence, "likelihood_weighting")
    rng = as_generator(random_state)
    names, sizes = network.variables, network.sizes
    rows = np.zeros((n_samples, len(names)), dtype=np.int64)
    weights = np.ones(n_samples)
    for name in topological_order(network.parents):
        above = network.parents[name]
        index, size = row_index(rows, [names.index(v) for v in above], [sizes[v] for v in above])
        table = network.tables[name].reshape(size, -1)
        if name in evidence:
            rows[:, names.index(name)] = evidence[name]
            weights *= table[index, evidence[name]]
        else:
            rows[:, names.index(name)] = draw_states(table, index, rng)
    return WeightedStates(rows, weights)


def gibbs_samples(
    factors: Sequence[Factor],
    n_samples: int,
    random_state: RandomLike = None,
    *,
    evidence: Mapping[Name, int] | None = None,
    burn_in: int = 100,
    thin: int = 1,
    start: Mapping[Name, int] | None = None,
) -> tuple[tuple[Name, ...], np.ndarray]:
    """Names of the variables outside the evidence, and rows of their states, one after every ``thin`` sweeps.

    Zeros in the factors may cut the states into parts between which a chain never moves; give a ``start`` of positive
    probability then, and do not trust the result.
    """
    from margin.compiled.graphical import gibbs_sweeps

    rng = as_generator(random_state)
    left = restrict(factors, evidence or {}, "gibbs_samples")
    sizes = cardinalities(left)
    names = tuple(sizes)
    flat = flat_factors(left, names)
    state = np.array([(start or {}).get(name, rng.integers(sizes[name])) for name in names], dtype=np.int64)
    counts = np.array([sizes[name] for name in names], dtype=np.int64)
    rows, weight = np.empty((n_samples, len(names)), dtype=np.int64), np.empty(counts.max(initial=0))
    gibbs_sweeps(state, counts, *flat, rng.random((burn_in, len(names))), weight, rows[:0], 1)
    for begin in range(0, n_samples, 1024):  # uniforms are drawn outside the kernel, in blocks
        block = rows[begin : begin + 1024]
        if not gibbs_sweeps(state, counts, *flat, rng.random((len(block) * thin, len(names))), weight, block, thin):
            raise ValueError("gibbs_samples: the chain is in a state of probability 0; give a start that is possible.")
    return names, rows


def flat_factors(
    factors: Sequence[Factor], names: Sequence[Name]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Log-tables of the factors, end to end, and where to find what, as the kernel wants it.

    The arrays are: values; offset of every factor; begin of its members; members (columns); their strides; begin of the
    factors of every variable; those factors.
    """
    column = {name: i for i, name in enumerate(names)}
    values: list[np.ndarray] = []
    offsets: list[int] = []
    begins, members, strides = [0], [], []
    of_variable: list[list[int]] = [[] for _ in names]
    position = 0
    for factor in (f for f in factors if f.variables):
        with np.errstate(divide="ignore"):
            values.append(np.log(factor.values).ravel())
        for axis, name in enumerate(factor.variables):
            members.append(column[name])
            strides.append(int(np.prod(factor.values.shape[axis + 1 :], dtype=np.int64)))
            of_variable[column[name]].append(len(offsets))
        offsets.append(position)
        begins.append(len(members))
        position += factor.values.size
    firsts = np.cumsum([0, *(len(own_factors) for own_factors in of_variable)])
    integers = (offsets, begins, members, strides, firsts, [f for own_factors in of_variable for f in own_factors])
    first, *rest = (np.array(part, dtype=np.int64) for part in integers)
    return (np.concatenate(values) if values else np.zeros(0), first, *rest)  # type: ignore[return-value]
