import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from margin.foundations.information import (
    cross_entropy,
    decode,
    encode,
    entropy,
    fit_poisson_to_geometric,
    geometric_pmf,
    huffman_code,
    kraft_sum,
    mean_code_length,
    poisson_pmf,
    shannon_code,
)

weights = st.lists(st.integers(1, 1000), min_size=2, max_size=20).map(lambda w: np.array(w) / sum(w))


@settings(max_examples=50, deadline=None)
@given(weights, st.randoms(use_true_random=False))
def test_codes_are_prefix_free_and_within_one_bit(p, random):
    q = p.copy()
    random.shuffle(q)
    for code in (huffman_code(p), shannon_code(q)):
        assert kraft_sum(code) <= 1 + 1e-12
        assert not any(b.startswith(a) for a, b in itertools.permutations(code, 2))
    assert entropy(p, 2) - 1e-12 <= mean_code_length(p, huffman_code(p)) < entropy(p, 2) + 1
    length = mean_code_length(p, shannon_code(q))
    assert cross_entropy(p, q, 2) - 1e-12 <= length < cross_entropy(p, q, 2) + 1
    symbols = [random.randrange(len(p)) for _ in range(30)]
    assert decode(encode(symbols, huffman_code(p)), huffman_code(p)) == symbols


def test_huffman_is_optimal_among_all_prefix_codes():
    p = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
    best = min(
        p @ np.array(lengths)
        for lengths in itertools.product(range(1, 5), repeat=5)
        if sum(2.0**-k for k in lengths) <= 1
    )
    assert mean_code_length(p, huffman_code(p)) == pytest.approx(best, abs=1e-12)


def test_one_symbol_and_bad_input():
    assert huffman_code([1.0]) == ["0"]
    with pytest.raises(ValueError, match="positive everywhere"):
        shannon_code([1.0, 0.0])
    with pytest.raises(ValueError, match="inside a word"):
        decode("1", ["0", "10", "11"])
    with pytest.raises(ValueError, match="one entry per word"):
        mean_code_length([1.0], ["0", "1"])


def test_poisson_fit_numbers_of_the_corrected_example():
    fit = fit_poisson_to_geometric(0.5, 0)
    assert (fit.rate, fit.cross_entropy, fit.kl) == pytest.approx((1.0, 1.507834, 0.121540), abs=1e-6)
    fit = fit_poisson_to_geometric(0.5, 1)
    assert (fit.rate, fit.cross_entropy, fit.kl) == pytest.approx((2.0, 1.629373, 0.243079), abs=1e-6)
    fit = fit_poisson_to_geometric(0.5, 1, truncated=True)
    assert (fit.rate, fit.kl) == pytest.approx((1.593624, 0.063840), abs=1e-6)


@pytest.mark.parametrize("start, truncated", [(0, False), (1, False), (1, True)])
def test_poisson_fit_is_the_minimum(start, truncated):
    k = np.arange(start, 400)
    p = stats.geom(0.3, loc=start - 1).pmf(k)

    def cross(rate):
        log_q = stats.poisson(rate).logpmf(k) - (np.log1p(-np.exp(-rate)) if truncated else 0.0)
        return -(p * log_q).sum()

    best = optimize.minimize_scalar(cross, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-10})
    fit = fit_poisson_to_geometric(0.3, start, truncated=truncated)
    assert fit.rate == pytest.approx(best.x, abs=1e-5)
    assert fit.cross_entropy == pytest.approx(best.fun, abs=1e-10)
    assert fit.entropy == pytest.approx(stats.geom(0.3).entropy(), abs=1e-10)


def test_pmfs_against_scipy_and_bad_input():
    k = np.arange(0, 30)
    np.testing.assert_allclose(geometric_pmf(k, 0.3, 0), stats.geom(0.3, loc=-1).pmf(k), atol=1e-15)
    np.testing.assert_allclose(poisson_pmf(k, 2.5), stats.poisson(2.5).pmf(k), atol=1e-15)
    assert poisson_pmf(np.arange(60), 2.5, truncated=True).sum() == pytest.approx(1.0, abs=1e-14)
    for arguments, words in (((1.0,), "success"), ((0.5, 2), "start")):
        with pytest.raises(ValueError, match=words):
            fit_poisson_to_geometric(*arguments)
    with pytest.raises(ValueError, match="truncated"):
        fit_poisson_to_geometric(0.5, 0, truncated=True)
