"""Largest and smallest numbers of loops, against NumPy, and that the loops become vector instructions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import TypingError

from margin.core.cached_kernels import interpreted, njit
from margin.core.extremes_kernels import larger, smaller


@njit
def extremes(values):
    high = low = values[0]
    for k in range(len(values)):
        high, low = larger(values[k], high), smaller(values[k], low)
    return high, low


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000])
def test_extremes_are_those_of_numpy(n, dtype):
    values = np.random.default_rng(n).normal(size=n).astype(dtype)
    assert extremes(values) == (values.max(), values.min()) == interpreted(extremes)(values)


def test_infinities_are_numbers_like_others():
    assert extremes(np.array([np.inf, -1.0, -np.inf])) == (np.inf, -np.inf)
    assert extremes(np.array([-np.inf, -np.inf])) == (-np.inf, -np.inf)


def test_a_loop_over_many_has_several_running_values():
    """Four or more numbers are compared by one instruction, whatever the processor: the compiler's own form says it."""
    extremes(np.zeros(3))
    written = extremes.inspect_llvm(extremes.signatures[-1])
    assert "select nnan nsz <" in written or "llvm.vector.reduce.fmax" in written


def test_whole_numbers_are_refused():
    with pytest.raises(TypingError):
        njit(lambda: larger(1, 2))()
