"""Exponential, logarithm and power of kernels: within units in the last place of what decimal numbers tell."""

import hashlib
import struct
from decimal import Decimal, localcontext

import numpy as np
import pytest

from margin.core.elementary_kernels import exp, log, log2, power

LARGEST, TINIEST = np.finfo(np.float64).max, 5e-324


def units(found, truth):
    """How far a float is from a decimal number, in units of its last place."""
    return abs(Decimal(float(found)) - truth) / Decimal(float(np.spacing(max(abs(float(truth)), TINIEST))))


def spread(n=400, seed=0):
    """Numbers of all sizes, and more near 1."""
    rng = np.random.default_rng(seed)
    near = 1 + rng.normal(size=n) * 10.0 ** rng.uniform(-12, -1, n)
    edges = [TINIEST, 2.2250738585072014e-308, 0.5, 1.0, np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 0), 2.0, LARGEST]
    return [*np.exp(rng.uniform(-744, 709, n)), *near, *edges]


@pytest.mark.parametrize("function, bound", [(log, 1), (log2, 2)])
def test_logarithms(function, bound):
    with localcontext() as context:
        context.prec = 40
        base = Decimal(2).ln() if function is log2 else 1
        for x in map(float, spread()):
            assert units(function(x), Decimal(x).ln() / base) < bound, x


def test_exponential():
    rng = np.random.default_rng(1)
    given = [*rng.uniform(-745, 709.7, 400), *rng.normal(size=400), *rng.uniform(-745.1, -707, 100), 709.782712893384]
    with localcontext() as context:
        context.prec = 40
        for x in map(float, given):
            assert units(exp(x), Decimal(x).exp()) < 1, x


@pytest.mark.parametrize("exponent, bound", [(1.0, 1), (5.0, 4), (1.5, 3), (0.895, 40), (2.37, 60), (70.0, 2000)])
def test_powers(exponent, bound):
    rng = np.random.default_rng(2)
    with localcontext() as context:
        context.prec = 40
        for x in map(float, np.exp(rng.uniform(-9, 9, 200))):
            assert units(power(x, exponent), Decimal(x) ** Decimal(exponent)) < bound, x


def test_what_is_exact():
    assert [float(log2(2.0**k)) for k in (-1074, -1030, -3, 0, 29, 1023)] == [-1074, -1030, -3, 0, 29, 1023]
    assert [float(power(x, p)) for x, p in ((3.0, 5.0), (4.0, 1.5), (9.0, 2.5), (0.0, 1.3))] == [243, 8, 243, 0]
    assert float(exp(0.0)) == float(exp(-0.0)) == 1.0
    assert float(log(1.0)) == 0.0


def test_the_ends_of_the_numbers():
    infinite, nan = float("inf"), float("nan")
    assert [float(exp(x)) for x in (infinite, 709.79, -745.14, -infinite)] == [infinite, infinite, 0, 0]
    assert float(exp(-745.13)) == TINIEST
    for function in (log, log2):
        assert [float(function(x)) for x in (0.0, -0.0, infinite)] == [-infinite, -infinite, infinite]
        assert all(np.isnan(float(function(x))) for x in (nan, -1.0, -infinite))
    assert np.isnan(float(exp(nan)))
    assert np.isnan(float(power(nan, 1.3)))
    assert float(power(infinite, 0.9)) == infinite


def test_the_bits_are_these():
    """They are made of sums, products and quotients alone, so every machine has the ones that one has had."""
    numbers = [(i + 0.5) / 37 for i in range(1, 400)]  # quotients: the same everywhere
    found = [float(f(x)) for f in (exp, log, log2, lambda x: power(x, 0.9)) for x in numbers]
    assert hashlib.sha256(struct.pack(f"<{len(found)}d", *found)).hexdigest()[:16] == "ddbeff4b4e552976"
