r"""Markov chain Monte Carlo: draws from a density known up to a constant.

Metropolis proposes :math:`x' = x + s\varepsilon` and accepts it with probability :math:`\min(1, p(x')/p(x))`; detailed
balance makes :math:`p` stationary. Draws are correlated: their number is worth

.. math:: n_{eff} = \frac{n}{1 + 2\sum_{k \ge 1} \rho_k}

independent ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from margin.core.randomness import RandomLike, as_generator

__all__ = ["Chain", "effective_sample_size", "metropolis"]

LogDensity = Callable[[np.ndarray], Any]


class Chain(NamedTuple):
    """States after the burn-in (n, d), the fraction of accepted proposals, the last step size, and all evaluations."""

    draws: np.ndarray
    acceptance: float
    step_size: float
    n_evaluations: int

    def standard_errors(self) -> np.ndarray:
        """Standard errors of the means of the draws, with their correlation counted."""
        return self.draws.std(axis=0, ddof=1) / np.sqrt([effective_sample_size(column) for column in self.draws.T])


def metropolis(
    log_density: LogDensity,
    start: Any,
    n_steps: int,
    random_state: RandomLike = None,
    *,
    step_size: float = 1.0,
    scale: Any = None,
    burn_in: int = 1000,
) -> Chain:
    """Random-walk Metropolis from ``start``.

    ``scale`` is a matrix (d, d) whose product with standard normal noise is the direction of proposals (identity by
    default). During the burn-in, which is not returned, the step size moves towards an acceptance of 0.234 to 0.44.
    """
    rng = as_generator(random_state)
    state = np.atleast_1d(np.asarray(start, dtype=np.float64)).copy()
    d = len(state)
    root = np.eye(d) if scale is None else np.asarray(scale, dtype=np.float64)
    value = float(log_density(state))
    if not np.isfinite(value):
        raise ValueError(f"metropolis: log_density must be finite at start; got {value}.")
    goal = 0.44 if d == 1 else 0.234
    draws, accepted, log_step = np.empty((n_steps, d)), 0, float(np.log(step_size))
    for step in range(burn_in + n_steps):
        proposal = state + np.exp(log_step) * (root @ rng.standard_normal(d))
        reached = float(log_density(proposal))
        taken = np.log(rng.random()) < reached - value
        if taken:
            state, value = proposal, reached
        if step < burn_in:
            log_step += (float(taken) - goal) / np.sqrt(step + 1.0)
        else:
            accepted += int(taken)
            draws[step - burn_in] = state
    return Chain(draws, accepted / max(n_steps, 1), float(np.exp(log_step)), burn_in + n_steps + 1)


def effective_sample_size(draws: Any) -> float:
    """Independent draws that would give as exact a mean, by Geyer's initial positive sequence.

    >>> round(effective_sample_size(np.tile([1.0, -1.0], 50)))
    100
    """
    x = np.asarray(draws, dtype=np.float64)
    n = len(x)
    centered = x - x.mean()
    if n < 4 or not centered.any():
        return float(n)
    spectrum = np.fft.rfft(centered, 2 * n)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum))[:n]
    correlation /= correlation[0]
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)  # of a reversible chain all are positive
    ends = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: ends[0] if len(ends) else None])
    return float(min(n / max(2 * kept.sum() - 1, 1 / n), n))
