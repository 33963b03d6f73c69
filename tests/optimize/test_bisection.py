"""Bisection against SciPy's root finder, and what it refuses."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from margin.optimize import bisect


@pytest.mark.parametrize(
    ("f", "a", "b"),
    [(lambda x: x**3 - 2, 0, 2), (math.cos, 0, 3), (lambda x: math.exp(-x) - x, 0, 1), (lambda x: 5 - x, -1e3, 1e3)],
)
def test_roots_are_those_of_scipy(f, a, b):
    assert bisect(f, a, b) == pytest.approx(brentq(f, a, b, xtol=1e-14), abs=1e-11)


def test_ends_that_are_roots_are_returned():
    assert bisect(lambda x: x, 0, 1) == 0
    assert bisect(lambda x: x - 1, 0, 1) == 1


def test_it_ends_where_floating_point_numbers_have_no_middle():
    assert bisect(lambda x: x - 1e16 - 2, 1, 1e17, tol=1e-300) == pytest.approx(1e16 + 2, abs=4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((lambda x: x * x + 1, -1, 1), "bisect: f must have different signs at a and b; got 2 and 2."),
        ((lambda x: x, 1, -1), "bisect: a must be below b"),
        ((lambda x: x, 0, math.inf), "bisect: a must be below b, both finite"),
        ((lambda x: np.nan, 0, 1), "bisect: f must be a number everywhere"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.")):
        bisect(*arguments)


def test_tolerance_must_be_positive():
    with pytest.raises(ValueError, match="tol must be above 0"):
        bisect(lambda x: x, -1, 2, tol=0)
