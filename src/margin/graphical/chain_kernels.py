"""Messages along a chain of states, compiled by Numba: in logarithms, and as numbers scaled at every time."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.cached_kernels import njit

# Only kernels call them; what they sum may be added in any order, as vector instructions do.
INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
SUMS: dict[str, Any] = {**INNER, "fastmath": {"reassoc", "contract", "nsz"}}

__all__ = ["backward_messages", "chain_sums", "forward_messages", "sums_in_logarithms"]

SMALL = 1e-30  # below it a sum of messages may owe something to paths that are too small to be held


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


@njit(**INNER)
def log_sum(values):
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    if largest == -np.inf:
        return largest
    total = 0.0
    for value in values:
        total += np.exp(value - largest)
    return largest + np.log(total)


@njit(cache=True, nogil=True)
def sums_in_logarithms(scores, first, last, between, marginals, pairs):
    """Forward and backward over one sequence, for potentials of any size; the log of the sum over all paths."""
    length, n = scores.shape
    forward, terms = np.empty(scores.shape), np.empty(n)
    backward, later = last.copy(), np.empty(n)
    for k in range(n):
        forward[0, k] = first[k] + scores[0, k]
    for t in range(1, length):
        for k in range(n):
            for j in range(n):
                terms[j] = forward[t - 1, j] + between[j, k]
            forward[t, k] = log_sum(terms) + scores[t, k]
    for k in range(n):
        terms[k] = forward[length - 1, k] + last[k]
    z = log_sum(terms)
    for t in range(length - 1, -1, -1):
        for k in range(n):
            marginals[t, k] = np.exp(forward[t, k] + backward[k] - z)
            later[k] = scores[t, k] + backward[k]
        if t == 0:
            break
        for j in range(n):
            for k in range(n):
                terms[k] = between[j, k] + later[k]
                pairs[j, k] += np.exp(forward[t - 1, j] + terms[k] - z)
            backward[j] = log_sum(terms)
    return z


@njit(**SUMS)
def scaled_forward(scores, first, steps, alpha, weights, scales):
    """Forward messages that sum to 1 at every time; the log of what they were divided by, or NaN.

    ``steps`` are exponentials of at most 1. NaN says that a sum fell below ``SMALL``, so that paths which were lost by
    underflow might count.
    """
    length, n = scores.shape
    total = 0.0
    for t in range(length):
        peak = -np.inf
        for k in range(n):
            value = scores[t, k] + first[k] if t == 0 else scores[t, k]
            peak = max(peak, value)
        for k in range(n):
            value = scores[t, k] + first[k] if t == 0 else scores[t, k]
            weights[t, k] = np.exp(value - peak)
            alpha[t, k] = 1.0 if t == 0 else 0.0
        if t > 0:
            for j in range(n):
                before = alpha[t - 1, j]
                for k in range(n):
                    alpha[t, k] += before * steps[j, k]
        scale = 0.0
        for k in range(n):
            alpha[t, k] *= weights[t, k]
            scale += alpha[t, k]
        if not scale > SMALL or peak == -np.inf:
            return np.nan
        scales[t] = scale
        for k in range(n):
            alpha[t, k] /= scale
        total += peak + np.log(scale)
    return total


@njit(**SUMS)
def scaled_backward(steps, alpha, weights, scales, beta, marginals, pairs):
    """Marginals from the messages of both directions; ``beta`` holds the last backward message at first."""
    length, n = alpha.shape
    ahead = np.empty(n)
    for t in range(length - 1, -1, -1):
        for k in range(n):
            marginals[t, k] = alpha[t, k] * beta[k]
            ahead[k] = weights[t, k] * beta[k] / scales[t]
        if t == 0:
            break
        for j in range(n):
            before, total = alpha[t - 1, j], 0.0
            for k in range(n):
                flow = steps[j, k] * ahead[k]
                total += flow
                pairs[j, k] += before * flow
            beta[j] = total


@njit(cache=True, nogil=True)
def chain_sums(scores, ends, first, last, between, marginals, pairs):
    """The log of the sum over all paths, for each of the sequences that stand one after another and stop at ``ends``.

    Fills ``marginals`` (N, K) with the probability of each state at each time, and adds to ``pairs`` (K, K) the
    expected number of times that a state follows another. Messages are numbers that are scaled at every time, so an
    exponential is taken once for a state and not for every pair of states; where that could lose paths, a sequence is
    done in logarithms.
    """
    n = scores.shape[1]
    log_z = np.zeros(len(ends))
    steps, at_end, beta = np.empty((n, n)), np.empty(n), np.empty(n)
    highest, end_peak = between[0, 0], last[0]
    for j in range(n):
        end_peak = max(end_peak, last[j])
        for k in range(n):
            highest = max(highest, between[j, k])
    for j in range(n):
        at_end[j] = np.exp(last[j] - end_peak)
        for k in range(n):
            steps[j, k] = np.exp(between[j, k] - highest)
    longest = start = 0
    for end in ends:
        longest = max(longest, end - start)
        start = end
    alpha, weights, scales = np.empty((longest, n)), np.empty((longest, n)), np.empty(longest)
    start = 0
    for s in range(len(ends)):
        end = ends[s]
        length = end - start
        if length == 0:
            continue
        part = scores[start:end]
        total = np.nan
        if highest > -np.inf and end_peak > -np.inf:
            total = scaled_forward(part, first, steps, alpha[:length], weights[:length], scales)
        final = 0.0
        for k in range(n):
            final += alpha[length - 1, k] * at_end[k]
        if np.isnan(total) or not final > SMALL:
            log_z[s] = sums_in_logarithms(part, first, last, between, marginals[start:end], pairs)
        else:
            for k in range(n):
                beta[k] = at_end[k] / final
            scaled_backward(steps, alpha[:length], weights[:length], scales, beta, marginals[start:end], pairs)
            log_z[s] = total + (length - 1) * highest + np.log(final) + end_peak
        start = end
    return log_z
