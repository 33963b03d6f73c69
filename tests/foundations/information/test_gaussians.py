import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from margin.foundations.information import NormalParameters, fit_normal, kl_gaussians, kl_normal

means, stds = st.floats(-5, 5), st.floats(0.1, 5)


@settings(max_examples=40, deadline=None)
@given(means, stds, means, stds)
def test_kl_normal_against_torch(m0, s0, m1, s1):
    normal = [torch.distributions.Normal(torch.tensor(m, dtype=torch.float64), s) for m, s in ((m0, s0), (m1, s1))]
    expected = float(torch.distributions.kl_divergence(*normal))
    assert kl_normal(m0, s0, m1, s1) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert kl_normal(m0, s0, m0, s0) == 0


def test_kl_normal_keeps_its_digits_near_zero():
    # r - 1 - log r with r = (1 + h)^2 is 2 h^2 + O(h^3); subtracting numbers of order one would leave noise.
    h = 1e-7
    assert kl_normal(0, 1 + h, 0, 1) == pytest.approx(h**2, rel=1e-6)


def test_kl_gaussians_against_torch():
    rng = np.random.default_rng(0)
    for d in (1, 3, 8):
        A, B = rng.normal(size=(2, d, d))
        S0, S1 = A @ A.T + np.eye(d), B @ B.T + np.eye(d)
        m0, m1 = rng.normal(size=(2, d))
        laws = [
            torch.distributions.MultivariateNormal(torch.from_numpy(m), torch.from_numpy(S))
            for m, S in ((m0, S0), (m1, S1))
        ]
        expected = float(torch.distributions.kl_divergence(*laws))
        assert kl_gaussians(m0, S0, m1, S1) == pytest.approx(expected, rel=1e-10)


def test_numbers_of_the_notes():
    assert kl_normal(1, 2, 0, 1) == pytest.approx(1.306853, abs=5e-7)
    assert kl_normal(0, 1, 1, 2) == pytest.approx(0.4431, abs=5e-5)
    assert kl_gaussians([0, 0], [[2, 1], [1, 2]], [1, -1], np.diag([3, 1])) == pytest.approx(1.0, abs=1e-12)


def test_fit_normal_forward_matches_moments_and_reverse_recovers_a_normal():
    x = np.linspace(-20, 20, 4001)
    gamma = stats.gamma(4)
    fit = fit_normal(x, lambda x: np.where(x > 0, gamma.logpdf(x), -745.0), "forward", NormalParameters(0, 1))
    assert fit == pytest.approx((4.0, 2.0), abs=1e-3)
    target = NormalParameters(1.5, 0.7)
    assert fit_normal(x, target.log_density, "reverse", NormalParameters(0, 2)) == pytest.approx(target, abs=1e-3)
    with pytest.raises(ValueError, match="direction"):
        fit_normal(x, target.log_density, "sideways", NormalParameters(0, 1))


def test_bad_input():
    with pytest.raises(ValueError, match="std_1 must be positive"):
        kl_normal(0, 1, 0, 0)
    with pytest.raises(ValueError, match="means must be finite"):
        kl_normal(math.nan, 1, 0, 1)
    with pytest.raises(ValueError, match="covariance_1 must be positive definite"):
        kl_gaussians([0, 0], np.eye(2), [0, 0], [[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="covariance_0 must be symmetric"):
        kl_gaussians([0, 0], [[1, 0.5], [0, 1]], [0, 0], np.eye(2))
    with pytest.raises(ValueError, match=r"\(d, d\)"):
        kl_gaussians([0, 0], np.eye(3), [0, 0], np.eye(2))
    with pytest.raises(ValueError, match="equal lengths"):
        kl_gaussians([0], [[1]], [0, 0], np.eye(2))
