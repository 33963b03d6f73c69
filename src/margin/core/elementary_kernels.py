r"""Exponential, logarithm and power of kernels: the same bits on every machine, compiled or not.

Those of C come from the system, which has several and takes one by the processor (with fused products or without), and
their last bits differ: a tree grown by entropies on a laptop would not be the one that a server grows. Here additions,
products, quotients and square roots do it, each of which is rounded in one way everywhere. Results are within one unit
in the last place (of :func:`log2` two; of :func:`power` by a logarithm as many as that has). Uncompiled, single numbers
must be made double before they come here.

:math:`e^x = 2^k e^r` with :math:`|r| \le \tfrac12 \ln 2`, and
:math:`\ln x = k \ln 2 + \ln m` with :math:`m = \tfrac{1+s}{1-s}` between :math:`\sqrt{1/2}` and :math:`\sqrt2`:

.. math::

    e^r = 1 + r + \frac{r^2}2 + r^3 \sum_i E_i r^i , \qquad
    \ln\frac{1+s}{1-s} = 2s + s^3 \sum_i L_i s^{2i} .

The coefficients interpolate both sums at Chebyshev's points; they are close to Taylor's.
"""

from __future__ import annotations

from math import floor, sqrt

import cython

from margin.core.float_bits_kernels import bits_of, float_of
from margin.core.kernel_source import inner

__all__ = ["exp", "log", "log2", "power"]

INVERSE_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first ends in 21 zeros: products with k are exact
ROUND = 6755399441055744.0  # 1.5 * 2**52: a number added to it is rounded to an integer, which its last bits are
ROUND_BITS = 0x4338000000000000
ONE_BITS, SQRT_HALF_BITS = 0x3FF0000000000000, 0x3FE6A09E667F3BCD
SMALLEST_NORMAL = 2.2250738585072014e-308
TWO_54 = 18014398509481984.0
INFINITE = float("inf")
MOST_EXP, LEAST_EXP, NORMAL_EXP = 709.782712893384, -745.1332191019412, -708.0
MOST_PRODUCTS = 64.0  # powers beyond it are taken through the logarithm


@inner
def exp(x: cython.double) -> cython.double:
    """e to the power of ``x``."""
    if not (x > LEAST_EXP and x <= MOST_EXP):
        return INFINITE if x > MOST_EXP else 0.0 if x <= LEAST_EXP else x
    shifted: cython.double = x * INVERSE_LN2 + ROUND
    k: cython.longlong = bits_of(shifted) - ROUND_BITS
    whole: cython.double = shifted - ROUND
    high: cython.double = x - whole * LN2_HIGH
    low: cython.double = whole * LN2_LOW
    r: cython.double = high - low
    r2: cython.double = r * r
    r4: cython.double = r2 * r2
    first: cython.double = (0.16666666666666669 + 0.041666666666666664 * r) + r2 * (
        0.008333333333330065 + 0.0013888888888886554 * r
    )
    middle: cython.double = (0.00019841269863040545 + 2.4801587317135164e-05 * r) + r2 * (
        2.7557268480310024e-06 + 2.755728298405588e-07 * r
    )
    last: cython.double = 2.5100375832561234e-08 + 2.091122972975856e-09 * r
    tail: cython.double = r2 * (0.5 + r * (first + r4 * (middle + r4 * last)))
    result: cython.double = 1.0 + (high + (tail - low))
    if x < NORMAL_EXP:  # below the normal numbers, in two steps
        return result * float_of(((k + 64) << 52) + ONE_BITS) * 5.421010862427522e-20
    if k == 1024:
        return 2.0 * (result * float_of(((k - 1) << 52) + ONE_BITS))
    return result * float_of((k << 52) + ONE_BITS)


@inner
def _of_mantissa(f: cython.double, shift: cython.double) -> cython.double:
    """``shift`` ln 2 + ln(1 + f)."""
    s: cython.double = f / (2.0 + f)
    z: cython.double = s * s
    w: cython.double = z * z
    half: cython.double = 0.5 * f * f
    even: cython.double = 0.666666666666667 + w * (
        0.28571428625975487 + w * (0.18182889125261723 + w * 0.14616449685043406)
    )
    odd: cython.double = 0.39999999999899505 + w * (0.2222221113479508 + w * 0.15331721600556042)
    rest: cython.double = s * (half + z * (even + z * odd))
    return shift * LN2_HIGH - ((half - (rest + shift * LN2_LOW)) - f)


@inner
def log(x: cython.double) -> cython.double:
    """The natural logarithm."""
    below: cython.longlong = 0
    if not (x >= SMALLEST_NORMAL and x < INFINITE):
        if not (x > 0.0 and x < INFINITE):
            return x if x > 0.0 or x != x else -INFINITE if x == 0.0 else INFINITE - INFINITE
        x = x * TWO_54
        below = 54
    bits: cython.longlong = bits_of(x)
    k: cython.longlong = (bits - SQRT_HALF_BITS) >> 52
    return _of_mantissa(float_of(bits - (k << 52)) - 1.0, k - below)


@inner
def log2(x: cython.double) -> cython.double:
    """The logarithm to base 2, exact at its powers; of what is not positive as :func:`log`."""
    if not (x >= SMALLEST_NORMAL and x < INFINITE):
        return INVERSE_LN2 * log(x)
    bits: cython.longlong = bits_of(x)
    k: cython.longlong = (bits - SQRT_HALF_BITS) >> 52
    return k + INVERSE_LN2 * _of_mantissa(float_of(bits - (k << 52)) - 1.0, 0.0)


@inner
def power(x: cython.double, exponent: cython.double) -> cython.double:
    """``x`` (not negative) to an exponent above 0: products where it or its double is an integer, as in exact ties."""
    n: cython.double = floor(exponent)
    rest: cython.double = exponent - n
    if exponent > MOST_PRODUCTS or (rest != 0.0 and rest != 0.5):
        return exp(exponent * log(x))
    result: cython.double = 1.0 if rest == 0.0 else sqrt(x)
    left: cython.longlong = cython.cast(cython.longlong, n)
    factor: cython.double = x
    while left > 0:
        if left & 1:
            result = result * factor
        left = left >> 1
        factor = factor * factor
    return result
