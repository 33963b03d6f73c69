"""Messages along a chain of states: in logarithms, and as numbers scaled at every time."""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import exp, log
from margin.core.kernel_source import ConstIntegers, ConstMatrix, ConstVector, Matrix, Vector, inner, kernel

__all__ = ["ChainScratch", "backward_messages", "forward_messages", "sum_chains", "sums_in_logarithms"]

SMALL = 1e-30  # below it a sum of messages may owe something to paths that are too small to be held
FAINT = 1e-280  # a message below it is dropped: its counterpart from the other end could be too large for a number
NEGLIGIBLE = 1e-46  # what dropped messages may grow to, beside a sum of which SMALL may be used, before logarithms
IMPOSSIBLE = float("-inf")  # the logarithm of a probability of 0
NOT_A_NUMBER = float("nan")


@kernel
def forward_messages(emissions: ConstMatrix, transition: ConstMatrix, start: ConstVector, alpha: Matrix) -> cython.void:
    """Fills ``alpha`` (T, K)."""
    peak: cython.double
    total: cython.double
    k = emissions.shape[1]
    for i in range(k):
        alpha[0, i] = start[i] + emissions[0, i]
    for t in range(1, emissions.shape[0]):
        for i in range(k):
            peak = IMPOSSIBLE
            for j in range(k):
                peak = max(peak, alpha[t - 1, j] + transition[j, i])
            total = 0.0
            if peak > IMPOSSIBLE:
                for j in range(k):
                    total += exp(alpha[t - 1, j] + transition[j, i] - peak)
            alpha[t, i] = emissions[t, i] + peak + log(total) if total > 0.0 else IMPOSSIBLE


@kernel
def backward_messages(emissions: ConstMatrix, transition: ConstMatrix, beta: Matrix) -> cython.void:
    """Fills ``beta`` (T, K)."""
    peak: cython.double
    total: cython.double
    length = emissions.shape[0]
    k = emissions.shape[1]
    for i in range(k):
        beta[length - 1, i] = 0.0
    for t in range(length - 2, -1, -1):
        for i in range(k):
            peak = IMPOSSIBLE
            for j in range(k):
                peak = max(peak, transition[i, j] + emissions[t + 1, j] + beta[t + 1, j])
            total = 0.0
            if peak > IMPOSSIBLE:
                for j in range(k):
                    total += exp(transition[i, j] + emissions[t + 1, j] + beta[t + 1, j] - peak)
            beta[t, i] = peak + log(total) if total > 0.0 else IMPOSSIBLE


@cython.cclass
class ChainScratch:
    """Memory for chains of ``n`` states and at most as many times as ``alpha`` has rows."""

    alpha: Matrix
    weights: Matrix
    scales: Vector
    steps: Matrix  # (n, n)
    at_end: Vector
    beta: Vector
    terms: Vector
    ahead: Vector

    def __init__(
        self,
        alpha: Matrix,
        weights: Matrix,
        scales: Vector,
        steps: Matrix,
        at_end: Vector,
        beta: Vector,
        terms: Vector,
        ahead: Vector,
    ):
        self.alpha = alpha
        self.weights = weights
        self.scales = scales
        self.steps = steps
        self.at_end = at_end
        self.beta = beta
        self.terms = terms
        self.ahead = ahead


@inner
def _log_sum(values: Vector) -> cython.double:
    largest: cython.double = values[0]
    total: cython.double = 0.0
    for i in range(values.shape[0]):
        largest = max(largest, values[i])
    if largest == IMPOSSIBLE:
        return largest
    for i in range(values.shape[0]):
        total += exp(values[i] - largest)
    return largest + log(total)


@kernel
def sums_in_logarithms(
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    scores: ConstMatrix,
    first: ConstVector,
    last: ConstVector,
    between: ConstMatrix,
    marginals: Matrix,
    pairs: Matrix,
    scratch: ChainScratch,
) -> cython.double:
    """Forward and backward over the sequence from ``begin`` to ``end``, for potentials of any size; the log of the sum
    over all paths."""
    n = scores.shape[1]
    length = end - begin
    for k in range(n):
        scratch.alpha[0, k] = first[k] + scores[begin, k]
        scratch.beta[k] = last[k]
    for t in range(1, length):
        for k in range(n):
            for j in range(n):
                scratch.terms[j] = scratch.alpha[t - 1, j] + between[j, k]
            scratch.alpha[t, k] = _log_sum(scratch.terms) + scores[begin + t, k]
    for k in range(n):
        scratch.terms[k] = scratch.alpha[length - 1, k] + last[k]
    z = _log_sum(scratch.terms)
    for t in range(length - 1, -1, -1):
        for k in range(n):
            marginals[begin + t, k] = exp(scratch.alpha[t, k] + scratch.beta[k] - z)
            scratch.ahead[k] = scores[begin + t, k] + scratch.beta[k]
        if t == 0:
            break
        for j in range(n):
            for k in range(n):
                scratch.terms[k] = between[j, k] + scratch.ahead[k]
                pairs[j, k] += exp(scratch.alpha[t - 1, j] + scratch.terms[k] - z)
            scratch.beta[j] = _log_sum(scratch.terms)
    return z


@inner
def _add_row(
    total: Matrix, t: cython.Py_ssize_t, factor: cython.double, rows: Matrix, j: cython.Py_ssize_t
) -> cython.void:
    for k in range(rows.shape[1]):
        total[t, k] += factor * rows[j, k]


@inner
def _drops_nothing(t: cython.Py_ssize_t, scratch: ChainScratch) -> cython.bint:
    """Whether no message of time ``t`` is faint once it is multiplied by its weight: nearly always."""
    faint: cython.Py_ssize_t = 0
    for k in range(scratch.steps.shape[1]):
        faint |= scratch.alpha[t, k] * scratch.weights[t, k] < FAINT
    return faint == 0


@inner
def _bound_dropped(
    t: cython.Py_ssize_t, row: cython.Py_ssize_t, before: cython.double, scores: ConstMatrix, scratch: ChainScratch
) -> cython.double:
    """Multiplies what arrived at time ``t`` by its weights and drops what is faint.

    ``terms`` become bounds on what was dropped so far; their sum, which was ``before``, is returned. It matters
    because rows that fit nothing else may raise a state again whose message was lost.
    """
    total: cython.double = 0.0
    arrived: cython.double
    n = scores.shape[1]
    for k in range(n):
        scratch.ahead[k] = 0.0
        if before > 0.0:
            for j in range(n):
                scratch.ahead[k] += scratch.terms[j] * scratch.steps[j, k]
    for k in range(n):
        arrived = scratch.alpha[t, k]
        scratch.alpha[t, k] = arrived * scratch.weights[t, k]
        scratch.terms[k] = 0.0
        if scores[row, k] == IMPOSSIBLE:
            continue
        if scratch.ahead[k] > 0.0:
            scratch.terms[k] = max(scratch.ahead[k] * scratch.weights[t, k], FAINT)
        if scratch.alpha[t, k] < FAINT and arrived > 0.0:
            scratch.alpha[t, k] = 0.0
            scratch.terms[k] += FAINT
        total += scratch.terms[k]
    return total


@inner
def _scaled_forward(
    begin: cython.Py_ssize_t, end: cython.Py_ssize_t, scores: ConstMatrix, first: ConstVector, scratch: ChainScratch
) -> cython.double:
    """Forward messages that sum to 1 at every time; the log of what they were divided by, or NaN.

    ``steps`` are exponentials of at most 1. NaN says that a sum fell below ``SMALL``, or that messages which were
    dropped have grown, so that paths which were lost by underflow might count.
    """
    total: cython.double = 0.0
    dropped: cython.double = 0.0
    peak: cython.double
    scale: cython.double
    value: cython.double
    alpha = scratch.alpha
    weights = scratch.weights
    n = scores.shape[1]
    for k in range(n):
        scratch.terms[k] = 0.0
    for t in range(end - begin):
        peak = IMPOSSIBLE
        for k in range(n):
            value = scores[begin + t, k] + first[k] if t == 0 else scores[begin + t, k]
            peak = max(peak, value)
        if peak == IMPOSSIBLE:
            return NOT_A_NUMBER
        for k in range(n):
            value = scores[begin + t, k] + first[k] if t == 0 else scores[begin + t, k]
            weights[t, k] = exp(value - peak)
            alpha[t, k] = 1.0 if t == 0 and first[k] > IMPOSSIBLE else 0.0
        if t > 0:
            for j in range(n):
                _add_row(alpha, t, alpha[t - 1, j], scratch.steps, j)
        if dropped == 0.0 and _drops_nothing(t, scratch):
            for k in range(n):
                alpha[t, k] *= weights[t, k]
        else:
            dropped = _bound_dropped(t, begin + t, dropped, scores, scratch)
        scale = 0.0
        for k in range(n):
            scale += alpha[t, k]
        if not scale > SMALL or dropped > NEGLIGIBLE * scale:
            return NOT_A_NUMBER
        scratch.scales[t] = scale
        for k in range(n):
            alpha[t, k] /= scale
        if dropped > 0.0:
            for k in range(n):
                scratch.terms[k] /= scale
        total += peak + log(scale)
    return total


@inner
def _flow_back(
    steps: Matrix, j: cython.Py_ssize_t, ahead: Vector, before: cython.double, pairs: Matrix
) -> cython.double:
    """What reaches later times from state ``j``, in four lanes; ``pairs`` get their part."""
    s0: cython.double = 0.0
    s1: cython.double = 0.0
    s2: cython.double = 0.0
    s3: cython.double = 0.0
    n = ahead.shape[0]
    k: cython.Py_ssize_t = 0
    while k + 4 <= n:
        f0 = steps[j, k] * ahead[k]
        f1 = steps[j, k + 1] * ahead[k + 1]
        f2 = steps[j, k + 2] * ahead[k + 2]
        f3 = steps[j, k + 3] * ahead[k + 3]
        s0 += f0
        s1 += f1
        s2 += f2
        s3 += f3
        pairs[j, k] += before * f0
        pairs[j, k + 1] += before * f1
        pairs[j, k + 2] += before * f2
        pairs[j, k + 3] += before * f3
        k += 4
    while k < n:
        f0 = steps[j, k] * ahead[k]
        s0 += f0
        pairs[j, k] += before * f0
        k += 1
    return (s0 + s2) + (s1 + s3)


@inner
def _scaled_backward(
    begin: cython.Py_ssize_t, end: cython.Py_ssize_t, marginals: Matrix, pairs: Matrix, scratch: ChainScratch
) -> cython.void:
    """Marginals from the messages of both directions; ``beta`` holds the last backward message at first."""
    n = pairs.shape[0]
    for t in range(end - begin - 1, -1, -1):
        for k in range(n):
            marginals[begin + t, k] = scratch.alpha[t, k] * scratch.beta[k]
            if scratch.alpha[t, k] == 0.0:
                scratch.ahead[k] = 0.0  # nothing comes from there, however well it would fit what follows
                continue
            scratch.ahead[k] = scratch.weights[t, k] * scratch.beta[k] / scratch.scales[t]
        if t == 0:
            break
        for j in range(n):
            scratch.beta[j] = _flow_back(scratch.steps, j, scratch.ahead, scratch.alpha[t - 1, j], pairs)


@kernel
def sum_chains(
    scores: ConstMatrix,
    ends: ConstIntegers,
    first: ConstVector,
    last: ConstVector,
    between: ConstMatrix,
    marginals: Matrix,
    pairs: Matrix,
    log_z: Vector,
    scratch: ChainScratch,
) -> cython.void:
    """See :func:`margin.graphical.chains.chain_sums`."""
    highest: cython.double = between[0, 0]
    end_peak: cython.double = last[0]
    total: cython.double
    final: cython.double
    start: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    is_faint: cython.bint = False
    n = scores.shape[1]
    for j in range(n):
        end_peak = max(end_peak, last[j])
        for k in range(n):
            highest = max(highest, between[j, k])
    if highest > IMPOSSIBLE and end_peak > IMPOSSIBLE:
        for j in range(n):
            scratch.at_end[j] = exp(last[j] - end_peak)
            for k in range(n):
                scratch.steps[j, k] = exp(between[j, k] - highest)
                if scratch.steps[j, k] < FAINT and between[j, k] > IMPOSSIBLE:
                    is_faint = True
    for s in range(ends.shape[0]):
        end = ends[s]
        if end == start:
            continue
        total = NOT_A_NUMBER
        final = 0.0
        if highest > IMPOSSIBLE and end_peak > IMPOSSIBLE and not is_faint:
            total = _scaled_forward(start, end, scores, first, scratch)
        if total == total:
            for k in range(n):
                final += scratch.alpha[end - start - 1, k] * scratch.at_end[k]
        if not final > SMALL:  # also where the forward pass has given up
            log_z[s] = sums_in_logarithms(start, end, scores, first, last, between, marginals, pairs, scratch)
        else:
            for k in range(n):
                scratch.beta[k] = scratch.at_end[k] / final
            _scaled_backward(start, end, marginals, pairs, scratch)
            log_z[s] = total + (end - start - 1) * highest + log(final) + end_peak
        start = end
