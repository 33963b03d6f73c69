"""Marginals of a network by sampling or by a factorized distribution, where exact tables would be too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise

import numpy as np

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.factors import Factor, product, restrict
from margin.graphical.graphs import Name
from margin.graphical.mean_field import mean_field_steps
from margin.graphical.network import DiscreteNetwork
from margin.graphical.sampling import gibbs_samples, likelihood_weighting

__all__ = ["APPROXIMATIONS", "approximate_marginal"]

APPROXIMATIONS = ("likelihood_weighting", "gibbs", "mean_field")
BURN_IN = 200  # sweeps of Gibbs before the first row counts
MOST_SWEEPS, SMALLEST_GAIN = 1000, 1e-10  # of coordinate ascent on the bound, which only rises
LEAST = 1e-12  # probability in place of 0 for mean field, whose fields are logarithms


def approximate_marginal(
    network: DiscreteNetwork,
    variables: Sequence[Name],
    evidence: Mapping[Name, int],
    method: str,
    n_samples: int = 10_000,
    random_state: RandomLike = None,
) -> Factor:
    """The estimated distribution of ``variables`` given ``evidence``.

    "likelihood_weighting" and "gibbs" draw ``n_samples`` rows, whose error falls with the root of their number; "gibbs"
    begins at a row of likelihood weighting. "mean_field" is the product of distributions of single variables that is
    nearest to the posterior in its own mean log ratio: it draws nothing but its start, and joint tables are products.

    >>> net = DiscreteNetwork({"a": [], "b": ["a"]}, {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.4, 0.6]]})
    >>> approximate_marginal(net, ["a"], {"b": 1}, "gibbs", random_state=0).values.round(1)
    array([0.1, 0.9])
    """
    asked = list(variables)
    for name in asked:
        if name not in network.sizes or name in evidence or asked.count(name) > 1:
            raise ValueError(
                f"approximate_marginal: variables must be different ones of the network outside the evidence; "
                f"got {name!r}."
            )
    if method == "mean_field":
        return _mean_field(network, asked, evidence, random_state)
    rng = as_generator(random_state)
    drawn = likelihood_weighting(network, evidence, n_samples, rng)
    rows, weights, names = drawn.states, drawn.weights, list(network.variables)
    if not weights.any():
        raise ValueError(
            f"approximate_marginal: all {n_samples} drawn rows contradict the evidence; draw more rows or ask exactly."
        )
    if method == "gibbs":
        start = dict(zip(names, rows[int(weights.argmax())].tolist()))
        left, rows = gibbs_samples(network.factors(), n_samples, rng, evidence=evidence, burn_in=BURN_IN, start=start)
        names, weights = list(left), np.ones(n_samples)
    shape = tuple(network.sizes[name] for name in asked)
    cells = np.ravel_multi_index([rows[:, names.index(name)] for name in asked], shape)
    counts = np.bincount(cells, weights, minlength=int(np.prod(shape)))
    return Factor(asked, (counts / counts.sum()).reshape(shape))


def _mean_field(
    network: DiscreteNetwork, asked: list[Name], evidence: Mapping[Name, int], random_state: RandomLike
) -> Factor:
    given = restrict(network.factors(), evidence, "approximate_marginal")
    factors = [Factor(f.variables, np.maximum(f.values, LEAST)) for f in given if f.variables]
    steps = islice(mean_field_steps(factors, random_state), MOST_SWEEPS)
    last = None
    for before, last in pairwise(steps):
        if last.elbo - before.elbo < SMALLEST_GAIN * max(1.0, abs(last.elbo)):
            break
    assert last is not None
    return product(Factor([name], last.marginals[name]) for name in asked)
