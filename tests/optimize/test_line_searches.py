"""Line searches on quadratics, random functions and directions that lead nowhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.optimize import line_search
from margin.optimize.landscapes import LANDSCAPES, quadratic
from margin.optimize.line_searches import backtracking, bracket, golden_section


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_golden_section_is_exact_on_quadratics_from_any_first_step(seed, first):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((3, 3))
    A = M @ M.T + np.eye(3)
    f, grad, _ = quadratic(A, rng.standard_normal(3))
    x = 3 * rng.standard_normal(3)
    g = grad(x)
    exact = (g @ g) / (g @ A @ g)
    assert line_search(f, grad, x, -g, method="golden", first=first).alpha == pytest.approx(exact, rel=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(sorted(LANDSCAPES)), st.floats(1e-4, 10.0))
def test_wolfe_conditions_hold(seed, name, first):
    land = LANDSCAPES[name]
    x = np.random.default_rng(seed).uniform(-2, 2, 2)
    g = land.grad(x)
    search = line_search(land.f, land.grad, x, -g, first=first)
    assert search.sufficient_decrease
    assert search.flat_enough


@settings(max_examples=30, deadline=None)
@given(st.floats(-3, 3), st.floats(1e-3, 50))
def test_bracket_encloses_a_lower_point(shift, first):
    def phi(t):
        return (t - 10**shift) ** 2

    a, b, c = bracket(phi, first)
    assert 0 <= a < b < c
    assert phi(b) <= min(phi(a), phi(c))


def test_backtracking_gives_up_at_rounding():
    assert backtracking(lambda a: 1.0 + a, 1.0, -1.0) is None
    assert backtracking(lambda a: (a - 0.3) ** 2, 0.09, -0.6)[0] == 0.5


def test_counts_and_refusals():
    f, grad, _ = quadratic(np.diag([1.0, 4.0]))
    x = np.ones(2)
    armijo = line_search(f, grad, x, -grad(x), method="armijo")
    assert armijo.gradient_evaluations == 1
    with pytest.raises(ValueError, match="downhill"):
        line_search(f, grad, x, grad(x))
    with pytest.raises(ValueError, match="method must be"):
        line_search(f, grad, x, -grad(x), method="exact-ish")
    with pytest.raises(ValueError, match="no minimum along"):
        line_search(lambda v: -float(v[0]), lambda v: np.array([-1.0]), [0.0], [1.0], method="golden")
    with pytest.raises(ValueError, match="no descent direction"):
        bracket(lambda a: a)
    assert golden_section(np.cos, 2.0, 4.5) == pytest.approx(np.pi, abs=1e-6)
