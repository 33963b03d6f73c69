"""A worked example of fitting by cross-entropy: the Poisson closest to a geometric distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import entr, gammaln, xlogy

__all__ = ["PoissonFit", "fit_poisson_to_geometric", "geometric_pmf", "poisson_pmf"]

Array = NDArray[np.float64]

# The series over k are cut where the geometric tail holds less than this: far below float64 resolution of the sums.
TAIL = 1e-18


@dataclass(frozen=True)
class PoissonFit:
    """The best Poisson rate and, in nats, how well it does."""

    rate: float
    cross_entropy: float
    entropy: float

    @property
    def kl(self) -> float:
        """The divergence from the geometric law to the Poisson law in nats."""
        return self.cross_entropy - self.entropy


def geometric_pmf(k: NDArray[np.int64], success: float, start: int) -> Array:
    r""":math:`p(k) = \theta (1 - \theta)^{k - s}` for :math:`k \ge s`, with :math:`s` = 0 (failures) or 1 (trials).

    Parameters
    ----------
    k : ndarray of int
        Counts.
    success : float in (0, 1]
        Probability of success, :math:`\theta`.
    start : {0, 1}
        The least count.
    """
    return np.where(k >= start, success * (1.0 - success) ** np.maximum(k - start, 0), 0.0)


def poisson_pmf(k: NDArray[np.int64], rate: float, *, truncated: bool = False) -> Array:
    r""":math:`q(k) = e^{-\lambda} \lambda^k / k!`; ``truncated`` conditions on :math:`k \ge 1`.

    Parameters
    ----------
    k : ndarray of int
        Counts.
    rate : float
        The rate :math:`\lambda`.
    truncated : bool
        Whether 0 is excluded.
    """
    return np.where((k >= 1) | (not truncated), np.exp(_log_poisson(k, rate, truncated)), 0.0)


def fit_poisson_to_geometric(success: float = 0.5, start: int = 0, *, truncated: bool = False) -> PoissonFit:
    r"""The rate :math:`\lambda` that minimizes :math:`H(p, q_\lambda)` for a geometric :math:`p` on :math:`k \ge s`.

    .. math:: H(p, q_\lambda) = \lambda - E_p[K] \log\lambda + E_p[\log K!] \quad\Rightarrow\quad \lambda = E_p[K]

    Matching the mean, so the support decides: :math:`p(k) = 2^{-(k+1)}, k \ge 0` gives :math:`\lambda = 1` and
    :math:`p(k) = 2^{-k}, k \ge 1` gives :math:`\lambda = 2`. With ``truncated`` the Poisson is conditioned on
    :math:`k \ge 1` and its mean :math:`\lambda / (1 - e^{-\lambda})` is matched instead.

    Parameters
    ----------
    success : float in (0, 1]
        Probability of success of the geometric law.
    start : {0, 1}
        Its least count.
    truncated : bool
        Whether 0 is excluded from the Poisson law.

    Examples
    --------
    >>> fit = fit_poisson_to_geometric(0.5, start=0)
    >>> round(fit.rate, 6), round(fit.cross_entropy, 6), round(fit.kl, 6)
    (1.0, 1.507834, 0.12154)
    """
    if not 0 < success < 1:
        raise ValueError(f"fit_poisson_to_geometric: success must lie in (0, 1); got {success}.")
    if start not in (0, 1):
        raise ValueError(f"fit_poisson_to_geometric: start must be 0 or 1; got {start}.")
    if truncated and start == 0:
        raise ValueError("fit_poisson_to_geometric: a truncated Poisson cannot fit a geometric that starts at 0.")
    k = np.arange(start, start + math.ceil(math.log(TAIL) / math.log1p(-success)) + 1)
    p = geometric_pmf(k, success, start)
    mean = (1.0 - success) / success + start
    rate = mean
    if truncated:
        rate = brentq(lambda lam: lam / -math.expm1(-lam) - mean, 1e-12, mean, xtol=1e-14)
    return PoissonFit(
        rate=float(rate),
        cross_entropy=float(-(p * _log_poisson(k, rate, truncated)).sum()),
        entropy=float(entr(p).sum()),
    )


def _log_poisson(k: NDArray[np.int64], rate: float, truncated: bool) -> Array:
    log_q = xlogy(k, rate) - rate - gammaln(k + 1.0)
    return log_q - math.log(-math.expm1(-rate)) if truncated else log_q
