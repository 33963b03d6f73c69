r"""Information criteria: the log-likelihood of a fitted model with a price for its parameters; lower is better.

.. math:: \mathrm{AIC} = 2k - 2\log L, \qquad \mathrm{BIC} = k \log n - 2 \log L .
"""

from __future__ import annotations

import numpy as np

__all__ = ["aic", "bic"]


def aic(log_likelihood: float, n_parameters: int) -> float:
    r"""Akaike's information criterion, :math:`2k - 2\log L`.

    Parameters
    ----------
    log_likelihood : float
        Largest log-likelihood of the data, :math:`\log L`.
    n_parameters : int
        Free parameters of the model, k.

    Examples
    --------
    >>> aic(-10.0, 2)
    24.0
    """
    return float(2 * n_parameters - 2 * log_likelihood)


def bic(log_likelihood: float, n_parameters: int, n_rows: int) -> float:
    r"""Bayesian information criterion, :math:`k \log n - 2\log L`.

    Parameters
    ----------
    log_likelihood : float
        Largest log-likelihood of the data, :math:`\log L`.
    n_parameters : int
        Free parameters of the model, k.
    n_rows : int
        Rows of the data, n.

    Examples
    --------
    >>> round(bic(-10.0, 2, 100), 3)
    29.21
    """
    return float(n_parameters * np.log(n_rows) - 2 * log_likelihood)
