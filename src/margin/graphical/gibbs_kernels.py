"""Sweeps of Gibbs sampling over a product of factors, compiled by Numba."""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["gibbs_sweeps"]


@njit(cache=True)
def gibbs_sweeps(state, sizes, values, offsets, begins, members, strides, firsts, found, uniforms, kept, thin):
    """One sweep per row of ``uniforms`` (sweeps, variables), changing ``state``; every ``thin``-th goes to ``kept``.

    Returns False if all states of a variable have probability 0.
    """
    n = len(state)
    weight = np.zeros(sizes.max())
    for sweep in range(len(uniforms)):
        for i in range(n):
            for k in range(sizes[i]):
                weight[k] = 0.0
            for position in range(firsts[i], firsts[i + 1]):
                f = found[position]
                base, step = offsets[f], 0
                for m in range(begins[f], begins[f + 1]):
                    if members[m] == i:
                        step = strides[m]
                    else:
                        base += strides[m] * state[members[m]]
                for k in range(sizes[i]):
                    weight[k] += values[base + k * step]
            peak = weight[0]
            for k in range(1, sizes[i]):
                peak = max(peak, weight[k])
            if peak == -np.inf:
                return False
            total = 0.0
            for k in range(sizes[i]):
                weight[k] = np.exp(weight[k] - peak)
                total += weight[k]
            level, k = uniforms[sweep, i] * total, 0
            while k < sizes[i] - 1 and (level >= weight[k] or weight[k] == 0.0):
                level -= weight[k]
                k += 1
            while weight[k] == 0.0:  # rounding went past the last possible state
                k -= 1
            state[i] = k
        if len(kept) and sweep % thin == thin - 1:
            kept[sweep // thin] = state
    return True
