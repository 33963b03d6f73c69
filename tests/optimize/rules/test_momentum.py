import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import Momentum
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(Momentum(0.8, "unscaled"), "SGD", momentum=0.8)
    assert_equals_torch(Momentum(0.8), "SGD", momentum=0.8, changing=False)


def test_the_sum_differs_from_torch_once_the_rate_changes():
    ends = {}
    for convention in ("sum", "unscaled"):
        rule, x = Momentum(0.9, convention), np.zeros(1)
        state = rule.start(x)
        for rate in (1.0, 0.1):
            state, step = rule.update(state, np.ones(1), x, rate)
            x = x + step
        ends[convention] = float(x[0])
    assert ends == pytest.approx({"sum": -(1.0 + 0.9 + 0.1), "unscaled": -(1.0 + 0.1 * 1.9)})


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.98), st.floats(1e-3, 0.5), st.integers(0, 100))
def test_sum_and_average_are_one_path(gamma, rate, seed):
    gradients = np.random.default_rng(seed).standard_normal((20, 2))
    paths = []
    for convention, scaled in (("sum", rate), ("average", rate / (1 - gamma))):
        rule, x, path = Momentum(gamma, convention), np.zeros(2), []
        state = rule.start(x)
        for gradient in gradients:
            state, step = rule.update(state, gradient, x, scaled)
            x = x + step
            path.append(x)
        paths.append(path)
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-9, atol=1e-12)
