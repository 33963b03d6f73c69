r"""Maximum likelihood: choose the parameters under which the data are most probable.

.. math:: \hat\theta = \arg\max_\theta \sum_i \log p_\theta(x_i)

Each :class:`Family` knows its log-density, its closed-form estimate and a map from the whole real space to its
parameters, so the closed form can be compared with a numerical maximizer, and the same family can be the output
of a model :math:`\theta_i = f[x_i, \phi]` with parameters :math:`\phi` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.statistics.arguments import Floats, vector
from margin.foundations.statistics.families import FAMILIES, Family

__all__ = ["LikelihoodEstimate", "fit_conditional", "mle", "mle_numerical"]

Network = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class LikelihoodEstimate:
    """Estimated parameters and the log-likelihood they reach."""

    parameters: Floats
    log_likelihood: float


def mle(family: str, data: ArrayLike) -> LikelihoodEstimate:
    """The closed-form estimate of one of bernoulli, categorical, poisson, geometric, exponential, normal, laplace.

    Parameters
    ----------
    family : str
        Name of the family.
    data : array-like of shape (n,)
        Observations.

    Examples
    --------
    >>> mle("bernoulli", [1] * 49 + [0] * 31).parameters.tolist()
    [0.6125]
    """
    law, values = _law("mle", family), vector("mle", "data", data)
    law.check(values)
    theta = law.estimate(values)
    return LikelihoodEstimate(theta, float(law.log_density(values, theta).sum()))


def mle_numerical(family: str, data: ArrayLike) -> LikelihoodEstimate:
    """The same estimate by searching, without knowing the closed form (Nelder-Mead: the Laplace law has a kink).

    Parameters
    ----------
    family : str
        Name of the family.
    data : array-like of shape (n,)
        Observations.
    """
    from scipy import optimize

    law, values = _law("mle_numerical", family), vector("mle_numerical", "data", data)
    law.check(values)

    def loss(free: Floats) -> float:
        return -float(law.log_density(values, law.constrain(free)).mean())

    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000}
    best = np.zeros(law.n_free(values))
    for _ in range(2):  # a restart lets the simplex, by then flat, move again
        best = optimize.minimize(loss, best, method="Nelder-Mead", options=options).x
    return LikelihoodEstimate(law.constrain(best), -loss(best) * len(values))


def fit_conditional(family: str, network: Network, X: ArrayLike, y: ArrayLike, start: ArrayLike) -> LikelihoodEstimate:
    r"""Maximize :math:`\sum_i \log p(y_i \mid \theta_i)` with :math:`\theta_i = f[x_i, \phi]` over :math:`\phi`.

    ``network(X, phi)`` returns the unconstrained distribution parameters of every row, shape (n, n_free); the
    returned ``parameters`` are the network's :math:`\phi`, not the distribution's :math:`\theta`.

    Parameters
    ----------
    family : str
        Name of the family.
    network : callable
        ``network(X, phi)``.
    X : array-like of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Their targets.
    start : array-like
        Where the search for :math:`\phi` begins.
    """
    from scipy import optimize

    law = _law("fit_conditional", family)
    inputs, targets = np.asarray(X, dtype=np.float64), vector("fit_conditional", "y", y)
    law.check(targets)
    if len(inputs) != len(targets):
        raise ValueError(f"fit_conditional: X and y must have one length; got {len(inputs)} and {len(targets)}.")

    def loss(phi: Floats) -> float:
        return -float(law.log_density(targets, law.constrain(network(inputs, phi))).mean())

    initial = vector("fit_conditional", "start", start)
    optimum = optimize.minimize(loss, initial, method="BFGS", jac="3-point", options={"gtol": 1e-8})
    return LikelihoodEstimate(optimum.x, -float(optimum.fun) * len(targets))


def _law(caller: str, family: str) -> Family:
    if family not in FAMILIES:
        raise ValueError(f"{caller}: family must be one of {', '.join(FAMILIES)}; got {family!r}.")
    return FAMILIES[family]
