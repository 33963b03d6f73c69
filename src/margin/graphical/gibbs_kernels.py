"""Sweeps of Gibbs sampling over a product of factors."""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import exp
from margin.core.kernel_source import ConstIntegers, ConstMatrix, ConstVector, IntegerMatrix, Integers, Vector, kernel

__all__ = ["gibbs_sweeps"]

IMPOSSIBLE = float("-inf")  # the logarithm of a probability of 0


@kernel
def gibbs_sweeps(
    state: Integers,
    sizes: ConstIntegers,
    values: ConstVector,
    offsets: ConstIntegers,
    begins: ConstIntegers,
    members: ConstIntegers,
    strides: ConstIntegers,
    firsts: ConstIntegers,
    found: ConstIntegers,
    uniforms: ConstMatrix,
    weight: Vector,
    kept: IntegerMatrix,
    thin: cython.Py_ssize_t,
) -> cython.bint:
    """One sweep per row of ``uniforms`` (sweeps, variables), changing ``state``; every ``thin``-th goes to ``kept``.

    The log-tables of the factors stand end to end in ``values``; that of factor f begins at ``offsets[f]`` and its
    variables are ``members`` with their ``strides`` from ``begins[f]`` to ``begins[f + 1]``. The factors of variable i
    are ``found`` from ``firsts[i]`` to ``firsts[i + 1]``. ``weight``, as long as the most states of a variable, is
    scratch. Returns False if all states of a variable have probability 0.
    """
    peak: cython.double
    total: cython.double
    level: cython.double
    base: cython.longlong
    step: cython.longlong
    k: cython.Py_ssize_t
    for sweep in range(uniforms.shape[0]):
        for i in range(state.shape[0]):
            for k in range(sizes[i]):
                weight[k] = 0.0
            for position in range(firsts[i], firsts[i + 1]):
                f = found[position]
                base = offsets[f]
                step = 0
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
            if peak == IMPOSSIBLE:
                return False
            total = 0.0
            for k in range(sizes[i]):
                weight[k] = exp(weight[k] - peak)
                total += weight[k]
            level = uniforms[sweep, i] * total
            k = 0
            while k < sizes[i] - 1 and (level >= weight[k] or weight[k] == 0.0):
                level -= weight[k]
                k += 1
            while weight[k] == 0.0:  # rounding went past the last possible state
                k -= 1
            state[i] = k
        if kept.shape[0] and sweep % thin == thin - 1:
            for i in range(state.shape[0]):
                kept[sweep // thin, i] = state[i]
    return True
