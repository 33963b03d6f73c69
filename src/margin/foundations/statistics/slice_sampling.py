r"""Elliptical slice sampling: draws from a posterior whose prior is normal (Murray, Adams and MacKay, 2010).

The state :math:`f` and a fresh prior draw :math:`\nu` span an ellipse :math:`f\cos\theta + \nu\sin\theta` that
leaves the prior invariant; a point on it is accepted if its likelihood is above a random level, otherwise the
bracket of angles shrinks towards the state. There is no step size and no gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.statistics.arguments import Floats, integer, vector

__all__ = ["elliptical_slice_samples"]


def elliptical_slice_samples(
    log_likelihood: Callable[[Floats], float],
    prior_sd: ArrayLike,
    n_samples: int,
    rng: np.random.Generator,
    burn_in: int = 0,
    thin: int = 1,
) -> Floats:
    """``n_samples`` states (n_samples, d) of a chain that starts at zero; independent priors :math:`N(0, s_j^2)`.

    Parameters
    ----------
    log_likelihood : callable
        Log-likelihood of a state (d,).
    prior_sd : array-like of shape (d,)
        Standard deviations of the prior, :math:`s_j`.
    n_samples : int
        States to return.
    rng : numpy.random.Generator
        Source of randomness.
    burn_in : int
        First states that are discarded.
    thin : int
        Every how many states one is kept.
    """
    caller = "elliptical_slice_samples"
    scale = vector(caller, "prior_sd", prior_sd)
    if (scale <= 0).any():
        raise ValueError(f"{caller}: prior_sd must be positive; got {scale.min():g}.")
    integer(caller, "n_samples", n_samples, low=1)
    integer(caller, "burn_in", burn_in, low=0)
    integer(caller, "thin", thin, low=1)
    state = np.zeros_like(scale)
    value = float(log_likelihood(state))
    if not np.isfinite(value):
        raise ValueError(f"{caller}: log_likelihood must be finite at zero, where the chain starts; got {value}.")
    samples = np.empty((n_samples, len(scale)))
    for step in range(burn_in + n_samples * thin):
        state, value = _slice_step(log_likelihood, state, value, scale * rng.normal(size=len(scale)), rng)
        if step >= burn_in and (step - burn_in) % thin == thin - 1:
            samples[(step - burn_in) // thin] = state
    return samples


def _slice_step(
    log_likelihood: Callable[[Floats], float], state: Floats, value: float, fresh: Floats, rng: np.random.Generator
) -> tuple[Floats, float]:
    level = value - rng.exponential()
    angle = rng.uniform(0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    while True:
        proposal = state * np.cos(angle) + fresh * np.sin(angle)
        reached = float(log_likelihood(proposal))
        if reached > level:
            return proposal, reached
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = rng.uniform(low, high)
