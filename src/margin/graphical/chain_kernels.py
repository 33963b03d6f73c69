"""Messages along a chain of states in logarithms, compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["backward_messages", "forward_messages"]


@njit(cache=True)
def forward_messages(emissions, transition, start, alpha):
    """Fills ``alpha`` (T, K)."""
    length, k = emissions.shape
    for i in range(k):
        alpha[0, i] = start[i] + emissions[0, i]
    for t in range(1, length):
        for i in range(k):
            peak = -np.inf
            for j in range(k):
                peak = max(peak, alpha[t - 1, j] + transition[j, i])
            total = 0.0
            if peak > -np.inf:
                for j in range(k):
                    total += np.exp(alpha[t - 1, j] + transition[j, i] - peak)
            alpha[t, i] = emissions[t, i] + peak + np.log(total) if total > 0.0 else -np.inf


@njit(cache=True)
def backward_messages(emissions, transition, beta):
    """Fills ``beta`` (T, K)."""
    length, k = emissions.shape
    for i in range(k):
        beta[length - 1, i] = 0.0
    for t in range(length - 2, -1, -1):
        for i in range(k):
            peak = -np.inf
            for j in range(k):
                peak = max(peak, transition[i, j] + emissions[t + 1, j] + beta[t + 1, j])
            total = 0.0
            if peak > -np.inf:
                for j in range(k):
                    total += np.exp(transition[i, j] + emissions[t + 1, j] + beta[t + 1, j] - peak)
            beta[t, i] = peak + np.log(total) if total > 0.0 else -np.inf
