import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import Nesterov
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(Nesterov(0.8, shifted=True, convention="unscaled"), "SGD", momentum=0.8, nesterov=True)
    assert_equals_torch(Nesterov(0.8, shifted=True), "SGD", momentum=0.8, nesterov=True, changing=False)


@pytest.mark.parametrize("convention", ["sum", "unscaled"])
@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.95), st.integers(0, 100))
def test_shifted_iterates_are_the_look_ahead_points(convention, gamma, seed):
    A = np.diag([1.0, 3.0])
    x = np.random.default_rng(seed).standard_normal(2)
    plain = Nesterov(gamma, convention=convention)
    shifted = plain.on_gradient_points()
    assert shifted == Nesterov(gamma, True, convention)
    rate = 0.1 if convention == "sum" else 1.0  # a velocity without the rate looks ahead by itself
    A = A if convention == "sum" else 0.1 * A
    y, v, w = x, plain.start(x), shifted.start(x)
    for _ in range(15):
        v, step = plain.update(v, A @ plain.point(v, x), x, rate)
        x = x + step
        w, step = shifted.update(w, A @ y, y, rate)
        y = y + step
        np.testing.assert_allclose(y, plain.point(v, x), atol=1e-12)
