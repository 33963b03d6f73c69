r"""Coordinate ascent for fully factorized distributions, where every step has a closed form and the bound only rises.

For a product of factors the best :math:`q_i` given the others is

.. math:: q_i(x_i) \propto \exp\Bigl(\sum_{f \ni i} E_{q_{-i}}[\log \phi_f(x_f)]\Bigr) .

For the Bayesian mixture of K unit-variance normals with means :math:`\mu_k \sim N(0, \tau^2)` and equal weights the two
coordinate updates are those of :func:`mixture_coordinate_ascent`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import entr, softmax

from margin.core.randomness import RandomLike, as_generator
from margin.graphical.factors import Factor, cardinalities
from margin.graphical.graphs import Name

__all__ = ["MeanFieldStep", "MixtureStep", "mean_field_steps", "mixture_coordinate_ascent", "normal_mean_field"]


class MeanFieldStep(NamedTuple):
    """Marginals of the factorized distribution and its bound of log Z."""

    marginals: dict[Name, np.ndarray]
    elbo: float


class MixtureStep(NamedTuple):
    """Normal posteriors of the means, responsibilities (n, K), and the bound of the log evidence."""

    means: np.ndarray
    variances: np.ndarray
    responsibilities: np.ndarray
    elbo: float


def mean_field_steps(factors: Sequence[Factor], random_state: RandomLike = 0) -> Iterator[MeanFieldStep]:
    """Sweeps over the variables without end; factors must be positive."""
    if any((factor.values <= 0).any() for factor in factors):
        raise ValueError("mean_field_steps: factors must be positive everywhere.")
    rng = as_generator(random_state)
    q = {name: rng.dirichlet(np.full(size, 10.0)) for name, size in cardinalities(factors).items()}
    tables = [(f.variables, np.log(f.values)) for f in factors]
    while True:
        for name in q:
            field = np.zeros(len(q[name]))
            for variables, table in tables:
                if name in variables:
                    field += _mean_of_table(variables, table, q, name)
            q[name] = softmax(field)
        bound = sum(_mean_of_table(variables, table, q, None) for variables, table in tables)
        yield MeanFieldStep(dict(q), float(bound + sum(entr(p).sum() for p in q.values())))


def _mean_of_table(
    variables: tuple[Name, ...], table: np.ndarray, q: dict[Name, np.ndarray], but: Name | None
) -> np.ndarray:
    """The mean of a table over the distributions of all its variables except one."""
    for axis in reversed(range(table.ndim)):
        if variables[axis] != but:
            table = np.tensordot(table, q[variables[axis]], axes=(axis, 0))
    return table


def normal_mean_field(precision: np.ndarray) -> np.ndarray:
    r"""Variances :math:`1/\Lambda_{ii}` of the best factorized normal for a normal target; the true are no smaller."""
    return 1.0 / np.diagonal(np.asarray(precision, dtype=np.float64))


def mixture_coordinate_ascent(
    x: np.ndarray, n_components: int, prior_deviation: float = 5.0, random_state: RandomLike = 0
) -> Iterator[MixtureStep]:
    """Coordinate ascent without end for rows ``x`` (n,) of a mixture of unit-variance normals with equal weights."""
    rng = as_generator(random_state)
    precision = 1.0 / prior_deviation**2
    means, variances = rng.choice(x, n_components, replace=False), np.ones(n_components)
    while True:
        r = softmax(np.outer(x, means) - 0.5 * (means**2 + variances), axis=1)
        variances = 1.0 / (precision + r.sum(axis=0))
        means = variances * (r.T @ x)
        fit = np.log(2 * np.pi) + x[:, None] ** 2 - 2 * np.outer(x, means) + means**2 + variances
        prior = 0.5 * (np.log(precision * variances) + 1.0 - precision * (means**2 + variances)).sum()
        bound = -0.5 * float((r * fit).sum()) - len(x) * np.log(n_components) + float(entr(r).sum()) + prior
        yield MixtureStep(means, variances, r, float(bound))
