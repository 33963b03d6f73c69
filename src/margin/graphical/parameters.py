r"""Tables of a network from data: with Dirichlet priors, and by EM where states are missing.

With all states known the posterior mean of a table is

.. math:: \hat\theta_{ijk} = \frac{N_{ijk} + \alpha}{N_{ij} + \alpha r_i} .

With missing states (-1) the counts are replaced by their expectations given what is known, found by exact inference
for every distinct pattern, and the two steps alternate; the (penalized) log-likelihood never falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from margin.graphical.factors import Factor
from margin.graphical.graphs import Name
from margin.graphical.junction_tree import calibrate
from margin.graphical.network import DiscreteNetwork, row_index
from margin.graphical.scores import family_counts

__all__ = ["EMStep", "em_steps", "expected_counts", "fitted_network", "smooth"]

Graph = Mapping[int, Sequence[int]]


class EMStep(NamedTuple):
    """A network and the log-likelihood of the known states under the network before it."""

    network: DiscreteNetwork
    log_likelihood: float


def smooth(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Probabilities from counts (..., states) with ``alpha`` added to each; without any count they are uniform."""
    total = counts.sum(axis=-1, keepdims=True) + alpha * counts.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, (counts + alpha) / total, 1.0 / counts.shape[-1])


def fitted_network(
    graph: Graph, rows: np.ndarray, sizes: Sequence[int], alpha: float = 1.0, sample_weight: np.ndarray | None = None
) -> DiscreteNetwork:
    """Tables from the rows in which a variable and its parents are all known."""
    counts = {i: family_counts(rows, sizes, i, above, sample_weight) for i, above in graph.items()}
    return _network(graph, counts, sizes, alpha)


def em_steps(
    graph: Graph,
    rows: np.ndarray,
    sizes: Sequence[int],
    alpha: float = 1.0,
    sample_weight: np.ndarray | None = None,
    start: DiscreteNetwork | None = None,
) -> Iterator[EMStep]:
    """EM without end: every step computes expected counts under the last network and tables from them."""
    network = start if start is not None else fitted_network(graph, rows, sizes, max(alpha, 1e-3), sample_weight)
    weights = np.ones(len(rows)) if sample_weight is None else sample_weight
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights, minlength=len(patterns))
    while True:
        counts, log_likelihood = expected_counts(network, patterns, mass)
        network = _network(graph, counts, sizes, alpha)
        yield EMStep(network, log_likelihood)


def expected_counts(
    network: DiscreteNetwork, rows: np.ndarray, mass: np.ndarray
) -> tuple[dict[Name, np.ndarray], float]:
    """Expected counts of every family given the known states of ``rows``, each of weight ``mass``, and log p(known)."""
    sizes = list(network.sizes.values())
    known = (rows >= 0).all(axis=1)
    counts = {name: np.zeros(table.shape) for name, table in network.tables.items()}
    log_likelihood = float(mass[known] @ network.log_prob(rows[known])) if known.any() else 0.0
    columns = {name: i for i, name in enumerate(network.variables)}
    for name, above in network.parents.items():
        members = [columns[v] for v in (*above, name)]
        index, total = row_index(rows[known], members, [sizes[c] for c in members])
        counts[name] += np.bincount(index, mass[known], minlength=total).reshape(counts[name].shape)
    factors = network.factors()
    for row, weight in zip(rows[~known], mass[~known]):
        evidence = {v: int(row[i]) for v, i in columns.items() if row[i] >= 0}
        log_likelihood += weight * _add_expected(factors, evidence, weight, counts)
    return counts, log_likelihood


def _add_expected(
    factors: Sequence[Factor], evidence: Mapping[Name, int], weight: float, counts: dict[Name, np.ndarray]
) -> float:
    """Adds the distribution of every family given the evidence; returns the log-probability of the evidence."""
    tree = calibrate(factors, evidence)
    for factor in factors:
        name = factor.variables[-1]
        hidden = tuple(v for v in factor.variables if v not in evidence)
        index = tuple(evidence.get(v, slice(None)) for v in factor.variables)
        counts[name][index] += weight * (tree.marginal(hidden).values if hidden else 1.0)
    return tree.log_partition


def _network(graph: Graph, counts: Mapping[Name, np.ndarray], sizes: Sequence[int], alpha: float) -> DiscreteNetwork:
    shapes = {i: tuple(sizes[p] for p in (*above, i)) for i, above in graph.items()}
    return DiscreteNetwork(dict(graph), {i: smooth(counts[i].reshape(shapes[i]), alpha) for i in graph})
