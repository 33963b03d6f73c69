r"""Expectation, variance and higher moments, of a law and of a sample.

.. math:: \mu_k = E[X^k], \qquad \text{central: } E[(X-\mu)^k], \qquad
          \text{standardized: } E[(X-\mu)^k]/\sigma^k

The variance is the second *central* moment; the skewness is the third *standardized* one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, integer, observations
from margin.foundations.probability.distribution import Univariate

__all__ = ["absolute_central_moment", "expectation", "moment", "sample_moment", "skewness"]


def expectation(law: Univariate, g: Callable[[Array], Array] | None = None) -> float:
    r""":math:`E[g(X)]`, or :math:`E[X]` without g, by summation or adaptive quadrature; diverging integrals raise.

    Parameters
    ----------
    law : Univariate
        The distribution.
    g : callable, optional
        A function of arrays.

    Examples
    --------
    >>> from margin.foundations.probability import Normal
    >>> round(expectation(Normal(0, 1), np.square), 9)
    1.0
    """
    return law.expectation(g if g is not None else lambda x: x)


def moment(law: Univariate, k: int, *, central: bool = True, standardized: bool = False) -> float:
    """The k-th moment of a law: about its mean (``central``) or about zero, in units of its deviation or plain.

    >>> from margin.foundations.probability import Exponential
    >>> law = Exponential(rate=0.5)
    >>> round(moment(law, 3), 6), round(moment(law, 3, standardized=True), 6)
    (16.0, 2.0)
    """
    k = integer("moment", "k", k)
    if standardized and not central:
        raise ValueError("moment: standardized=True needs central=True.")
    center = expectation(law) if central and k > 0 else 0.0
    value = expectation(law, lambda x: (x - center) ** k)
    return value / moment(law, 2) ** (k / 2) if standardized else value


def skewness(law: Univariate) -> float:
    """The third standardized moment: zero for symmetric laws, positive for a long right tail.

    Parameters
    ----------
    law : Univariate
        The distribution.
    """
    return moment(law, 3, standardized=True)


def absolute_central_moment(law: Univariate, k: int) -> float:
    r""":math:`E|X-\mu|^k`; for odd k these, unlike the signed ones, do not add over independent variables.

    Parameters
    ----------
    law : Univariate
        The distribution.
    k : int
        The power.
    """
    center = expectation(law)
    return expectation(law, lambda x: np.abs(x - center) ** integer("absolute_central_moment", "k", k))


def sample_moment(data: ArrayLike, k: int, *, central: bool = True, standardized: bool = False) -> float:
    """The same moments of the empirical law of ``data``: averages, divided by n.

    Parameters
    ----------
    data : array-like of shape (n,)
        Observations.
    k : int
        The power.
    central : bool
        Whether the mean is subtracted first.
    standardized : bool
        Whether values are divided by the standard deviation.
    """
    x = observations("sample_moment", data)
    k = integer("sample_moment", "k", k)
    if standardized and not central:
        raise ValueError("sample_moment: standardized=True needs central=True.")
    x = x - x.mean() if central else x
    value = float(np.mean(x**k))
    return value / float(np.mean(x**2)) ** (k / 2) if standardized else value
