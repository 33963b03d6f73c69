import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.spatial.distance import jensenshannon

from margin.foundations.information import (
    cross_entropy,
    cross_entropy_sampled,
    entropy,
    entropy_of_weights,
    js_divergence,
    kl_divergence,
    kl_monte_carlo,
    mutual_information,
    surprise,
    surprise_laws,
)

positive = arrays(np.float64, 6, elements=st.floats(1e-3, 1.0)).map(lambda w: w / w.sum())
many = settings(max_examples=40, deadline=None)


def pairs(seed=0, n=50, k=5):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n), rng.dirichlet(np.ones(k), n)


def test_against_scipy_in_every_base():
    p, q = pairs()
    for base in (2, math.e, 10):
        np.testing.assert_allclose(entropy(p, base), stats.entropy(p, base=base, axis=1), rtol=1e-12)
        np.testing.assert_allclose(kl_divergence(p, q, base), stats.entropy(p, q, base=base, axis=1), rtol=1e-12)
        np.testing.assert_allclose(js_divergence(p, q, base), jensenshannon(p, q, base, axis=1) ** 2, rtol=1e-9)


@pytest.mark.parametrize("base", [2, math.e, 10])
def test_entropy_of_weights_is_that_of_their_fractions(base):
    counts = np.random.default_rng(3).integers(0, 9, size=(40, 5)) + np.eye(5, dtype=int)[0]
    expected = stats.entropy(counts, base=base, axis=1)  # SciPy divides by the sum itself
    np.testing.assert_allclose(entropy_of_weights(counts, base), expected, atol=1e-14, rtol=1e-12)
    np.testing.assert_allclose(entropy_of_weights(counts / 7.0, base), expected, atol=1e-14, rtol=1e-12)
    assert entropy_of_weights(np.array([[0.0, 4.0], [0.0, 0.0]]), base).tolist() == [0.0, 0.0]


def test_zero_times_log_zero_is_zero():
    assert entropy([0, 0, 1]) == 0
    assert kl_divergence([0, 1], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert kl_divergence([0.5, 0.5], [0, 1]) == math.inf
    assert cross_entropy([0.5, 0.5], [0, 1]) == math.inf
    assert cross_entropy([0, 1], [0, 1]) == 0


def test_numbers_of_the_notes():
    np.testing.assert_allclose(surprise([0.01, 0.99]), [4.605, 0.01005], atol=5e-4)
    assert kl_divergence([0.2, 0.3, 0.5], [0.5, 0.25, 0.25]) == pytest.approx(0.218012, abs=5e-7)
    assert kl_divergence([0, 0, 1], [0.1, 0.2, 0.7], base=10) == pytest.approx(0.155, abs=5e-4)
    assert js_divergence([0.2, 0.5, 0.3], [0.6, 0.1, 0.3]) == pytest.approx(0.12510, abs=5e-6)
    assert entropy([0.25] * 4, base=2) == 2.0


def test_surprise_at_the_ends_and_laws():
    assert surprise(1.0) == 0
    assert not np.signbit(surprise(1.0))
    assert surprise(0.0) == math.inf
    rng = np.random.default_rng(0)
    assert all(surprise_laws(lambda p: surprise(p, base=7), rng))
    assert not surprise_laws(lambda p: 1 / p - 1, rng).additive
    assert not surprise_laws(lambda p: -p * np.log(p), rng).decreasing
    assert not surprise_laws(lambda p: 1 - np.log(p), rng).certain_is_zero


@many
@given(positive, positive)
def test_identities(p, q):
    assert cross_entropy(p, q) == pytest.approx(float(entropy(p) + kl_divergence(p, q)), abs=1e-12)
    assert kl_divergence(p, q) >= -1e-12
    assert 0 <= js_divergence(p, q) <= math.log(2) + 1e-12
    assert js_divergence(p, q) == js_divergence(q, p)
    assert 0 <= entropy(p) <= math.log(6) + 1e-12
    joint = np.outer(p, q)
    assert mutual_information(joint / joint.sum()) == pytest.approx(0.0, abs=1e-12)


def test_mutual_information_is_shared_entropy():
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    expected = entropy(joint.sum(1)) + entropy(joint.sum(0)) - entropy(joint.ravel())
    assert mutual_information(joint) == pytest.approx(float(expected), abs=1e-12)


def test_sampled_quantities_approach_the_exact_ones():
    rng = np.random.default_rng(0)
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.25, 0.25])
    draws = rng.choice(3, size=200_000, p=p).astype(float)
    value, error = kl_monte_carlo(draws, lambda x: np.log(p)[x.astype(int)], lambda x: np.log(q)[x.astype(int)])
    assert abs(value - kl_divergence(p, q)) < 4 * error < 0.02
    sampled = cross_entropy_sampled(draws, lambda x: np.log(q)[x.astype(int)])
    assert sampled == pytest.approx(float(cross_entropy(p, q)), abs=0.01)


@pytest.mark.parametrize(
    "p, words",
    [
        ([0.5, np.nan], "NaN"),
        ([0.5, 0.6], "sum to 1"),
        ([-0.1, 1.1], "negative"),
        ([], "at least one"),
        (1.0, "at least one"),
        ("ab", "numbers"),
        ([[0.5, 0.5], [0.2, 0.2]], "sum to 1"),
    ],
)
def test_bad_distributions_are_named(p, words):
    with pytest.raises(ValueError, match=words) as error:
        entropy(p)
    assert str(error.value).startswith("entropy: p ")


def test_other_bad_arguments():
    with pytest.raises(ValueError, match="base"):
        entropy([1.0], base=1)
    with pytest.raises(ValueError, match="same number of classes"):
        kl_divergence([1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        surprise(1.5)
    with pytest.raises(ValueError, match="two axes"):
        mutual_information([0.5, 0.5])
    with pytest.raises(ValueError, match="one number per sample"):
        kl_monte_carlo([1.0, 2.0], lambda x: 0.0, lambda x: 0.0)
    with pytest.raises(ValueError, match="must not be empty"):
        cross_entropy_sampled([], np.log)
