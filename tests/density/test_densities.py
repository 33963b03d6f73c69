"""Densities of tables: integrals, oracles, missing entries and samples."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.neighbors import KernelDensity as Peer

from margin.density import HistogramDensity, KernelDensity
from margin.density.columns import column_states
from margin.density.histogram import CategoryHistogram
from margin.density.kernel_density import KERNELS, log_kernel


@pytest.mark.parametrize("seed", range(3))
def test_a_histogram_of_numbers_integrates_to_one(seed):
    x = np.random.default_rng(seed).gamma(2.0, size=(300, 1))
    model = HistogramDensity().fit(x)
    cuts = model.cuts_[0]
    tails = [cuts[0] - 60 * model.scales_[0][0], *cuts, cuts[-1] + 60 * model.scales_[0][1]]
    total = sum(quad(lambda t: np.exp(model.score_samples([[t]])[0]), a, b)[0] for a, b in pairwise(tails))
    assert total == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(model.score_samples([[-50.0], [900.0]])).all()


def test_samples_of_a_histogram_follow_its_cuts():
    x = np.random.default_rng(0).normal(size=(4000, 1))
    model = HistogramDensity(alpha=0.0).fit(x)
    drawn = model.sample(20_000, random_state=1)
    counts = np.bincount(np.searchsorted(model.cuts_[0], drawn[:, 0], side="right"), minlength=8)
    np.testing.assert_allclose(counts / 20_000, model.probabilities_[0], atol=0.015)
    assert abs(drawn.mean()) < 0.1
    assert abs(drawn.std() - 1) < 0.15


def test_missing_entries_are_summed_out_and_new_categories_are_impossible():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [1.0, 6.0], [np.nan, 6.0]])
    model = HistogramDensity(alpha=0.0).fit(X)
    np.testing.assert_allclose(np.exp(model.score_samples([[1.0, np.nan], [np.nan, np.nan]])), [2 / 3, 1.0])
    assert model.score_samples([[7.0, 5.0]])[0] == -np.inf
    with pytest.raises(ValueError, match="column 0 has no known entry"):
        HistogramDensity().fit([[np.nan, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize("column", [[0.0] * 50 + list(range(1, 20)), list(range(30)), [1e300, *range(20)]])
def test_awkward_columns_have_ascending_cuts(column):
    states = column_states(np.array(column, dtype=float), 8, 5)
    assert (np.diff(states.cuts) > 0).all()
    assert (states.scales > 0).all()
    codes = states.codes(np.array(column, dtype=float))
    assert codes.min() == 0
    assert codes.max() == states.size - 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_kernel_densities_equal_scikit_learn(kernel, d):
    rng = np.random.default_rng(d)
    X, Q, w = rng.normal(size=(80, d)) + 100, rng.normal(size=(30, d)) + 100, rng.integers(1, 4, 80)
    ours = KernelDensity(bandwidth=0.9, kernel=kernel).fit(X, sample_weight=w)
    theirs = Peer(bandwidth=0.9, kernel=kernel).fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-8, atol=1e-8)
    for rule in ("scott", "silverman"):
        rules = [m(bandwidth=rule).fit(X).bandwidth_ for m in (KernelDensity, Peer)]
        assert rules[0] == pytest.approx(rules[1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_kernel_samples_have_the_density_that_is_scored(kernel, d):
    """E r^2 of samples against the radial integral of the density itself."""
    model = KernelDensity(kernel=kernel).fit(np.zeros((1, d)))
    r = np.linspace(1e-6, 40.0 if kernel == "exponential" else 10.0, 200_001)
    radial = r ** (d - 1) * np.exp(log_kernel(kernel, r**2))
    expected = np.trapezoid(r**2 * radial, r) / np.trapezoid(radial, r)
    rows = model.sample(40_000, random_state=0)
    np.testing.assert_allclose((rows**2).sum(axis=1).mean(), expected, rtol=0.06)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.05)


def test_categories_of_any_kind():
    model = CategoryHistogram.fit(["a", "b", "a"])
    assert model.labels() == ["2 (0.67)", "1 (0.33)"]
    assert model.log_prob(["z"])[0] == -np.inf
    with pytest.raises(ValueError, match="must not be empty"):
        CategoryHistogram.fit([])
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1"):
        HistogramDensity().fit([[0.0], [1.0]]).sample(0)
