r"""Bayes' rule: from the probability of an observation given its reason to that of the reason given the observation.

.. math:: \underbrace{\Pr(R\mid O)}_{\text{posterior}} =
          \frac{\overbrace{\Pr(R)}^{\text{prior}}\ \overbrace{\Pr(O\mid R)}^{\text{likelihood}}}
               {\underbrace{\Pr(O)}_{\text{evidence}}}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, freeze, numbers, positive, real, simplex
from margin.foundations.probability.normal import Normal

__all__ = ["DiscreteBayes", "bayes", "grid_posterior", "normal_posterior", "posterior"]

ROW_TOLERANCE = 1e-6


def bayes(prior: ArrayLike, likelihood: ArrayLike, evidence: ArrayLike) -> Array:
    """Pr(R|O) from Pr(R), Pr(O|R) and Pr(O), elementwise.

    Parameters
    ----------
    prior : array-like
        Pr(R).
    likelihood : array-like
        Pr(O|R).
    evidence : array-like
        Pr(O).

    Examples
    --------
    >>> float(bayes(0.01, 0.9, 0.01 * 0.9 + 0.99 * 0.1).round(4))
    0.0833
    """
    p_o = numbers("bayes", "evidence", evidence)
    if not np.all(p_o > 0):
        raise ValueError("bayes: evidence must be positive; an observation of probability zero decides nothing.")
    return numbers("bayes", "prior", prior) * numbers("bayes", "likelihood", likelihood) / p_o


def posterior(log_prior: ArrayLike, log_likelihood: ArrayLike) -> Array:
    """The normalized product of prior and likelihood over a finite set of reasons, from logarithms (last axis).

    Parameters
    ----------
    log_prior : array-like of shape (..., k)
        Logarithms of the prior.
    log_likelihood : array-like of shape (..., k)
        Logarithms of the likelihood.

    Examples
    --------
    >>> posterior(np.log([0.5, 0.5]), np.log([0.2, 0.6])).round(12).tolist()
    [0.25, 0.75]
    """
    log_joint = numbers("posterior", "log_prior", log_prior) + numbers("posterior", "log_likelihood", log_likelihood)
    if np.any(np.max(log_joint, axis=-1) == -np.inf):
        raise ValueError("posterior: every reason has probability zero under this observation.")
    return special.softmax(log_joint, axis=-1)


def grid_posterior(grid: ArrayLike, log_prior: ArrayLike, log_likelihood: ArrayLike) -> Array:
    """A continuous posterior on an increasing grid: density values whose trapezoid integral is one.

    Parameters
    ----------
    grid : array-like of shape (k,)
        Increasing points.
    log_prior : array-like of shape (k,)
        Log-density of the prior on the grid.
    log_likelihood : array-like of shape (k,)
        Log-likelihood on the grid.
    """
    z = numbers("grid_posterior", "grid", grid)
    if z.ndim != 1 or z.size < 2 or not np.all(np.diff(z) > 0):
        raise ValueError(f"grid_posterior: grid must be an increasing vector; got shape {z.shape}.")
    density = posterior(log_prior, log_likelihood)
    return density / np.trapezoid(density, z)


def normal_posterior(prior: Normal, x: float, noise: float) -> Normal:
    r"""Posterior of z when :math:`z\sim` ``prior`` and :math:`x\mid z\sim\mathcal N(z, \text{noise}^2)`: precisions
    add, and the mean is their weighted average.

    >>> normal_posterior(Normal(0, 1), x=3.0, noise=1.0).mean
    1.5
    """
    precision, seen = 1 / prior.variance, 1 / positive("normal_posterior", "noise", noise) ** 2
    mean = (precision * prior.mean + seen * real("normal_posterior", "x", x)) / (precision + seen)
    return Normal(mean, float(1 / np.sqrt(precision + seen)))


@dataclass(frozen=True, eq=False, init=False)
class DiscreteBayes:
    """Finitely many reasons and observations: ``prior`` (r,) and ``likelihood[r, o]`` = Pr(o | r), rows sum to one.

    >>> coin = DiscreteBayes(prior=[0.5, 0.5], likelihood=[[0.5, 0.5], [0.9, 0.1]])
    >>> coin.posterior(0).round(4).tolist()
    [0.3571, 0.6429]
    """

    prior: Array
    likelihood: Array

    def __init__(self, prior: ArrayLike, likelihood: ArrayLike) -> None:
        object.__setattr__(self, "prior", simplex("DiscreteBayes", "prior", prior))
        table = numbers("DiscreteBayes", "likelihood", likelihood)
        if table.ndim != 2 or len(table) != self.prior.size or not np.all(table >= 0):
            raise ValueError(
                f"DiscreteBayes: likelihood must be a table of probabilities with {self.prior.size} rows; "
                f"got shape {table.shape}."
            )
        if np.any(np.abs(table.sum(axis=1) - 1) > ROW_TOLERANCE):
            raise ValueError(f"DiscreteBayes: rows of likelihood must sum to 1; got {table.sum(axis=1).tolist()}.")
        object.__setattr__(self, "likelihood", freeze(table))

    @property
    def joint(self) -> Array:
        """Pr(r, o)."""
        return self.prior[:, None] * self.likelihood

    @property
    def evidence(self) -> Array:
        """Pr(o), the joint summed over reasons."""
        return self.prior @ self.likelihood

    def posterior(self, observation: int) -> Array:
        """Pr(r | o): the observed column of the joint, divided by the evidence."""
        if not 0 <= observation < self.likelihood.shape[1]:
            raise ValueError(f"DiscreteBayes: observation must be below {self.likelihood.shape[1]}; got {observation}.")
        return bayes(self.prior, self.likelihood[:, observation], self.evidence[observation])
